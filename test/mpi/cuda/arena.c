/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arena PIECES: a buffer over several pieces of an arena, which grows, shrinks and grows again
 * under the same addresses, by messages and collectives. The pieces of a rank have sizes of their
 * own.
 */
#include "device_memory.h"
#include "expect.h"

#include "vmm_arena.h"

#include <stdint.h>

enum { ROUNDS = 3, TAG = 4, INTS = 5000, MARGIN = 4096, MAPPED_PIECES = 60 };

static vmm_arena_t arena;
static int pieces;

/* The content of a buffer: all ints differ from their neighbours, and from those of other ranks. */
static int value(int rank, int round, size_t i)
{
    return (int)(i * 7 + (size_t)rank * 1000003 + (size_t)round * 31);
}

/* The buffer begins and ends a little within the pieces at its ends. */
static int *buffer(size_t *count_out)
{
    *count_out = (size_t)(arena.end - arena.first - 2 * VMM_ARENA_UNIT + 2 * MARGIN) / sizeof(int);
    return (int *)(uintptr_t)(arena.first + VMM_ARENA_UNIT - MARGIN);
}

static void fill(int round)
{
    size_t count;
    int *at = buffer(&count), *host = malloc(count * sizeof(int));
    for (size_t i = 0; i < count; i++)
        host[i] = value(expect_rank, round, i);
    memory_put(at, host, count * sizeof(int));
    free(host);
}

static void check(const int *at, size_t count, int rank, int round)
{
    int *host = malloc(count * sizeof(int));
    size_t wrong = 0;
    memory_get(host, at, count * sizeof(int));
    for (size_t i = 0; i < count; i++)
        wrong += host[i] != value(rank, round, i);
    EXPECT(wrong, 0);
    free(host);
}

/* All of it around the ring, into memory of one piece. */
static void pass_on(int round)
{
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    size_t count, room = (size_t)(pieces + 2) * 2 * VMM_ARENA_UNIT;
    int *at = buffer(&count), got = 0;
    memory_t in = memory_take(DEVICE, room);
    MPI_Status status;
    MPI_Sendrecv(at, (int)count, MPI_INT, next, TAG, in.at, (int)(room / sizeof(int)), MPI_INT,
                 previous, TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &got);
    check(in.at, (size_t)got, previous, round);
    memory_give(&in);
}

/* Across the boundary of the first two pieces. */
static void combine(int round)
{
    size_t count;
    int *at = buffer(&count) + MARGIN / sizeof(int) - INTS / 2;
    int host[INTS], root = round % expect_size;
    (void)count;
    for (int i = 0; i < INTS; i++)
        host[i] = i + expect_rank;
    memory_put(at, host, sizeof(host));
    MPI_Allreduce(MPI_IN_PLACE, at, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    memory_get(host, at, sizeof(host));
    for (int i = 0; i < INTS; i++)
        EXPECT(host[i], i * expect_size + expect_size * (expect_size - 1) / 2);
    for (int i = 0; i < INTS; i++)
        host[i] = i + expect_rank;
    memory_put(at, host, sizeof(host));
    MPI_Bcast(at, INTS, MPI_INT, root, MPI_COMM_WORLD);
    memory_get(host, at, sizeof(host));
    EXPECT(host[INTS - 1], INTS - 1 + root);
    EXPECT(host[0], root);
}

static void use(int round)
{
    fill(round);
    pass_on(round);
    combine(round);
}

/* Each rank must have mapped all pieces of another one. The simulated driver counts. */
static void check_imports(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    unsigned long (*calls_of)(const char *prefix);
    *(void **)&calls_of = dlsym(driver, "simLaunches");
    if (calls_of == NULL || expect_size == 1 || pieces > MAPPED_PIECES)
        return;
    EXPECT(calls_of("cuMemImportFromShareableHandle") >= (unsigned long)pieces, 1);
}

static void grow_to(int count)
{
    while (arena.pieces < count)
        vmm_arena_grow(&arena, (size_t)(1 + (arena.pieces + expect_rank) % 2) * VMM_ARENA_UNIT);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    pieces = atoi(argv[1]);
    vmm_arenas_begin(dlopen("libcuda.so.1", RTLD_NOW), memory_device);
    vmm_arena_open(&arena);
    vmm_arena_grow(&arena, VMM_ARENA_UNIT);
    for (int round = 0; round < ROUNDS; round++) {
        grow_to(pieces);
        use(round);
        vmm_arena_grow(&arena, VMM_ARENA_UNIT);
        use(round);
        while (arena.pieces > pieces / 2)
            vmm_arena_shrink(&arena);
    }
    check_imports();
    vmm_arena_close(&arena);
    memory_end();
    return expect_end();
}
