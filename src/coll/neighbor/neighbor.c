/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/neighbor/neighbor.h"

#include "coll/wall/wall_algorithms.h"
#include "object/topology.h"

/* Where the block for a destination, and that from a source, lies. */
typedef struct neighbor_blocks {
    weft_data_t (*to)(const weft_coll_args_t *args, int index);
    weft_data_t (*from)(const weft_coll_args_t *args, int index);
} neighbor_blocks_t;

/* In which order the blocks of sources are received: README.md says why. */
static int nth_source(const weft_topology_t *topology, int n)
{
    return topology->kind == MPI_CART ? n ^ 1 : n;
}

/* The next source from `n` on that is this rank itself; `count` if there is none. */
static int next_own_source(const weft_coll_args_t *args, int n, int count)
{
    const weft_topology_t *topology = args->comm->topology;
    int rank = args->comm->rank;
    while (n < count && weft_topology_source(topology, rank, nth_source(topology, n)) != rank)
        n++;
    return n;
}

/* Blocks of at most `most` bytes are left out. */
static bool is_longer(weft_data_t block, size_t most)
{
    return block.count * block.type->size > most;
}

static void receive_all(weft_plan_t *plan, const weft_coll_args_t *args,
                        const neighbor_blocks_t *blocks, size_t most)
{
    const weft_topology_t *topology = args->comm->topology;
    int rank = args->comm->rank, count = weft_topology_sources(topology, rank);
    for (int n = 0; n < count; n++) {
        int index = nth_source(topology, n);
        int source = weft_topology_source(topology, rank, index);
        if (source != MPI_PROC_NULL && source != rank && is_longer(blocks->from(args, index), most))
            weft_plan_recv(plan, blocks->from(args, index), source);
    }
}

static void send_all(weft_plan_t *plan, const weft_coll_args_t *args,
                     const neighbor_blocks_t *blocks, size_t most)
{
    const weft_topology_t *topology = args->comm->topology;
    int rank = args->comm->rank;
    for (int i = 0; i < weft_topology_destinations(topology, rank); i++) {
        int to = weft_topology_destination(topology, rank, i);
        if (to != MPI_PROC_NULL && to != rank && is_longer(blocks->to(args, i), most))
            weft_plan_send(plan, blocks->to(args, i), to);
    }
}

/* What a rank sends to itself. */
static void copy_own(weft_plan_t *plan, const weft_coll_args_t *args,
                     const neighbor_blocks_t *blocks)
{
    const weft_topology_t *topology = args->comm->topology;
    int rank = args->comm->rank, sources = weft_topology_sources(topology, rank);
    int own = next_own_source(args, 0, sources);
    for (int i = 0; i < weft_topology_destinations(topology, rank) && own < sources; i++) {
        if (weft_topology_destination(topology, rank, i) != rank)
            continue;
        weft_plan_copy(plan, blocks->to(args, i), blocks->from(args, nth_source(topology, own)));
        own = next_own_source(args, own + 1, sources);
    }
}

static void exchange_with_neighbors(weft_plan_t *plan, const weft_coll_args_t *args,
                                    const neighbor_blocks_t *blocks)
{
    receive_all(plan, args, blocks, 0);
    send_all(plan, args, blocks, 0);
    copy_own(plan, args, blocks);
}

/* Every destination gets the same. */
static weft_data_t same_block(const weft_coll_args_t *args, int index)
{
    (void)index;
    return weft_send_block(args, 0);
}

static const neighbor_blocks_t blocks_of[] = {
    {same_block, weft_recv_block},      {same_block, weft_recv_slice},
    {weft_send_block, weft_recv_block}, {weft_send_slice, weft_recv_slice},
    {weft_send_piece, weft_recv_piece},
};

static const neighbor_blocks_t *blocks_in(weft_coll_t coll)
{
    return &blocks_of[coll - WEFT_NEIGHBOR_ALLGATHER];
}

static void build(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_with_neighbors(plan, args, blocks_in(plan->coll));
}

void weft_neighbor_build_long(weft_plan_t *plan, const weft_coll_args_t *args, size_t most)
{
    receive_all(plan, args, blocks_in(plan->coll), most);
    send_all(plan, args, blocks_in(plan->coll), most);
}

static const weft_algorithm_t by_messages[] = {
    {.name = "neighbor_allgather", .build = build}, {.name = "neighbor_allgatherv", .build = build},
    {.name = "neighbor_alltoall", .build = build},  {.name = "neighbor_alltoallv", .build = build},
    {.name = "neighbor_alltoallw", .build = build},
};

static const weft_algorithm_t on_wall[] = {
    {.name = "neighbor_allgather_wall", .build = weft_wall_neighbor_allgather},
    {.name = "neighbor_allgatherv_wall", .build = weft_wall_neighbor_allgatherv},
    {.name = "neighbor_alltoall_wall", .build = weft_wall_neighbor_alltoall},
    {.name = "neighbor_alltoallv_wall", .build = weft_wall_neighbor_alltoallv},
    {.name = "neighbor_alltoallw_wall", .build = weft_wall_neighbor_alltoallw},
};

const weft_algorithm_t *weft_neighbor_algorithm(weft_coll_t coll, bool has_wall)
{
    return &(has_wall ? on_wall : by_messages)[coll - WEFT_NEIGHBOR_ALLGATHER];
}
