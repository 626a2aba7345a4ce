#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Where streams share a hardware queue, an operation may wait for work that stands behind its own
# stream. The library says what the cause may be.
. "$(dirname "$0")/judge.sh"
include=$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")
[ -n "$include" ] || skip "needs cuda.h"
driver=$BUILD/simcuda
"$MPICC" -O1 -g -Wall -Wextra -I"$SOURCE/test/mpi" -I"$SOURCE/test/mpi/cuda" -isystem "$include" \
    "$SOURCE/test/mpi/cuda/enqueue.c" -o "$work/enqueue" -L"$driver" -lcuda -pthread || exit 1
env LD_LIBRARY_PATH="$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" SIMCUDA=connections=1 \
    CUDA_DEVICE_MAX_CONNECTIONS=1 timeout 12 "$MPIRUN" -n 2 ./enqueue 5 1 device >out 2>err
[ $? -eq 124 ] || fail "it ended, though all streams share one queue"
expect_text err 'perhaps they share a hardware queue'
nothing_left
finish
