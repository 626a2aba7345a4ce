#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tools hear of it when ranks may not read each other's memory: each rank that may not, once.
. "$(dirname "$0")/judge.sh"
[ -z "${SANITIZERS:-}" ] || skip "sanitizers make the calls that are denied here"
compile fault/fallback.c fault/deny.c
./deny process_vm_readv true || skip "no filter of system calls can be installed"
expect 0 "$MPIRUN" -n 1 ./deny process_vm_readv ./fallback 0 # there is no other process
for ranks in 2 5; do
    expect 0 "$MPIRUN" -n $ranks ./fallback 0
    expect 0 env WEFT_CMA=no "$MPIRUN" -n $ranks ./fallback 0
    expect 0 "$MPIRUN" -n $ranks ./deny process_vm_readv ./fallback $ranks
done
# The call is denied to one rank only.
expect 0 "$MPIRUN" -n 2 ./fallback 1 : -n 1 ./deny process_vm_readv ./fallback 1
finish
