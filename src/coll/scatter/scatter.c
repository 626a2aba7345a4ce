/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"

typedef weft_data_t (*block_fn_t)(const weft_coll_args_t *args, int rank);

/* For the root MPI_IN_PLACE stands at recv_buf: its block stays where it is. */
static void scatter_from_root(weft_plan_t *plan, const weft_coll_args_t *args, block_fn_t block)
{
    int size = args->comm->size, root = args->root;
    weft_data_t own = weft_data(weft_at(WEFT_OUT, 0), args->recv_count, args->recv_type);
    if (args->comm->rank != root) {
        weft_plan_recv(plan, own, root);
        return;
    }
    for (int i = 1; i < size; i++) {
        int peer = (root + i) % size;
        weft_plan_send(plan, block(args, peer), peer);
    }
    if (args->recv_buf != MPI_IN_PLACE)
        weft_plan_copy(plan, block(args, root), own);
}

static void scatter_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    scatter_from_root(plan, args, weft_send_block);
}

static void scatterv_flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    scatter_from_root(plan, args, weft_send_slice);
}

const weft_algorithm_t weft_scatter_algorithms[] = {
    {"flat", scatter_flat, 0, "1 round, p - 1 messages at the root"},
    {0},
};

const weft_algorithm_t weft_scatterv_algorithms[] = {
    {"flat", scatterv_flat, 0, "1 round, p - 1 messages at the root"},
    {0},
};
