#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The messages to the user when the driver refuses or fails, and when data take a slower path: they
# name the call, the reason and the object, once.
. "$(dirname "$0")/judge.sh"
include=$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")
[ -n "$include" ] || skip "needs cuda.h"
driver=$BUILD/simcuda
"$MPICC" -O1 -g -Wall -Wextra -I"$SOURCE/test/mpi" -isystem "$include" "$SOURCE/test/mpi/cuda/messages.c" -o "$work/messages" \
    -L"$driver" -lcuda || exit 1

# run WORDS RANKS KIND [ENVIRONMENT]: the words are for the simulated driver
run() {
    set -- "$1" "$2" "$3" "${4:-WEFT_DEVICE=auto}"
    env LD_LIBRARY_PATH="$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" SIMCUDA="late=0,$1" "$4" timeout 60 \
        "$MPIRUN" -n "$2" ./messages "$3" >out 2>err
}

# notes TEXT WORDS RANKS KIND: it succeeds, and prints this line alone
notes() {
    text=$1
    shift
    run "$@" || fail "exit code $?: $*"
    expect_text err "$text"
    [ "$(wc -l <err)" -eq 1 ] || fail "$(wc -l <err) lines on stderr, not 1: $*: $(cat err)"
}

# breaks TEXT WORDS RANKS KIND [ENVIRONMENT]: the job ends with this text
breaks() {
    text=$1
    shift
    run "$@" && fail "it went well: $*"
    expect_text err "$text"
}

breaks 'MPI_.*copying [0-9]* bytes from 0x[0-9a-f]* to 0x[0-9a-f]*: cuMemcpyAsync failed: CUDA_ERROR_' \
    fail=cuMemcpyAsync:5 2 device
breaks 'MPI_.*: cuMemcpyAsync failed: CUDA_ERROR_' fail=cuMemcpyAsync:3+@0 2 device WEFT_DEVICE_IPC=no
breaks 'MPI_.*failed: CUDA_ERROR_ILLEGAL_ADDRESS' fault=2 2 device
notes 'managed memory cannot be shared between processes; such messages go through pinned host' "" 3 managed
notes 'create the pool with handle type POSIX_FILE_DESCRIPTOR; such messages' "" 2 pool
notes 'two devices of this host cannot reach each other' devices=2,peers=none 2 device
notes 'device 0000:[0-9A-F:.]* reaches the memory of device 0000:[0-9A-F:.]*, but what it writes there is lost; such messages' \
    devices=2,peers_lie=0-1 2 device
notes 'let each rank see all devices' devices=2,per_task=1 2 device
notes 'the driver gives no handles of device memory for other processes' fail=cuIpcGetMemHandle:1+ 2 device
notes 'cuMemHostAlloc of [0-9]* bytes: CUDA_ERROR_' fail=cuMemHostAlloc:1+ 2 device
notes 'processes share (cuMemHostRegister of [0-9]* bytes: CUDA_ERROR_' fail=cuMemHostRegister:1+ 2 device WEFT_DEVICE_IPC=no
notes 'does not take Weft.s kernels (cuModuleLoadData: CUDA_ERROR_' fail=cuModuleLoadData:1+ 2 device
[ -e "$BUILD/src/cuda/kernels/kernels.fatbin" ] && # else there are none that an old driver could refuse
    notes 'compiled by CUDA [0-9.]* and need a driver of version [0-9.]* or later, and this one is for CUDA 10.2' \
        version=10020,fail=cuModuleLoadData:1+:222 2 device
nothing_left
finish
