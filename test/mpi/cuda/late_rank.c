/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first rank begins a nonblocking collective and then computes, out of MPI, for longer than
 * WEFT_DEVICE_WAIT_MAX, while the kernels of the others wait for its own. That is no failure.
 */
#include "device_memory.h"
#include "expect.h"

#include <time.h>

enum { COUNT = 100, ROUNDS = 12, COMPUTES_S = 2 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void compute(void)
{
    volatile double sum = 0;
    for (double end = seconds() + COMPUTES_S; seconds() < end;)
        sum = sum + 1;
}

/* The others begin when the first rank has begun. */
static void add_up(memory_t *from, memory_t *to, int is_late)
{
    MPI_Request request;
    int host[COUNT], wrong = 0, go = 0;
    for (int i = 0; i < COUNT; i++)
        host[i] = expect_rank + i;
    memory_put(from->at, host, sizeof(host));
    if (is_late && expect_rank > 0)
        MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Iallreduce(from->at, to->at, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    for (int i = 1; i < expect_size && is_late && expect_rank == 0; i++)
        MPI_Send(&go, 1, MPI_INT, i, 1, MPI_COMM_WORLD);
    if (is_late && expect_rank == 0)
        compute();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memory_get(host, to->at, sizeof(host));
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != expect_size * i + expect_size * (expect_size - 1) / 2;
    EXPECT(wrong, 0);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    memory_t from = memory_take(DEVICE, COUNT * sizeof(int));
    memory_t to = memory_take(DEVICE, COUNT * sizeof(int));
    for (int round = 0; round < ROUNDS; round++)
        add_up(&from, &to, round == ROUNDS - 1);
    memory_give(&from);
    memory_give(&to);
    int failures = expect_end();
    memory_end();
    return failures;
}
