/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is shared between processes by file descriptors: messages between neighbours, the
 * first one large or all short, and a collective in which any rank may work for all. Arguments:
 * kinds of memory.
 */
#include "device_memory.h"
#include "expect.h"

#include <stdint.h>

enum { LARGE = 1 << 19, SHORT = 30000, ROUNDS = 6 };

static int *on_host;

static void fill(const memory_t *memory, int count, int seed)
{
    for (int i = 0; i < count; i++)
        on_host[i] = i + seed;
    memory_put(memory->at, on_host, (size_t)count * sizeof(int));
}

/* Element i is to be factor * i + seed. */
static void check(const memory_t *memory, int count, int factor, int seed, const char *what)
{
    int wrong = 0;
    memory_get(on_host, memory->at, (size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        wrong += on_host[i] != factor * i + seed;
    expect_equal(wrong, 0, what, __FILE__, __LINE__);
}

static void pass_on(const memory_t *from, const memory_t *to, int count)
{
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    for (int round = 0; round < ROUNDS; round++) {
        fill(from, count, 100 * expect_rank + round);
        MPI_Sendrecv(from->at, count, MPI_INT, next, 0, to->at, count, MPI_INT, previous, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(to, count, 1, 100 * previous + round, "wrong elements of a message");
    }
}

static void add_up(const memory_t *from, const memory_t *to)
{
    for (int round = 0; round < ROUNDS; round++) {
        fill(from, SHORT, expect_rank + round);
        MPI_Allreduce(from->at, to->at, SHORT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        check(to, SHORT, expect_size, expect_size * (expect_size - 1) / 2 + expect_size * round,
              "wrong sums");
    }
}

static void check_kind(memory_kind_t kind, int count)
{
    memory_t from = memory_take(kind, LARGE * sizeof(int));
    memory_t to = memory_take(kind, LARGE * sizeof(int));
    pass_on(&from, &to, count);
    add_up(&from, &to);
    MPI_Barrier(MPI_COMM_WORLD);
    memory_give(&from);
    memory_give(&to);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    on_host = malloc(LARGE * sizeof(int));
    for (int i = 1; i < argc; i++) {
        check_kind(memory_kind_named(argv[i]), LARGE);
        check_kind(memory_kind_named(argv[i]), SHORT);
    }
    free(on_host);
    int failures = expect_end();
    memory_end();
    return failures;
}
