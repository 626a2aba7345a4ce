#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/tune: which rows follow from made-up times, and a table of a short run that Weft reads without a warning."""
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["SOURCE"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SOURCE, "benchmarks"))
import tuning_rows
from tuning_rows import BUILT_IN, Cell

failures = 0


def expect(what, found, expected):
    global failures
    if found != expected:
        failures += 1
        print(f"{what}: {found}; expected {expected}")


def times(built_in, **others):
    """Three sizes; five rounds, all alike."""
    return {name: {8 << 10 * i: [value] * 5 for i, value in enumerate(values)}
            for name, values in {BUILT_IN: built_in, **others}.items()}


def lines(coll, times, ranks=4, numbers=(4,)):
    words = tuning_rows.rank_words(numbers)
    return [tuning_rows.line_of(row, words[ranks]).split("#")[0].split() for row in tuning_rows.rows_of(Cell(coll, "enough", ranks, times))]


expect("nothing is faster", lines("bcast", times([1, 1, 1], flat=[1, 0.95, 2])), [])
expect("one size", lines("bcast", times([1, 1, 1], flat=[2, 0.5, 2])), [["bcast", "enough", "any", "256..256K", "flat"]])
expect("neighbours", lines("bcast", times([1, 1, 1], flat=[0.8, 0.5, 2])), [["bcast", "enough", "any", "<256K", "flat"]])
expect("all", lines("bcast", times([1, 1, 1], flat=[0.8, 0.5, 0.7])), [["bcast", "enough", "any", "any", "flat"]])
expect("two algorithms", lines("bcast", times([1, 1, 1], flat=[0.8, 0.5, 2], bine=[0.7, 0.9, 0.6])),
       [["bcast", "enough", "any", "<256", "bine"], ["bcast", "enough", "any", "256..256K", "flat"],
        ["bcast", "enough", "any", ">=256K", "bine"]])
expect("a call without bytes", lines("alltoallv", times([1, 1, 1], direct=[0.5, 0.5, 1.1])), [])
expect("a call without bytes, all faster", lines("alltoallv", times([1, 1, 1], direct=[0.5, 0.5, 0.8])),
       [["alltoallv", "enough", "any", "any", "direct"]])
expect("one that failed in a round", lines("bcast", {BUILT_IN: {8: [1, 1, 1]}, "flat": {8: [0.1, 0.1]}}), [])
expect("one that was slower in two of five", lines("bcast", {BUILT_IN: {8: [1] * 5}, "flat": {8: [0.1, 0.1, 0.1, 1.1, 1.2]}}), [])
expect("ranks", tuning_rows.rank_words([2, 4, 8, 16]), {2: "<=3", 4: "4..6", 8: "7..12", 16: ">=13"})
expect("ranks, neighbours", tuning_rows.rank_words([2, 3]), {2: "<=2", 3: ">=3"})

ROW = tuning_rows.Row("bcast", "enough", 4, 256, None, "flat", 0.5)
expect("held", tuning_rows.held(ROW, times([1, 1, 1], new=[9, 0.7, 0.8])), ROW._replace(ratio=0.8))
expect("not held", tuning_rows.held(ROW, times([1, 1, 1], new=[0.1, 0.7, 1])), None)

with tempfile.TemporaryDirectory() as folder:
    table = f"{folder}/tuning.conf"
    command = [f"{SOURCE}/benchmarks/tune", "--build", BUILD, "--only", "barrier,scan", "--ranks", "2", "3", "--sizes", "8,64K",
               "--rounds", "2", "--seconds", "0.005", "--out", table]
    done = subprocess.run(command, capture_output=True, text=True)
    expect("tune", (done.returncode, done.stdout), (0, f"{table}\n"))
    expect("lines about what was measured", sum("algorithms," in line for line in done.stderr.splitlines()), 4)
    for what in ("barrier, 2 ranks", "barrier, 3 ranks", "scan, 2 ranks", "scan, 3 ranks"):
        expect(f"a line about {what}", done.stderr.count(what), 1)
    expect("files that are left", os.listdir(folder), ["tuning.conf"])
    explained = subprocess.run([f"{BUILD}/weft_info", "--explain", "scan", "3", "64K"], capture_output=True, text=True,
                               env={**os.environ, "WEFT_COLL_TUNING": table})
    expect("Weft's opinion of the table", (explained.returncode, explained.stderr), (0, ""))
    expect("the table is used", f"of {table}" in explained.stdout, True)
sys.exit(1 if failures else 0)
