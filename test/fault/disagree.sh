#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# WEFT_CHECK=collectives: ranks whose collectives disagree end the job with a text that names both
# calls. Which of the two pairs of neighbours notices it first is open.
. "$(dirname "$0")/judge.sh"
compile fault/disagree.c
WEFT_CHECK=collectives
export WEFT_CHECK

# disagree HOW COMM ODD OTHERS: the call of rank 1, and that of all others
disagree() {
    for ranks in 2 3 5; do
        expect 16 timeout -k 5 20 "$MPIRUN" -n $ranks ./disagree $1
        expect_text err "collectives disagree on $2: \(rank 1 calls $3, but rank 0 calls $4\|rank [02] calls $4, but rank 1 calls $3\) (call [0-9]* of the communicator)"
        nothing_left
    done
}
disagree name MPI_COMM_WORLD 'a blocking reduce of 4 bytes, root 0, MPI_SUM on I32' 'a blocking allreduce of 4 bytes, MPI_SUM on I32'
disagree root MPI_COMM_WORLD 'a blocking bcast of 4 bytes, root 1' 'a blocking bcast of 4 bytes, root 0'
disagree size MPI_COMM_WORLD 'a blocking bcast of 8 bytes, root 0' 'a blocking bcast of 4 bytes, root 0'
disagree op MPI_COMM_WORLD 'a blocking allreduce of 4 bytes, MPI_MAX on I32' 'a blocking allreduce of 4 bytes, MPI_SUM on I32'
disagree type MPI_COMM_WORLD 'a blocking allreduce of 4 bytes, MPI_SUM on F32' 'a blocking allreduce of 4 bytes, MPI_SUM on I32'
disagree form MPI_COMM_WORLD 'a nonblocking barrier' 'a blocking barrier'
disagree order MPI_COMM_WORLD 'a nonblocking allreduce of 4 bytes, MPI_SUM on I32' 'a nonblocking barrier'
disagree init MPI_COMM_WORLD 'a persistent bcast of 4 bytes, root 0' 'a persistent barrier'
disagree comm 'the ring' 'a blocking allreduce of 4 bytes, MPI_MAX on I32' 'a blocking allreduce of 4 bytes, MPI_SUM on I32'
expect 16 timeout -k 5 40 "$MPIRUN" -n 3 ./disagree last # a wait of 15 s finds that rank 0 has ended
expect_text err "collectives disagree on MPI_COMM_WORLD: rank 1 calls a nonblocking bcast of 4 bytes, root 1, but no message of a collective operation from rank 0 of MPI_COMM_WORLD will ever come: that rank has called MPI_Finalize (call [0-9]* of the communicator)"
nothing_left
for ranks in 1 2 5; do
    expect 0 timeout -k 5 20 "$MPIRUN" -n $ranks ./disagree none
    [ ! -s err ] || fail "no disagreement: $(head -c 300 err)"
done
finish
