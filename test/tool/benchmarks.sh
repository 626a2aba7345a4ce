#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every benchmark runs a few iterations, and its own check of the results (-c) passes.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for program in weft_latency weft_bw weft_coll weft_datatype weft_forms weft_init weft_serve weft_streams; do
    "$MPICC" -O1 -Wall -Wextra -o "$place/$program" "$SOURCE/benchmarks/$program.c" "$SOURCE"/benchmarks/bench*.c -ldl
done

check() { # ranks program argument...
    ranks=$1 program=$2
    shift 2
    timeout 60 "$MPIRUN" -np "$ranks" "$place/$program" "$@" > "$place/out" 2>&1 || {
        echo "$program $* on $ranks ranks:"
        cat "$place/out"
        exit 1
    }
}

for way in received probed any tested; do
    check 3 weft_streams $way -i 20 -s 8,100K
done
check 2 weft_latency -i 20 -c -s 0,8,100K
check 5 weft_serve -i 20 -c -s 0,8,20K
for kind in bw bibw mbw_mr; do
    check 2 weft_bw $kind -i 3 -c -s 1,64K
    check 2 weft_bw $kind -i 3 -c -s 1,64K --lead 16:32
done
check 5 weft_bw mbw_mr -i 3 -c -s 1,64K
for collective in barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw \
    reduce allreduce reduce_scatter reduce_scatter_block scan exscan; do
    check 3 weft_coll $collective -i 3 -c -s 4,28,100K
done
for layout in vector4 vector8 vector24 face particles pairs listed ragged two_vectors; do
    check 1 weft_datatype pack_$layout -i 3 -c -s 1,100,64K
    check 2 weft_datatype unpack_$layout -i 3 -c -s 1,100,64K
done
for form in ibarrier ibcast iallgather ialltoall iallreduce allreduce_init neighbor_alltoall neighbor_messages; do
    check 3 weft_forms $form -i 3 -s 4,100K
done
check 3 weft_init --json

# Device memory on the simulated driver: direct, staged, strided, on one side only.
[ -e "$BUILD/simcuda/libcuda.so.1" ] && [ -z "$SANITIZERS" ] || exit 0
LD_LIBRARY_PATH=$BUILD/simcuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
for placement in "D D" "H D" "M M"; do
    check 2 weft_latency -i 3 -c -s 0,8,100K --turns 1 $placement
    check 2 weft_latency -i 3 -c -s 64,64K --vector 8:24 --turns 1 $placement
    check 2 weft_bw bibw -i 2 -c -s 8,64K --turns 1 -W 4 $placement
    check 3 weft_coll all -i 2 -c -s 4,100K --staged $placement
done
check 3 weft_coll bcast,allgather -i 2 -c -s 8,100K --turns 1 -d cuda
