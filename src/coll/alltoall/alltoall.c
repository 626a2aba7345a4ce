/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall, alltoallv and alltoallw: they differ in where the block for a rank lies. */
#include "coll/algorithm.h"
#include "coll/alltoall/alltoall_nodes.h"
#include "coll/wall/wall_algorithms.h"

/* Where the block for a rank, or the block from it, lies. */
typedef struct blocks {
    weft_data_t (*to)(const weft_coll_args_t *args, int rank);
    weft_data_t (*from)(const weft_coll_args_t *args, int rank);
} blocks_t;

static const blocks_t equal_blocks = {weft_send_block, weft_recv_block};
static const blocks_t slices = {weft_send_slice, weft_recv_slice};
static const blocks_t pieces = {weft_send_piece, weft_recv_piece};

/* The data for rank `peer`. In place they are a copy of what recv_buf held, made before anything
 * can arrive there. */
static weft_data_t outgoing(weft_plan_t *plan, const weft_coll_args_t *args, const blocks_t *blocks,
                            int peer)
{
    if (!weft_is_in_place(args))
        return blocks->to(args, peer);
    weft_data_t data = blocks->from(args, peer), copy = data;
    copy.place = weft_plan_scratch(plan, data.count, data.type);
    weft_plan_copy(plan, data, copy);
    return copy;
}

static void keep_own(weft_plan_t *plan, const weft_coll_args_t *args, const blocks_t *blocks)
{
    int rank = args->comm->rank;
    if (!weft_is_in_place(args))
        weft_plan_copy(plan, blocks->to(args, rank), blocks->from(args, rank));
}

static void exchange_at_once(weft_plan_t *plan, const weft_coll_args_t *args,
                             const blocks_t *blocks)
{
    int size = args->comm->size, rank = args->comm->rank;
    for (int i = 1; i < size; i++) {
        int peer = (rank + i) % size;
        weft_plan_send(plan, outgoing(plan, args, blocks, peer), peer);
    }
    for (int i = 1; i < size; i++) {
        int peer = (rank - i + size) % size;
        weft_plan_recv(plan, blocks->from(args, peer), peer);
    }
    keep_own(plan, args, blocks);
}

/* In round i each rank sends to the rank i above and receives from the rank i below; `batch` rounds
 * run at a time. In place a block may arrive before the one that was there has been sent, so copies
 * are made first. */
static void exchange_in_rounds(weft_plan_t *plan, const weft_coll_args_t *args,
                               const blocks_t *blocks, int batch)
{
    int size = args->comm->size, rank = args->comm->rank;
    if (weft_is_in_place(args)) {
        exchange_at_once(plan, args, blocks);
        return;
    }
    keep_own(plan, args, blocks);
    for (int i = 1; i < size; i++) {
        int to = (rank + i) % size, from = (rank - i + size) % size;
        if ((i - 1) % batch == 0)
            weft_plan_wait(plan);
        weft_plan_recv(plan, blocks->from(args, from), from);
        weft_plan_send(plan, blocks->to(args, to), to);
    }
}

/* Rank 0 receives all blocks of all ranks, side by side as bytes, and sends each rank its
 * column. */
static void alltoall_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    size_t block = args->recv_count * args->recv_type->size, row = block * (size_t)size;
    weft_data_t in = weft_is_in_place(args)
                         ? weft_data(weft_place_at(WEFT_OUT, 0), args->recv_count * (size_t)size,
                                     args->recv_type)
                         : weft_data(weft_place_at(WEFT_IN, 0), args->send_count * (size_t)size,
                                     args->send_type);
    weft_data_t out =
        weft_data(weft_place_at(WEFT_OUT, 0), args->recv_count * (size_t)size, args->recv_type);
    if (rank != 0) {
        weft_plan_send(plan, in, 0);
        weft_plan_wait(plan);
        weft_plan_recv(plan, out, 0);
        return;
    }
    weft_place_t rows = weft_plan_scratch(plan, row * (size_t)size, byte);
    weft_place_t columns = weft_plan_scratch(plan, row * (size_t)size, byte);
    for (int peer = 1; peer < size; peer++)
        weft_plan_recv(
            plan, weft_data(weft_after(rows, (MPI_Count)(row * (size_t)peer), byte), row, byte),
            peer);
    weft_plan_copy(plan, in, weft_data(rows, row, byte));
    weft_plan_wait(plan);
    for (size_t i = 0; i < (size_t)size; i++) {
        for (size_t j = 0; j < (size_t)size; j++)
            weft_plan_copy(
                plan,
                weft_data(weft_after(rows, (MPI_Count)(j * row + i * block), byte), block, byte),
                weft_data(weft_after(columns, (MPI_Count)(i * row + j * block), byte), block,
                          byte));
    }
    for (int peer = 1; peer < size; peer++)
        weft_plan_send(
            plan, weft_data(weft_after(columns, (MPI_Count)(row * (size_t)peer), byte), row, byte),
            peer);
    weft_plan_copy(plan, weft_data(columns, row, byte), out);
}

