/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI test programs share: checks that name the rank and both values. */
#ifndef TEST_MPI_EXPECT_H
#define TEST_MPI_EXPECT_H

#include <mpi.h>

#include <stdio.h>

static int expect_failures;
static int expect_rank, expect_size;

/* Check that two numbers are equal. */
#define EXPECT(got, expected)                                                                      \
    expect_equal((long long)(got), (long long)(expected), #got, __FILE__, __LINE__)

static inline void expect_equal(long long got, long long expected, const char *what, const char *file,
                                int line)
{
    if (got == expected)
        return;
    if (++expect_failures <= 10)
        fprintf(stderr, "%s:%d: rank %d of %d: %s is %lld, not %lld\n", file, line, expect_rank,
                expect_size, what, got, expected);
}

static inline void expect_begin(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &expect_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &expect_size);
}

/* Ends MPI; what main returns. */
static inline int expect_end(void)
{
    MPI_Finalize();
    return expect_failures != 0;
}

#endif
