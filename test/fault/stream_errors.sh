#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The messages to the user when operations in a stream fail; and a job must end whose streams wait
# for a rank that has died.
. "$(dirname "$0")/judge.sh"
include=$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")
[ -n "$include" ] || skip "needs cuda.h"
driver=$BUILD/simcuda

# compile SOURCE PROGRAM
compile() {
    "$MPICC" -O1 -g -Wall -Wextra -I"$SOURCE/test/mpi" -I"$SOURCE/test/mpi/cuda" -isystem "$include" "$SOURCE/test/$1" \
        -o "$work/$2" -L"$driver" -lcuda -pthread || exit 1
}

# breaks TEXT WORDS RANKS PROGRAM [ARGUMENTS]: the job ends with this text; WORDS are for the
# simulated driver
breaks() {
    text=$1 words=$2 ranks=$3
    shift 3
    env LD_LIBRARY_PATH="$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" SIMCUDA="$words" timeout 60 \
        "$MPIRUN" -n "$ranks" "$@" >out 2>err
    code=$?
    [ "$code" -ne 0 ] || fail "it went well: $words $*"
    [ "$code" -ne 124 ] || fail "it did not end: $words $*"
    expect_text err "$text"
}

compile mpi/cuda/enqueue.c enqueue
compile fault/stream_dies.c stream_dies
breaks 'MPIX_Stream_create: stream 0x[0-9a-f]*: cuStreamGetCtx failed: CUDA_ERROR_' fail=cuStreamGetCtx:1@0 2 ./enqueue 5 1 device
breaks 'MPIX_[A-Za-z_]*_enqueue: stream 0x[0-9a-f]*: cuLaunchHostFunc failed: CUDA_ERROR_' fail=cuLaunchHostFunc:9@1 2 \
    ./enqueue 5 1 device
breaks 'MPIX_[A-Za-z_]*_enqueue: .*fail' fail=cuLaunchKernel:1+@0 2 ./enqueue 5 1 device
breaks 'rank 2' '' 3 ./stream_dies
compile fault/stream_breaks.c stream_breaks
breaks 'MPI_Wait: device .*CUDA_ERROR_ILLEGAL_ADDRESS' 'devices=1;late=0;fault=1' 2 ./stream_breaks
nothing_left
finish
