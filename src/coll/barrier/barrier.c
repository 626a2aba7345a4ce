/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"

/* In round k each rank hears from the rank 2^k below it: after ceil(log2 p) rounds it has heard, by
 * others, from all. Hensgen, Finkel and Manber 1988. */
static void dissemination(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, rank = args->comm->rank;
    for (int distance = 1; distance < size; distance *= 2) {
        weft_plan_wait(plan);
        weft_plan_signal(plan, (rank + distance) % size);
        weft_plan_await(plan, (rank - distance + size) % size);
    }
}

/* Rank 0 hears from all and answers all: no rank but 0 has to run more than twice, which is what
 * counts when ranks take turns on a core. */
static void flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size;
    if (args->comm->rank != 0) {
        weft_plan_signal(plan, 0);
        weft_plan_await(plan, 0);
        return;
    }
    for (int peer = 1; peer < size; peer++)
        weft_plan_await(plan, peer);
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++)
        weft_plan_signal(plan, peer);
}

const weft_algorithm_t weft_barrier_algorithms[] = {
    {"dissemination", dissemination, 0, "log2 p rounds"},
    {"flat", flat, 0, "2 rounds, p messages at rank 0"},
    {0},
};
