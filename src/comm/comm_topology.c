/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators with a topology, and the edges of a distributed graph, which any rank may name. */
#include "comm/comm_make.h"

#include "comm/comm_topology_private.h"
#include "comm/context_agree.h"
#include "coll/coll.h"
#include "object/group.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

/* The ranks of the new communicator in the old one: the first `size`, or those of `ranks`. */
static int make_topology_group(const weft_comm_t *comm, int size, const int *ranks,
                               weft_group_t **out)
{
    if (size == comm->size && ranks == NULL) {
        weft_group_retain(comm->group);
        *out = comm->group;
        return MPI_SUCCESS;
    }
    int *processes = weft_alloc_array((size_t)size, sizeof(int));
    if (processes == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %d", size);
    for (int i = 0; i < size; i++)
        processes[i] = weft_comm_process(comm, ranks == NULL ? i : ranks[i]);
    return weft_group_derive(comm->group, processes, size, out);
}

static int rank_before_reordering(const void *map, int rank)
{
    return ((const int *)map)[rank];
}

int wefti_find_rank(const int *ranks, int size, int rank)
{
    if (ranks == NULL)
        return rank;
    int at = 0;
    while (at < size && ranks[at] != rank)
        at++;
    return at;
}

int wefti_comm_attach(weft_comm_t *comm, int size, const int *ranks, weft_topology_t *topology,
                      weft_comm_t **out)
{
    weft_creation_t creation = wefti_creation_next(comm);
    weft_members_t members = {
        .parent = comm, .rank = wefti_find_rank(ranks, size, comm->rank), .size = size};
    weft_group_t *group = NULL;
    *out = NULL;
    if (ranks != NULL) {
        members.rank_in_parent = rank_before_reordering;
        members.map = ranks;
    }
    if (members.rank >= size) {
        weft_topology_release(topology);
        return MPI_SUCCESS;
    }
    int err = topology == NULL ? weft_fail(MPI_ERR_NO_MEM, "no memory for a topology")
                               : make_topology_group(comm, size, ranks, &group);
    err = wefti_comm_make(&members, &creation, group, err, out);
    if (group != NULL)
        weft_group_release(group);
    if (err == MPI_SUCCESS)
        (*out)->topology = topology;
    else
        weft_topology_release(topology);
    return err;
}

int weft_comm_attach_topology(weft_comm_t *comm, int size, weft_topology_t *topology,
                              weft_comm_t **out)
{
    return wefti_comm_attach(comm, size, NULL, topology, out);
}

/* ---- the edges of a distributed graph ---- */

/* An edge as one of its ends hears of it. */
typedef struct half_edge {
    int peer, weight;
    int is_out; /* it leads to the peer */
} half_edge_t;

/* What each rank is told, and tells this one. */
typedef struct edge_exchange {
    weft_comm_t *comm;
    MPI_Count *bytes_out, *at_out, *bytes_in, *at_in; /* [comm->size], in bytes */
    half_edge_t *out, *in;
    size_t count_in;
} edge_exchange_t;

static void count_half(edge_exchange_t *exchange, int to, const half_edge_t *half)
{
    (void)half;
    exchange->bytes_out[to] += sizeof(half_edge_t);
}

/* at_out goes on behind it. */
static void store_half(edge_exchange_t *exchange, int to, const half_edge_t *half)
{
    exchange->out[(size_t)exchange->at_out[to] / sizeof(*half)] = *half;
    exchange->at_out[to] += sizeof(*half);
}

/* Call fn for both ends of each edge. */
static void each_half(edge_exchange_t *exchange, const weft_named_edges_t *named,
                      void (*fn)(edge_exchange_t *exchange, int to, const half_edge_t *half))
{
    size_t edge = 0;
    for (int i = 0; i < named->count; i++) {
        for (int k = 0; k < named->degrees[i]; k++, edge++) {
            int source = named->sources[i], destination = named->destinations[edge];
            int weight = named->weights != NULL ? named->weights[edge] : 0;
            fn(exchange, source, &(half_edge_t){destination, weight, true});
            fn(exchange, destination, &(half_edge_t){source, weight, false});
        }
    }
}

/* at[] from bytes[]; returns the sum. */
static MPI_Count add_up_bytes(const MPI_Count *bytes, MPI_Count *at, int ranks)
{
    MPI_Count sum = 0;
    for (int rank = 0; rank < ranks; rank++) {
        at[rank] = sum;
        sum += bytes[rank];
    }
    return sum;
}

static int exchange_counts(edge_exchange_t *exchange)
{
    weft_type_t *type = weft_type_of(MPI_COUNT);
    weft_coll_args_t args = {.comm = exchange->comm,
                             .send_buf = exchange->bytes_out,
                             .send_count = 1,
                             .send_type = type,
                             .recv_buf = exchange->bytes_in,
                             .recv_count = 1,
                             .recv_type = type};
    return weft_coll_run(WEFT_ALLTOALL, &args);
}

static int exchange_halves(edge_exchange_t *exchange)
{
    weft_type_t *type = weft_type_of(MPI_BYTE);
    weft_coll_args_t args = {.comm = exchange->comm,
                             .send_buf = exchange->out,
                             .send_counts = weft_counts_wide(exchange->bytes_out),
                             .send_displs = weft_counts_wide(exchange->at_out),
                             .send_type = type,
                             .recv_buf = exchange->in,
                             .recv_counts = weft_counts_wide(exchange->bytes_in),
                             .recv_displs = weft_counts_wide(exchange->at_in),
                             .recv_type = type};
    return weft_coll_run(WEFT_ALLTOALLV, &args);
}

static int fail_for_edges(void)
{
    return weft_fail(MPI_ERR_NO_MEM, "no memory for the edges of a graph");
}

/* Sort what the others are to hear by who it is for. */
static int fill_out(edge_exchange_t *exchange, const weft_named_edges_t *named)
{
    int ranks = exchange->comm->size;
    each_half(exchange, named, count_half);
    MPI_Count bytes = add_up_bytes(exchange->bytes_out, exchange->at_out, ranks);
    exchange->out = weft_alloc((size_t)bytes);
    if (exchange->out == NULL)
        return fail_for_edges();
    each_half(exchange, named, store_half);
    add_up_bytes(exchange->bytes_out, exchange->at_out, ranks);
    return MPI_SUCCESS;
}

static int fetch_in(edge_exchange_t *exchange)
{
    int err = exchange_counts(exchange);
    if (err != MPI_SUCCESS)
        return err;
    MPI_Count bytes = add_up_bytes(exchange->bytes_in, exchange->at_in, exchange->comm->size);
    exchange->count_in = (size_t)bytes / sizeof(half_edge_t);
    exchange->in = weft_alloc((size_t)bytes);
    return exchange->in != NULL ? exchange_halves(exchange) : fail_for_edges();
}

/* The half edges as arrays: first those that lead here, then the others. */
static weft_topology_t *topology_of_halves(const edge_exchange_t *exchange, bool is_weighted)
{
    int *numbers = weft_alloc_array(2 * exchange->count_in, sizeof(int));
    weft_topology_t *topology = NULL;
    int in_count = 0, counts[2] = {0, 0};
    if (numbers == NULL)
        return NULL;
    for (size_t i = 0; i < exchange->count_in; i++)
        in_count += !exchange->in[i].is_out;
    int *peers = numbers, *weights = numbers + exchange->count_in;
    for (size_t i = 0; i < exchange->count_in; i++) {
        const half_edge_t *half = &exchange->in[i];
        int at = (half->is_out ? in_count : 0) + counts[half->is_out]++;
        peers[at] = half->peer;
        weights[at] = half->weight;
    }
    topology = weft_topology_of_edges(
        &(weft_edges_t){.in_count = in_count,
                        .out_count = counts[true],
                        .sources = peers,
                        .in_weights = is_weighted ? weights : NULL,
                        .destinations = peers + in_count,
                        .out_weights = is_weighted ? weights + in_count : NULL,
                        .is_weighted = is_weighted});
    weft_free(numbers);
    return topology;
}

static int allocate_exchange(edge_exchange_t *exchange)
{
    size_t ranks = (size_t)exchange->comm->size;
    MPI_Count *counts = weft_alloc_zeroed(4 * ranks, sizeof(MPI_Count));
    if (counts == NULL)
        return fail_for_edges();
    exchange->bytes_out = counts;
    exchange->at_out = counts + ranks;
    exchange->bytes_in = counts + 2 * ranks;
    exchange->at_in = counts + 3 * ranks;
    return MPI_SUCCESS;
}

int weft_comm_gather_edges(weft_comm_t *comm, const weft_named_edges_t *named,
                           weft_topology_t **out)
{
    edge_exchange_t exchange = {.comm = comm};
    int err = allocate_exchange(&exchange);
    if (err == MPI_SUCCESS)
        err = fill_out(&exchange, named);
    if (err == MPI_SUCCESS)
        err = fetch_in(&exchange);
    if (err == MPI_SUCCESS) {
        *out = topology_of_halves(&exchange, named->is_weighted);
        err = *out != NULL ? MPI_SUCCESS : fail_for_edges();
    }
    weft_free(exchange.bytes_out);
    weft_free(exchange.out);
    weft_free(exchange.in);
    return err;
}
