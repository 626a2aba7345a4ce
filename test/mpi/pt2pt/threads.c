/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: several threads of every rank talk to their counterparts at once, blocking and
 * not, large and small, and all of them to one receiver by wildcards. */
#include "../expect.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 300, LARGE = 50000 };

static void *talk(void *argument)
{
    int thread = (int)(long)argument;
    int right = (expect_rank + 1) % expect_size, left = (expect_rank - 1 + expect_size) % expect_size;
    int *out = malloc(LARGE * sizeof(int)), *in = malloc(LARGE * sizeof(int));
    for (int round = 0; round < ROUNDS; round++) {
        int count = round % 10 == 0 ? LARGE : 1 + round % 5;
        for (int i = 0; i < count; i++)
            out[i] = expect_rank * 100 + thread + round + i;
        if (round % 2 == 0) {
            MPI_Sendrecv(out, count, MPI_INT, right, thread, in, LARGE, MPI_INT, left, thread, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        } else {
            MPI_Request requests[2];
            MPI_Irecv(in, LARGE, MPI_INT, left, thread, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, count, MPI_INT, right, thread, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < count; i++)
            EXPECT(in[i], left * 100 + thread + round + i);
    }
    free(out);
    free(in);
    return NULL;
}

/* One thread receives from anybody what the others of all ranks send to rank 0. */
static void *collect(void *argument)
{
    long long *sum = argument;
    for (int i = 0; i < expect_size * THREADS; i++) {
        int got;
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        *sum += got;
    }
    return NULL;
}

static void *tell(void *argument)
{
    int value = expect_rank * THREADS + (int)(long)argument;
    MPI_Send(&value, 1, MPI_INT, 0, 1000, MPI_COMM_WORLD);
    return NULL;
}

static void run(void *(*body)(void *), pthread_t threads[THREADS])
{
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, body, (void *)i);
}

static void join(pthread_t threads[THREADS])
{
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS], collector;
    long long sum = 0, all;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    EXPECT(provided, MPI_THREAD_MULTIPLE);
    run(talk, threads);
    join(threads);
    if (expect_rank == 0)
        pthread_create(&collector, NULL, collect, &sum);
    run(tell, threads);
    join(threads);
    if (expect_rank == 0) {
        pthread_join(collector, NULL);
        all = (long long)expect_size * THREADS;
        EXPECT(sum, all * (all - 1) / 2);
    }
    return expect_end();
}
