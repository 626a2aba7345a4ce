/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/neighbor/neighbor.h"

#include "coll/algorithm.h"
#include "object/topology.h"

/* Where the block for a destination, and that from a source, lies. */
typedef weft_data_t (*neighbor_block_fn_t)(const weft_coll_args_t *args, int index);

typedef struct neighbor_form {
    const char *name;
    neighbor_block_fn_t to, from;
} neighbor_form_t;

static weft_data_t same_block(const weft_coll_args_t *args, int index)
{
    (void)index;
    return weft_send_block(args, 0);
}

static const neighbor_form_t neighbor_forms[] = {
    {"neighbor_allgather", same_block, weft_recv_block},
    {"neighbor_allgatherv", same_block, weft_recv_slice},
    {"neighbor_alltoall", weft_send_block, weft_recv_block},
    {"neighbor_alltoallv", weft_send_slice, weft_recv_slice},
    {"neighbor_alltoallw", weft_send_piece, weft_recv_piece},
};

static const neighbor_form_t *form_of(weft_coll_t coll)
{
    return &neighbor_forms[coll - WEFT_NEIGHBOR_ALLGATHER];
}

const char *weft_neighbor_name(weft_coll_t coll)
{
    return form_of(coll)->name;
}

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

static void receive_all(weft_plan_t *plan, const neighbor_form_t *form,
                        const weft_coll_args_t *args, int count)
{
    const weft_topology_t *topology = args->comm->topology;
    int rank = args->comm->rank;
    for (int n = 0; n < count; n++) {
        int index = nth_source(topology, n);
        int source = weft_topology_source(topology, rank, index);
        if (source != MPI_PROC_NULL && source != rank)
            weft_plan_recv(plan, form->from(args, index), source);
    }
}

/* What a rank sends to itself is copied. */
void weft_neighbor_build(weft_plan_t *plan, weft_coll_t coll, const weft_coll_args_t *args)
{
    const weft_topology_t *topology = args->comm->topology;
    const neighbor_form_t *form = form_of(coll);
    int rank = args->comm->rank, sources = weft_topology_sources(topology, rank);
    int own = next_own_source(args, 0, sources);
    receive_all(plan, form, args, sources);
    for (int i = 0; i < weft_topology_destinations(topology, rank); i++) {
        int to = weft_topology_destination(topology, rank, i);
        if (to != MPI_PROC_NULL && to != rank)
            weft_plan_send(plan, form->to(args, i), to);
        if (to != rank || own == sources)
            continue;
        weft_plan_copy(plan, form->to(args, i), form->from(args, nth_source(topology, own)));
        own = next_own_source(args, own + 1, sources);
    }
}
