/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives on grids, graphs and distributed graphs, some with ranks that are
 * neighbours of themselves or more than once: every block comes from the right rank, and of it the
 * right one; nothing else is written. In all three forms, in host and device memory.
 */
#include "expect.h"
#include "memory_kinds.h"

#include <stdlib.h>

enum { PEERS_MOST = 64, BLOCK = 3, INTS_MOST = PEERS_MOST * 6 };

/* This rank's neighbours, and which of a source's destinations its block is meant for. */
typedef struct neighbors {
    MPI_Comm comm;
    int in, out, sources[PEERS_MOST], meant[PEERS_MOST], dests[PEERS_MOST];
} neighbors_t;

/* ---- topologies ---- */

static void make_cart(neighbors_t *its, int ndims, const int periods[])
{
    int dims[3] = {0};
    MPI_Dims_create(expect_size, ndims, dims);
    MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &its->comm);
    its->in = its->out = 2 * ndims;
    for (int i = 0; i < ndims; i++) {
        int below, above;
        MPI_Cart_shift(its->comm, i, 1, &below, &above);
        its->sources[2 * i] = its->dests[2 * i] = below;
        its->sources[2 * i + 1] = its->dests[2 * i + 1] = above;
        /* The rank below sends upwards, and the other way round. */
        its->meant[2 * i] = 2 * i + 1;
        its->meant[2 * i + 1] = 2 * i;
    }
}

/* Destination `index` of a rank, in the graph and in the distributed graph. */
typedef int (*dest_fn_t)(int rank, int index);

enum { DEGREE = 3 };

static int graph_dest(int rank, int index)
{
    const int dests[DEGREE] = {(rank + 1) % expect_size, (rank + expect_size - 1) % expect_size,
                               rank};
    return dests[index];
}

static int dist_dest(int rank, int index)
{
    const int dests[DEGREE] = {(rank + 1) % expect_size, 2 * rank % expect_size,
                               (rank + 1) % expect_size};
    return dests[index];
}

/* Which destination of a source the block at `at` is meant for: edges between two ranks match in
 * their order. */
static int find_meant(const neighbors_t *its, int at, dest_fn_t dest)
{
    int earlier = 0, index = 0;
    for (int i = 0; i < at; i++)
        earlier += its->sources[i] == its->sources[at];
    for (;; index++) {
        if (dest(its->sources[at], index) == expect_rank && earlier-- == 0)
            return index;
    }
}

static void note_edges(neighbors_t *its, dest_fn_t dest)
{
    its->out = DEGREE;
    for (int i = 0; i < DEGREE; i++)
        its->dests[i] = dest(expect_rank, i);
    for (int i = 0; i < its->in; i++)
        its->meant[i] = find_meant(its, i, dest);
}

static void make_graph(neighbors_t *its)
{
    int *index = malloc(sizeof(int) * (size_t)expect_size), edges[PEERS_MOST * DEGREE];
    for (int rank = 0; rank < expect_size; rank++) {
        index[rank] = DEGREE * (rank + 1);
        for (int i = 0; i < DEGREE; i++)
            edges[DEGREE * rank + i] = graph_dest(rank, i);
    }
    MPI_Graph_create(MPI_COMM_WORLD, expect_size, index, edges, 0, &its->comm);
    free(index);
    its->in = DEGREE;
    memcpy(its->sources, edges + DEGREE * expect_rank, sizeof(int) * DEGREE);
    note_edges(its, graph_dest);
}

static void make_dist_graph(neighbors_t *its)
{
    for (int rank = 0; rank < expect_size; rank++) {
        for (int i = 0; i < DEGREE; i++) {
            if (dist_dest(rank, i) == expect_rank)
                its->sources[its->in++] = rank;
        }
    }
    note_edges(its, dist_dest);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, its->in, its->sources, MPI_UNWEIGHTED, its->out,
                                   its->dests, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &its->comm);
}

/* ---- blocks ---- */

/* How a side of a collective is laid out, in ints. */
typedef struct layout {
    int counts[PEERS_MOST], displs[PEERS_MOST], total;
    MPI_Aint bytes[PEERS_MOST]; /* displs in bytes */
    MPI_Count wide_counts[PEERS_MOST];
    MPI_Aint wide_displs[PEERS_MOST];
    MPI_Datatype types[PEERS_MOST];
} layout_t;

