/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks for the MPI test programs; a failed one names the rank and both values. */
#ifndef TEST_MPI_EXPECT_H
#define TEST_MPI_EXPECT_H

#include <mpi.h>

#include <stdio.h>
#include <string.h>

static int expect_failures;
static int expect_rank, expect_size;

/* Check that two numbers are equal. */
#define EXPECT(got, expected)                                                                      \
    expect_equal((long long)(got), (long long)(expected), #got, __FILE__, __LINE__)

static inline void expect_equal(long long got, long long expected, const char *what,
                                const char *file, int line)
{
    if (got == expected)
        return;
    if (++expect_failures <= 10)
        fprintf(stderr, "%s:%d: rank %d of %d: %s is %lld, not %lld\n", file, line, expect_rank,
                expect_size, what, got, expected);
}

/* Check that two strings are equal. */
#define EXPECT_TEXT(got, expected) expect_same_text(got, expected, #got, __FILE__, __LINE__)

static inline void expect_same_text(const char *got, const char *expected, const char *what,
                                    const char *file, int line)
{
    if (strcmp(got, expected) != 0 && ++expect_failures <= 10)
        fprintf(stderr, "%s:%d: rank %d of %d: %s is \"%s\", not \"%s\"\n", file, line, expect_rank,
                expect_size, what, got, expected);
}

/* Check the class of a returned error code. */
#define EXPECT_ERROR(call, expected)                                                               \
    expect_equal(expect_class(call), expected, #call, __FILE__, __LINE__)

static inline int expect_class(int code)
{
    int error_class = code;
    MPI_Error_class(code, &error_class);
    return error_class;
}

static inline void expect_begin(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &expect_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &expect_size);
}

/* How many of the ranks 0 to `last` of MPI_COMM_WORLD run on this host, by the hosts' names. */
static inline int expect_ranks_here(int last)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "", other[MPI_MAX_PROCESSOR_NAME];
    int bytes, count = 0;
    MPI_Get_processor_name(name, &bytes);
    for (int rank = 0; rank < expect_size; rank++) {
        memcpy(other, name, sizeof(other));
        MPI_Bcast(other, sizeof(other), MPI_CHAR, rank, MPI_COMM_WORLD);
        count += rank <= last && strcmp(name, other) == 0;
    }
    return count;
}

/* Ends MPI and returns the exit code for main. */
static inline int expect_end(void)
{
    MPI_Finalize();
    return expect_failures != 0;
}

#endif
