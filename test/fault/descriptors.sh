#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Virtual memory, memory of pools and multicast objects is shared between processes by file
# descriptors. They reach the other ranks where a container forbids pidfd_getfd, and where each rank
# has a pid namespace of its own, in which all have the same pid.
. "$(dirname "$0")/judge.sh"
include=$(sed -n 's/^cuda_include //p' "$BUILD/test/settings")
[ -n "$include" ] || skip "needs cuda.h"
driver=$BUILD/simcuda
compile fault/deny.c
./deny pidfd_getfd true || skip "no filter of system calls can be installed"
for program in descriptors multicast; do
    "$MPICC" -O1 -g -Wall -Wextra -I"$SOURCE/test/mpi" -isystem "$include" "$SOURCE/test/mpi/cuda/$program.c" \
        -o "$work/$program" -L"$driver" -lcuda || exit 1
done
LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# shares CALL WORDS COMMAND...: it succeeds, and has called the driver so to open memory of others.
# Nothing else is said.
shares() {
    call=$1 words=$2
    shift 2
    expect 0 env SIMCUDA="late=0,tell,$words" "$@"
    expect_text err "$call  *[1-9]"
    ! grep -v '^simcuda: ' err >said || fail "it says: $*: $(cat said)"
}

denied='./deny pidfd_getfd,pidfd_open'
by_multicast=WEFT_COLL_TUNING=$SOURCE/test/mpi/cuda/multicast.conf
for ranks in 2 3; do
    shares cuMemImportFromShareableHandle devices=2 "$MPIRUN" -n $ranks $denied ./descriptors shared-vmm
    shares cuMemPoolImportPointer devices=1 "$MPIRUN" -n $ranks $denied ./descriptors shared-pool
done
shares weft_multicast_sum_F64 devices=4,multicast=1 env TEST_MEMORY=D "$by_multicast" \
    "$MPIRUN" -n 3 $denied ./multicast taken 77

# A rank can then neither open the others' memfd nor read their memory by their pid.
if unshare --pid --fork true 2>/dev/null; then
    WEFT_SHM=file WEFT_CMA=no
    export WEFT_SHM WEFT_CMA
    shares cuMemImportFromShareableHandle devices=2 "$MPIRUN" -n 2 unshare --pid --fork ./descriptors shared-vmm
    shares cuMemPoolImportPointer devices=2 "$MPIRUN" -n 3 unshare --pid --fork ./descriptors shared-pool
fi
nothing_left
finish
