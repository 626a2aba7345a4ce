/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI programs say when something is not as it should be: rank, place, both values. */
#ifndef WEFT_TEST_EXPECT_H
#define WEFT_TEST_EXPECT_H

#include <mpi.h>

#include <stdio.h>
#include <string.h>

static int expect_failures;

static inline void expect_complain(const char *file, int line, const char *what)
{
    int rank = -1, is_running, is_over;
    MPI_Initialized(&is_running);
    MPI_Finalized(&is_over);
    if (is_running && !is_over)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "rank %d: %s:%d: %s ", rank, file, line, what);
    expect_failures++;
}

static inline void expect_number(const char *file, int line, const char *what, long long got,
                                 long long expected)
{
    if (got == expected)
        return;
    expect_complain(file, line, what);
    fprintf(stderr, "is %lld, not %lld\n", got, expected);
}

static inline void expect_text(const char *file, int line, const char *what, const char *got,
                               const char *expected)
{
    if (strcmp(got, expected) == 0)
        return;
    expect_complain(file, line, what);
    fprintf(stderr, "is \"%s\", not \"%s\"\n", got, expected);
}

static inline void expect_error(const char *file, int line, const char *what, int code, int expected)
{
    int error_class = code;
    MPI_Error_class(code, &error_class);
    expect_number(file, line, what, error_class, expected);
}

/* Of integers and handles. */
#define EXPECT(got, expected)                                                                      \
    expect_number(__FILE__, __LINE__, #got, (long long)(got), (long long)(expected))
#define EXPECT_TEXT(got, expected) expect_text(__FILE__, __LINE__, #got, got, expected)
/* Of the class of a returned error code. */
#define EXPECT_ERROR(call, expected) expect_error(__FILE__, __LINE__, #call, call, expected)

/* The end of main: what the process returns. */
static inline int expect_result(void)
{
    return expect_failures == 0 ? 0 : 1;
}

#endif