static int count_between(int from, int index)
{
    return (from * 5 + index * 3) % 4;
}

/* With gaps, in the reverse order; of `equal` blocks without gaps. */
static void lay_out(layout_t *its, int count, const int counts[], int is_equal)
{
    its->total = is_equal ? BLOCK * count : 1;
    for (int i = count - 1; i >= 0; i--) {
        its->counts[i] = is_equal ? BLOCK : counts[i];
        its->displs[i] = is_equal ? BLOCK * i : its->total;
        its->total += is_equal ? 0 : counts[i] + 1;
        its->bytes[i] = (MPI_Aint)sizeof(int) * its->displs[i];
        its->wide_counts[i] = its->counts[i];
        its->wide_displs[i] = its->displs[i];
        its->types[i] = MPI_INT;
    }
}

static int content_of(int from, int index, int element)
{
    return from * 1000 + index * 50 + element + 1;
}

enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, OPERATIONS };

typedef struct exchange {
    neighbors_t *its;
    int operation;
    layout_t send, recv;
    int content[INTS_MOST], got[INTS_MOST];
    char send_kind, recv_kind;
    int *send_at, *recv_at;
} exchange_t;

static int is_gather(int operation)
{
    return operation == ALLGATHER || operation == ALLGATHERV;
}

/* What a rank's block for its destination `index` is. */
static int sent_index(int operation, int index)
{
    return is_gather(operation) ? 0 : index;
}

static int sent_count(int operation, int from, int index)
{
    if (operation == ALLGATHER || operation == ALLTOALL)
        return BLOCK;
    return operation == ALLGATHERV ? from % 4 : count_between(from, index);
}

static void prepare(exchange_t *e)
{
    int counts[PEERS_MOST], is_equal = e->operation == ALLGATHER || e->operation == ALLTOALL;
    for (int i = 0; i < e->its->out; i++)
        counts[i] = sent_count(e->operation, expect_rank, i);
    lay_out(&e->send, e->its->out, counts, is_equal);
    for (int i = 0; i < e->its->in; i++)
        counts[i] = e->its->sources[i] < 0
                        ? 2
                        : sent_count(e->operation, e->its->sources[i], e->its->meant[i]);
    lay_out(&e->recv, e->its->in, counts, is_equal);
    memset(e->content, 0, sizeof(e->content));
    memset(e->got, 0xff, sizeof(e->got));
    for (int i = 0; i < (is_gather(e->operation) ? 1 : e->its->out); i++) {
        int at = is_gather(e->operation) ? 0 : e->send.displs[i];
        for (int k = 0; k < sent_count(e->operation, expect_rank, i); k++)
            e->content[at + k] = content_of(expect_rank, i, k);
    }
    e->send_kind = memory_next_kind();
    e->recv_kind = memory_next_kind();
    e->send_at = memory_take(e->send_kind, sizeof(e->content));
    e->recv_at = memory_take(e->recv_kind, sizeof(e->got));
    memory_put(e->send_kind, e->send_at, e->content, sizeof(e->content));
    memory_put(e->recv_kind, e->recv_at, e->got, sizeof(e->got));
}

static void check_and_free(exchange_t *e)
{
    int expected[INTS_MOST];
    memset(expected, 0xff, sizeof(expected));
    for (int i = 0; i < e->its->in; i++) {
        int from = e->its->sources[i];
        for (int k = 0; k < e->recv.counts[i] && from >= 0; k++)
            expected[e->recv.displs[i] + k] =
                content_of(from, sent_index(e->operation, e->its->meant[i]), k);
    }
    memory_get(e->recv_kind, e->got, e->recv_at, sizeof(e->got));
    for (int i = 0; i < INTS_MOST; i++)
        EXPECT(e->got[i], expected[i]);
    memory_give(e->send_kind, e->send_at);
    memory_give(e->recv_kind, e->recv_at);
}

/* ---- calls ---- */

