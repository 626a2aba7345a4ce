#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/report.py: modes, medians, ratios and gaps of a small made-up comparison; plan.py: the program of each row."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "benchmarks"))
import plan
import report


def run(mpi, row, line_ns, values, status="ok"):
    return {"mpi": mpi, "row": row, "ranks": 2, "repetition": 0, "line_ns": line_ns, "values": values, "status": status}


NEAR, FAR, MOVED = [50, 55], [150, 160], [50, 160]
DATA = {
    "date": "2026-01-01 00:00", "commit": "0000000", "settings": {"repetitions": 3, "mode_bounds_ns": [36, 90]},
    "machine": {"cpu": "a processor", "cores": 2, "is_virtual": True, "memory_GiB": 1, "kernel": "6", "system": "Linux"},
    "mpis": [{"name": n, "label": n, "library": n} for n in ("weft", "mpich", "openmpi")],
    "runs": [run("weft", "latency", NEAR, {"8": 0.2}), run("weft", "latency", NEAR, {"8": 0.4}),
             run("weft", "latency", NEAR, {"8": 0.3}), run("weft", "latency", MOVED, {"8": 9.0}),
             run("mpich", "latency", NEAR, {"8": 0.6}), run("openmpi", "latency", NEAR, {"8": 0.5}),
             run("weft", "bw", NEAR, {"1024": 4000}), run("mpich", "bw", NEAR, {"1024": 2000}),
             run("openmpi", "bw", NEAR, {}, "timeout"), run("mpich", "barrier", FAR, {"0": 1.0})],
}
EXPECTED = [
    "1 of 10 runs saw a change",
    "## 2 ranks, cores near",
    "| latency 8 B | us | **0.300** (0.200..0.400) | 0.600 | 0.500 | 0.60 | 1-3 |",
    "| bw 1 KiB | MB/s | **4000** | 2000 | timeout | 0.50 | 1 |",
    "Weft is ahead in 2 of 2 rows; geometric mean of Weft / best: 0.55.",
    "## 2 ranks, cores far",
    "| barrier | us | - | **1.00** | - | - | 1 |",
    "| 2 | latency 8 B | 0.60 | 0.60 | 1 of 1 |",
]

# As compare --append does: two repetitions are kept, and one is added.
OLD = {**DATA, "runs": [{**r, "repetition": i % 2} for i, r in enumerate(DATA["runs"])]}
NEW = {**DATA, "settings": {"repetitions": 1}, "mpis": [{"name": "intel"}], "runs": [{"mpi": "intel", "repetition": 0}]}
both = report.joined(OLD, NEW)
found = ([r["repetition"] for r in both["runs"]], [m["name"] for m in both["mpis"]], both["settings"]["repetitions"])
if found != ([0, 1] * 5 + [2], ["weft", "mpich", "openmpi", "intel"], 3):
    sys.exit(f"joined: {found}")

# As with --node: two starts, in which the barrier reaches its target once, and an allreduce is slower than reduce and bcast.
IN_DEPTH = {
    **DATA, "settings": {**DATA["settings"], "node": True},
    "runs": [{**run(mpi, row, NEAR, {bytes: value}), "repetition": repetition}
             for repetition, (ours, theirs) in enumerate([(0.4, 1.0), (0.8, 1.0)])
             for mpi, row, bytes, value in (("weft", "barrier", "0", ours), ("mpich", "barrier", "0", theirs), ("weft", "reduce", "8", 0.2),
                                            ("weft", "bcast", "8", 0.3), ("weft", "allreduce", "8", 1.0))],
}
EXPECTED_IN_DEPTH = [
    "| 2 | barrier | 0.50 | 0.40 0.80 | 1 of 2 |",
    "| 2 | barrier | allreduce 8 B | 0.60 |",
    "| 2 | allreduce 8 B | reduce + bcast | 2.00 |",
    "| 2 | reduce 8 B | allreduce | 0.20 |",
]


def written(data):
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/data.json", "w") as file:
            json.dump(data, file)
        report.write(folder)
        with open(f"{folder}/table.md") as table, open(f"{folder}/plot.svg") as plot:
            return table.read(), plot.read()


def complain(expected, text):
    missing = [e for e in expected if e not in text]
    for e in missing:
        print(f"not found: {e}")
    if missing:
        print(text)
    return bool(missing)


def wrong_programs():
    """Programs that plan.py takes for another one than the build does, in words. (weft_datatype has links of compare's own.)"""
    with open(os.path.join(os.environ["SOURCE"], "benchmarks", "Makefile.inc")) as file:
        links = file.read().split()
    return [f"{name} is not {source}" for source, names in plan.PROGRAMS.items() for name in names
            if source not in (name, "weft_datatype") and f"{source[5:]}:{name[5:]}" not in links]


wrong = wrong_programs()
print(*wrong, sep="\n")
table, plot = written(DATA)
missing = complain(EXPECTED, table) | complain(("</svg>", "latency 8 B"), plot) | complain(EXPECTED_IN_DEPTH, written(IN_DEPTH)[0])
sys.exit(1 if missing or wrong else 0)
