/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of floating-point numbers whose rounding depends on the order: all ranks get the same bits, and
 * every run of the same call does (MPI 5.0, advice to implementors of section 6.9.1).
 */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

static unsigned seed;

/* Numbers of very different sizes. */
static double random_number(void)
{
    seed = seed * 1664525u + 1013904223u;
    double number = (double)(int)seed / 3;
    return number * (seed >> 28 ? 1e-7 * (seed >> 28) : 1e9);
}

static void test_allreduce(int length, MPI_Datatype type, size_t bytes)
{
    char *own = malloc((size_t)length * bytes), *sum = malloc((size_t)length * bytes);
    char *again = malloc((size_t)length * bytes), *theirs = malloc((size_t)length * bytes);
    for (int i = 0; i < length; i++) {
        if (type == MPI_DOUBLE)
            ((double *)own)[i] = random_number();
        else
            ((float *)own)[i] = (float)random_number();
    }
    MPI_Allreduce(own, sum, length, type, MPI_SUM, MPI_COMM_WORLD);
    memcpy(theirs, sum, (size_t)length * bytes);
    MPI_Bcast(theirs, length, type, 0, MPI_COMM_WORLD);
    EXPECT(memcmp(sum, theirs, (size_t)length * bytes), 0);
    for (int repeat = 0; repeat < 5; repeat++) {
        MPI_Request request;
        memcpy(again, own, (size_t)length * bytes);
        MPI_Iallreduce(MPI_IN_PLACE, again, length, type, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(memcmp(sum, again, (size_t)length * bytes), 0);
    }
    free(own);
    free(sum);
    free(again);
    free(theirs);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 2, 7, 100, 511, 1500, 30000};
    MPI_Init(&argc, &argv);
    expect_begin();
    seed = (unsigned)expect_rank * 2654435761u + 1;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        test_allreduce(lengths[i], MPI_DOUBLE, sizeof(double));
        test_allreduce(lengths[i], MPI_FLOAT, sizeof(float));
    }
    return expect_end();
}
