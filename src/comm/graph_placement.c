/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/graph_placement.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdint.h>
#include <string.h>

/* Both directions of all edges: node i's links are those from first[i] to first[i + 1] - 1. */
typedef struct links {
    size_t *first; /* [nodes + 1] */
    int *to;
    int *weights; /* an edge without weight weighs 1 */
} links_t;

/* A placement that is being made. */
typedef struct seating {
    int nodes;
    links_t links;
    int *host;      /* [nodes] NOWHERE: not placed yet */
    int64_t *pull;  /* [nodes] weight of the links to the host that is being filled */
    int64_t *loose; /* [nodes] weight of the links to nodes that are not placed */
} seating_t;

enum { NOWHERE = -1 };

/* ---- links ---- */

static int first_edge(const weft_graph_t *graph, int node)
{
    return node == 0 ? 0 : graph->index[node - 1];
}

static void add_link(links_t *links, int from, int to, int weight)
{
    size_t at = links->first[from]++;
    links->to[at] = to;
    links->weights[at] = weight;
}

/* first[] counts, then becomes sums, moves on while links are added, and is moved back. */
static void fill_links(seating_t *p, const weft_graph_t *graph, const int *weights)
{
    links_t *links = &p->links;
    memset(links->first, 0, ((size_t)p->nodes + 1) * sizeof(*links->first));
    for (int i = 0; i < p->nodes; i++) {
        for (int k = first_edge(graph, i); k < graph->index[i]; k++) {
            links->first[i + 1]++;
            links->first[graph->edges[k] + 1]++;
        }
    }
    for (int i = 0; i < p->nodes; i++)
        links->first[i + 1] += links->first[i];
    for (int i = 0; i < p->nodes; i++) {
        for (int k = first_edge(graph, i); k < graph->index[i]; k++) {
            int weight = weights == NULL ? 1 : weights[k];
            add_link(links, i, graph->edges[k], weight);
            add_link(links, graph->edges[k], i, weight);
        }
    }
    memmove(links->first + 1, links->first, (size_t)p->nodes * sizeof(*links->first));
    links->first[0] = 0;
}

/* ---- placing ---- */

static void place_node(seating_t *p, int node, int host)
{
    const links_t *links = &p->links;
    p->host[node] = host;
    for (size_t i = links->first[node]; i < links->first[node + 1]; i++) {
        p->pull[links->to[i]] += links->weights[i];
        p->loose[links->to[i]] -= links->weights[i];
    }
}

/* Is node `a` the better one to go on with? Then `b` is not placed, or there is none (-1). */
static bool is_better(const seating_t *p, int a, int b)
{
    if (b < 0 || p->pull[a] != p->pull[b])
        return b < 0 || p->pull[a] > p->pull[b];
    if ((p->loose[a] == 0) != (p->loose[b] == 0) && p->pull[a] == 0)
        return p->loose[a] != 0; /* a node without links goes anywhere, so it goes last */
    return p->loose[a] < p->loose[b];
}

static int next_node(const seating_t *p)
{
    int best = -1;
    for (int i = 0; i < p->nodes; i++) {
        if (p->host[i] == NOWHERE && is_better(p, i, best))
            best = i;
    }
    return best;
}

/* How many of the first `nodes` ranks a host has. */
static int room_of_host(const weft_shape_t *shape, int host, int nodes)
{
    int room = 0;
    while (room < weft_shape_count(shape, host) && weft_shape_rank(shape, host, room) < nodes)
        room++;
    return room;
}

static void place_nodes(seating_t *p, const weft_shape_t *shape)
{
    const links_t *links = &p->links;
    memset(p->loose, 0, (size_t)p->nodes * sizeof(*p->loose));
    for (int node = 0; node < p->nodes; node++) {
        p->host[node] = NOWHERE;
        for (size_t i = links->first[node]; i < links->first[node + 1]; i++)
            p->loose[node] += links->weights[i];
    }
    for (int host = 0; host < shape->nodes; host++) {
        memset(p->pull, 0, (size_t)p->nodes * sizeof(*p->pull));
        for (int left = room_of_host(shape, host, p->nodes); left > 0; left--)
            place_node(p, next_node(p), host);
    }
}

/* ---- is it better than the order of the ranks? ---- */

/* Twice the weight of the edges between hosts; `is_placed`: nodes are where they were placed. */
static int64_t weight_between(const seating_t *p, const weft_shape_t *shape, bool is_placed)
{
    const links_t *links = &p->links;
    int64_t weight = 0;
    for (int node = 0; node < p->nodes; node++) {
        int host = is_placed ? p->host[node] : weft_shape_node(shape, node);
        for (size_t i = links->first[node]; i < links->first[node + 1]; i++) {
            int to = links->to[i], other = is_placed ? p->host[to] : weft_shape_node(shape, to);
            weight += host == other ? 0 : links->weights[i];
        }
    }
    return weight;
}

/* The nodes of a host are in ascending order, as its ranks are. */
static void name_ranks(const seating_t *p, const weft_shape_t *shape, int ranks_out[])
{
    for (int host = 0; host < shape->nodes; host++) {
        int local = 0;
        for (int node = 0; node < p->nodes; node++) {
            if (p->host[node] == host)
                ranks_out[node] = weft_shape_rank(shape, host, local++);
        }
    }
}

static bool find_better(seating_t *p, const weft_shape_t *shape, int ranks_out[])
{
    place_nodes(p, shape);
    if (weight_between(p, shape, true) >= weight_between(p, shape, false))
        return false;
    name_ranks(p, shape, ranks_out);
    return true;
}

static bool take_seating_memory(seating_t *p, size_t nodes, size_t links)
{
    p->links.first = weft_alloc_array(nodes + 1, sizeof(*p->links.first));
    p->links.to = weft_alloc_array(links, sizeof(*p->links.to));
    p->links.weights = weft_alloc_array(links, sizeof(*p->links.weights));
    p->host = weft_alloc_array(nodes, sizeof(*p->host));
    p->pull = weft_alloc_array(nodes, sizeof(*p->pull));
    p->loose = weft_alloc_array(nodes, sizeof(*p->loose));
    return p->links.first != NULL && p->links.to != NULL && p->links.weights != NULL &&
           p->host != NULL && p->pull != NULL && p->loose != NULL;
}

static void free_seating(seating_t *p)
{
    weft_free(p->links.first);
    weft_free(p->links.to);
    weft_free(p->links.weights);
    weft_free(p->host);
    weft_free(p->pull);
    weft_free(p->loose);
}

bool wefti_graph_may_gain(int nodes, const weft_shape_t *shape)
{
    return shape->nodes > 1 && nodes > 1 && nodes <= WEFT_PLACED_NODES_MAX;
}

int wefti_graph_place(const weft_graph_t *graph, const int *weights, const weft_shape_t *shape,
                      int ranks_out[], bool *is_better_out)
{
    seating_t p = {.nodes = graph->nodes};
    int err = MPI_SUCCESS;
    if (take_seating_memory(&p, (size_t)p.nodes, 2 * (size_t)graph->index[p.nodes - 1])) {
        fill_links(&p, graph, weights);
        *is_better_out = find_better(&p, shape, ranks_out);
    } else {
        err = weft_fail(MPI_ERR_NO_MEM, "no memory to place the nodes of a graph");
    }
    free_seating(&p);
    return err;
}
