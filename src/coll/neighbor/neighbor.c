/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/neighbor/neighbor.h"

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

static void receive_all(weft_plan_t *plan, const weft_coll_args_t *args,
                        const neighbor_blocks_t *blocks, int count)
{
    const weft_topology_t *topology = args->comm->topology;
    int rank = args->comm->rank;
    for (int n = 0; n < count; n++) {
        int index = nth_source(topology, n);
        int source = weft_topology_source(topology, rank, index);
        if (source != MPI_PROC_NULL && source != rank)
            weft_plan_recv(plan, blocks->from(args, index), source);
    }
}

/* What a rank sends to itself is copied. */
static void exchange_with_neighbors(weft_plan_t *plan, const weft_coll_args_t *args,
                                    const neighbor_blocks_t *blocks)
{
    const weft_topology_t *topology = args->comm->topology;
    int rank = args->comm->rank, sources = weft_topology_sources(topology, rank);
    int own = next_own_source(args, 0, sources);
    receive_all(plan, args, blocks, sources);
    for (int i = 0; i < weft_topology_destinations(topology, rank); i++) {
        int to = weft_topology_destination(topology, rank, i);
        if (to != MPI_PROC_NULL && to != rank)
            weft_plan_send(plan, blocks->to(args, i), to);
        if (to != rank || own == sources)
            continue;
        weft_plan_copy(plan, blocks->to(args, i), blocks->from(args, nth_source(topology, own)));
        own = next_own_source(args, own + 1, sources);
    }
}

/* Every destination gets the same. */
static weft_data_t same_block(const weft_coll_args_t *args, int index)
{
    (void)index;
    return weft_send_block(args, 0);
}

static void build_allgather(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_with_neighbors(plan, args, &(neighbor_blocks_t){same_block, weft_recv_block});
}

static void build_allgatherv(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_with_neighbors(plan, args, &(neighbor_blocks_t){same_block, weft_recv_slice});
}

static void build_alltoall(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_with_neighbors(plan, args, &(neighbor_blocks_t){weft_send_block, weft_recv_block});
}

static void build_alltoallv(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_with_neighbors(plan, args, &(neighbor_blocks_t){weft_send_slice, weft_recv_slice});
}

static void build_alltoallw(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_with_neighbors(plan, args, &(neighbor_blocks_t){weft_send_piece, weft_recv_piece});
}

static const weft_algorithm_t neighbor_algorithms[] = {
    {.name = "neighbor_allgather", .build = build_allgather},
    {.name = "neighbor_allgatherv", .build = build_allgatherv},
    {.name = "neighbor_alltoall", .build = build_alltoall},
    {.name = "neighbor_alltoallv", .build = build_alltoallv},
    {.name = "neighbor_alltoallw", .build = build_alltoallw},
};

const weft_algorithm_t *weft_neighbor_algorithm(weft_coll_t coll)
{
    return &neighbor_algorithms[coll - WEFT_NEIGHBOR_ALLGATHER];
}
