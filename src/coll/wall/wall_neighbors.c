/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbourhood collectives on a wall. Each call is one post of every member, with the short blocks
 * for its destinations, and a member waits for the posts of its sources alone. Long blocks are
 * messages; how long that is all members know, so both sides of an edge take the same way for a
 * block. A post has
 *
 *   allgather, allgatherv    the block that all destinations get
 *   alltoall                 block 0 | block 1 | ...              the stamp says how long one is
 *   alltoallv, alltoallw     span 0 | span 1 | ... | block 0 | ...   where they lie, with lengths
 *
 * A source has a number for the edge to this rank, which it told when the wall was agreed on.
 */
#include "coll/wall/wall_neighbors.h"

#include "coll/engine.h"
#include "coll/neighbor/neighbor.h"
#include "coll/plan_cache.h"
#include "coll/wall/wall_algorithms.h"
#include "coll/wall/wall_blocks.h"
#include "object/topology.h"
#include "base/fail.h"
#include "base/memory.h"

/* A longer block is a message: its receiver may read it where it lies. */
enum { SHORT_MOST = 4096, SHORT_MOST_IN_TURNS = 16 * 1024, LINE = 64 };

/* What a source tells of an edge. */
typedef struct edge {
    int32_t index; /* among those that lead away from the source */
    int32_t edges; /* how many these are */
} wall_edge_t;

typedef struct source {
    int rank; /* MPI_PROC_NULL: there is none */
    wall_edge_t edge;
} neighbor_source_t;

struct weft_wall_neighbors {
    size_t short_most;  /* bytes of a block in a post, the same at all members */
    weft_plan_t *kept;  /* of the last call with long blocks of equal counts; NULL: none was made */
    int sources, edges; /* edges: that lead away from this rank */
    int awaited;        /* sources that are another rank */
    const int *destinations;  /* [edges] */
    const int *others;        /* [awaited]: those sources */
    neighbor_source_t from[]; /* [sources] */
};

typedef struct span {
    uint64_t first, bytes; /* bytes: also of a block that is a message */
} edge_span_t;

/* ---- who the neighbours are ---- */

/* How long a block may be to go into a post with up to `edges` others; 0: none does. */
static size_t longest_block(size_t chunk, size_t edges)
{
    size_t room = chunk / (edges > 0 ? edges : 1), spare = sizeof(edge_span_t) + LINE;
    size_t most = weft_world.is_oversubscribed ? SHORT_MOST_IN_TURNS : SHORT_MOST;
    return room > spare ? weft_least(room - spare, most) : 0;
}

static weft_wall_neighbors_t *create(const weft_wall_t *wall)
{
    const weft_topology_t *topology = wall->comm->topology;
    int sources = weft_topology_sources(topology, wall->rank);
    int edges = weft_topology_destinations(topology, wall->rank);
    size_t own = sizeof(weft_wall_neighbors_t) + (size_t)sources * sizeof(neighbor_source_t);
    weft_wall_neighbors_t *its = weft_alloc(own + (size_t)(edges + sources) * sizeof(int));
    if (its == NULL)
        return NULL;
    int *destinations = (int *)((char *)its + own), *others = destinations + edges;
    *its = (weft_wall_neighbors_t){
        .sources = sources, .edges = edges, .destinations = destinations, .others = others};
    for (int i = 0; i < sources; i++) {
        int source = weft_topology_source(topology, wall->rank, i);
        its->from[i] = (neighbor_source_t){.rank = source};
        if (source != MPI_PROC_NULL && source != wall->rank)
            others[its->awaited++] = source;
    }
    for (int i = 0; i < edges; i++)
        destinations[i] = weft_topology_destination(topology, wall->rank, i);
    return its;
}