static void call_blocking(exchange_t *e)
{
    MPI_Comm comm = e->its->comm;
    const layout_t *s = &e->send, *r = &e->recv;
    int own = sent_count(e->operation, expect_rank, 0);
    switch (e->operation) {
    case ALLGATHER:
        MPI_Neighbor_allgather(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm);
        break;
    case ALLGATHERV:
        MPI_Neighbor_allgatherv(e->send_at, own, MPI_INT, e->recv_at, r->counts, r->displs, MPI_INT,
                                comm);
        break;
    case ALLTOALL:
        MPI_Neighbor_alltoall(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm);
        break;
    case ALLTOALLV:
        MPI_Neighbor_alltoallv(e->send_at, s->counts, s->displs, MPI_INT, e->recv_at, r->counts,
                               r->displs, MPI_INT, comm);
        break;
    default:
        MPI_Neighbor_alltoallw(e->send_at, s->counts, s->bytes, s->types, e->recv_at, r->counts,
                               r->bytes, r->types, comm);
    }
}

static void call_wide(exchange_t *e)
{
    MPI_Comm comm = e->its->comm;
    const layout_t *s = &e->send, *r = &e->recv;
    int own = sent_count(e->operation, expect_rank, 0);
    switch (e->operation) {
    case ALLGATHER:
        MPI_Neighbor_allgather_c(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm);
        break;
    case ALLGATHERV:
        MPI_Neighbor_allgatherv_c(e->send_at, own, MPI_INT, e->recv_at, r->wide_counts,
                                  r->wide_displs, MPI_INT, comm);
        break;
    case ALLTOALL:
        MPI_Neighbor_alltoall_c(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm);
        break;
    case ALLTOALLV:
        MPI_Neighbor_alltoallv_c(e->send_at, s->wide_counts, s->wide_displs, MPI_INT, e->recv_at,
                                 r->wide_counts, r->wide_displs, MPI_INT, comm);
        break;
    default:
        MPI_Neighbor_alltoallw_c(e->send_at, s->wide_counts, s->bytes, s->types, e->recv_at,
                                 r->wide_counts, r->bytes, r->types, comm);
    }
}

static void begin_narrow(exchange_t *e, MPI_Request *request)
{
    MPI_Comm comm = e->its->comm;
    const layout_t *s = &e->send, *r = &e->recv;
    int own = sent_count(e->operation, expect_rank, 0);
    switch (e->operation) {
    case ALLGATHER:
        MPI_Ineighbor_allgather(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm,
                                request);
        break;
    case ALLGATHERV:
        MPI_Ineighbor_allgatherv(e->send_at, own, MPI_INT, e->recv_at, r->counts, r->displs,
                                 MPI_INT, comm, request);
        break;
    case ALLTOALL:
        MPI_Ineighbor_alltoall(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm,
                               request);
        break;
    case ALLTOALLV:
        MPI_Ineighbor_alltoallv(e->send_at, s->counts, s->displs, MPI_INT, e->recv_at, r->counts,
                                r->displs, MPI_INT, comm, request);
        break;
    default:
        MPI_Ineighbor_alltoallw(e->send_at, s->counts, s->bytes, s->types, e->recv_at, r->counts,
                                r->bytes, r->types, comm, request);
    }
}

static void begin_wide(exchange_t *e, MPI_Request *request)
{
    MPI_Comm comm = e->its->comm;
    const layout_t *s = &e->send, *r = &e->recv;
    int own = sent_count(e->operation, expect_rank, 0);
    switch (e->operation) {
    case ALLGATHER:
        MPI_Ineighbor_allgather_c(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm,
                                  request);
        break;
    case ALLGATHERV:
        MPI_Ineighbor_allgatherv_c(e->send_at, own, MPI_INT, e->recv_at, r->wide_counts,
                                   r->wide_displs, MPI_INT, comm, request);
        break;
    case ALLTOALL:
        MPI_Ineighbor_alltoall_c(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm,
                                 request);
        break;
    case ALLTOALLV:
        MPI_Ineighbor_alltoallv_c(e->send_at, s->wide_counts, s->wide_displs, MPI_INT, e->recv_at,
                                  r->wide_counts, r->wide_displs, MPI_INT, comm, request);
        break;
    default:
        MPI_Ineighbor_alltoallw_c(e->send_at, s->wide_counts, s->bytes, s->types, e->recv_at,
                                  r->wide_counts, r->bytes, r->types, comm, request);
    }
}

