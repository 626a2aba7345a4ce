#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# benchmarks/gpu-run: a short session on the simulated driver succeeds, its results are right, and
# its report can be made again from data.json.
set -eu
[ -e "$BUILD/simcuda/libcuda.so.1" ] || {
    echo "needs cuda.h"
    exit 77
}
[ -z "$SANITIZERS" ] || {
    echo "is about programs without sanitizers"
    exit 77
}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$SOURCE/benchmarks/gpu-run" --simulated --build "$BUILD" --out "$place/out" > "$place/log" 2>&1 || {
    cat "$place/log"
    sed -n '/did not end well/,/^## The card/p; /^## Tests/,/^compute/p' "$place/out/table.md"
    exit 1
}
for words in "simulated driver" "allreduce, 3 ranks, D D" "latency, 2 ranks, D H" "blocks of 8 B every 64 B" "bw, 2 ranks, D D" \
    "copy from another process" " 0 failed"; do
    grep -q "$words" "$place/out/table.md" || {
        echo "not in table.md: $words"
        cat "$place/log" "$place/out/table.md"
        exit 1
    }
done
grep -q "</svg>" "$place/out/plot.svg"
mkdir "$place/again"
cp "$place/out/data.json" "$place/again"
"$SOURCE/benchmarks/gpu-run" --report "$place/again"
cmp "$place/out/table.md" "$place/again/table.md"
cmp "$place/out/plot.svg" "$place/again/plot.svg"
