#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ranks end suddenly while others are blocked: the job ends, one line names the rank, its host and
# the cause, the exit code agrees, and nothing is left.
. "$(dirname "$0")/judge.sh"
compile fault/ends.c

# one_line: mpirun prints one line, and no rank prints another
one_line() {
    [ "$(wc -l <err)" -eq 1 ] || fail "more than one line: $(cat err)"
}

# ends CODE HOW PATTERN: wherever the other ranks are, and in jobs of several sizes. A single rank
# may exit with 0 without MPI_Finalize, since no other rank waits for it.
ends() {
    for where in recv allreduce barrier pause; do
        for ranks in 2 4 7; do
            expect "$1" "$MPIRUN" -n $ranks ./ends $where "$2" 1
            expect_text err "^mpirun: rank 1 (process [0-9]* on $host) $3"
            one_line
        done
    done
    nothing_left
    [ "$2" != exit=0 ] || return
    expect "$1" "$MPIRUN" -n 1 ./ends recv "$2" 0
    expect_text err "^mpirun: rank 0 (process [0-9]* on $host) $3"
    one_line
}
ends 137 kill 'was killed by signal 9'
ends 139 segv 'was killed by signal 11 (Segmentation fault)'
ends 7 abort=7 'aborted the job with code 7: MPI_Abort was called with error code 7'
ends 1 abort=256 'aborted the job with code 256'
ends 3 exit=3 'exited with code 3'
ends 1 exit=0 'exited without calling MPI_Finalize'

# While the others make a communicator
for where in dup split create_group idup; do
    for ranks in 2 4 7; do
        expect 137 "$MPIRUN" -n $ranks ./ends $where kill 1
        expect_text err "^mpirun: rank 1 (process [0-9]* on $host) was killed by signal 9"
        one_line
    done
done
nothing_left

# An MPI error under MPI_ERRORS_ARE_FATAL
expect 6 "$MPIRUN" -n 4 ./ends recv send 2
expect_text err "^mpirun: rank 2 (process [0-9]* on $host) aborted the job .*: MPI_Send: dest is 7, but MPI_COMM_WORLD has ranks 0 to 3"
one_line
expect 9 "$MPIRUN" -n 3 ./ends recv before
expect 139 "$MPIRUN" -n 3 ./ends recv segv : -n 1 ./ends recv wait
nothing_left
finish
