#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# benchmarks/gpu-run: a short session on the simulated driver succeeds, its results are right, its
# report can be made again from data.json, and a second session does what is left of it.
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

# session OUT OPTION...
session() {
    out=$place/$1
    shift
    "$SOURCE/benchmarks/gpu-run" --simulated --build "$BUILD" --out "$out" "$@" > "$place/log" 2>&1 || {
        cat "$place/log"
        sed -n '/did not end well/,/^## The card/p; /^## The sim/,/^compute/p' "$out/table.md"
        exit 1
    }
}

# has WORDS...: each is in the table
has() {
    for words; do
        grep -q -e "$words" "$out/table.md" || {
            echo "not in table.md: $words"
            cat "$place/log" "$out/table.md"
            exit 1
        }
    done
}

session first --only facts,simcuda,limits,benchmarks --jobs weft_coll,weft_bw
has "simulated driver" "allreduce, 3 ranks, D D" "allreduce, copied, 3 ranks, V V" "bw, 2 ranks, D D" "copy from another process" "^[1-9][0-9]* passed, 0 failed" \
    "| direct" "GPU 0000:1B:00.0  2 ranks" "cuda: works on device"
session second --from "$place/first"
has "^2 passed, 0 failed" "allreduce, 3 ranks, D D" "latency, 2 ranks, D H" "blocks of 8 B every 64 B" "It goes on from"
grep -q weft_latency "$place/log"
if grep -q -e weft_coll "$place/log"; then
    echo "a benchmark was run again"
    exit 1
fi
grep -q "</svg>" "$out/plot.svg"
mkdir "$place/again"
cp "$out/data.json" "$place/again"
"$SOURCE/benchmarks/gpu-run" --report "$place/again"
cmp "$out/table.md" "$place/again/table.md"
cmp "$out/plot.svg" "$place/again/plot.svg"
