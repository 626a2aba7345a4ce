/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"

static weft_data_t all_data(const weft_coll_args_t *args)
{
    return weft_data(weft_at(WEFT_IN, 0), args->send_count, args->send_type);
}

/* Rank r, counted from the root, gets the data from r without its lowest bit and gives them on to
 * r + 1, r + 2, r + 4, ... below that bit, the farthest first. */
static void binomial(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, root = args->root;
    int self = (args->comm->rank - root + size) % size;
    int bit = 1;
    while (bit < size && (self & bit) == 0)
        bit *= 2;
    if (self != 0) {
        weft_plan_recv(plan, all_data(args), (self - bit + root) % size);
        weft_plan_wait(plan);
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        if (self + bit < size)
            weft_plan_send(plan, all_data(args), (self + bit + root) % size);
    }
}

/* The root sends to all: large messages are copied by all receivers at once. */
static void flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, root = args->root;
    if (args->comm->rank != root) {
        weft_plan_recv(plan, all_data(args), root);
        return;
    }
    for (int i = 1; i < size; i++)
        weft_plan_send(plan, all_data(args), (root + i) % size);
}

const weft_algorithm_t weft_bcast_algorithms[] = {
    {"binomial", binomial, 0, "log2 p rounds of n bytes"},
    {"flat", flat, 0, "1 round, p - 1 messages of n bytes at the root"},
    {0},
};
