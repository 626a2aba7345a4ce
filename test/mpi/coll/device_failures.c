/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call of the driver fails on one rank (SIMCUDA's fail=): collectives of device memory end on all
 * ranks, with an error where there is no right result, and later collectives are right again.
 * Arguments: the number of elements, the least number of calls that must fail on some rank, and the
 * collective, if it is not allreduce.
 */
#include "expect.h"
#include "memory_kinds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 30 };

/* A collective of `count` elements, or of blocks that are `count` together. */
typedef struct collective {
    const char *name;
    int (*call)(int round, MPI_Request *request); /* NULL: a blocking one */
    double (*expected)(int round, int index);
    bool has_blocks; /* a rank gets one block */
} collective_t;

static double *in, *out, *content;
static char kind; /* of memory */
static int count, failures;
static const collective_t *its;

static int block(void)
{
    return count / expect_size;
}

/* What a rank puts into its operand. */
static double value(int rank, int round, int index)
{
    return rank + round + index;
}

static double sum(int round, int index)
{
    double sum = 0;
    for (int rank = 0; rank < expect_size; rank++)
        sum += value(rank, round, index);
    return sum;
}

static double own_sum(int round, int index)
{
    return sum(round, expect_rank * block() + index);
}

static double value_of_root(int round, int index)
{
    return value(round % expect_size, round, index);
}

static int reduce_to_all(int round, MPI_Request *request)
{
    (void)round;
    return request == NULL
               ? MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
               : MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
}

static int scatter_sums(int round, MPI_Request *request)
{
    (void)round;
    return request == NULL
               ? MPI_Reduce_scatter_block(in, out, block(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
               : MPI_Ireduce_scatter_block(in, out, block(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                                           request);
}

static int broadcast(int round, MPI_Request *request)
{
    int root = round % expect_size;
    memory_put(kind, out, content, (size_t)count * sizeof(double));
    return request == NULL ? MPI_Bcast(out, count, MPI_DOUBLE, root, MPI_COMM_WORLD)
                           : MPI_Ibcast(out, count, MPI_DOUBLE, root, MPI_COMM_WORLD, request);
}

static const collective_t collectives[] = {{"allreduce", reduce_to_all, sum, false},
                                           {"reduce_scatter_block", scatter_sums, own_sum, true},
                                           {"bcast", broadcast, value_of_root, false}};

static void choose(const char *name)
{
    its = &collectives[0];
    while (name != NULL && strcmp(its->name, name) != 0)
        its++;
}

/* The call gives a right result or an error. */
static void check(int err, int round)
{
    int wrong = 0;
    if (err != MPI_SUCCESS) {
        EXPECT_ERROR(err, MPI_ERR_OTHER);
        failures++;
        return;
    }
    memory_get(kind, content, out, (size_t)count * sizeof(double));
    for (int i = 0; i < (its->has_blocks ? block() : count); i++)
        wrong += content[i] != its->expected(round, i);
    EXPECT(wrong, 0);
}

static void try_round(int round)
{
    MPI_Request request;
    for (int i = 0; i < count; i++)
        content[i] = value(expect_rank, round, i);
    memory_put(kind, in, content, (size_t)count * sizeof(double));
    if (round % 2 == 0) {
        check(its->call(round, NULL), round);
    } else {
        int err = its->call(round, &request);
        check(err == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : err, round);
    }
}

int main(int argc, char **argv)
{
    int all = 0;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    count = atoi(argv[1]);
    choose(argc > 3 ? argv[3] : NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    kind = memory_next_kind();
    in = memory_take(kind, (size_t)count * sizeof(double));
    out = memory_take(kind, (size_t)count * sizeof(double));
    content = malloc((size_t)count * sizeof(double));
    for (int round = 0; round < ROUNDS; round++)
        try_round(round);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(all >= atoi(argv[2]), 1);
    memory_give(kind, in);
    memory_give(kind, out);
    free(content);
    return expect_end();
}
