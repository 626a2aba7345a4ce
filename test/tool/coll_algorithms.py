#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The programs of test/mpi/coll with every algorithm of every collective, by tables for WEFT_COLL_TUNING.

Table k takes the k-th algorithm of each collective. What the source offers is read from its tables:
a row of src/coll/*/*.c is {"name", function, needs, "cost"}.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["SOURCE"], os.environ["BUILD"]
PROGRAMS, RANKS = ("moves", "reductions", "outstanding", "float_bits"), (3, 5)


def algorithms():
    """{collective: [(name, does it need something)]}, in the order of the source."""
    found = {}
    for path in sorted(glob.glob(f"{SOURCE}/src/coll/*/*.c")):
        with open(path) as text:
            for table in re.finditer(r"weft_(\w+)_algorithms\[\] = \{(.*?)\{0\},", text.read(), re.S):
                rows = re.findall(r'\{"(\w+)", \w+, (\w+),', table.group(2))
                found[table.group(1)] = [(name, needs != "0") for name, needs in rows]
    return found


def table(found, index):
    lines = []
    for collective, rows in found.items():
        lines.append(f"{collective} any any any {rows[index % len(rows)][0]}\n")
        # What the first cannot do, and what makes the table complete.
        lines += [f"{collective} any any any {name}\n" for name, needs in rows if not needs]
    return "".join(lines)


def compile_program(name, folder):
    output = f"{folder}/{name}"
    subprocess.run([f"{BUILD}/tools/mpicc", "-O1", f"-I{SOURCE}/test/mpi", "-o", output,
                    f"{SOURCE}/test/mpi/coll/{name}.c"], check=True)
    return output


def run(program, ranks, path, folder):
    environment = dict(os.environ, WEFT_COLL_TUNING=path)
    try:
        done = subprocess.run([f"{BUILD}/mpirun", "-np", str(ranks), program], env=environment, timeout=60, cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        words = done.stdout if done.returncode or done.stdout else ""
    except subprocess.TimeoutExpired:
        words = "takes longer than a minute\n"
    return f"{os.path.basename(program)} on {ranks} ranks: {words}" if words else ""


def main():
    complaints = []
    found = algorithms()
    if len(found) != 17:
        sys.exit(f"17 collectives have tables of algorithms, but {len(found)} are found: {' '.join(found)}")
    with tempfile.TemporaryDirectory() as folder:
        programs = [compile_program(name, folder) for name in PROGRAMS]
        for index in range(max(len(rows) for rows in found.values())):
            path = f"{folder}/table{index}"
            with open(path, "w") as out:
                out.write(table(found, index))
            failures = [run(program, ranks, path, folder) for program in programs for ranks in RANKS]
            if any(failures):
                complaints += [f"with this table:\n{table(found, index)}"] + [f for f in failures if f]
    print("".join(complaints), end="")
    sys.exit(1 if complaints else 0)


main()
