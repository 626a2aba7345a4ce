/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads make communicators at once: each from its own communicator, and all from MPI_COMM_WORLD
 * with create_group and a tag of their own. */
#include "../expect.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 30 };

static MPI_Comm own[THREADS];
static MPI_Group upper; /* the ranks from size / 2 on */
static int wrong[THREADS];

/* Each rank receives its left neighbour's number, and no other. */
static void pass_on(MPI_Comm comm, int thread, int number)
{
    int rank, size, got = -1, out;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    out = 1000 * number + rank;
    int left = (rank + size - 1) % size;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, left, 0, comm,
                 MPI_STATUS_IGNORE);
    wrong[thread] += got != 1000 * number + left;
}

static void *work(void *argument)
{
    int thread = (int)(long)argument;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm copy, part, group = MPI_COMM_NULL;
        MPI_Comm_dup(own[thread], &copy);
        MPI_Comm_split(copy, expect_rank % 2, 0, &part);
        if (expect_rank >= expect_size / 2)
            MPI_Comm_create_group(MPI_COMM_WORLD, upper, thread, &group);
        pass_on(copy, thread, 3 * thread);
        pass_on(part, thread, 3 * thread + 1);
        if (group != MPI_COMM_NULL) {
            pass_on(group, thread, 3 * thread + 2);
            MPI_Comm_free(&group);
        }
        MPI_Comm_free(&part);
        MPI_Comm_free(&copy);
    }
    return NULL;
}

int main(void)
{
    int granted;
    pthread_t threads[THREADS];
    MPI_Group world;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &granted);
    expect_begin();
    EXPECT(granted, MPI_THREAD_MULTIPLE);
    int range[1][3] = {{expect_size / 2, expect_size - 1, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &upper);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(long)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(wrong[i], 0);
        MPI_Comm_free(&own[i]);
    }
    MPI_Group_free(&upper);
    MPI_Group_free(&world);
    return expect_end();
}
