# SPDX-License-Identifier: BSD-3-Clause
"""Writes the pages as reStructuredText: one for each family of functions, and those of programs/ with their tables filled in.

Of reStructuredText they use what roff.py knows: sections, paragraphs, lists, definitions, literal blocks, c:function.
"""
import re
import textwrap

import sources

# What reStructuredText takes for markup in ordinary words.
SPECIAL = re.compile(r"([\\*`|])|(?<=\w)_(?!\w)")
TOKEN = re.compile(r"`(?P<code>[^`]+)`|(?P<name>\bP?MPIX?_\w+(?:\.\.\.\w*)?\*?)|(?P<literal>\b(?:WEFT_\w+|NULL|void \*)(?!\w))"
                   r"|(?P<path>\b(?:docs|src|examples|benchmarks)/[\w./-]*\w)|(?P<word>\b[a-z]\w*\b)")
# Names of parameters that are ordinary words are set like words.
ORDINARY = set("""a base bind buffer color comm command count dest dims direction disp edges error extent file flag free group
handle high index info key len length level location message n name neighbors offset op order p partition partitions
periods position r ranges rank ranks request required result root session size source sources status stream stride
string tag value version weights win""".split()) - {"comm", "dest", "dims", "disp", "op", "win", "len"}

ON_ERRORS = ("An error goes to the error handler of the communicator, window, file or session that the call is about, else to that of "
             "MPI_COMM_SELF. At the start this is MPI_ERRORS_ARE_FATAL, which prints the function, the argument, its value and what "
             "was expected, and ends the program. Under MPI_ERRORS_RETURN the function returns the error's class, and "
             "MPI_Error_string gives the same text.")
ON_TOOL_ERRORS = "These functions call no error handler; what they return says what was wrong."


class Marker:
    """Marks up the plain words of comments: names of functions, constants, code and parameters."""

    def __init__(self, reference, parameters=(), own_names=()):
        self.reference, self.own_names = reference, own_names
        self.parameters = {p.name for p in parameters} - ORDINARY

    def mark(self, text, first_is_parameter=False):
        out, at = [], 0
        for match in TOKEN.finditer(text):
            marked = self.token(match, is_parameter=first_is_parameter and match.start() == 0)
            if marked is None:
                continue
            out += [escape(text[at:match.start()]), marked]
            at = match.end()
            before, after = text[match.start() - 1:match.start()], text[at:at + 1]
            if before and not re.match(r"[\s'\"(\[{<\-/:]", before):
                out.insert(-1, "\\ ")
            if after and not re.match(r"[\s'\")\]}>\-/:.,;!?]", after):
                out.append("\\ ")
        return "".join(out) + escape(text[at:])

    def token(self, match, is_parameter):
        if match.group("code"):
            return f"``{match.group('code')}``"
        if match.group("name"):
            name = match.group("name")
            is_elsewhere = name in self.reference.documented and name not in self.own_names
            return f":c:func:`{name}`" if is_elsewhere else f"``{name}``"
        if match.group("literal") or match.group("path"):
            return f"``{match.group()}``"
        return f"*{match.group()}*" if is_parameter or match.group("word") in self.parameters else None


def escape(text):
    return SPECIAL.sub(lambda match: "\\" + match.group(), text)


# ---- pieces of a page ----

def title(text):
    return f"{text}\n{'=' * len(text)}\n"


def section(text, body):
    return f"{text}\n{'-' * len(text)}\n\n{body.rstrip()}\n" if body.strip() else ""


def block(text):
    """A paragraph; a line never begins with what reStructuredText takes for a list."""
    return "\n".join(textwrap.wrap(text, 116, break_long_words=False, break_on_hyphens=False)) + "\n"


def definition(term, text):
    return term + "\n" + textwrap.indent(block(text), "    ")


def lower_first(text):
    return text if re.match(r"[A-Z]\w*[A-Z_]|[A-Z]\b", text) else text[:1].lower() + text[1:]


def brief(family):
    """The first sentence without its section and its full stop."""
    text = family.paragraphs()[0]
    match = sources.SECTION.search(text)
    sentence = text[:match.start()] if match else re.split(r"\.(?: |$)", text, maxsplit=1)[0]
    return lower_first(sentence.strip().rstrip("."))


