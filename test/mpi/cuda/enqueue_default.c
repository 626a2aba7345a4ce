/* SPDX-License-Identifier: BSD-3-Clause */
/* The default stream of all threads, by its two handles (0 and CU_STREAM_LEGACY), takes operations
 * like any other stream. That of a thread is refused. */
#include "stream_comm.h"

enum { COUNT = 1000, ROUNDS = 3 };

static void use(CUstream stream, int *values, int *saved)
{
    MPI_Comm comm;
    MPIX_Stream mpix = mpix_stream(stream);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm);
    for (int round = 0; round < ROUNDS; round++) {
        stream_fill(stream, DEVICE, values, expect_rank + round, COUNT);
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, values, COUNT, MPI_INT, MPI_SUM, comm);
        stream_save(stream, DEVICE, saved, values, COUNT);
        CU(cuStreamSynchronize(stream));
        int sum = expect_size * (expect_size - 1) / 2 + expect_size * round;
        EXPECT(saved[0], sum);
        EXPECT(saved[COUNT - 1], sum);
    }
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&mpix);
}

static void refuse(CUstream stream)
{
    MPI_Info info;
    MPIX_Stream mpix = MPIX_STREAM_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &stream, sizeof(stream));
    EXPECT_ERROR(MPIX_Stream_create(info, &mpix), MPI_ERR_ARG);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    memory_begin(expect_rank);
    memory_t memory = memory_take(DEVICE, COUNT * sizeof(int));
    memory_t saved = memory_take(PINNED, COUNT * sizeof(int));
    use(NULL, memory.at, saved.at);
    use(CU_STREAM_LEGACY, memory.at, saved.at);
    refuse(CU_STREAM_PER_THREAD);
    memory_give(&memory);
    memory_give(&saved);
    memory_end();
    return expect_end();
}
