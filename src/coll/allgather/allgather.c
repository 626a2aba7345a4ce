/* SPDX-License-Identifier: BSD-3-Clause */
/* Allgather and allgatherv. They differ only in where block i lies, which a function tells. */
#include "coll/algorithm.h"
#include "coll/allgather/allgather_nodes.h"
#include "coll/wall/wall_algorithms.h"

/* Copies this rank's block to its place in recv_buf. */
static void place_own(weft_plan_t *plan, const weft_coll_args_t *args, weft_block_fn_t block)
{
    if (!weft_is_in_place(args))
        weft_plan_copy(plan, weft_allgather_own(args, block), block(args, args->comm->rank));
}

static void send_to_all(weft_plan_t *plan, const weft_coll_args_t *args, weft_block_fn_t block)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_data_t own = weft_allgather_own(args, block);
    for (int i = 1; i < size; i++)
        weft_plan_send(plan, own, (rank + i) % size);
    for (int i = 1; i < size; i++) {
        int peer = (rank - i + size) % size;
        weft_plan_recv(plan, block(args, peer), peer);
    }
    place_own(plan, args, block); /* done while the other ranks' messages are under way */
}

/* In round i each rank passes on the block that it received in the round before. */
static void pass_around(weft_plan_t *plan, const weft_coll_args_t *args, weft_block_fn_t block)
{
    int size = args->comm->size, rank = args->comm->rank;
    place_own(plan, args, block);
    for (int i = 0; i + 1 < size; i++) {
        weft_plan_wait(plan);
        weft_plan_send(plan, block(args, (rank - i + size) % size), (rank + 1) % size);
        weft_plan_recv(plan, block(args, (rank - i - 1 + size) % size), (rank - 1 + size) % size);
    }
}

/* Rank 0 receives all blocks and sends each rank the blocks that it lacks. */
static void allgather_through_root(weft_plan_t *plan, const weft_coll_args_t *args,
                                   weft_block_fn_t block)
{
    int size = args->comm->size, rank = args->comm->rank;
    place_own(plan, args, block);
    if (rank != 0) {
        weft_plan_send(plan, block(args, rank), 0);
        for (int i = 0; i < size; i++) {
            if (i != rank)
                weft_plan_recv(plan, block(args, i), 0);
        }
        return;
    }
    for (int peer = 1; peer < size; peer++)
        weft_plan_recv(plan, block(args, peer), peer);
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++) {
        for (int i = 0; i < size; i++) {
            if (i != peer)
                weft_plan_send(plan, block(args, i), peer);
        }
    }
}

/* The blocks lie one after the other in recv_buf, so rank 0 can send them as one message. */
static void allgather_gather_bcast(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_data_t all =
        weft_data(weft_place_at(WEFT_OUT, 0), args->recv_count * (size_t)size, args->recv_type);
    place_own(plan, args, weft_recv_block);
    if (rank != 0) {
        weft_plan_send(plan, weft_recv_block(args, rank), 0);
        weft_plan_wait(plan);
        weft_plan_recv(plan, all, 0);
        return;
    }
    for (int peer = 1; peer < size; peer++)
        weft_plan_recv(plan, weft_recv_block(args, peer), peer);
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++)
        weft_plan_send(plan, all, peer);
}

static void allgather_direct(weft_plan_t *plan, const weft_coll_args_t *args)
{
    send_to_all(plan, args, weft_recv_block);
}

static void allgather_ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    pass_around(plan, args, weft_recv_block);
}

static void allgatherv_direct(weft_plan_t *plan, const weft_coll_args_t *args)
{
    send_to_all(plan, args, weft_recv_slice);
}

static void allgatherv_ring(weft_plan_t *plan, const weft_coll_args_t *args)
{
    pass_around(plan, args, weft_recv_slice);
}

static void allgatherv_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    allgather_through_root(plan, args, weft_recv_slice);
}

const weft_algorithm_t weft_allgather_algorithms[] = {
    {"direct", allgather_direct, 0, "1 round, p - 1 messages of n bytes a rank", NULL, 0},
    {"ring", allgather_ring, 0, "p - 1 rounds of n bytes", weft_allgather_ring_us, 0},
    {"gather_bcast", allgather_gather_bcast, 0, "2 rounds, 2 (p - 1) messages at rank 0", NULL, 0},
    {"bruck", weft_allgather_bruck, 0, "log_k p rounds, p n bytes", weft_allgather_bruck_us,
     WEFT_HAS_RADIX},
    {"neighbour", weft_allgather_neighbour, 0, "p / 2 rounds of 2 n bytes",
     weft_allgather_neighbour_us, 0},
    {"bine", weft_allgather_bine, 0, "log2 p rounds, p n bytes, short ways", weft_allgather_bine_us,
     0},
    {"two_level", weft_allgather_two_level, 0, "log_k N rounds between nodes, p n bytes a leader",
     weft_allgather_two_level_us, WEFT_HAS_RADIX},
    {"two_level_ring", weft_allgather_two_level_ring, 0, "N - 1 rounds, p n bytes a leader",
     weft_allgather_two_level_ring_us, 0},
    {"lanes", weft_allgather_lanes, WEFT_NEEDS_REGULAR, "log_k N rounds, N n bytes a rank",
     weft_allgather_lanes_us, WEFT_HAS_RADIX},
    {"lanes_ring", weft_allgather_lanes_ring, WEFT_NEEDS_REGULAR, "N - 1 rounds of n bytes a rank",
     weft_allgather_lanes_ring_us, 0},
    {"wall", weft_wall_allgather, WEFT_NEEDS_WALL, "1 post of n bytes a rank, read by all", NULL,
     0},
    {"wall_or_messages", weft_routed_allgather, WEFT_NEEDS_WALL,
     "two ranks: the wall or a message, whichever took less", NULL, 0},
    {0},
};

const weft_algorithm_t weft_allgatherv_algorithms[] = {
    {"direct", allgatherv_direct, 0, "1 round, p - 1 messages a rank", NULL, 0},
    {"ring", allgatherv_ring, 0, "p - 1 rounds", weft_allgather_ring_us, 0},
    {"through_root", allgatherv_through_root, 0, "2 rounds, p (p - 1) messages at rank 0", NULL, 0},
    {"two_level", weft_allgatherv_two_level, 0, "log_k N rounds between nodes, all bytes a leader",
     weft_allgather_two_level_us, WEFT_HAS_RADIX},
    {"two_level_ring", weft_allgatherv_two_level_ring, 0, "N - 1 rounds, all bytes a leader",
     weft_allgather_two_level_ring_us, 0},
    {"wall", weft_wall_allgatherv, WEFT_NEEDS_WALL, "1 post a rank, read by all", NULL, 0},
    {0},
};
