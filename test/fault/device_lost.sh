#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# With WEFT_RECOVERY=yes, ranks that die while all reduce device memory: no other rank hangs, all see the error that ULFM
# names, and the ranks that are left reduce device memory together again. Simulated devices: one for all, where one rank
# works for all, and one for each, where each does a part, and kernels wait for each other.
. "$(dirname "$0")/judge.sh"
. "$SOURCE/test/fault/start_ranks.sh"
[ -n "$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")" ] || skip "needs cuda.h"
"$MPICC" -O1 -g -Wall -Wextra -I"$SOURCE/test/mpi" "$SOURCE/test/fault/device_lost.c" -o "$work/device_lost" -ldl || exit 1
LD_LIBRARY_PATH=$BUILD/simcuda:$BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
WEFT_RECOVERY=yes TEST_MEMORY=D WEFT_LOG=error
export LD_LIBRARY_PATH ASAN_OPTIONS WEFT_RECOVERY TEST_MEMORY WEFT_LOG

# lose SIMCUDA RANKS WHERE VICTIM COUNT [SEED]
lose() {
    SIMCUDA=$1
    export SIMCUDA
    start $2 sh -c 'SLURM_PROCID=$RANK exec "$@"' sh ./device_lost $3 $4 $5 ${6:-0} # simcuda asks for the rank there
    [ "$(ended 137)" -eq 1 ] && [ "$(ended 0)" -eq $(($2 - 1)) ] && [ ! -s out ] ||
        fail "$*, hosts ${WEFT_SIMULATE_HOSTS:-1}: codes $(tr '\n' ' ' <codes): $(head -c 900 out)"
}

# by the driver's calls: rank VICTIM ends at its N-th call NAME, where it works for all or does its part
lose_in() {
    lose "$1,kill=$2@$4" $3 driver $4 $5
}

small=2 middle=20000 large=262144
for where in before arrived begun after; do
    for devices in 1 3; do
        lose devices=$devices,late=0 3 $where 1 $small
        lose devices=$devices,late=0 5 $where 4 $large
    done
done
for seed in 1 2; do
    lose devices=1 5 amid 0 $small $seed
    lose devices=3 3 amid 2 $small $seed
    lose devices=3 3 amid 0 $large $seed
    lose devices=5 5 amid 3 $large $seed
    WEFT_SIMULATE_HOSTS=0,1,1,0,1 lose devices=2 5 amid 2 $large $seed
done
for call in cuLaunchKernel:1 cuLaunchKernel:6 cuIpcOpenMemHandle:1 cuIpcOpenMemHandle:3; do
    lose_in devices=1,late=0 $call 3 0 $large
    lose_in devices=3,late=0 $call 3 1 $large
    lose_in devices=3,late=0 $call 5 2 $small
done
# Devices that do not reach each other: the victim's shelf is being read, or it reads another one's.
for call in cuMemHostRegister:2 cuMemcpyAsync:4 cuMemcpyAsync:9 cuMemcpyAsync:14; do
    lose_in devices=3,peers=none,late=0 $call 3 1 $large
    lose_in devices=5,peers=none $call 5 2 $large
done
# Kernels wait for each other: the victim ends before its own kernel.
for kernel in weft_exchange_sum_F32:1 weft_exchange_sum_F32:7; do
    lose_in devices=3,late=0 $kernel 3 1 $small
    lose_in devices=5,late=0 $kernel 5 0 $middle
done
# The same by multicast, out of and into bound buffers, and while these are being bound.
TEST_MEMORY=V WEFT_DEVICE_BIND_MIN=0 WEFT_COLL_TUNING=$SOURCE/test/mpi/cuda/multicast.conf
export TEST_MEMORY WEFT_DEVICE_BIND_MIN WEFT_COLL_TUNING
for call in weft_multicast_sum_F32:2 weft_multicast_sum_F32:30 cuMulticastBindAddr:1 cuMulticastBindAddr:2; do
    lose_in devices=3,multicast=1,late=0 $call 3 1 $middle
    lose_in devices=5,multicast=1,late=0 $call 5 0 $large
done
lose devices=3,multicast=1,late=0 3 after 1 $middle
finish
