/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that outnumber their processors may be moved from one to the other by the library
 * (src/runtime/spread.h), but never out of the mask that the program has set, and that mask stays:
 * one of one processor, one of two, and one that is changed between MPI calls.
 */
#define _GNU_SOURCE
#include "expect.h"

#include <sched.h>

enum { BARRIERS = 3000 };

/* The first `count` processors of `from`. */
static cpu_set_t first_of(const cpu_set_t *from, int count)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&set) < count; cpu++) {
        if (CPU_ISSET(cpu, from))
            CPU_SET(cpu, &set);
    }
    return set;
}

static void expect_mask(const cpu_set_t *expected)
{
    cpu_set_t now;
    for (int i = 0; i < BARRIERS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        int cpu = sched_getcpu();
        if (!CPU_ISSET(cpu, expected))
            EXPECT(cpu, -1);
    }
    EXPECT(sched_getaffinity(0, sizeof(now), &now), 0);
    EXPECT(CPU_EQUAL(&now, expected), 1);
}

int main(int argc, char **argv)
{
    cpu_set_t all;
    sched_getaffinity(0, sizeof(all), &all);
    cpu_set_t one = first_of(&all, 1), two = first_of(&all, 2);
    sched_setaffinity(0, sizeof(one), &one); /* all begin there */
    sched_setaffinity(0, sizeof(two), &two);
    MPI_Init(&argc, &argv);
    expect_begin();
    expect_mask(&two);
    if (expect_rank % 2 == 0)
        sched_setaffinity(0, sizeof(one), &one);
    expect_mask(expect_rank % 2 == 0 ? &one : &two);
    return expect_end();
}
