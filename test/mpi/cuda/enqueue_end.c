/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams and communicators are freed, and MPI ends, before the stream has reached the enqueued
 * operations: these are done nevertheless. There are more operations than a stream takes at once,
 * most of them enqueued before any has begun.
 */
#include "stream_comm.h"

#include <semaphore.h>

enum { OPERATIONS = 700, ROUNDS = 3 };

static void wait_for_host(void *gate)
{
    sem_wait(gate);
}

/* Operations that no rank has begun when all handles are freed. */
static void free_early(int *value)
{
    sem_t gate;
    sem_init(&gate, 0, 0);
    stream_comm_t on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    CU(cuLaunchHostFunc(on.stream, wait_for_host, &gate));
    stream_fill(on.stream, DEVICE, value, 1, 1);
    for (int i = 0; i < ROUNDS; i++)
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, on.comm);
    stream_comm_free(&on);
    sem_post(&gate);
    CU(cuStreamSynchronize(on.stream));
    CU(cuStreamDestroy(on.stream));
    sem_destroy(&gate);
}

int main(int argc, char **argv)
{
    int expected = 1, got;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    memory_t memory = memory_take(DEVICE, 2 * sizeof(int)),
             saved = memory_take(PINNED, sizeof(int));
    int *values = memory.at;
    for (int i = 0; i < ROUNDS; i++)
        expected *= expect_size;
    free_early(values);
    memory_get(&got, values, sizeof(got));
    EXPECT(got, expected);
    stream_comm_t on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    stream_fill(on.stream, DEVICE, values, expect_rank, 1);
    for (int i = 0; i < OPERATIONS; i++)
        MPIX_Bcast_enqueue(values, 1, MPI_INT, i % expect_size, on.comm);
    for (int i = 0; i < ROUNDS; i++) {
        stream_fill(on.stream, DEVICE, values + 1, i + expect_rank, 1);
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, values + 1, 1, MPI_INT, MPI_MAX, on.comm);
    }
    stream_save(on.stream, DEVICE, saved.at, values + 1, 1);
    if (expect_rank % 2 == 0)
        stream_comm_free(&on);
    MPI_Finalize();
    CU(cuStreamSynchronize(on.stream));
    EXPECT(*(int *)saved.at, ROUNDS - 1 + expect_size - 1);
    memory_give(&memory);
    memory_give(&saved);
    CU(cuStreamDestroy(on.stream));
    memory_end();
    return expect_failures != 0;
}
