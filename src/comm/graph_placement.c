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

/* A placement that is being made, level by level. */
typedef struct seating {
    int nodes;
    links_t links;
    int *part;       /* [nodes] on this level; NOWHERE: not placed yet */
    int *parent;     /* [nodes] on the level before */
    int *candidates; /* [nodes] those that are not placed and may go to the part being filled */
    int candidate_count;
    int64_t *pull;  /* [nodes] weight of the links to the part that is being filled */
    int64_t *loose; /* [nodes] weight of the links to candidates */
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

/* ---- one level ---- */

static void place_node(seating_t *p, int node, int part)
{
    const links_t *links = &p->links;
    p->part[node] = part;
    for (size_t i = links->first[node]; i < links->first[node + 1]; i++) {
        p->pull[links->to[i]] += links->weights[i];
        p->loose[links->to[i]] -= links->weights[i];
    }
}

/* Is node `a` the better one to go on with? */
static bool is_better(const seating_t *p, int a, int b)
{
    if (p->pull[a] != p->pull[b])
        return p->pull[a] > p->pull[b];
    if ((p->loose[a] == 0) != (p->loose[b] == 0) && p->pull[a] == 0)
        return p->loose[a] != 0; /* a node without links goes anywhere, so it goes last */
    return p->loose[a] < p->loose[b];
}

/* Takes it from the candidates, which stay in order. */
static int take_next_node(seating_t *p)
{
    int best = 0;
    for (int i = 1; i < p->candidate_count; i++) {
        if (is_better(p, p->candidates[i], p->candidates[best]))
            best = i;
    }
    int node = p->candidates[best];
    p->candidate_count--;
    memmove(p->candidates + best, p->candidates + best + 1,
            (size_t)(p->candidate_count - best) * sizeof(*p->candidates));
    return node;
}

/* The nodes of part `parent` of the level before that are not placed. Nothing pulls at them yet. */
static void find_candidates(seating_t *p, int parent)
{
    const links_t *links = &p->links;
    p->candidate_count = 0;
    for (int node = 0; node < p->nodes; node++) {
        p->pull[node] = p->loose[node] = 0;
        if (p->part[node] == NOWHERE && p->parent[node] == parent)
            p->candidates[p->candidate_count++] = node;
    }
    for (int i = 0; i < p->candidate_count; i++) {
        int node = p->candidates[i];
        for (size_t k = links->first[node]; k < links->first[node + 1]; k++)
            p->loose[links->to[k]] += links->weights[k];
    }
}

/* How many of the first `nodes` ranks a part has. */
static int room_of_part(const weft_shape_t *shape, int part, int nodes)
{
    int room = 0;
    while (room < weft_shape_count(shape, part) && weft_shape_rank(shape, part, room) < nodes)
        room++;
    return room;
}

static void place_nodes(seating_t *p, const weft_nearness_t *nearness, int level)
{
    const weft_shape_t *shape = &nearness->levels[level];
    memcpy(p->parent, p->part, (size_t)p->nodes * sizeof(*p->parent));
    for (int node = 0; node < p->nodes; node++)
        p->part[node] = NOWHERE;
    for (int part = 0; part < shape->nodes; part++) {
        find_candidates(p, wefti_nearness_parent(nearness, level, part));
        for (int left = room_of_part(shape, part, p->nodes); left > 0; left--)
            place_node(p, take_next_node(p), part);
    }
}

/* ---- is it better than the order of the ranks? ---- */

/* Twice the weight of the edges between parts; `is_placed`: nodes are where they were placed. */
static int64_t weight_between(const seating_t *p, const weft_shape_t *shape, bool is_placed)
{
    const links_t *links = &p->links;
    int64_t weight = 0;
    for (int node = 0; node < p->nodes; node++) {
        int part = is_placed ? p->part[node] : weft_shape_node(shape, node);
        for (size_t i = links->first[node]; i < links->first[node + 1]; i++) {
            int to = links->to[i], other = is_placed ? p->part[to] : weft_shape_node(shape, to);
            weight += part == other ? 0 : links->weights[i];
        }
    }
    return weight;
}

/* The nodes of a part are in ascending order, as its ranks are. */
static void name_ranks(const seating_t *p, const weft_shape_t *shape, int ranks_out[])
{
    for (int part = 0; part < shape->nodes; part++) {
        int local = 0;
        for (int node = 0; node < p->nodes; node++) {
            if (p->part[node] == part)
                ranks_out[node] = weft_shape_rank(shape, part, local++);
        }
    }
}

/* A level keeps the order of the ranks if all before do and it is no worse. */
static bool find_better(seating_t *p, const weft_nearness_t *nearness, int ranks_out[])
{
    bool is_moved = false;
    memset(p->part, 0, (size_t)p->nodes * sizeof(*p->part));
    for (int level = 0; level < nearness->count; level++) {
        const weft_shape_t *shape = &nearness->levels[level];
        place_nodes(p, nearness, level);
        is_moved |= weight_between(p, shape, true) < weight_between(p, shape, false);
        for (int node = 0; node < p->nodes && !is_moved; node++)
            p->part[node] = weft_shape_node(shape, node);
    }
    if (is_moved)
        name_ranks(p, &nearness->levels[nearness->count - 1], ranks_out);
    return is_moved;
}

static bool take_seating_memory(seating_t *p, size_t nodes, size_t links)
{
    p->links.first = weft_alloc_array(nodes + 1, sizeof(*p->links.first));
    p->links.to = weft_alloc_array(links, sizeof(*p->links.to));
    p->links.weights = weft_alloc_array(links, sizeof(*p->links.weights));
    p->part = weft_alloc_array(3 * nodes, sizeof(*p->part));
    p->pull = weft_alloc_array(2 * nodes, sizeof(*p->pull));
    if (p->links.first == NULL || p->links.to == NULL || p->links.weights == NULL ||
        p->part == NULL || p->pull == NULL)
        return false;
    p->parent = p->part + nodes;
    p->candidates = p->parent + nodes;
    p->loose = p->pull + nodes;
    return true;
}

static void free_seating(seating_t *p)
{
    weft_free(p->links.first);
    weft_free(p->links.to);
    weft_free(p->links.weights);
    weft_free(p->part);
    weft_free(p->pull);
}

bool wefti_graph_may_gain(int nodes, const weft_nearness_t *nearness)
{
    return !wefti_nearness_is_flat(nearness) && nodes > 1 && nodes <= WEFT_PLACED_NODES_MAX;
}

int wefti_graph_place(const weft_graph_t *graph, const int *weights,
                      const weft_nearness_t *nearness, int ranks_out[], bool *is_better_out)
{
    seating_t p = {.nodes = graph->nodes};
    int err = MPI_SUCCESS;
    if (take_seating_memory(&p, (size_t)p.nodes, 2 * (size_t)graph->index[p.nodes - 1])) {
        fill_links(&p, graph, weights);
        *is_better_out = find_better(&p, nearness, ranks_out);
    } else {
        err = weft_fail(MPI_ERR_NO_MEM, "no memory to place the nodes of a graph");
    }
    free_seating(&p);
    return err;
}
