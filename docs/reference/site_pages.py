# SPDX-License-Identifier: BSD-3-Clause
"""What Sphinx makes the site from: the guides of docs/, the functions by chapter, the programs, the variables."""
import os
import re

import pages
import sources

CHAPTERS = {"3": "Point-to-point communication", "4": "Partitioned communication", "5": "Datatypes, packing and addresses",
            "6": "Collective communication", "7": "Groups, communicators, attributes", "8": "Topologies",
            "9": "Environment, memory and errors", "10": "Info objects", "11": "Start, end, sessions and dynamic processes",
            "12": "One-sided communication", "13": "Generalised requests, statuses and threads", "14": "Files",
            "15": "Profiling and the tool interface", "16": "Deprecated functions", "17": "Removed functions",
            "19": "Handles in other languages", "20": "The binary interface"}
EXTENSIONS = "Extensions of mpix.h"
GUIDES = ["launching", "manifest", "messages", "sessions", "tool_interface", "device", "device_verdicts", "streams", "nccl", "reproducible", "fault_tolerance", "torch", "parallel_training",
          "security", "simulated", "applications"]

CONFIGURATION = '''\
project = "Weft"
release = version = "{version}"
extensions = ["myst_parser"]
source_suffix = {{".rst": "restructuredtext", ".md": "markdown"}}
html_theme = "alabaster"
html_theme_options = {{"description": "An MPI library that speaks the MPI 5.0 standard ABI", "page_width": "1060px",
                      "sidebar_width": "240px", "fixed_sidebar": True, "show_powered_by": False}}
html_show_copyright = False
html_copy_source = False
html_sidebars = {{"**": ["about.html", "navigation.html", "searchbox.html"]}}
manpages_url = "{{page}}.{{section}}.html"
highlight_language = "none"
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]
'''


def chapters(reference):
    """[(title, families)] in the order of the standard; those of mpix.h are last."""
    found = {}
    for name, family in sorted(reference.families.items()):
        number = pages.chapter_of(family) if name.startswith("MPI_") else "mpix"
        found.setdefault(number if number in CHAPTERS else "mpix", []).append(family)
    ordered = sorted((number for number in found if number != "mpix"), key=int)
    titles = [(CHAPTERS[number], found[number]) for number in ordered]
    return titles + ([(EXTENSIONS, found["mpix"])] if "mpix" in found else [])


def contents(paths, title="", hidden=False):
    lines = [".. toctree::", "   :maxdepth: 1"] + ([f"   :caption: {title}"] if title else []) + (["   :hidden:"] if hidden else [])
    return "\n".join([*lines, "", *(f"   {path}" for path in paths), ""])


def chapter_page(title, families):
    rows = [f":c:func:`{family.name}`\n    {pages.escape(pages.brief(family))}\n" for family in families]
    return "\n".join([pages.title(title), *rows, contents([f"/man/{family.names[0]}.3" for family in families], hidden=True)])


def index_page(names, programs, topics):
    about = pages.block("Weft is an MPI library in C that speaks the MPI 5.0 standard ABI. These are its guides, and a page for each "
                        "function, program and variable. :doc:`functions/index` lists all functions by the chapters of the standard.")
    return "\n".join([pages.title("Weft " + sources.version()), about, ".. image:: /layers.svg\n   :alt: The layers\n",
                      contents(["start", *(f"guides/{name}" for name in GUIDES if name in names)], "Guides"),
                      contents(["functions/index"], "Functions"),
                      contents([*(f"man/{name}.1" for name in programs), *(f"man/{name}.7" for name in topics)], "Programs and variables")])


def guide(path):
    """A guide in Markdown; links to files that are not on the site become plain words."""
    def link(match):
        words, target = match.group(1), match.group(2)
        return match.group() if target.startswith("http") or os.path.basename(target) in {f"{g}.md" for g in GUIDES} else words
    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)", link, re.sub(r"^!\[[^\]]*\]\([^)]*\)\n+(\(One host.*?\)\n)?", "",
                                                                 sources.read(path), flags=re.M | re.S))


def start_page():
    """The README's parts about use, as a guide."""
    text = re.sub(r"\(docs/(\w+\.md)\)", r"(guides/\1)", sources.read("README.md"))
    parts = re.split(r"^(?=## )", text, flags=re.M)
    kept = [part for part in parts[1:] if part.startswith(("## Use it", "## What there is"))]
    return "# Start here\n\n" + "".join(drop_links(part) for part in kept)


def drop_links(text):
    def link(match):
        return match.group() if re.match(r"http|guides/", match.group(2)) else match.group(1)
    return re.sub(r"(?<!!)\[([^\]]+)\]\(([^)]+)\)", link, text)


def texts(reference, programs, topics):
    """{path: text} of the sources of the site."""
    files = {"conf.py": CONFIGURATION.format(version=sources.version()), "start.md": start_page()}
    names = [name for name in GUIDES if os.path.exists(os.path.join(sources.ROOT, f"docs/{name}.md"))]
    files.update({f"guides/{name}.md": guide(f"docs/{name}.md") for name in names})
    files["index.rst"] = index_page(names, programs, topics)
    listed = []
    for title, families in chapters(reference):
        path = re.sub(r"\W+", "-", title.lower())
        listed.append(path)
        files[f"functions/{path}.rst"] = chapter_page(title, families)
    files["functions/index.rst"] = pages.title("Functions by chapter") + "\n" + contents(listed)
    files.update({f"man/{family.names[0]}.3.rst": text for family, text in pages.function_pages(reference)})
    for number, group in (("1", programs), ("7", topics)):
        files.update({f"man/{name}.{number}.rst": pages.program_page(reference, name) for name in group})
    return files
