#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# System calls that the library uses if it can and that containers forbid: results are right without
# them, and a job says once what makes it slower.
. "$(dirname "$0")/judge.sh"
[ -z "${SANITIZERS:-}" ] || skip "sanitizers make the calls that are denied here"
compile outside/all_sorts.c fault/deny.c

# runs RANKS LINES COMMAND...: it succeeds, with so many lines on stderr
runs() {
    ranks=$1 lines=$2
    shift 2
    expect 0 "$@"
    expect_output "Weft on $ranks ranks"
    [ "$(wc -l <err)" -eq "$lines" ] || fail "$(wc -l <err) lines on stderr, not $lines: $*: $(cat err)"
}

./deny process_vm_readv true || skip "no filter of system calls can be installed"
runs 4 0 "$MPIRUN" -n 4 ./all_sorts
for ranks in 2 5; do
    runs $ranks 1 "$MPIRUN" -n $ranks ./deny process_vm_readv,process_vm_writev ./all_sorts
    expect_text err 'may not read each other.s memory (process_vm_readv: Operation not permitted)'
    runs $ranks 0 env WEFT_CMA=no "$MPIRUN" -n $ranks ./deny process_vm_readv ./all_sorts
    runs $ranks 0 env WEFT_CMA=no "$MPIRUN" -n $ranks ./all_sorts
done
# The call is denied to one rank only
runs 4 1 "$MPIRUN" -n 2 ./all_sorts : -n 1 ./deny process_vm_readv ./all_sorts : -n 1 ./all_sorts
for call in memfd_create membarrier sched_getaffinity; do
    runs 3 0 "$MPIRUN" -n 3 ./deny $call ./all_sorts
done
runs 3 0 ./deny sock_diag "$MPIRUN" -n 3 ./all_sorts
runs 3 1 "$MPIRUN" -n 3 ./deny process_vm_readv,memfd_create,membarrier ./all_sorts
nothing_left
finish
