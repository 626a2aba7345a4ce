#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A rank that has ended its sessions may end as it likes; one that ends with an open session is told, and ends the job.
. "$(dirname "$0")/setup.sh"
"$MPICC" -O1 -Wall -Wextra -o session_end "$SOURCE/test/launch/session_end.c" || fail "session_end.c cannot be compiled"

for ranks in 1 2 3; do
    expect 0 "$MPIRUN" -n $ranks ./session_end
    [ ! -s err ] || fail "mpirun says: $(cat err)"
done
expect 0 "$MPIRUN" -n 3 ./session_end quick
[ ! -s err ] || fail "mpirun says: $(cat err)"
expect 0 "$MPIRUN" -n 3 ./session_end other
expect_output 'another program'
[ ! -s err ] || fail "mpirun says: $(cat err)"

expect 0 "$MPIRUN" -n 3 ./session_end next
[ ! -s err ] || fail "mpirun says: $(cat err)"

expect 3 "$MPIRUN" -n 3 ./session_end code
expect_text err 'rank 1 .* exited with code 3'
expect 5 "$MPIRUN" -n 3 ./session_end abort
expect_text err 'MPI_Abort was called with error code 5'
for way in open again; do
    expect 1 "$MPIRUN" -n 3 ./session_end $way
    expect_text err 'rank 1 .* exited without calling MPI_Finalize or MPI_Session_finalize'
done
expect 1 "$MPIRUN" -n 3 ./session_end call
expect_text err 'MPI_Barrier: called after the last session has ended'
for way in send receive; do
    expect 1 "$MPIRUN" -n 3 ./session_end $way
    expect_text err 'MPI_[SR]e[cn][dv]: called after MPI_Finalize'
done

# Without mpirun
expect 0 ./session_end quick
finish
