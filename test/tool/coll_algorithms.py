#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The programs of test/mpi/coll with every algorithm of every collective, by tables for WEFT_COLL_TUNING.

Table k takes the k-th algorithm of each collective, with a radix and segments that are not the default
where it has them; weft_info lists them. The ranks are on one host or, by WEFT_SIMULATE_HOSTS, seem to be on
several.
"""
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["SOURCE"], os.environ["BUILD"]
MIXED, IN_ORDER, ONE_HOST = (5, "0,1,0,2,1"), (7, "0,0,0,1,1,2,2"), (3, "")
PROGRAMS = {"moves": (MIXED,), "reductions": (MIXED,), "outstanding": (ONE_HOST,), "float_bits": (IN_ORDER,)}


def algorithms():
    """{collective: [(name with options, does it have needs?)]}, in the order of weft_info."""
    words = subprocess.run([f"{BUILD}/weft_info", "--algorithms"], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in words.splitlines():
        if line.startswith("#"):
            continue
        collective, name, options, needs, _ = line.split(maxsplit=4)
        value = {"radix": ",radix=3", "segment": ",segment=64", "-": ""}
        full = name + "".join(value[option] for option in options.split(","))
        found.setdefault(collective, []).append((full, needs != "-"))
    return found


def table(found, index):
    lines = []
    for collective, rows in found.items():
        lines.append(f"{collective} any any any {rows[index % len(rows)][0]}\n")
        # Algorithms without needs follow, for calls that the first cannot do, so that the table is
        # complete.
        lines += [f"{collective} any any any {name}\n" for name, needs in rows if not needs]
    return "".join(lines)


def compile_program(name, folder):
    output = f"{folder}/{name}"
    subprocess.run([f"{BUILD}/tools/mpicc", "-O1", f"-I{SOURCE}/test/mpi", "-o", output,
                    f"{SOURCE}/test/mpi/coll/{name}.c"], check=True)
    return output


def run(program, place, path, folder):
    ranks, nodes = place
    environment = dict(os.environ, WEFT_COLL_TUNING=path, WEFT_SIMULATE_HOSTS=nodes)
    try:
        done = subprocess.run([f"{BUILD}/mpirun", "-np", str(ranks), program], env=environment, timeout=60, cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        words = done.stdout if done.returncode or done.stdout else ""
    except subprocess.TimeoutExpired:
        words = "takes longer than a minute\n"
    return f"{os.path.basename(program)} on {ranks} ranks, nodes {nodes or 0}: {words}" if words else ""


def main():
    complaints = []
    found = algorithms()
    if len(found) != 17:
        sys.exit(f"17 collectives have tables of algorithms, but {len(found)} are found: {' '.join(found)}")
    with tempfile.TemporaryDirectory() as folder:
        programs = {compile_program(name, folder): places for name, places in PROGRAMS.items()}
        for index in range(max(len(rows) for rows in found.values())):
            path = f"{folder}/table{index}"
            with open(path, "w") as out:
                out.write(table(found, index))
            failures = [run(program, place, path, folder)
                        for program, places in programs.items() for place in places]
            if any(failures):
                complaints += [f"with this table:\n{table(found, index)}"] + [f for f in failures if f]
    print("".join(complaints), end="")
    sys.exit(1 if complaints else 0)


main()
