/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call of the driver fails on one rank (SIMCUDA's fail=): collectives of device memory end on all
 * ranks, with an error where there is no right result, and later collectives are right again.
 * Arguments: the number of elements, and the least number of calls that must fail on some rank.
 */
#include "expect.h"
#include "memory_kinds.h"

#include <stdlib.h>

enum { ROUNDS = 30 };

static double *in, *out, *content;
static int count, failures;

static double expected(int round, int index)
{
    double sum = 0;
    for (int rank = 0; rank < expect_size; rank++)
        sum += rank + round + index;
    return sum;
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
    memory_get('D', content, out, (size_t)count * sizeof(double));
    for (int i = 0; i < count; i++)
        wrong += content[i] != expected(round, i);
    EXPECT(wrong, 0);
}

static void try_round(int round)
{
    MPI_Request request;
    for (int i = 0; i < count; i++)
        content[i] = expect_rank + round + i;
    memory_put('D', in, content, (size_t)count * sizeof(double));
    if (round % 2 == 0) {
        check(MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD), round);
    } else {
        int err = MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
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
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    in = memory_take('D', (size_t)count * sizeof(double));
    out = memory_take('D', (size_t)count * sizeof(double));
    content = malloc((size_t)count * sizeof(double));
    for (int round = 0; round < ROUNDS; round++)
        try_round(round);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(all >= atoi(argv[2]), 1);
    memory_give('D', in);
    memory_give('D', out);
    free(content);
    return expect_end();
}