def chapter_of(family):
    return family.section().split(".")[0] if family.section() else ""


# ---- the pages of functions ----

class FunctionPage:
    def __init__(self, reference, family):
        self.reference, self.family = reference, family
        self.parameters = reference.parameters(family)
        self.prototypes = [reference.prototypes[name] for name in family.names]
        self.mark = Marker(reference, self.parameters, family.names).mark

    def text(self):
        return "\n".join(filter(None, [
            title(self.family.name),
            section("NAME", block(", ".join(self.family.names) + " - " + self.summary())),
            section("SYNOPSIS", self.synopsis()),
            section("DESCRIPTION", self.description()),
            section("PARAMETERS", "\n".join(self.explain(p) for p in self.parameters)),
            section("ERRORS", self.errors()),
            section("NOTES ON WEFT", "\n".join(block(self.mark(note)) for note in self.family.comment.notes)),
            section("SEE ALSO", self.see_also())]))

    def summary(self):
        return escape(brief(self.family))

    def synopsis(self):
        header = "mpi.h" if self.family.name.startswith("MPI_") else "mpix.h"
        lines = [".. code-block:: c", "", f"    #include <{header}>", ""]
        lines += ["    " + line for name, typedef in sources.callbacks().items()
                  if any(re.match(rf"{name}\b", p.type) for p in self.parameters)
                  for line in [*wrap_declaration(typedef), ""]]
        heads = [f"{p.returns} {p.name}({', '.join(p.declarations)})" for p in self.prototypes]
        lines += [(".. c:function:: " if i == 0 else " " * 16) + head for i, head in enumerate(heads)]
        if self.family.name not in self.reference.declared:
            lines += ["", "The header has it inline, with a warning of the compiler; the library has it for programs that were built with another header."]
        return "\n".join(lines)

    def description(self):
        texts = [self.mark(sources.SECTION.sub(lambda m: m.group().replace("(s", "(MPI 5.0, s").replace("(c", "(MPI 5.0, c"), text))
                 if i == 0 else self.mark(text) for i, text in enumerate(self.family.paragraphs())]
        return "\n".join(block(text) for text in texts + self.forms())

    def forms(self):
        """What the forms are that the comment does not speak of."""
        names, family, texts = self.family.names, self.family, []
        if family.name in names and family.name + "_c" in names:
            wide = [name for name in names if name.endswith("_c")]
            texts.append(f"{listed(wide)} {'does' if len(wide) == 1 else 'do'} the same for counts and sizes that an int cannot hold.")
        if family.nonblocking and family.name.endswith("_enqueue"):
            texts.append(f"{family.nonblocking[0]} does the same, but the stream does not wait for the operation. MPI_Wait, MPI_Test and the like "
                         "wait for request on the host, MPIX_Wait_enqueue and MPIX_Waitall_enqueue have the stream wait; until then the "
                         "buffers must be left alone. Where the operation is a kernel in the stream, request is MPI_REQUEST_NULL, and later "
                         "work in the stream comes after it.")
        elif family.nonblocking:
            texts.append(f"{family.nonblocking[0]} begins the operation and returns at once. It is completed by MPI_Wait, MPI_Test "
                         "and the like, with request; until then the buffers must be left alone. Several may be under way; all "
                         "processes begin them in the same order.")
        if family.persistent:
            texts.append(f"{family.persistent[0]} makes a persistent request, which each MPI_Start or MPI_Startall lets do the "
                         "operation once more, with the same arguments; MPI_Request_free frees it. It is collective, too.")
        return [self.mark(text) for text in texts]

    def explain(self, parameter):
        found = self.reference.explain(self.family, parameter)
        direction, text = found or ("in" if parameter.is_read_only() else "out", "(not described)")
        if parameter.name in ("info", "request") and not self.is_in_all(parameter):
            owners = [p.name for p in self.prototypes if p.parameter(parameter.name)]
            text += f" (of {listed([name for name in owners if not name.endswith('_c')])})"
        return definition(f"*{parameter.name}* ({direction.replace(',', ', ')})", self.mark(text))

    def is_in_all(self, parameter):
        return all(p.parameter(parameter.name) for p in self.prototypes)

    def errors(self):
        found = {}
        for error_class, text in self.family.errors():
            found.setdefault(error_class, []).append(self.mark(text, first_is_parameter=self.begins_with_name(text)))
        for error_class, text in self.derived_errors():
            found.setdefault(error_class, []).append(text)
        if not found or not self.returns_error():
            return ""
        entries = [definition(f"``{error_class}``", "; or ".join(texts)) for error_class, texts in found.items()]
        ending = ON_TOOL_ERRORS if self.family.name.startswith("MPI_T_") else ON_ERRORS
        return "\n".join([*entries, block(self.mark(ending))])

    def returns_error(self):
        """Most functions return an error code; some return what they are asked for, and their comments may say so."""
        is_silent = any("raises no error" in text for text in self.family.paragraphs())
        return self.prototypes[0].returns == "int" and not is_silent

    def begins_with_name(self, text):
        return any(re.match(rf"{p.name}\b", text) for p in self.parameters)

    def derived_errors(self):
        """Errors that follow from parameters, those of one class and text together."""
        found = {}
        for parameter in [] if self.family.name.startswith("MPI_T_") else self.parameters:
            direction = (self.reference.explain(self.family, parameter) or ("in", ""))[0]
            error = self.reference.errors.of(parameter, direction)
            if error and not self.is_told(parameter.name, error[0]):
                found.setdefault(error, []).append(f"*{parameter.name}*")
        return [(error_class, f"{' or '.join(names)} {self.mark(text)}") for (error_class, text), names in found.items()]

    def is_told(self, name, error_class):
        return any(own == error_class and re.match(rf"{name}\b", text) for own, text in self.family.errors())

    def see_also(self):
        comment = self.family.comment
        names = [*comment.see, *([comment.copydoc] if comment.copydoc else [])]
        names += sorted(other.name for other in self.reference.families.values()
                        if other.comment.copydoc and self.reference.home.get(other.comment.copydoc) is self.family)
        kept = [name for name in dict.fromkeys(names)
                if name in self.reference.documented and self.reference.documented[name] is not self.family]
        return block(", ".join([*(f":c:func:`{name}`" for name in kept), ":manpage:`weft(7)`"]))