/* Each tells its destinations; told: [sources]. */
static int tell(weft_comm_t *comm, int edges, wall_edge_t *told)
{
    wall_edge_t *own = weft_alloc_array((size_t)edges, sizeof(*own));
    if (own == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the neighbours of a rank");
    for (int i = 0; i < edges; i++)
        own[i] = (wall_edge_t){i, edges};
    weft_coll_args_t args = weft_coll_args_of_bytes(comm, own, told, sizeof(*own));
    int err = weft_coll_run_by_messages(WEFT_NEIGHBOR_ALLTOALL, &args);
    weft_free(own);
    return err;
}

int weft_wall_find_neighbors(weft_wall_t *wall, size_t edges_most)
{
    weft_wall_neighbors_t *its = wall->neighbors = create(wall);
    size_t sources = its != NULL ? (size_t)its->sources : 0;
    wall_edge_t *told = weft_alloc_array(sources, sizeof(*told));
    int err = its == NULL || told == NULL
                  ? weft_fail(MPI_ERR_NO_MEM, "no memory for the neighbours of a rank")
                  : tell(wall->comm, its->edges, told);
    for (size_t i = 0; err == MPI_SUCCESS && i < sources; i++)
        its->from[i].edge = told[i];
    weft_free(told);
    if (its != NULL)
        its->short_most = longest_block(wall->chunk, edges_most);
    return err;
}

void weft_wall_forget_neighbors(weft_wall_t *wall)
{
    if (wall->neighbors != NULL && wall->neighbors->kept != NULL)
        weft_plan_release(wall->neighbors->kept);
    weft_free(wall->neighbors);
    wall->neighbors = NULL;
}

/* ---- a call ---- */

typedef struct neighbor_call {
    weft_wall_t *wall;
    const weft_coll_args_t *args;
    const weft_wall_neighbors_t *its;
    weft_wall_block_fn_t to, from; /* the block for a destination, that of a source */
} neighbor_call_t;

/* Does it go from one rank to another? */
static bool is_edge(const neighbor_call_t *x, int neighbor)
{
    return neighbor != MPI_PROC_NULL && neighbor != x->wall->rank;
}

static bool is_short(const neighbor_call_t *x, size_t bytes)
{
    return bytes <= x->its->short_most;
}

static size_t sent_bytes(const neighbor_call_t *x, int index)
{
    weft_elements_t block = x->to(x->args, index);
    return weft_wall_bytes_of(&block);
}

static size_t expected_bytes(const neighbor_call_t *x, int index)
{
    weft_elements_t block = x->from(x->args, index);
    return weft_wall_bytes_of(&block);
}

/* What a rank sends to itself. */
static void copy_own(const neighbor_call_t *x)
{
    for (int i = 0; i < x->its->sources; i++) {
        if (x->its->from[i].rank != x->wall->rank)
            continue;
        weft_elements_t from = x->to(x->args, x->its->from[i].edge.index);
        weft_elements_t to = x->from(x->args, i);
        weft_copy_elements(&from, &to);
    }
}

/* ---- long blocks ---- */

static bool has_long(const neighbor_call_t *x)
{
    const weft_wall_neighbors_t *its = x->its;
    for (int i = 0; i < its->edges; i++) {
        if (is_edge(x, its->destinations[i]) && !is_short(x, sent_bytes(x, i)))
            return true;
    }
    for (int i = 0; i < its->sources; i++) {
        if (is_edge(x, its->from[i].rank) && !is_short(x, expected_bytes(x, i)))
            return true;
    }
    return false;
}

static weft_plan_t *write_plan(weft_coll_t coll, const neighbor_call_t *x)
{
    weft_how_t how = {.radix = 2};
    weft_plan_t *plan = weft_plan_create(&how);
    if (plan == NULL)
        return NULL;
    plan->coll = coll;
    plan->algorithm = weft_neighbor_algorithm(coll, false);
    weft_neighbor_build_long(plan, x->args, x->its->short_most);
    if (plan->error == MPI_SUCCESS)
        return plan;
    weft_plan_release(plan);
    return NULL;
}

/* The plan of a call without arrays is kept until the next one that differs. */
static weft_plan_t *plan_of(weft_coll_t coll, const neighbor_call_t *x)
{
    weft_plan_t **kept = &x->wall->neighbors->kept;
    weft_plan_key_t key = weft_plan_key_of(coll, x->args, true);
    if (*kept == NULL || !weft_plan_keys_equal(&(*kept)->key, &key)) {
        weft_plan_t *plan = write_plan(coll, x);
        if (plan == NULL || !weft_plan_can_be_kept(plan, x->args))
            return plan;
        if (*kept != NULL)
            weft_plan_release(*kept);
        plan->key = key;
        *kept = plan;
    }
    (*kept)->references++;
    return *kept;
}

static int run_long(weft_coll_t coll, const neighbor_call_t *x)
{
    if (!has_long(x)) {
        weft_engine_skip(x->args->comm);
        return MPI_SUCCESS;
    }
    weft_plan_t *plan = plan_of(coll, x);
    if (plan == NULL) {
        weft_wall_give_up(x->wall,
                          weft_fail(MPI_ERR_NO_MEM, "no memory for the plan of a collective"));
        return x->wall->error;
    }
    int err = weft_engine_run(plan, x->args);
    weft_plan_release(plan);
    return err;
}

/* ---- reading ---- */

static bool is_as_expected(const neighbor_call_t *x, int index, size_t sent)
{
    return weft_wall_expects(x->wall, x->its->from[index].rank, sent, expected_bytes(x, index));
}

/* Returns the bytes of the block. */
static size_t unpack(const neighbor_call_t *x, int index, const char *data)
{
    weft_elements_t to = x->from(x->args, index);
    size_t bytes = weft_wall_bytes_of(&to);
    weft_wall_unpack(&to, 0, data, bytes);
    return bytes;
}

/* A block for this edge alone, in a post of `all` bytes. */
static void unpack_own(const neighbor_call_t *x, int index, const char *data, size_t all)
{
    size_t bytes = unpack(x, index, data);
    weft_wall_have_read(x->wall, x->its->from[index].rank, all, data, bytes);
}

/* From a source's post, which is there. False: wall->error. */
typedef bool (*take_block_fn_t)(const neighbor_call_t *x, int index);

/* The only block, which a member that is a neighbour twice reads twice, */
static bool take_same(const neighbor_call_t *x, int index)
{
    size_t bytes;
    int source = x->its->from[index].rank;
    if (!weft_wall_learn(x->wall, source, &bytes) || !is_as_expected(x, index, bytes))
        return false;
    if (is_short(x, bytes))
        unpack(x, index, weft_wall_known_data(x->wall, source, bytes));
    return true;
}

/* one of equal ones, */
static bool take_block(const neighbor_call_t *x, int index)
{
    size_t bytes;
    const neighbor_source_t *source = &x->its->from[index];
    if (!weft_wall_learn(x->wall, source->rank, &bytes) || !is_as_expected(x, index, bytes))
        return false;
    if (!is_short(x, bytes))
        return true;
    size_t all = bytes * (size_t)source->edge.edges;
    const char *data = weft_wall_known_data(x->wall, source->rank, all);
    unpack_own(x, index, data + bytes * (size_t)source->edge.index, all);
    return true;
}

/* or one that a span tells of. */
static bool take_span(const neighbor_call_t *x, int index)
{
    size_t all;
    const neighbor_source_t *source = &x->its->from[index];
    if (!weft_wall_learn(x->wall, source->rank, &all))
        return false;
    const char *data = weft_wall_known_data(x->wall, source->rank, all);
    edge_span_t span = ((const edge_span_t *)data)[source->edge.index];
    if (!is_as_expected(x, index, span.bytes))
        return false;
    if (is_short(x, span.bytes))
        unpack_own(x, index, data + span.first, all);
    return true;
}

/* Behind this member's post. */
static int finish(weft_coll_t coll, const neighbor_call_t *x, take_block_fn_t take)
{
    copy_own(x);
    int err = run_long(coll, x);
    if (err != MPI_SUCCESS || !weft_wall_await_list(x->wall, x->its->others, x->its->awaited))
        return err != MPI_SUCCESS ? err : x->wall->error;
    for (int i = 0; i < x->its->sources; i++) {
        if (is_edge(x, x->its->from[i].rank) && !take(x, i))
            return x->wall->error;
    }
    return MPI_SUCCESS;
}

/* ---- posting ---- */

static int exchange_same(weft_coll_t coll, const neighbor_call_t *x)
{
    weft_elements_t own = x->to(x->args, 0);
    size_t bytes = weft_wall_bytes_of(&own);
    weft_wall_stamp(x->wall, bytes);
    bool has_data = is_short(x, bytes) && x->its->edges > 0;
    return weft_wall_post_piece(x->wall, &own, 0, has_data ? bytes : 0) ? finish(coll, x, take_same)
                                                                        : x->wall->error;
}

static int exchange_blocks(weft_coll_t coll, const neighbor_call_t *x)
{
    weft_wall_t *wall = x->wall;
    size_t bytes = x->its->edges > 0 ? sent_bytes(x, 0) : 0, done = 0;
    size_t part = is_short(x, bytes) ? bytes : 0;
    weft_wall_stamp(wall, bytes);
    char *room = weft_wall_room(wall, part * (size_t)x->its->edges);
    if (room == NULL)
        return wall->error;
    for (int i = 0; i < x->its->edges && part > 0; i++, done += part) {
        weft_elements_t from = x->to(x->args, i);
        if (is_edge(x, x->its->destinations[i]))
            weft_wall_pack(wall, &from, 0, room + done, part);
    }
    weft_wall_post(wall);
    return finish(coll, x, take_block);
}

/* The bytes of a block in a post, rounded up so that the next one begins with a cache line if it
 * is long enough for that to matter. */
static size_t room_of(const neighbor_call_t *x, int index, size_t bytes)
{
    if (!is_short(x, bytes) || !is_edge(x, x->its->destinations[index]))
        return 0;
    return bytes < WEFT_COPY_LONG ? bytes : (bytes + LINE - 1) / LINE * LINE;
}

/* All is messages, so the posts of sources are not needed. */
static int exchange_messages(weft_coll_t coll, const neighbor_call_t *x)
{
    if (!weft_wall_signal(x->wall))
        return x->wall->error;
    copy_own(x);
    return run_long(coll, x);
}

static int exchange_spans(weft_coll_t coll, const neighbor_call_t *x)
{
    weft_wall_t *wall = x->wall;
    if (x->its->short_most == 0) /* the spans might be more than a post has room for */
        return exchange_messages(coll, x);
    size_t header = (size_t)x->its->edges * sizeof(edge_span_t), all = header;
    for (int i = 0; i < x->its->edges; i++)
        all += room_of(x, i, sent_bytes(x, i));
    weft_wall_stamp(wall, all);
    char *room = weft_wall_room(wall, all);
    if (room == NULL)
        return wall->error;
    edge_span_t *spans = (edge_span_t *)room;
    size_t place = header;
    for (int i = 0; i < x->its->edges; i++) {
        weft_elements_t from = x->to(x->args, i);
        size_t bytes = weft_wall_bytes_of(&from), its_room = room_of(x, i, bytes);
        spans[i] = (edge_span_t){place, bytes};
        if (its_room > 0)
            weft_wall_pack(wall, &from, 0, room + place, bytes);
        place += its_room;
    }
    weft_wall_post(wall);
    return finish(coll, x, take_span);
}

/* ---- the five ---- */

static weft_elements_t same_block(const weft_coll_args_t *args, int index)
{
    (void)index;
    return weft_wall_send_block(args, 0);
}

#define WEFT_WALL_NEIGHBORS(name, coll, exchange, to, from)                                        \
    static int run_##name(weft_wall_t *wall, const weft_coll_args_t *args)                         \
    {                                                                                              \
        neighbor_call_t x = {wall, args, wall->neighbors, to, from};                               \
        return exchange(coll, &x);                                                                 \
    }                                                                                              \
    void weft_wall_##name(weft_plan_t *plan, const weft_coll_args_t *args)                         \
    {                                                                                              \
        (void)args;                                                                                \
        plan->on_wall = run_##name;                                                                \
    }

WEFT_WALL_NEIGHBORS(neighbor_allgather, WEFT_NEIGHBOR_ALLGATHER, exchange_same, same_block,
                    weft_wall_recv_block)
WEFT_WALL_NEIGHBORS(neighbor_allgatherv, WEFT_NEIGHBOR_ALLGATHERV, exchange_same, same_block,
                    weft_wall_recv_slice)
WEFT_WALL_NEIGHBORS(neighbor_alltoall, WEFT_NEIGHBOR_ALLTOALL, exchange_blocks,
                    weft_wall_send_block, weft_wall_recv_block)
WEFT_WALL_NEIGHBORS(neighbor_alltoallv, WEFT_NEIGHBOR_ALLTOALLV, exchange_spans,
                    weft_wall_send_slice, weft_wall_recv_slice)
WEFT_WALL_NEIGHBORS(neighbor_alltoallw, WEFT_NEIGHBOR_ALLTOALLW, exchange_spans,
                    weft_wall_send_piece, weft_wall_recv_piece)
