#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/report.py: modes, medians, ratios and gaps of a small made-up comparison."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "benchmarks"))
import report


def run(mpi, row, line_ns, values, status="ok"):
    return {"mpi": mpi, "row": row, "ranks": 2, "line_ns": line_ns, "values": values, "status": status}


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
]

with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/data.json", "w") as file:
        json.dump(DATA, file)
    report.write(folder)
    with open(f"{folder}/table.md") as file:
        table = file.read()
    with open(f"{folder}/plot.svg") as file:
        plot = file.read()
missing = [text for text in EXPECTED if text not in table] + [t for t in ("</svg>", "latency 8 B") if t not in plot]
for text in missing:
    print(f"not found: {text}")
if missing:
    print(table)
sys.exit(1 if missing else 0)
