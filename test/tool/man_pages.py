#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The man pages are whole and right: made twice they are the same, without a warning of mandoc or groff, with a name line that
whatis finds; each documented function has one, and those of programs name the options that --help names, and no others.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["SOURCE"], os.environ["BUILD"]
sys.dont_write_bytecode = True
sys.path.insert(0, f"{SOURCE}/docs/reference")
import sources  # noqa: E402

# What prints the options of each program that has any.
HELP = {"mpirun": [[f"{BUILD}/mpirun", "--help"]], "mpicc": [[f"{BUILD}/tools/mpicc", "-help"]],
        "weft_info": [[f"{BUILD}/weft_info", "--help"], [f"{BUILD}/weft_info", "--simulate", "--help"]]}
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z?][\w-]*(?::\w+)?")
complaints = []


def output_of(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more).stdout


def make(folder):
    """{path: text} of the pages."""
    subprocess.run([sys.executable, "-B", f"{SOURCE}/docs/reference/make_pages", "man", folder], check=True)
    with open(f"{folder}/made") as made:
        names = made.read().split()
    return {name: open(f"{folder}/{name}").read() for name in names}


def check_names(texts, folder):
    """Each documented function has a page, no other has, and each second name leads to one."""
    expected = {f"man3/{name}.3" for name in sources.Reference().documented}
    there = {name for name in texts if name.startswith("man3/")}
    complaints.extend(f"{name} is not made" for name in sorted(expected - there))
    complaints.extend(f"{name} is made, but the function is not documented" for name in sorted(there - expected))
    for name, text in texts.items():
        if text.startswith(".so ") and text[4:].strip() not in texts:
            complaints.append(f"{name} leads to {text[4:].strip()}, which is not there")
    found = {os.path.relpath(os.path.join(at, n), folder) for at, _, names in os.walk(folder) for n in names}
    complaints.extend(f"{name} is not in the list" for name in sorted(found - set(texts) - {"made"}))


def check_roff(texts, folder):
    whole = [f"{folder}/{name}" for name, text in texts.items() if not text.startswith(".so ")]
    if shutil.which("mandoc"):
        complaints.extend(output_of("mandoc", "-Tlint", "-W", "warning", *whole).split("\n")[:10])
    if shutil.which("groff"):
        complaints.extend(output_of("groff", "-man", "-Tutf8", "-ww", "-z", *whole).split("\n")[:10])
    if shutil.which("lexgrog"):
        lines = output_of("lexgrog", *whole).split("\n")
        complaints.extend(line for line in lines if line.endswith("failed"))
        for page in whole:
            name = os.path.basename(page).rsplit(".", 1)[0]
            if not any(line.startswith(f'{page}: "{name} - ') for line in lines):
                complaints.append(f"{page}: whatis does not find {name}")


def plain(text):
    return re.sub(r"\\f[BIPR]|\\&", "", text).replace(r"\-", "-").replace(r"\(aq", "'")


def check_options(texts):
    for program, commands in HELP.items():
        page = plain(texts[f"man1/{program}.1"])
        section = page[page.index(".SH OPTIONS"):page.index(".SH", page.index(".SH OPTIONS") + 3)]
        terms = "\n".join(re.findall(r"^\.TP\n(.*)", section, re.M))
        told = "\n".join(output_of(*command) for command in commands)
        told = "\n".join(re.findall(r"^(?:(?:Usage|Or): .*|  -.*?(?=  |$))", told, re.M))
        told = re.sub(r", :(?=\w)", ", -showme:", told)  # so mpicc names the further words of -showme:
        in_page, in_help = set(OPTION.findall(terms)), set(OPTION.findall(told))
        complaints.extend(f"{program}: --help names {option}, the page does not" for option in sorted(in_help - in_page))
        complaints.extend(f"{program}: the page names {option}, --help does not" for option in sorted(in_page - in_help - {"--help"}))


def check_variables(texts):
    """weft(7) has the variables of weft_info, with their defaults."""
    rows = output_of(f"{BUILD}/weft_info", "--config", "--parsable")
    known = dict(re.findall(r"^variable:WEFT_(\w+):default:(.*)$", rows, re.M))
    told = dict(re.findall(r"^WEFT_(\w+) \(.*default: (.*)\)$", plain(texts["man7/weft.7"]), re.M))
    told = {name: "" if default == "empty" else default for name, default in told.items()}
    if not known:
        complaints.append("weft_info --config --parsable tells no defaults")
    complaints.extend(f"weft(7) says {told.get(name)!r} of WEFT_{name}, whose default is {default!r}"
                      for name, default in known.items() if told.get(name) != default)
    complaints.extend(f"weft(7) has WEFT_{name}, which weft_info has not" for name in told if name not in known)


def main():
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        texts = make(one)
        if texts != make(two):
            complaints.append("the pages are not the same when they are made once more")
        check_names(texts, one)
        check_roff(texts, one)
        check_options(texts)
        check_variables(texts)
    if any(complaints):
        sys.exit("\n".join(c for c in complaints if c))
    if not any(map(shutil.which, ("mandoc", "groff"))):
        print("needs mandoc or groff")
        sys.exit(77)


main()
