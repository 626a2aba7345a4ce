/* SPDX-License-Identifier: BSD-3-Clause */
/* The last rank dies while the others' streams wait for it, and while these ranks wait for their
 * streams in MPI_Finalize. */
#include "cuda/stream_comm.h"

#include <signal.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    memory_t memory = memory_take(DEVICE, sizeof(int));
    stream_comm_t on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    MPIX_Barrier_enqueue(on.comm);
    CU(cuStreamSynchronize(on.stream));
    if (expect_rank == expect_size - 1)
        raise(SIGKILL);
    MPIX_Recv_enqueue(memory.at, 1, MPI_INT, expect_size - 1, 0, on.comm, MPI_STATUS_IGNORE);
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, memory.at, 1, MPI_INT, MPI_SUM, on.comm);
    return expect_end();
}