def listed(names, word="and"):
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def wrap_declaration(text, columns=76):
    """A declaration, broken behind commas, as many columns in as its parenthesis."""
    if len(text) <= columns:
        return [text]
    head, rest = text.split("(", 1)
    lines = textwrap.wrap(rest, columns - len(head) - 1, break_long_words=False)
    return [head + "(" + lines[0], *(" " * (len(head) + 1) + line for line in lines[1:])]


# ---- the pages of programs, and weft(7) ----

def what_it_takes(kind, unit):
    """What a variable is set to, in words: "bytes; K, M or G may follow"."""
    if kind == "BOOL":
        return "yes or no"
    if kind == "SIZE":
        return f"{'number' if unit == 'count' else unit}; K, M or G may follow"
    if kind == "TEXT":
        return listed(unit.split("|"), "or")
    return "a number" if unit == "count" else f"a number of {unit}"


def variable_table(mark):
    entries = []
    for name, kind, default, unit, text in sources.variables():
        values = escape(what_it_takes(kind, unit))
        entries.append(definition(f"``{name}`` ({values}; default: {escape(default) or 'empty'})", mark(text + ".")))
    return "\n".join(entries)


def option_table(mark):
    entries = []
    for names, values, text in sources.mpirun_options():
        words = [("-" if len(word) == 1 else "--") + word for word in names.split()]
        term = ", ".join(f"``{word}``" for word in words) + (f" *{escape(values)}*" if values else "")
        entries.append(definition(term, mark(text + ".")))
    return "\n".join(entries)


def program_page(reference, name):
    """The page programs/NAME.rst, with its tables."""
    mark = Marker(reference).mark
    text = sources.read(f"docs/reference/programs/{name}.rst")
    text = re.sub(r"\A\.\. SPDX[^\n]*\n\n", "", text)
    for word, table in (("@variables@", variable_table), ("@options@", option_table)):
        if word in text:
            text = text.replace(word, table(mark).rstrip())
    return text


def function_pages(reference):
    """[(family, text)] in alphabetic order."""
    return [(family, FunctionPage(reference, family).text()) for _, family in sorted(reference.families.items())]
