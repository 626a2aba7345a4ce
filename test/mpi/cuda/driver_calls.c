/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many questions about buffers, launches, copies and marks a collective costs, on all ranks
 * together, once their buffers are known: as many as the table below at most. The simulated driver
 * counts them (its word `count`). Not counted is what depends on time: how often a rank that waits
 * asks for the end.
 * Arguments: shared (the ranks share one device), own (each has one), or multicast (each has one,
 * and virtual memory, which can be bound; no row may cost more with it than without).
 */
#include "device_memory.h"
#include "expect.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 2, WARM = 60, ROUNDS = 12, CALLS = 20, RANKS = 4 };

/* Integers: of the large cases, and in a block that is too large for kernels between devices. */
enum { MOST = 1 << 18, LARGE = 80 << 10 };

static unsigned long (*calls_of)(const char *prefix);
static void *side[SIDES];

static void allreduce(int count)
{
    MPI_Allreduce(side[0], side[1], count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void bcast(int count)
{
    MPI_Bcast(side[0], count, MPI_INT, 0, MPI_COMM_WORLD);
}

static void alltoall(int count)
{
    MPI_Alltoall(side[0], count, MPI_INT, side[1], count, MPI_INT, MPI_COMM_WORLD);
}

static void allgather(int count)
{
    MPI_Allgather(side[0], count, MPI_INT, side[1], count, MPI_INT, MPI_COMM_WORLD);
}

static const char *const counted[] = {"cuPointerGetAttribute", "cuLaunchKernel", "cuMemcpy",
                                      "cuStreamWriteValue32", "cuEventRecord"};

typedef enum place { SHARED, OWN, MULTICAST, PLACES } place_t;

static const char *const place_names[PLACES] = {"shared", "own", "multicast"};

/* Of four ranks: three questions about buffers (two for a broadcast) on each, a launch, a mark. */
static const struct {
    const char *name;
    void (*run)(int count);
    int count;
    double most[PLACES]; /* 0: not looked at */
} cases[] = {
    {"allreduce of 8 bytes", allreduce, 2, {14, 20, 20}},
    {"allreduce of 1 MiB", allreduce, MOST, {14, 0, 20}},
    {"bcast of 8 bytes", bcast, 2, {10, 16, 16}},
    {"allgather of 64 KiB", allgather, MOST / 16, {14, 0, 20}},
    {"alltoall of 64 KiB", alltoall, MOST / 16, {14, 0, 0}},
    {"alltoall of 320 KiB", alltoall, LARGE, {14, 0, 0}},
};

static place_t place_named(const char *name)
{
    int place = 0;
    while (place + 1 < PLACES && strcmp(name, place_names[place]) != 0)
        place++;
    return (place_t)place;
}

static unsigned long calls_so_far(void)
{
    unsigned long calls = 0;
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
        calls += calls_of(counted[i]);
    return calls;
}

/* The fewest of all rounds: in some, ranks come late and go on without the others. The last round
 * is the first one with `most` or less. */
static double calls_per_collective(void (*run)(int count), int count, double most)
{
    double least = 1e9;
    for (int i = 0; i < WARM; i++)
        run(count);
    for (int round = 0; round < ROUNDS && least > most; round++) {
        unsigned long before, all, own;
        MPI_Barrier(MPI_COMM_WORLD);
        before = calls_so_far();
        for (int i = 0; i < CALLS; i++)
            run(count);
        own = calls_so_far() - before;
        MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
        least = (double)all / CALLS < least ? (double)all / CALLS : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    memory_t memory[SIDES];
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    place_t place = place_named(argv[1]);
    *(void **)&calls_of = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simLaunches");
    for (int i = 0; i < SIDES; i++) {
        memory[i] = memory_take(place == MULTICAST ? SHARED_VMM : DEVICE,
                                (size_t)LARGE * RANKS * sizeof(int));
        side[i] = memory[i].at;
    }
    EXPECT(expect_size, RANKS);
    for (size_t i = 0; calls_of != NULL && i < sizeof(cases) / sizeof(cases[0]); i++) {
        double most = cases[i].most[place];
        double calls = most > 0 ? calls_per_collective(cases[i].run, cases[i].count, most) : 0;
        if (expect_rank == 0 && calls > most)
            printf("%s: %.2f calls of the driver, not %.0f\n", cases[i].name, calls, most);
        EXPECT(calls <= most && (most == 0 || calls > 0), true);
    }
    for (int i = 0; i < SIDES; i++)
        memory_give(&memory[i]);
    memory_end();
    return expect_end();
}
