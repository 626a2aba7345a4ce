#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A message whose receiver has called MPI_Finalize can never be received: the job ends, and says
# which message it was. What is late is received all the same.
. "$(dirname "$0")/judge.sh"
compile fault/unreceived.c
WEFT_UNRECEIVED_AFTER=1
export WEFT_UNRECEIVED_AFTER

# unreceived HOW RANKS CALL TEXT
unreceived() {
    code=16 # MPI_ERR_OTHER
    [ $1 != waitall ] || code=19 # MPI_ERR_IN_STATUS
    expect $code timeout -k 5 15 "$MPIRUN" -n $2 ./unreceived $1
    expect_text err "aborted the job with code $code: $3: $4"
    nothing_left
}
never='will never be received: that rank has called MPI_Finalize'
unreceived isend 2 MPI_Finalize "the standard send of 2097152 bytes with tag 5 to rank 1 of MPI_COMM_WORLD $never$"
unreceived issend 3 MPI_Finalize "the synchronous send of 4 bytes with tag 5 to rank 2 of MPI_COMM_WORLD $never$"
unreceived freed 2 MPI_Finalize "the synchronous send of 4 bytes with tag 5 to rank 1 of the ring $never (and 2 more)$"
unreceived flood 2 MPI_Send "the standard send of 100 bytes with tag 5 to rank 1 of MPI_COMM_WORLD $never"
unreceived ssend 3 MPI_Ssend "the synchronous send of 4 bytes with tag 5 to rank 2 of MPI_COMM_WORLD $never"
unreceived waitall 3 MPI_Waitall ".*the standard send of 2097152 bytes with tag 5 to rank 2 of MPI_COMM_WORLD $never"
unreceived bsend 2 MPI_Finalize "the standard send of 2097152 bytes with tag 5 to rank 1 of MPI_COMM_WORLD $never$"
unreceived mutual 2 MPI_Finalize "the standard send of 2097152 bytes with tag 5 to rank [01] of MPI_COMM_WORLD $never$"
unreceived self 1 MPI_Finalize "the synchronous send of 4 bytes with tag 5 to rank 0 of MPI_COMM_WORLD $never$"
WEFT_CMA=no unreceived isend 2 MPI_Finalize "the standard send of 2097152 bytes"

for how in returned late early cancel; do
    expect 0 timeout -k 5 40 "$MPIRUN" -n 3 ./unreceived $how
    [ ! -s err ] || fail "$how: $(head -c 300 err)"
done
# As if it had gone unasked.
WEFT_SHORT_MESSAGES=read WEFT_UNEXPECTED_MAX=2K expect 0 timeout -k 5 15 "$MPIRUN" -n 2 ./unreceived short
[ ! -s err ] || fail "short: $(head -c 300 err)"
finish
