#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make html gives no warning, and the site has each documented function, program and guide, which its search finds."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["SOURCE"]
sys.dont_write_bytecode = True
sys.path.insert(0, f"{SOURCE}/docs/reference")
import sources  # noqa: E402

if subprocess.run([shutil.which("sphinx-build") or "false", "--version"], capture_output=True, check=False).returncode:
    print("needs sphinx-build (Debian: python3-sphinx)")
    sys.exit(77)
complaints = []
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-B", f"{SOURCE}/docs/reference/make_pages", "html", f"{folder}/sources"], check=True)
    done = subprocess.run(["sphinx-build", "-q", "-W", "--keep-going", "-b", "html", f"{folder}/sources", f"{folder}/html"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if "Could not import extension myst_parser" in done.stdout:
        print("needs MyST (Debian: python3-myst-parser)")
        sys.exit(77)
    complaints += done.stdout.split("\n")[:20] if done.returncode or done.stdout else []
    if not complaints:
        search = open(f"{folder}/html/searchindex.js").read()
        index = open(f"{folder}/html/genindex.html").read()
        for name, family in sources.Reference().documented.items():
            page = f"man/{family.names[0]}.3.html"
            if f'href="{page}#c.{name}"' not in index or name.lower() not in search.lower():
                complaints.append(f"the index or the search does not lead to {name} on {page}")
        for name in os.listdir(f"{SOURCE}/docs"):
            if name.endswith(".md") and not os.path.exists(f"{folder}/html/guides/{name[:-3]}.html"):
                complaints.append(f"docs/{name} is not on the site; docs/reference/site_pages.py lists the guides")
        start = open(f"{folder}/html/index.html").read()
        linked = set(re.findall(r'href="(man/[\w.+]+\.html)"', start))
        complaints += [f"the first page does not lead to {name}" for name in ("man/mpirun.1.html", "man/weft.7.html") if name not in linked]
if complaints:
    sys.exit("\n".join(c for c in complaints if c))
