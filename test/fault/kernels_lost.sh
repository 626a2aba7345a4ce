#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# With WEFT_RECOVERY=yes, ranks that die, stop, fail to launch or revoke the communicator while kernels in the streams of all wait for
# each other: the streams of the others go on, their next call tells of it, and they reduce together again.
. "$(dirname "$0")/judge.sh"
. "$SOURCE/test/fault/start_ranks.sh"
include=$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")
[ -n "$include" ] || skip "needs cuda.h"
driver=$BUILD/simcuda
"$MPICC" -O1 -g -Wall -Wextra -I"$SOURCE/test/mpi" -I"$SOURCE/test/mpi/cuda" -isystem "$include" \
    "$SOURCE/test/fault/kernels_lost.c" -o "$work/kernels_lost" -L"$driver" -lcuda -pthread || exit 1
LD_LIBRARY_PATH=$driver:$BUILD/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
WEFT_RECOVERY=yes WEFT_LOG=error WEFT_DEVICE_WAIT_MAX=1
export LD_LIBRARY_PATH ASAN_OPTIONS WEFT_RECOVERY WEFT_LOG WEFT_DEVICE_WAIT_MAX

# lose SIMCUDA RANKS DEATHS WHERE VICTIM
lose() {
    SIMCUDA=$1
    export SIMCUDA
    start $2 sh -c 'SLURM_PROCID=$RANK exec "$@"' sh ./kernels_lost $4 $5 # simcuda asks for the rank there
    [ "$(ended 137)" -eq $3 ] && [ "$(ended 0)" -eq $(($2 - $3)) ] && [ ! -s out ] ||
        fail "$*: codes $(tr '\n' ' ' <codes): $(head -c 900 out)"
}

for ranks in 2 3 5; do
    lose devices=5,late=0 $ranks 1 before 1
    lose devices=5,late=0 $ranks 1 graph 0
done
lose devices=3,late=0 3 0 revoke 2
lose devices=3,late=0 3 0 stopped 1
lose devices=3,late=0,fail=weft_exchange_sum_U32:13@1 3 0 launch 1
# the victim ends before its own kernel: the first or a later one behind those that go well
for kernel in weft_exchange_sum_U32:11 weft_exchange_sum_U32:14; do
    lose "devices=3,late=0,kill=$kernel@1" 3 1 driver 1
    lose "devices=5,late=5,kill=$kernel@0" 5 1 driver 0
done
finish