static void prepare_narrow(exchange_t *e, MPI_Request *request)
{
    MPI_Comm comm = e->its->comm;
    const layout_t *s = &e->send, *r = &e->recv;
    int own = sent_count(e->operation, expect_rank, 0);
    switch (e->operation) {
    case ALLGATHER:
        MPI_Neighbor_allgather_init(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm,
                                    MPI_INFO_NULL, request);
        break;
    case ALLGATHERV:
        MPI_Neighbor_allgatherv_init(e->send_at, own, MPI_INT, e->recv_at, r->counts, r->displs,
                                     MPI_INT, comm, MPI_INFO_NULL, request);
        break;
    case ALLTOALL:
        MPI_Neighbor_alltoall_init(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm,
                                   MPI_INFO_NULL, request);
        break;
    case ALLTOALLV:
        MPI_Neighbor_alltoallv_init(e->send_at, s->counts, s->displs, MPI_INT, e->recv_at,
                                    r->counts, r->displs, MPI_INT, comm, MPI_INFO_NULL, request);
        break;
    default:
        MPI_Neighbor_alltoallw_init(e->send_at, s->counts, s->bytes, s->types, e->recv_at,
                                    r->counts, r->bytes, r->types, comm, MPI_INFO_NULL, request);
    }
}

static void prepare_wide(exchange_t *e, MPI_Request *request)
{
    MPI_Comm comm = e->its->comm;
    const layout_t *s = &e->send, *r = &e->recv;
    int own = sent_count(e->operation, expect_rank, 0);
    switch (e->operation) {
    case ALLGATHER:
        MPI_Neighbor_allgather_init_c(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm,
                                      MPI_INFO_NULL, request);
        break;
    case ALLGATHERV:
        MPI_Neighbor_allgatherv_init_c(e->send_at, own, MPI_INT, e->recv_at, r->wide_counts,
                                       r->wide_displs, MPI_INT, comm, MPI_INFO_NULL, request);
        break;
    case ALLTOALL:
        MPI_Neighbor_alltoall_init_c(e->send_at, BLOCK, MPI_INT, e->recv_at, BLOCK, MPI_INT, comm,
                                     MPI_INFO_NULL, request);
        break;
    case ALLTOALLV:
        MPI_Neighbor_alltoallv_init_c(e->send_at, s->wide_counts, s->wide_displs, MPI_INT,
                                      e->recv_at, r->wide_counts, r->wide_displs, MPI_INT, comm,
                                      MPI_INFO_NULL, request);
        break;
    default:
        MPI_Neighbor_alltoallw_init_c(e->send_at, s->wide_counts, s->bytes, s->types, e->recv_at,
                                      r->wide_counts, r->bytes, r->types, comm, MPI_INFO_NULL,
                                      request);
    }
}

