#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Print the cases of every_function.c: for each function of mpi.h and mpix.h that the library has, each argument gets
each value that arguments.list calls bad, while all others are valid. Fails if the list says nothing about a function
or an argument: so each has an error test, or a reason why it has none. MPI_T_ functions have tests of their own."""
import fnmatch
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../../abi")
from prototypes import INCLUDE, prototypes, unsupported

LIVE_COMMS = {"comm", "graph", "line", "inter", "MPI_COMM_SELF", "at.request"}


class Rule:
    def __init__(self, valid):
        self.valid, self.bad, self.reason, self.used = valid, [], None, False


class Section:
    def __init__(self, patterns):
        self.patterns, self.rules, self.directives, self.used = patterns, {}, {}, False

    def fits(self, function):
        return any(fnmatch.fnmatchcase(name, p) for p in self.patterns for name in (function, base_of(function)))


class Parameter:
    """`const int counts[]`: kind "int", name "counts", is_pointer True."""

    def __init__(self, text):
        match = re.fullmatch(r"(.*?[ *])(\w+)((?:\[\d*\])*)", text.strip())
        before, self.name, array = match.groups()
        self.is_pointer = "*" in before or array != ""
        self.kind = re.sub(r"\bconst\b|\*", "", before).strip()
        self.key = "*" * self.is_pointer + self.name

    def is_number(self):
        return not self.is_pointer and self.kind in ("int", "MPI_Aint", "MPI_Count")


def base_of(function):
    return function[:-2] if function.endswith("_c") else function


def add_rule(section, line):
    names, valid = line.split(" = ", 1)
    rule = Rule(valid.strip())
    section.rules.update((name.strip(), rule) for name in names.split(","))
    return rule


def add_bad(rule, line):
    if line.strip().startswith("- "):
        rule.reason = line.strip()[2:]
        return
    value, error_class, *texts = re.split(r"\s{2,}", line.strip())
    rule.bad.append((value, error_class, re.findall(r'"([^"]*)"', " ".join(texts))))


def read_list(path):
    sections = []
    with open(path) as lines:
        for line in (l.rstrip() for l in lines if l.strip() and not l.startswith("#")):
            if line.startswith("["):
                sections.append(Section(line.strip("[]").split()))
            elif line.startswith("! "):
                key, value = line[2:].split(": ", 1)
                sections[-1].directives[key] = value
            elif line.startswith(" "):
                add_bad(rule, line)
            else:
                rule = add_rule(sections[-1], line)
    return sections


def all_functions():
    """{name: its parameters' text} of what the library has."""
    missing = set(unsupported())
    found = {n: t for n, t in prototypes("MPI_").items() if n not in missing and not n.startswith("MPI_T_")}
    with open(f"{INCLUDE}/mpix.h") as text:
        mpix = re.findall(r"^(\w+) (MPIX_\w+)\(([^;]*)\);", text.read(), re.M)
    found.update((name, f"{returns} ({' '.join(parameters.split())})") for returns, name, parameters in mpix)
    return {name: text[text.index("(") + 1:-1] for name, text in found.items()}


def rule_of(function, parameter, sections):
    for section in reversed(sections):
        if section.fits(function) and parameter.key in section.rules:
            section.rules[parameter.key].used = section.used = True
            return section.rules[parameter.key]
    return None


def directive(function, key, sections):
    for section in reversed(sections):
        if section.fits(function) and key in section.directives:
            section.used = True
            return section.directives[key]
    return None


def as_c(expression, function, parameter):
    """An expression of the list for this parameter of this function."""
    expression = expression.replace("{T}", parameter.kind).replace("{_c}", "_c" if function.endswith("_c") else "")
    expression = re.sub(r"\bOTHER\b", "OTHER_THAN_INFO" if parameter.kind == "MPI_Info" else "OTHER_THAN_COMM", expression)
    return re.sub(r"^ONE\((.*)\)$", rf"({parameter.kind}[]){{\1}}", expression)


def value_text(value, parameter):
    """C for the text that a message must have to tell the value."""
    inner = re.sub(r"^ONE\((.*)\)$", r"\1", value)
    fixed = {"NUMBER": '"0x7ff"', "OTHER": '"at all"'}
    if inner in fixed:
        return fixed[inner]
    if inner.startswith("freed_"):
        return '"freed"'
    if inner.startswith('"'):
        return inner
    if parameter.kind in ("int", "MPI_Aint", "MPI_Count") and inner != "NULL":
        return f"number_text({inner})"
    return f'"{inner}"'


def owner_of(function, parameters, bad_parameter, value, sections):
    """C for the handle whose error handler must be called."""
    wanted = directive(function, "handler", sections)
    kinds = [p for p in parameters if p.kind in ("MPI_Comm", "MPI_Session") and (not p.is_pointer or p.name == "comm")]
    if wanted == "given":
        kind = "MPI_SESSION_NULL" if "Session" in function else "MPI_COMM_NULL"
        return "MPI_COMM_SELF" if bad_parameter.name == "errhandler" else kind
    if wanted == "comm":
        return "comm" if bad_parameter.name != "request" or value in LIVE_COMMS else "MPI_COMM_SELF"
    if wanted == "self" or not kinds:
        return "MPI_COMM_SELF"
    if kinds[0] is bad_parameter:
        return value if value in LIVE_COMMS else "MPI_COMM_SELF"
    valid = rule_of(function, kinds[0], sections).valid
    return valid.replace("&", "")


def write_case(function, parameters, index, bad, sections, other_root=None):
    value, error_class, texts = bad
    parameter = parameters[index]
    if value.startswith("wide: "):
        if parameter.kind != "MPI_Count":
            return
        value = value[6:]
    arguments = [as_c(rule_of(function, p, sections).valid, function, p) for p in parameters]
    if other_root:
        arguments[[p.name for p in parameters].index("root")] = other_root
    arguments[index] = as_c(value, function, parameter)
    classes = [f"MPI_ERR_{c}" for c in error_class.split("|")]
    called = dict(pair.split() for pair in directive(function, "called", sections).split(", "))
    name = called.get(parameter.name, parameter.name)
    told = [f'"{t}"'.replace("NAME", parameter.name) for t in texts] or [f'"{name}"', value_text(value, parameter)]
    owner = owner_of(function, parameters, parameter, value, sections)
    print(f"    begin_case(&(bad_case_t){{{quoted(parameter.name)}, {quoted(value)}, {classes[0]}, {classes[-1]}, (void *){owner},")
    print(f"                              {{{told[0]}, {told[-1]}}}}});")
    print(f"    end_case({function}({', '.join(arguments)}));")


def quoted(text):
    return '"' + text.replace('"', '\\"') + '"'


def write_function(function, parameters, sections):
    print(f"\nstatic void try_{function}(void)\n{{")
    print(f'    begin_function("{function}", "{base_of(function)}");')
    for index, parameter in enumerate(parameters):
        for bad in rule_of(function, parameter, sections).bad:
            write_case(function, parameters, index, bad, sections)
    other_root, *names = (directive(function, "also", sections) or "none").split()
    for index, parameter in enumerate(parameters):
        for bad in rule_of(function, parameter, sections).bad if parameter.name in names else ():
            if not bad[0].startswith("at."):
                write_case(function, parameters, index, bad, sections, other_root)
    print("}")


def main():
    sections, complaints, written = read_list(f"{HERE}/arguments.list"), [], []
    for function, text in all_functions().items():
        if directive(function, "none", sections):
            continue
        parameters = [Parameter(p) for p in text.split(", ")] if text not in ("void", "") else []
        unknown = [p for p in parameters if rule_of(function, p, sections) is None]
        if not parameters:
            complaints.append(f"{function} has no arguments: say why it needs no error tests")
        complaints += [f"arguments.list says nothing about {p.key} of {function}" for p in unknown]
        if parameters and not unknown:
            write_function(function, parameters, sections)
            written.append((function, directive(function, "ranks", sections) or 1))
    print("\nstatic const tried_function_t functions[] = {")
    for function, ranks in written:
        print(f'    {{"{function}", try_{function}, {ranks}}},')
    print("};")
    complaints += [f"arguments.list: no function needs the rule of {n} in [{' '.join(s.patterns)}]"
                   for s in sections for n, r in s.rules.items() if not r.used]
    complaints += [f"arguments.list: no function needs [{' '.join(s.patterns)}]" for s in sections if not s.used]
    complaints += [f"arguments.list: {n} in [{' '.join(s.patterns)}] has neither a bad value nor a reason"
                   for s in sections for n, r in s.rules.items() if not r.bad and not r.reason]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
