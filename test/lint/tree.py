# SPDX-License-Identifier: BSD-3-Clause
"""What the lint scripts share: the tree's files, C text without comments and strings, and the verdict."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = {".git", "test-out", "autom4te.cache", "build-aux", "__pycache__"}
GENERATED = {"src/coll/tuning_text.c", "src/mpi/narrow.c", "src/mpi/unsupported_stubs.c"}

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def is_build_folder(path):
    return os.path.exists(os.path.join(path, "config.status")) and path != ROOT


def files(*folders, endings=(".c", ".h", ".cu")):
    """Paths from the root, sorted, without the files that an in-tree build generates."""
    found = []
    for folder in folders:
        for at, inner, names in os.walk(os.path.join(ROOT, folder)):
            inner[:] = [d for d in inner if d not in SKIPPED and not is_build_folder(os.path.join(at, d))]
            found += [os.path.relpath(os.path.join(at, n), ROOT) for n in names if n.endswith(endings)]
    return sorted(set(found) - GENERATED)


def read(path):
    with open(os.path.join(ROOT, path), errors="replace") as text:
        return text.read()


def bare(text):
    """C without comments and without the content of strings; line numbers stay the same."""
    def blank(match):
        kept = "\n" * match.group().count("\n")
        return kept + ('""' if match.group()[0] == '"' else "' '" if match.group()[0] == "'" else " ")
    return COMMENT_OR_STRING.sub(blank, text)


def functions(text):
    """(name, arguments, first line, lines, is static) of each definition whose braces are in the first column."""
    lines = bare(text).splitlines()
    for end, line in enumerate(lines):
        if line.startswith("{"):
            start = end
            while start > 0 and lines[start - 1].strip() and not re.match(r"[#}]|.*;\s*$", lines[start - 1]):
                start -= 1
            head = " ".join(lines[start:end])
            match = re.search(r"(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*(?:__attribute__.*)?$", head)
            last = next((i for i in range(end, len(lines)) if lines[i].startswith("}")), end)
            if match and not re.match(r"\s*(struct|union|enum|typedef)\b[^()]*$", head):
                arguments = 0 if match.group(2).strip() in ("", "void") else depth_zero_commas(match.group(2)) + 1
                yield match.group(1), arguments, start + 1, last - start + 1, bool(re.match(r"\s*static\b", head))


def depth_zero_commas(text):
    return re.sub(r"\([^()]*\)", "", text).count(",")


def allowed(path):
    """A list of exceptions: the first words of its lines (the rest is the reason, which must be there)."""
    rows = [line.split(None, 2) for line in read(path).splitlines() if line.strip() and not line.startswith("#")]
    for row in rows:
        if len(row) < 3:
            sys.exit(f"{path}: \"{' '.join(row)}\" has no reason")
    return {(row[0], row[1]) for row in rows}


def verdict(complaints):
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)