/* All at once, started twice. */
static void try_persistent(neighbors_t *its, exchange_t exchanges[])
{
    MPI_Request requests[2 * OPERATIONS];
    for (int i = 0; i < 2 * OPERATIONS; i++) {
        exchanges[i] = (exchange_t){.its = its, .operation = i % OPERATIONS};
        prepare(&exchanges[i]);
        if (i < OPERATIONS)
            prepare_narrow(&exchanges[i], &requests[i]);
        else
            prepare_wide(&exchanges[i], &requests[i]);
    }
    for (int start = 0; start < 2; start++) {
        MPI_Startall(2 * OPERATIONS, requests);
        MPI_Waitall(2 * OPERATIONS, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 2 * OPERATIONS; i++) {
        MPI_Request_free(&requests[i]);
        check_and_free(&exchanges[i]);
    }
}

static void try_all(neighbors_t *its)
{
    static exchange_t exchanges[2 * OPERATIONS];
    MPI_Request requests[2 * OPERATIONS];
    for (int i = 0; i < 2 * OPERATIONS; i++) {
        exchanges[i] = (exchange_t){.its = its, .operation = i % OPERATIONS};
        prepare(&exchanges[i]);
        if (i < OPERATIONS)
            call_blocking(&exchanges[i]);
        else
            call_wide(&exchanges[i]);
        check_and_free(&exchanges[i]);
    }
    for (int i = 0; i < 2 * OPERATIONS; i++) {
        prepare(&exchanges[i]);
        if (i < OPERATIONS)
            begin_narrow(&exchanges[i], &requests[i]);
        else
            begin_wide(&exchanges[i], &requests[i]);
    }
    MPI_Waitall(2 * OPERATIONS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * OPERATIONS; i++)
        check_and_free(&exchanges[i]);
    try_persistent(its, exchanges);
    MPI_Comm_free(&its->comm);
}

static void try_topologies(void)
{
    static const int periods[][3] = {{0, 0, 0}, {1, 1, 1}, {1, 0, 1}};
    for (int ndims = 0; ndims <= 3; ndims++) {
        for (int i = 0; i < 3; i++) {
            neighbors_t grid = {.comm = MPI_COMM_NULL};
            if (ndims == 0 && expect_size > 1)
                continue; /* a grid of one rank */
            make_cart(&grid, ndims, periods[i]);
            try_all(&grid);
        }
    }
    neighbors_t graph = {.in = 0}, dist_graph = {.in = 0};
    make_graph(&graph);
    try_all(&graph);
    make_dist_graph(&dist_graph);
    try_all(&dist_graph);
}

/* Displacements of alltoallw may be addresses. */
static void try_addresses(MPI_Comm ring)
{
    int out[] = {7, 8}, in[] = {0, 0}, counts[] = {1, 1};
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Aint from[2], to[2];
    for (int i = 0; i < 2; i++) {
        MPI_Get_address(&out[i], &from[i]);
        MPI_Get_address(&in[i], &to[i]);
    }
    MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, ring);
    EXPECT(in[0], 8); /* what is sent upwards comes from below */
    EXPECT(in[1], 7);
}

static void try_errors(void)
{
    int number = 1, counts[] = {1, 1}, minus[] = {-1, 1}, displs[] = {0, 1}, got[2] = {0};
    int dims[] = {1}, periods[] = {1};
    MPI_Comm ring, line, world = MPI_COMM_WORLD;
    MPI_Request request;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Neighbor_allgather(&number, 1, MPI_INT, got, 1, MPI_INT, world),
                 MPI_ERR_TOPOLOGY);
    MPI_Cart_create(MPI_COMM_SELF, 1, dims, periods, 0, &ring);
    EXPECT_ERROR(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, ring),
                 MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Neighbor_allgather(&number, -1, MPI_INT, got, 1, MPI_INT, ring),
                 MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Neighbor_alltoall(counts, 1, MPI_DATATYPE_NULL, got, 1, MPI_INT, ring),
                 MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Neighbor_allgatherv(&number, 1, MPI_INT, got, minus, displs, MPI_INT, ring),
                 MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Neighbor_allgatherv(&number, 1, MPI_INT, got, NULL, displs, MPI_INT, ring),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Ineighbor_alltoall(counts, 1, MPI_INT, got, 1, MPI_INT, ring, NULL),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Neighbor_alltoall_init(counts, 1, MPI_INT, got, 1, MPI_INT, ring,
                                            (MPI_Info)&ring, &request),
                 MPI_ERR_INFO);
    EXPECT_ERROR(
        MPI_Ineighbor_alltoall(counts, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_NULL, &request),
        MPI_ERR_COMM);
    try_addresses(ring);
    MPI_Comm_free(&ring);
    /* Without neighbours nothing is read: a buffer may be NULL. */
    MPI_Cart_create(MPI_COMM_SELF, 0, NULL, NULL, 0, &line);
    EXPECT_ERROR(MPI_Neighbor_alltoall(NULL, 4, MPI_INT, NULL, 4, MPI_INT, line), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Neighbor_alltoallv(NULL, NULL, NULL, MPI_INT, NULL, NULL, NULL, MPI_INT, line),
                 MPI_SUCCESS);
    MPI_Comm_free(&line);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    try_topologies();
    try_errors();
    return expect_end();
}
