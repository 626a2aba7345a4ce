# SPDX-License-Identifier: BSD-3-Clause
"""Reads what the reference is made of: prototypes, doc comments, the glossary, and the variables.

What is wrong is collected as complaints, which test/lint/reference prints; pages are made of what is right, so that a
slip in a comment never stops a build.
"""
import fnmatch
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIRECTIONS = ("in", "out", "in,out")
TAGS = ("param", "error", "note", "see", "copydoc")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as text:
        return text.read()


def api_files():
    names = os.listdir(os.path.join(ROOT, "src/mpi"))
    return sorted(f"src/mpi/{name}" for name in names if fnmatch.fnmatch(name, "api_*.c"))


def inputs():
    """Every file that pages are made from."""
    here = "docs/reference"
    programs = sorted(os.listdir(os.path.join(ROOT, here, "programs")))
    return ["include/mpi.h", "include/mpix.h", "src/mpi/unsupported.list", "src/base/config_vars.def",
            "src/launch/plan/option_table.c", *api_files(), f"{here}/parameters", f"{here}/errors",
            *(f"{here}/programs/{name}" for name in programs if name.endswith(".rst"))]


def version():
    return re.search(r'WEFT_VERSION\s+"([^"]+)"', read("include/mpix.h")).group(1)


# ---- prototypes ----

class Parameter:
    """One parameter of a prototype: its name, its C type without the name, and the declaration."""

    def __init__(self, declaration):
        self.declaration = declaration
        match = re.match(r"(.*?)(\w+)((?:\[\w*\])*)$", declaration)
        self.name, self.type = match.group(2), match.group(1).strip() + match.group(3)

    def is_read_only(self):
        """Can the function only read it? What is passed by value, const data, and the user's functions."""
        is_pointer = "*" in self.type or "[" in self.type
        is_function = re.search(r"_function(_c)? ?\*?$", self.type)
        return not is_pointer or "const" in self.type or bool(is_function)

    def allows(self, direction):
        """Can the function do that? With a handle it can change the object, with what is read-only nothing."""
        is_handle = re.fullmatch(r"MPIX?_(?!Aint|Count|Offset)\w+", self.type) and self.is_read_only()
        return direction == "in" or not self.is_read_only() or (direction == "in,out" and bool(is_handle))


class Prototype:
    def __init__(self, returns, name, parameters):
        self.returns, self.name = returns, name
        parameters = " ".join(parameters.split())
        self.declarations = [d.strip() for d in parameters.split(",")]
        self.parameters = [Parameter(d) for d in self.declarations if d not in ("void", "...")]

    def parameter(self, name):
        return next((p for p in self.parameters if p.name == name), None)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def prototypes(text, prefix):
    found = re.findall(rf"^([A-Za-z_][\w ]*?) +({prefix}_\w+)\(([^;{{]*)\);", without_comments(text), re.M)
    return {name: Prototype(returns, name, parameters) for returns, name, parameters in found if "typedef" not in returns}


def callbacks():
    """{name of a function type: its typedef in one line}."""
    found = re.findall(r"^(typedef \w+ (MPI_\w+_function(?:_c)?)\([^;]*\);)", without_comments(read("include/mpi.h")), re.M)
    return {name: " ".join(text.split()) for text, name in found}


# ---- doc comments ----

class Comment:
    """A doc comment: paragraphs, @param {name: (direction, text)}, @error [(class, text)], @note, @see, @copydoc."""

    def __init__(self, place, text):
        self.place, self.complaints = place, []
        self.parameters, self.errors, self.notes, self.see, self.copydoc = {}, [], [], [], None
        parts = re.split(r"^@(?=\w)", "\n".join(self.lines(text)), flags=re.M)
        self.paragraphs = paragraphs(parts[0])
        for part in parts[1:]:
            self.take(part)

    @staticmethod
    def lines(text):
        for line in text.strip().split("\n"):
            yield re.sub(r"^\s*\* ?", "", line).strip()

    def complain(self, words):
        self.complaints.append(f"{self.place}: {words}")

    def take(self, part):
        tag = re.match(r"\w+", part).group()
        rest = part[len(tag):]
        text = " ".join(rest.split())
        if tag not in TAGS:
            self.complain(f"@{tag} is no tag of doc comments; there are {', '.join(TAGS)}")
        elif tag == "param":
            self.take_parameter(text)
        elif tag == "error":
            self.take_error(text)
        elif tag == "note":
            self.notes += paragraphs(rest)
        elif tag == "see":
            self.see += re.split(r"[ ,]+(?:and )?", text)
        elif self.copydoc or not re.fullmatch(r"\w+", text):
            self.complain(f"@copydoc {text}: it names one function, and stands once")
        else:
            self.copydoc = text

    def take_parameter(self, text):
        match = re.match(r"\[([a-z, ]+)\] (\w+(?:, \w+)*) (.+)", text)
        if not match or match.group(1).replace(" ", "") not in DIRECTIONS:
            self.complain(f"@param{text[:40]}: expected is @param[in], [out] or [in,out], a name and a text")
            return
        for name in match.group(2).split(", "):
            if name in self.parameters:
                self.complain(f"@param {name} stands twice")
            self.parameters[name] = (match.group(1).replace(" ", ""), match.group(3))

    def take_error(self, text):
        match = re.match(r"((?:MPI_T_|MPI_)ERR_\w+(?:, (?:MPI_T_|MPI_)ERR_\w+)*) (.+)", text)
        if not match:
            self.complain(f"@error {text[:40]}: expected is an error class and when it is raised")
            return
        self.errors += [(error_class, match.group(2)) for error_class in match.group(1).split(", ")]