static void alltoall_direct(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_at_once(plan, args, &equal_blocks);
}

static void alltoall_pairwise(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_in_rounds(plan, args, &equal_blocks, 1);
}

static void alltoall_batched(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_in_rounds(plan, args, &equal_blocks, WEFT_ALLTOALL_BATCH);
}

static void alltoallv_direct(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_at_once(plan, args, &slices);
}

static void alltoallv_batched(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_in_rounds(plan, args, &slices, WEFT_ALLTOALL_BATCH);
}

static void alltoallw_direct(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_at_once(plan, args, &pieces);
}

static void alltoallw_batched(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_in_rounds(plan, args, &pieces, WEFT_ALLTOALL_BATCH);
}

const weft_algorithm_t weft_alltoall_algorithms[] = {
    {"direct", alltoall_direct, 0, "1 round, p - 1 messages of n bytes a rank", NULL, 0},
    {"pairwise", alltoall_pairwise, 0, "p - 1 rounds of n bytes", NULL, 0},
    {"batched", alltoall_batched, 0, "p - 1 messages of n bytes, 32 at a time",
     weft_alltoall_batched_us, 0},
    {"through_root", alltoall_through_root, 0,
     "2 rounds, 2 (p - 1) messages of p n bytes at rank 0", NULL, 0},
    {"bruck", weft_alltoall_bruck, 0, "log_k p rounds of (k - 1) p/k n bytes",
     weft_alltoall_bruck_us, WEFT_HAS_RADIX},
    {"lanes", weft_alltoall_lanes, WEFT_NEEDS_REGULAR, "N - 1 messages of m n bytes a rank",
     weft_alltoall_lanes_us, 0},
    {"lanes_bruck", weft_alltoall_lanes_bruck, WEFT_NEEDS_REGULAR,
     "log_k N rounds of (k - 1) p/k n bytes", weft_alltoall_lanes_bruck_us, WEFT_HAS_RADIX},
    {"node_aware", weft_alltoall_node_aware, 0, "N/m messages of m m n bytes a rank",
     weft_alltoall_node_aware_us, 0},
    {"wall", weft_wall_alltoall, WEFT_NEEDS_WALL, "1 post of p n bytes a rank", NULL, 0},
    {"wall_or_messages", weft_routed_alltoall, WEFT_NEEDS_WALL,
     "two ranks: the wall or a message, whichever took less", NULL, 0},
    {0},
};

const weft_algorithm_t weft_alltoallv_algorithms[] = {
    {"direct", alltoallv_direct, 0, "1 round, p - 1 messages a rank", NULL, 0},
    {"batched", alltoallv_batched, 0, "p - 1 messages a rank, 32 at a time", NULL, 0},
    {"wall", weft_wall_alltoallv, WEFT_NEEDS_WALL, "1 post a rank, read by all", NULL, 0},
    {0},
};

const weft_algorithm_t weft_alltoallw_algorithms[] = {
    {"direct", alltoallw_direct, 0, "1 round, p - 1 messages a rank", NULL, 0},
    {"batched", alltoallw_batched, 0, "p - 1 messages a rank, 32 at a time", NULL, 0},
    {"wall", weft_wall_alltoallw, WEFT_NEEDS_WALL, "1 post a rank, read by all", NULL, 0},
    {0},
};
