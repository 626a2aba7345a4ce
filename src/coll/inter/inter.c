/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/inter/inter.h"

#include "coll/inter/sides_private.h"
#include "coll/team/pieces.h"

/* Block `index` of a buffer. */
typedef weft_data_t (*block_fn_t)(const weft_coll_args_t *args, int index);

/* ---- one and all ---- */

static void inter_barrier(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_team_t own = weft_own_side(args);
    int other = weft_remote_rank(args, 0);
    weft_team_arrive(plan, &own, plan->how.radix);
    weft_plan_wait(plan);
    if (own.index == 0) {
        weft_plan_signal(plan, other);
        weft_plan_await(plan, other);
        weft_plan_wait(plan);
    }
    weft_team_leave(plan, &own, plan->how.radix);
}

static void inter_bcast(weft_plan_t *plan, const weft_coll_args_t *args)
{
    if (weft_is_inter_root(args))
        weft_plan_send(plan, weft_send_block(args, 0), weft_remote_rank(args, 0));
    if (!weft_has_remote_root(args))
        return;
    weft_data_t data = weft_send_block(args, 0);
    weft_team_t own = weft_own_side(args);
    if (own.index == 0)
        weft_plan_recv(plan, data, args->root);
    weft_plan_wait(plan);
    weft_team_bcast(plan, &own, data, plan->how.radix);
}

static void gather_blocks(weft_plan_t *plan, const weft_coll_args_t *args, block_fn_t block)
{
    if (weft_has_remote_root(args))
        weft_plan_send(plan, weft_send_block(args, 0), args->root);
    for (int i = 0; weft_is_inter_root(args) && i < args->inter->size; i++)
        weft_plan_recv(plan, block(args, i), weft_remote_rank(args, i));
}

static void inter_gather(weft_plan_t *plan, const weft_coll_args_t *args)
{
    gather_blocks(plan, args, weft_recv_block);
}

static void inter_gatherv(weft_plan_t *plan, const weft_coll_args_t *args)
{
    gather_blocks(plan, args, weft_recv_slice);
}

static void scatter_blocks(weft_plan_t *plan, const weft_coll_args_t *args, block_fn_t block)
{
    if (weft_has_remote_root(args))
        weft_plan_recv(plan, weft_recv_block(args, 0), args->root);
    for (int i = 0; weft_is_inter_root(args) && i < args->inter->size; i++)
        weft_plan_send(plan, block(args, i), weft_remote_rank(args, i));
}

static void inter_scatter(weft_plan_t *plan, const weft_coll_args_t *args)
{
    scatter_blocks(plan, args, weft_send_block);
}

static void inter_scatterv(weft_plan_t *plan, const weft_coll_args_t *args)
{
    scatter_blocks(plan, args, weft_send_slice);
}

/* ---- all to all ---- */

static weft_data_t only_block(const weft_coll_args_t *args, int index)
{
    (void)index;
    return weft_send_block(args, 0);
}

/* Each rank begins with another peer, so that no rank has all messages at once. */
static void swap_blocks(weft_plan_t *plan, const weft_coll_args_t *args, block_fn_t to,
                        block_fn_t from)
{
    int size = args->inter->size;
    for (int i = 0; i < size; i++)
        weft_plan_recv(plan, from(args, i), weft_remote_rank(args, i));
    for (int i = 0; i < size; i++) {
        int at = (int)(((int64_t)args->inter->rank + i) % size);
        weft_plan_send(plan, to(args, at), weft_remote_rank(args, at));
    }
}

static void inter_allgather(weft_plan_t *plan, const weft_coll_args_t *args)
{
    swap_blocks(plan, args, only_block, weft_recv_block);
}

static void inter_allgatherv(weft_plan_t *plan, const weft_coll_args_t *args)
{
    swap_blocks(plan, args, only_block, weft_recv_slice);
}

static void inter_alltoall(weft_plan_t *plan, const weft_coll_args_t *args)
{
    swap_blocks(plan, args, weft_send_block, weft_recv_block);
}

static void inter_alltoallv(weft_plan_t *plan, const weft_coll_args_t *args)
{
    swap_blocks(plan, args, weft_send_slice, weft_recv_slice);
}

static void inter_alltoallw(weft_plan_t *plan, const weft_coll_args_t *args)
{
    swap_blocks(plan, args, weft_send_piece, weft_recv_piece);
}

/* ---- the table ---- */

static const weft_algorithm_t inter_algorithms[WEFT_COLL_FORMS] = {
    [WEFT_BARRIER] = {.name = "inter", .build = inter_barrier},
    [WEFT_BCAST] = {.name = "inter", .build = inter_bcast},
    [WEFT_GATHER] = {.name = "inter", .build = inter_gather},
    [WEFT_GATHERV] = {.name = "inter", .build = inter_gatherv},
    [WEFT_SCATTER] = {.name = "inter", .build = inter_scatter},
    [WEFT_SCATTERV] = {.name = "inter", .build = inter_scatterv},
    [WEFT_ALLGATHER] = {.name = "inter", .build = inter_allgather},
    [WEFT_ALLGATHERV] = {.name = "inter", .build = inter_allgatherv},
    [WEFT_ALLTOALL] = {.name = "inter", .build = inter_alltoall},
    [WEFT_ALLTOALLV] = {.name = "inter", .build = inter_alltoallv},
    [WEFT_ALLTOALLW] = {.name = "inter", .build = inter_alltoallw},
    [WEFT_REDUCE] = {.name = "inter", .build = wefti_inter_reduce},
    [WEFT_ALLREDUCE] = {.name = "inter", .build = wefti_inter_allreduce},
    [WEFT_REDUCE_SCATTER] = {.name = "inter", .build = wefti_inter_reduce_scatter},
    [WEFT_REDUCE_SCATTER_BLOCK] = {.name = "inter", .build = wefti_inter_reduce_scatter_block},
};

const weft_algorithm_t *weft_inter_algorithm(weft_coll_t coll)
{
    return inter_algorithms[coll].build == NULL ? NULL : &inter_algorithms[coll];
}
