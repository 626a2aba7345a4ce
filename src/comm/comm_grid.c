/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids whose ranks may be reordered: in blocks where hosts have equally many ranks; where that
 * is not so or gains nothing, as the graph that a grid is too. */
#include "comm/comm_make.h"

#include "comm/comm_topology_private.h"
#include "comm/graph_placement.h"
#include "comm/grid_placement.h"
#include "base/fail.h"
#include "base/memory.h"

static int fail_for_grid(int ranks)
{
    return weft_fail(MPI_ERR_NO_MEM, "no memory for an order of the %d ranks of a grid", ranks);
}

/* An edge for each place and dimension, to the next place. edges[places * dimensions] */
static weft_graph_t write_edges(const weft_cart_t *grid, int *index, int *edges)
{
    weft_graph_t graph = {.nodes = weft_cart_size(grid), .index = index, .edges = edges};
    for (int place = 0; place < graph.nodes; place++) {
        for (int i = 0; i < grid->ndims; i++) {
            int next = weft_cart_neighbor(grid, place, i, 1);
            if (next != MPI_PROC_NULL && next != place)
                edges[graph.edge_count++] = next;
        }
        index[place] = graph.edge_count;
    }
    return graph;
}

static int place_as_graph(const weft_cart_t *grid, const weft_nearness_t *nearness, int ranks_out[],
                          bool *is_better_out)
{
    size_t places = (size_t)weft_cart_size(grid), dimensions = (size_t)grid->ndims;
    int *numbers = weft_alloc_array(places, (1 + dimensions) * sizeof(*numbers));
    if (numbers == NULL)
        return fail_for_grid((int)places);
    weft_graph_t graph = write_edges(grid, numbers, numbers + places);
    int err = wefti_graph_place(&graph, NULL, nearness, ranks_out, is_better_out);
    weft_free(numbers);
    return err;
}

/* *ranks_out is from weft_alloc; NULL: ranks keep their order. All ranks find the same. */
static int place_grid(const weft_cart_t *grid, const weft_nearness_t *nearness, int **ranks_out)
{
    int places = weft_cart_size(grid);
    bool is_better = false;
    *ranks_out = NULL;
    if (wefti_nearness_is_flat(nearness) || places == 1)
        return MPI_SUCCESS;
    int *ranks = weft_alloc_array((size_t)places, sizeof(int));
    if (ranks == NULL)
        return fail_for_grid(places);
    int err = MPI_SUCCESS;
    if (wefti_grid_has_blocks(grid, nearness))
        err = wefti_grid_place(grid, nearness, ranks, &is_better);
    if (err == MPI_SUCCESS && !is_better && wefti_graph_may_gain(places, nearness))
        err = place_as_graph(grid, nearness, ranks, &is_better);
    if (err == MPI_SUCCESS && is_better)
        *ranks_out = ranks;
    else
        weft_free(ranks);
    return err;
}

int weft_comm_attach_grid(weft_comm_t *comm, const weft_cart_t *grid, weft_comm_t **out)
{
    int *ranks;
    weft_nearness_t nearness;
    int err = wefti_nearness_within_hosts(comm, &nearness);
    if (err != MPI_SUCCESS)
        return err;
    err = place_grid(grid, &nearness, &ranks);
    wefti_nearness_close(&nearness);
    if (err != MPI_SUCCESS)
        return err;
    err = wefti_comm_attach(comm, weft_cart_size(grid), ranks, weft_topology_of_cart(grid), out);
    weft_free(ranks);
    return err;
}

int weft_comm_place_in_grid(weft_comm_t *comm, const weft_cart_t *grid, int *rank_out)
{
    int *ranks, size = weft_cart_size(grid);
    weft_nearness_t nearness;
    int err = wefti_nearness_of_hosts(comm, &nearness);
    if (err == MPI_SUCCESS)
        err = place_grid(grid, &nearness, &ranks);
    if (err != MPI_SUCCESS)
        return err;
    int rank = wefti_find_rank(ranks, size, comm->rank);
    *rank_out = rank < size ? rank : MPI_UNDEFINED;
    weft_free(ranks);
    return MPI_SUCCESS;
}