def paragraphs(text):
    return [" ".join(p.split()) for p in re.split(r"\n\s*\n", text) if p.strip()]


# ---- families of functions ----

class Family:
    """A function and the forms that are made of it, which share a comment and a page."""

    def __init__(self, name):
        self.name, self.names, self.comment, self.copied = name, [], None, []
        self.nonblocking, self.persistent = [], []

    def section(self):
        """The section of the standard: "7.6.1", or None."""
        match = SECTION.search(self.comment.paragraphs[0]) if self.comment.paragraphs else None
        if match is None and self.copied:
            match = SECTION.search(" ".join(self.copied[0].paragraphs[:1]))
        return match.group(1) if match else None

    def paragraphs(self):
        """Its own text, or else that of the function whose comment it takes over."""
        return next((c.paragraphs for c in [self.comment, *self.copied] if c.paragraphs), [])

    def errors(self):
        found = []
        for comment in [self.comment, *self.copied]:
            found += [error for error in comment.errors if error not in found]
        return found

    def parameter(self, name):
        return next((c.parameters[name] for c in [self.comment, *self.copied] if name in c.parameters), None)


SECTION = re.compile(r" ?\((?:MPI 5\.0,? )?(?:sections?|chapters?) (\d+(?:\.\d+)*)[^()]*\)")
DOCUMENTED = re.compile(r"(/\*\*(?P<comment>(?:(?!\*/).)*)\*/\s*?\n)?WEFT_API\((?P<name>\w+)\);\n", re.S)


def plain_name(name):
    return name[:-2] if name.endswith("_c") else name


def nonblocking(name):
    """MPI_Bcast: MPI_Ibcast; MPIX_Bcast_enqueue: MPIX_Ibcast_enqueue."""
    prefix, rest = name.split("_", 1)
    return f"{prefix}_I{rest[0].lower()}{rest[1:]}"


class Reference:
    """All of it: prototypes {name: Prototype}, families {name: Family}, the glossary, and complaints."""

    def __init__(self):
        self.complaints = []
        self.declared = {**prototypes(read("include/mpi.h"), "MPI"), **prototypes(read("include/mpix.h"), "MPIX")}
        self.prototypes = dict(self.declared)
        self.unsupported = {line.strip() for line in read("src/mpi/unsupported.list").split("\n") if line.startswith("MPI_")}
        self.glossary, self.errors = Glossary(), ErrorRules()
        self.complaints += self.glossary.complaints + self.errors.complaints
        self.families, self.home = {}, {}
        self.read_functions()
        self.add_forms()
        self.link()

    def complain(self, words):
        self.complaints.append(words)

    def read_functions(self):
        """The families of the functions that api_*.c define, with their comments."""
        self.is_collective = set()
        for path in api_files():
            text = read(path)
            for prototype in prototypes(text, "PMPI").values():  # of functions that mpi.h does not declare
                prototype.name = prototype.name[1:]
                self.prototypes.setdefault(prototype.name, prototype)
            for match in DOCUMENTED.finditer(text):
                self.add_function(path, text, match)

    def add_function(self, path, text, match):
        name, words = match.group("name"), match.group("comment")
        place = f"{path}:{text.count(chr(10), 0, match.start('name')) + 1}: {name}"
        family = self.families.setdefault(plain_name(name), Family(plain_name(name)))
        if name not in self.prototypes:
            self.complain(f"{place}: no header and no line of this file declares it")
            return
        family.names.append(name)
        self.home[name] = family
        body = text[match.end():text.find("\n}", match.end())]
        if "return weft_coll_enter(" in body:
            self.is_collective.add(family.name)
        if words and family.comment:
            self.complain(f"{place}: {family.name} has a comment already; its other form needs none")
        elif words:
            family.comment = Comment(place, words)

    def add_forms(self):
        """The forms that are generated: int twins, nonblocking and persistent ones."""
        for family in self.families.values():
            forms = [family.name, family.name + "_c"]
            if family.name in self.is_collective:
                nonblocking_name, persistent_name = nonblocking(family.name), family.name + "_init"
                family.nonblocking = [nonblocking_name]
                family.persistent = [] if family.name.endswith("_enqueue") else [persistent_name]
                forms += [nonblocking_name, nonblocking_name + "_c", persistent_name, persistent_name + "_c"]
            for name in forms:
                if name in self.declared and name not in self.home and name not in self.unsupported:
                    self.home[name] = family
                    family.names.append(name)
            family.names.sort(key=forms.index)

    def link(self):
        """Follow @copydoc, and leave out families without a comment."""
        for family in list(self.families.values()):
            if family.comment is None:
                if family.names:
                    self.complain(f"{family.names[-1]} has no doc comment above WEFT_API")
                del self.families[family.name]
        for family in self.families.values():
            self.complaints += family.comment.complaints
            self.follow(family)
        self.documented = {name: family for name, family in self.home.items() if family.name in self.families}

    def follow(self, family):
        seen, comment = {family.name}, family.comment
        while comment.copydoc:
            name = plain_name(comment.copydoc)
            if name not in self.families or name in seen:
                self.complain(f"{comment.place}: @copydoc {comment.copydoc}: "
                              + ("it leads back here" if name in seen else "there is no comment of that function"))
                return
            seen.add(name)
            comment = self.families[name].comment
            family.copied.append(comment)

    def parameters(self, family):
        """The parameters of all forms, each once, in the order of the longest prototypes."""
        found = {}
        for name in family.names:
            for parameter in self.prototypes[name].parameters:
                found.setdefault(parameter.name, parameter)
        return list(found.values())

    def explain(self, family, parameter):
        """(direction, text) of a parameter, from the comment or the glossary; None: it is not explained."""
        return family.parameter(parameter.name) or self.glossary.explain(parameter)


