# SPDX-License-Identifier: BSD-3-Clause
"""Turns a page of reStructuredText, as pages.py writes it, into one for man(1).

Why not Sphinx? Its builder takes 9 s for what takes less than one here (319 pages, two cores), its pages have warnings
of mandoc, and without it a clone can install its man pages with nothing but Python. What this does not know is
an error, not a guess.
"""
import re

INLINE = re.compile(r"``(?P<literal>.+?)``|:c:func:`(?P<function>\w+)`|:manpage:`(?P<page>[^`(]+)(?P<number>\(\d\))`"
                    r"|\*\*(?P<strong>.+?)\*\*|(?<!\\)\*(?P<emphasis>(?:\\.|[^*])+)\*|\\(?P<escaped>.)", re.S)
COLUMNS = 72  # of 80, as man indents the text


class UnknownMarkup(Exception):
    pass


def plain(text):
    """Text as roff takes it for itself."""
    text = text.replace("\\", r"\e").replace("`", r"\(ga").replace("^", r"\(ha").replace("~", r"\(ti")
    return "".join(c if ord(c) < 128 else rf"\[u{ord(c):04X}]" for c in text)


def code(text):
    """Text that can be typed: its hyphens are minus signs."""
    return plain(text).replace("-", r"\-").replace("'", r"\(aq")


def inline(text):
    out, at = [], 0
    for match in INLINE.finditer(text):
        out += [plain(text[at:match.start()]), styled(match)]
        at = match.end()
    rest = "".join(out) + plain(text[at:])
    return r"\&" + rest if rest.startswith((".", "'")) else rest


def styled(match):
    if match.group("escaped"):
        return "" if match.group("escaped") in " \n" else plain(match.group("escaped"))
    if match.group("emphasis"):
        return r"\fI" + code(re.sub(r"\\(.)", r"\1", match.group("emphasis"))) + r"\fP"
    if match.group("function"):
        return rf"\fB{code(match.group('function'))}\fP(3)"
    if match.group("page"):
        return rf"\fB{code(match.group('page'))}\fP{match.group('number')}"
    return rf"\fB{code(match.group('literal') or match.group('strong'))}\fP"


def indented(lines, at):
    """The lines from `at` that are indented (or empty), without that indent, and where they end."""
    end = at
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
    body = lines[at:end]
    depth = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    return [line[depth:].rstrip() for line in body], end


def verbatim(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    while lines and not lines[0]:
        lines = lines[1:]
    return [r"\&" + code(line) if line.startswith((".", "'")) else code(line) for line in lines]


def signature(text):
    """A prototype in lines, its function bold and its parameters in italics."""
    head, rest = text.split("(", 1)
    lines, line = [], head + "("
    for piece in re.split(r"(?<=,) ", rest):
        if len(line) + len(piece) + 1 > COLUMNS and not line.endswith("("):
            lines.append(line)
            line = " " * (len(head) + 1) + piece
        else:
            line += ("" if line.endswith("(") else " ") + piece
    lines.append(line + ";")
    name = head.split()[-1]
    out = []
    for i, each in enumerate(lines):
        each = code(each)
        if i == 0:
            opening = each.index("(") + 1
            start, each = each[:opening].replace(name, rf"\fB{name}\fP"), each[opening:]
        else:
            start = ""
        out.append(start + re.sub(r"(\w+)((?:\[\w*\])*)(?=[,)])", lambda m: m.group() if m.group(1) == "void"
                                  else rf"\fI{m.group(1)}\fP{m.group(2)}", each))
    return out


class Page:
    """The lines of one man page."""

    def __init__(self, text, heading):
        self.out = [heading, ".nh", ".ad l"]
        self.after_section = True
        self.blocks(text.split("\n"))

    def break_before(self, request=".PP"):
        if not self.after_section:
            self.out.append(request)
        self.after_section = False

    def blocks(self, lines):
        at = 0
        while at < len(lines):
            at = self.block(lines, at)

    def block(self, lines, at):
        line = lines[at]
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if not line.strip():
            return at + 1
        if re.fullmatch(r"[=-]{3,}", following) and len(following) >= len(line):
            if following[0] == "-":
                self.out.append(f".SH {line}")
                self.after_section = True
            return at + 2
        if line.startswith(".. "):
            return self.directive(lines, at)
        if line.startswith("- "):
            return self.item(lines, at)
        if following.startswith(" ") and following.strip():
            return self.definition(lines, at)
        return self.paragraph(lines, at)

    def paragraph(self, lines, at):
        end = at
        while end < len(lines) and lines[end].strip():
            end += 1
        text = " ".join(lines[at:end])
        self.break_before()
        self.out += sentences(inline(re.sub(r" ?::$", lambda m: "" if m.group()[0] == " " else ":", text)))
        if text.endswith("::"):
            body, end = indented(lines, end)
            self.example(body)
        return end

    def example(self, body):
        self.out += [".PP", ".RS 4", ".nf", *(line or r"\&" for line in verbatim(body)), ".fi", ".RE"]

    def item(self, lines, at):
        body, end = indented(lines, at + 1)
        self.break_before(r".IP \(bu 2")
        if self.out[-1] != r".IP \(bu 2":
            self.out.append(r".IP \(bu 2")
        self.out += sentences(inline(" ".join([lines[at][2:], *(line for line in body if line)])))
        return end

    def definition(self, lines, at):
        body, end = indented(lines, at + 1)
        self.after_section = False
        self.out += [".TP", inline(lines[at])]
        parts = [part for part in "\n".join(body).strip().split("\n\n")]
        for i, part in enumerate(parts):
            self.out += [".IP"] if i else []
            self.out += sentences(inline(" ".join(part.split("\n"))))
        if end < len(lines) and not starts_definition(lines, end):
            self.after_section = False
        return end

    def directive(self, lines, at):
        line = lines[at]
        if line.startswith(".. c:function:: "):
            body, end = indented(lines, at + 1)
            self.break_before()
            self.out.append(".nf")
            for i, text in enumerate([line[len(".. c:function:: "):], *(b for b in body if b)]):
                self.out += [r"\&"] if i else []
                self.out += signature(text)
            self.out.append(".fi")
            return end
        if line == ".. code-block:: c" or line == ".. code-block:: none":
            body, end = indented(lines, at + 1)
            self.break_before()
            self.out += [".nf", *(rf"\fB{text}\fP" if text else r"\&" for text in verbatim(body)), ".fi"]
            return end
        raise UnknownMarkup(f"a man page cannot show this: {line}")


def starts_definition(lines, at):
    return at + 1 < len(lines) and lines[at + 1].startswith(" ")


def sentences(text):
    """A line for each sentence, as roff sets its blanks."""
    lines = re.split(r"(?<=[a-z0-9)P][.:!?]) (?=[A-Z\\(])", text)
    return [r"\&" + line if line.startswith((".", "'")) else line for line in lines]


def man_page(text, name, number, source, date):
    manual = {"1": "Programs of Weft", "3": "MPI functions", "7": "Weft"}[number]
    heading = f'.TH "{code(name)}" "{number}" "{date}" "{source}" "{manual}"'
    return "\n".join([r".\" Made by docs/reference/make_pages.", *Page(text, heading).out]) + "\n"
