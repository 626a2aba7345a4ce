/* SPDX-License-Identifier: BSD-3-Clause */
/* The context breaks (a kernel of the library's, by the simulated driver's word `fault`) while a
 * stream has not reached an operation with a request: the stream never will, and MPI_Wait fails. */
#include "cuda/stream_comm.h"

int main(int argc, char **argv)
{
    MPI_Datatype every_other;
    MPI_Request request;
    int position = 0;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    memory_t from = memory_take(DEVICE, 2000 * sizeof(int)), to = memory_take(DEVICE, 4000);
    memory_t word = memory_take(PINNED, sizeof(int));
    stream_comm_t on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    memset(word.at, 0, sizeof(int));
    CU(cuStreamWaitValue32(on.stream, (CUdeviceptr)word.at, 1, CU_STREAM_WAIT_VALUE_GEQ));
    MPIX_Iallreduce_enqueue(from.at, to.at, 1, MPI_INT, MPI_SUM, on.comm, &request);
    MPI_Type_vector(1000, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Pack(from.at, 1, every_other, to.at, 4000, &position, MPI_COMM_WORLD),
                 MPI_ERR_OTHER);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return expect_end();
}
