/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: several threads of every rank exchange messages with their counterparts at
 * once, blocking and not, large and small, and all of them send to one receiver with wildcards. */
#include "../expect.h"
#include "memory_kinds.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 300, DEVICE_ROUNDS = 60, LARGE = 50000 };

static int rounds = ROUNDS;

static void exchange(int round, int thread, const int *out, int *in, int count)
{
    int right = (expect_rank + 1) % expect_size,
        left = (expect_rank - 1 + expect_size) % expect_size;
    if (round % 2 == 0) {
        MPI_Sendrecv(out, count, MPI_INT, right, thread, in, LARGE, MPI_INT, left, thread,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Request requests[2];
        MPI_Irecv(in, LARGE, MPI_INT, left, thread, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, count, MPI_INT, right, thread, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void *talk(void *argument)
{
    int thread = (int)(long)argument, left = (expect_rank - 1 + expect_size) % expect_size;
    char kind = memory.kinds == NULL ? 'H' : memory.kinds[thread % (int)strlen(memory.kinds)];
    memory_enter();
    int *content = malloc(LARGE * sizeof(int));
    int *out = memory_take(kind, LARGE * sizeof(int)), *in = memory_take(kind, LARGE * sizeof(int));
    for (int round = 0; round < rounds; round++) {
        int count = round % 10 == 0 ? LARGE : 1 + round % 5;
        size_t bytes = (size_t)count * sizeof(int);
        for (int i = 0; i < count; i++)
            content[i] = expect_rank * 100 + thread + round + i;
        memory_put(kind, out, content, bytes);
        exchange(round, thread, out, in, count);
        memory_get(kind, content, in, bytes);
        for (int i = 0; i < count; i++)
            EXPECT(content[i], left * 100 + thread + round + i);
    }
    memory_give(kind, out);
    memory_give(kind, in);
    free(content);
    return NULL;
}

/* One thread receives from any source what the other threads of all ranks send to rank 0. */
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
    memory_begin(expect_rank);
    if (memory.kinds != NULL)
        rounds = DEVICE_ROUNDS;
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