# ---- the glossary and the errors by type ----

def rows(path, columns):
    """The rows of a table whose columns two or more blanks separate: (line number, fields)."""
    for number, line in enumerate(read(path).split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield number, re.split(r"\s{2,}", line.strip(), maxsplit=columns - 1)


class Glossary:
    """docs/reference/parameters."""

    PATH = "docs/reference/parameters"

    def __init__(self):
        self.entries, self.complaints, self.used = {}, [], set()
        for number, fields in rows(self.PATH, 4):
            if len(fields) == 4 and fields[1] in DIRECTIONS:  # two blanks in the text
                fields[2:] = [" ".join(fields[2:])]
            if len(fields) == 3:
                fields.insert(1, "")
            if len(fields) != 4 or fields[2] not in DIRECTIONS:
                self.complaints.append(f"{self.PATH}:{number}: expected are a name, perhaps a C type, in, out or in,out, and a text")
                continue
            self.entries.setdefault(fields[0], []).append((fields[1], fields[2], fields[3], number))

    def explain(self, parameter):
        entries = self.entries.get(parameter.name, [])
        found = [e for e in entries if e[0] == parameter.type]
        if not found and parameter.is_read_only():
            found = [e for e in entries if e[0] == "" and e[1] == "in"]
        elif not found:
            found = sorted((e for e in entries if e[0] == ""), key=lambda e: e[1] == "in")
        if not found:
            return None
        self.used.add(found[0][3])
        return found[0][1], found[0][2]

    def unused(self):
        return [f"{self.PATH}:{entry[3]}: no function needs this line about {name}"
                for name, entries in self.entries.items() for entry in entries if entry[3] not in self.used]


class ErrorRules:
    """docs/reference/errors."""

    PATH = "docs/reference/errors"

    def __init__(self):
        self.rules, self.complaints, self.used = [], [], set()
        for number, fields in rows(self.PATH, 4):
            if len(fields) != 4 or fields[1] not in ("in", "out", "any"):
                self.complaints.append(f"{self.PATH}:{number}: expected are names or a type, in, out or any, a class and a text")
                continue
            self.rules.append((fields[0].split(", "), *fields[1:], number))

    def of(self, parameter, direction):
        """(class, text) that follows from what the parameter is; None."""
        for keys, its_direction, error_class, text, number in self.rules:
            is_read = direction == "in" or parameter.is_read_only()
            fits_direction = its_direction == "any" or its_direction == ("in" if is_read else "out")
            by_shape = {"*": parameter.type.endswith("*"), "[]": "[" in parameter.type}
            if fits_direction and any(by_shape.get(key, key in (parameter.name, parameter.type)) for key in keys):
                self.used.add(number)
                return None if error_class == "-" else (error_class, text)
        return None

    def unused(self):
        return [f"{self.PATH}:{rule[4]}: no parameter fits" for rule in self.rules if rule[4] not in self.used]


# ---- tables of programs ----

def variables():
    """[(name with WEFT_, kind, default, unit, help)] of the configuration."""
    found = re.findall(r'^VAR\((\w+), (\w+), "([^"]*)", "([^"]*)", \w+, \w+, "((?:[^"\\]|\\.)*)"\)', read("src/base/config_vars.def"), re.M)
    return [(f"WEFT_{name}", kind, default, unit, text) for name, kind, default, unit, text in found]


def mpirun_options():
    """[(names without dashes, values, help)] of mpirun's table of options."""
    table = re.search(r"wli_option_t options\[\] = \{(.*?)^\};", read("src/launch/plan/option_table.c"), re.S | re.M).group(1)
    string = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
    found = re.findall(rf"\{{{string},\s*{string},\s*\w+,\s*{string}\}}", table)
    return [tuple("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', field)).replace('\\"', '"') for field in row) for row in found]
