/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"

typedef weft_data_t (*block_fn_t)(const weft_coll_args_t *args, int rank);

/* The root's own block is in place, or comes from send_buf as everybody else's. */
static void gather_to_root(weft_plan_t *plan, const weft_coll_args_t *args, block_fn_t block)
{
    int size = args->comm->size, root = args->root;
    if (args->comm->rank != root) {
        weft_plan_send(plan, weft_data(weft_at(WEFT_IN, 0), args->send_count, args->send_type),
                       root);
        return;
    }
    for (int i = 1; i < size; i++) {
        int peer = (root + i) % size;
        weft_plan_recv(plan, block(args, peer), peer);
    }
    if (!weft_is_in_place(args))
        weft_plan_copy(plan, weft_data(weft_at(WEFT_IN, 0), args->send_count, args->send_type),
                       block(args, root));
}

static void gather_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    gather_to_root(plan, args, weft_recv_block);
}

static void gatherv_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    gather_to_root(plan, args, weft_recv_slice);
}

const weft_algorithm_t weft_gather_algorithms[] = {
    {"flat", gather_flat, 0, "1 round, p - 1 messages at the root"},
    {0},
};

const weft_algorithm_t weft_gatherv_algorithms[] = {
    {"flat", gatherv_flat, 0, "1 round, p - 1 messages at the root"},
    {0},
};
