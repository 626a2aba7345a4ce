#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A message whose sender has called MPI_Finalize without having sent it can never come: the job ends,
# and says which message was waited for. What is late is received all the same.
. "$(dirname "$0")/judge.sh"
compile fault/unsent.c
WEFT_UNRECEIVED_AFTER=1
export WEFT_UNRECEIVED_AFTER

# unsent HOW RANKS CALL TEXT
unsent() {
    code=16 # MPI_ERR_OTHER
    [ $1 != waitall ] || code=19 # MPI_ERR_IN_STATUS
    expect $code timeout -k 5 15 "$MPIRUN" -n $2 ./unsent $1
    expect_text err "aborted the job with code $code: $3: $4"
    nothing_left
}
never='will ever come: that rank has called MPI_Finalize$'
unsent recv 2 MPI_Recv "no message with tag 5 from rank 1 of MPI_COMM_WORLD $never"
unsent silent 2 MPI_Recv "no message with tag 5 from rank 1 of MPI_COMM_WORLD $never"
unsent wait 3 MPI_Wait "no message with tag 5 from rank 2 of MPI_COMM_WORLD $never"
unsent waitall 3 MPI_Waitall "no message with tag 5 from rank 2 of MPI_COMM_WORLD $never"
unsent both 3 MPI_Sendrecv "no message with tag 5 from rank 2 of MPI_COMM_WORLD $never"
unsent replace 3 MPI_Sendrecv_replace "no message with tag 5 from rank 2 of MPI_COMM_WORLD $never"
unsent probe 3 MPI_Probe "no message with tag 5 from rank 2 of MPI_COMM_WORLD $never"
unsent mprobe 2 MPI_Mprobe "no message with tag 5 from rank 1 of MPI_COMM_WORLD $never"
unsent named 3 MPI_Recv "no message from rank 0 of the ring (rank 2 in MPI_COMM_WORLD) $never"
unsent any 5 MPI_Recv 'no message with tag 5 from any rank of MPI_COMM_WORLD will ever come: all of them have called MPI_Finalize$'
unsent session 3 MPI_Recv 'no message with tag 5 from rank 2 of the ring will ever come: that rank has ended its last session$'
unsent bcast 2 MPI_Bcast ".*no message of a collective operation from rank 1 of MPI_COMM_WORLD $never"

right='returned early waitany any_late threads cancel again'
for how in $right; do
    {
        timeout -k 5 60 "$MPIRUN" -n 3 ./unsent $how >$how.text 2>&1
        echo $? >$how.code
    } &
done
wait
for how in $right; do
    [ "$(cat $how.code)" -eq 0 ] && [ ! -s $how.text ] || fail "$how: exit code $(cat $how.code), expected 0: $(head -c 300 $how.text)"
done
nothing_left
finish
