/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads enqueue operations at the same time, each in its own stream and all in one that they
 * share, while the first thread is in calls that wait.
 */
#include "stream_comm.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 40, TAG = 6 };

typedef struct feeder {
    pthread_t thread;
    stream_comm_t own;
    const stream_comm_t *shared;
    int *value, *saved; /* on the device; pinned */
} feeder_t;

static void *feed(void *owner)
{
    feeder_t *feeder = owner;
    CU(cuCtxSetCurrent(memory_context));
    stream_fill(feeder->own.stream, DEVICE, feeder->value, 1, 1);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, feeder->value, 1, MPI_INT, MPI_MAX, feeder->own.comm);
        MPIX_Isend_enqueue(feeder->value, 1, MPI_INT, MPI_PROC_NULL, TAG, feeder->shared->comm,
                           &request);
        MPIX_Recv_enqueue(feeder->value + 1, 1, MPI_INT, MPI_PROC_NULL, TAG, feeder->shared->comm,
                          MPI_STATUS_IGNORE);
        MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    }
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, feeder->value, 1, MPI_INT, MPI_SUM, feeder->own.comm);
    stream_save(feeder->own.stream, DEVICE, feeder->saved, feeder->value, 1);
    CU(cuStreamSynchronize(feeder->own.stream));
    EXPECT(*feeder->saved, expect_size);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    feeder_t feeders[THREADS];
    memory_t values[THREADS], saved[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    memory_begin(expect_rank);
    stream_comm_t shared = stream_comm_make(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < THREADS; i++) {
        values[i] = memory_take(DEVICE, 2 * sizeof(int));
        saved[i] = memory_take(PINNED, sizeof(int));
        feeders[i] = (feeder_t){.own = stream_comm_make(CU_STREAM_NON_BLOCKING),
                                .shared = &shared,
                                .value = values[i].at,
                                .saved = saved[i].at};
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&feeders[i].thread, NULL, feed, &feeders[i]);
    for (int i = 0; i < ROUNDS; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(feeders[i].thread, NULL);
        stream_comm_free(&feeders[i].own);
        CU(cuStreamDestroy(feeders[i].own.stream));
    }
    CU(cuStreamSynchronize(shared.stream));
    stream_comm_free(&shared);
    CU(cuStreamDestroy(shared.stream));
    for (int i = 0; i < THREADS; i++) {
        memory_give(&values[i]);
        memory_give(&saved[i]);
    }
    memory_end();
    return expect_end();
}
