/* SPDX-License-Identifier: BSD-3-Clause */
/* Cartesian topologies (MPI 5.0, sections 8.5.1 to 8.5.3, 8.5.5 to 8.5.8). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "mpi/leaks.h"
#include "comm/comm_make.h"
#include "object/balanced_dims.h"
#include "object/topology.h"
#include "base/fail.h"
#include "base/memory.h"

/** Tells what kind of topology a communicator has (section 8.5.5).
 *  @param[out] status  MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH, or MPI_UNDEFINED if it has none */
WEFT_API(MPI_Topo_test);
int PMPI_Topo_test(MPI_Comm handle, int *status)
{
    weft_call_t call = weft_call_begin("MPI_Topo_test");
    weft_comm_t *comm;
    int err = weft_check_comm(&call, handle, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(status, "status");
    if (err == MPI_SUCCESS)
        *status = comm->topology == NULL ? MPI_UNDEFINED : comm->topology->kind;
    return weft_call_end(&call, err);
}

/* ---- extents ---- */

/* What is left of nnodes when the given dimensions are taken out. Adds to *free_out how many are 0.
 */
static int divide_nodes(int nnodes, int ndims, const int dims[], int *rest_out, int *free_out)
{
    int given = 1;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0)
            return weft_fail(MPI_ERR_DIMS, "dims[%d] is %d, but must be at least 0", i, dims[i]);
        *free_out += dims[i] == 0;
        if (dims[i] > 0 && __builtin_mul_overflow(given, dims[i], &given))
            return weft_fail(MPI_ERR_DIMS, "the product of dims is more than nnodes, %d", nnodes);
    }
    *rest_out = nnodes / given;
    if (nnodes % given != 0 || (*free_out == 0 && given != nnodes))
        return weft_fail(MPI_ERR_DIMS, "nnodes is %d, %s %d, the product of the given dims", nnodes,
                         *free_out > 0 ? "no multiple of" : "not", given);
    return MPI_SUCCESS;
}

static int fill_dims(int nnodes, int ndims, int dims[])
{
    int rest = nnodes, free_dims = 0;
    int err = divide_nodes(nnodes, ndims, dims, &rest, &free_dims);
    if (err != MPI_SUCCESS || free_dims == 0)
        return err;
    int *factors = weft_alloc_array((size_t)free_dims, sizeof(int));
    if (factors == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %d dimensions", free_dims);
    weft_balance_dims(rest, free_dims, factors);
    for (int i = 0, next = 0; i < ndims; i++) {
        if (dims[i] == 0)
            dims[i] = factors[next++];
    }
    weft_free(factors);
    return MPI_SUCCESS;
}

/** Chooses extents for a grid of a given number of processes (section 8.5.2). Entries of dims that
 *  are 0 are filled in, so that the product of all is nnodes; the others are kept. Those filled in
 *  are as close to each other as can be, and do not increase from one to the next.
 *  @param[in] nnodes  the places of the grid, at least 1
 *  @param[in] ndims  the dimensions: entries of dims
 *  @param[in,out] dims  ndims extents, 0 where one is to be chosen
 *  @error MPI_ERR_ARG  nnodes is less than 1
 *  @error MPI_ERR_DIMS  ndims or an extent is negative, nnodes is no multiple of the product of
 *      the extents given, or all are given and their product is not nnodes */
WEFT_API(MPI_Dims_create);
int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
    weft_call_t call = weft_call_begin("MPI_Dims_create");
    int err = MPI_SUCCESS;
    if (nnodes < 1)
        err = weft_fail(MPI_ERR_ARG, "nnodes is %d, but must be at least 1", nnodes);
    else if (ndims < 0)
        err = weft_fail(MPI_ERR_DIMS, "ndims is %d, but must be at least 0", ndims);
    else if (ndims > 0)
        err = weft_check_output(dims, "dims");
    if (err == MPI_SUCCESS && ndims > 0)
        err = fill_dims(nnodes, ndims, dims);
    return weft_call_end(&call, err);
}

/* ---- making grids ---- */

static int check_grid(const weft_comm_t *comm, const weft_cart_t *grid, int *size_out)
{
    if (grid->ndims < 0)
        return weft_fail(MPI_ERR_DIMS, "ndims is %d, but must be at least 0", grid->ndims);
    int err = grid->ndims == 0 ? MPI_SUCCESS : weft_check_input(grid->dims, "dims");
    if (err == MPI_SUCCESS && grid->ndims > 0)
        err = weft_check_input(grid->periods, "periods");
    for (int i = 0; i < grid->ndims && err == MPI_SUCCESS; i++) {
        if (grid->dims[i] < 1)
            err =
                weft_fail(MPI_ERR_DIMS, "dims[%d] is %d, but must be at least 1", i, grid->dims[i]);
    }
    if (err != MPI_SUCCESS)
        return err;
    *size_out = weft_cart_size(grid);
    if (*size_out >= 0 && *size_out <= comm->size)
        return MPI_SUCCESS;
    int widest = 0;
    for (int i = 1; i < grid->ndims; i++)
        widest = grid->dims[i] > grid->dims[widest] ? i : widest;
    return weft_fail(MPI_ERR_DIMS,
                     "dims[%d] is %d, with which the grid has more places than %s has ranks, %d",
                     widest, grid->dims[widest], weft_comm_label(comm), comm->size);
}

static int make_grid(weft_comm_t *comm, const weft_cart_t *grid, bool reorders, MPI_Comm *comm_cart)
{
    int size;
    weft_comm_t *made;
    int err = check_grid(comm, grid, &size);
    if (err == MPI_SUCCESS)
        err = reorders ? weft_comm_attach_grid(comm, grid, &made)
                       : weft_comm_attach_topology(comm, size, weft_topology_of_cart(grid), &made);
    if (err == MPI_SUCCESS)
        *comm_cart = weft_give_comm("MPI_Cart_create", made);
    return err;
}

/** Makes a communicator whose ranks form a grid (section 8.5.1). Collective over comm_old; all give
 *  the same arguments. Ranks go through the grid in row-major order: the last coordinate changes
 *  fastest. The result has comm_old's error handler, but none of its attributes and hints.
 *  @param[in] ndims  how many entries dims and periods have; 0: a grid of one place
 *  @param[in] dims  how many places each dimension has, at least 1
 *  @error MPI_ERR_COMM  an intercommunicator is given
 *  @error MPI_ERR_DIMS  ndims is negative, an extent less than 1, or the grid larger than comm_old
 *  @error MPI_ERR_ARG  dims or periods is NULL, but has entries
 *  @note With reorder the ranks of a host get a block of the grid, so that fewer neighbours are on
 *      different hosts, and ranks that are bound to one package, NUMA node, cache or core of it a
 *      block of that block. Where hosts have different numbers of ranks, or not all ranks are in
 *      the grid, it is placed as MPI_Graph_create places its nodes.
 *  @see MPI_Dims_create, MPI_Cart_sub */
WEFT_API(MPI_Cart_create);
int PMPI_Cart_create(MPI_Comm handle, int ndims, const int dims[], const int periods[], int reorder,
                     MPI_Comm *comm_cart)
{
    weft_call_t call = weft_call_begin("MPI_Cart_create");
    weft_comm_t *comm;
    int err = weft_check_intracomm(&call, handle, "comm_old", &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(comm_cart, "comm_cart");
    if (err == MPI_SUCCESS)
        err = make_grid(comm, &(weft_cart_t){ndims, dims, periods}, reorder != 0, comm_cart);
    return weft_call_end(&call, err);
}

/** The rank that the caller would have in a grid, if MPI_Cart_create were called with reorder
 *  (section 8.5.8). No communicator is made, and none of the ranks' bindings is asked for: where
 *  processes are bound to parts of their host, their order within it may differ.
 *  @param[in] ndims  how many entries dims and periods have; 0: a grid of one place
 *  @param[in] dims  how many places each dimension has, at least 1
 *  @param[out] newrank  that rank; MPI_UNDEFINED if the grid has no place for the caller
 *  @error MPI_ERR_COMM  an intercommunicator is given
 *  @error MPI_ERR_DIMS  ndims is negative, an extent less than 1, or the grid larger than comm
 *  @error MPI_ERR_ARG  dims or periods is NULL, but has entries */
WEFT_API(MPI_Cart_map);
int PMPI_Cart_map(MPI_Comm handle, int ndims, const int dims[], const int periods[], int *newrank)
{
    weft_call_t call = weft_call_begin("MPI_Cart_map");
    weft_comm_t *comm;
    int size;
    int err = weft_check_intracomm(&call, handle, "comm", &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_output(newrank, "newrank");
    if (err == MPI_SUCCESS)
        err = check_grid(comm, &(weft_cart_t){ndims, dims, periods}, &size);
    if (err == MPI_SUCCESS)
        err = weft_comm_place_in_grid(comm, &(weft_cart_t){ndims, dims, periods}, newrank);
    return weft_call_end(&call, err);
}

/* ---- asking grids ---- */

static int check_cart(weft_call_t *call, MPI_Comm handle, weft_comm_t **comm_out,
                      const weft_cart_t **cart_out)
{
    int err = weft_check_comm(call, handle, comm_out);
    if (err != MPI_SUCCESS)
        return err;
    const weft_topology_t *topology = (*comm_out)->topology;
    if (topology == NULL || topology->kind != MPI_CART)
        return weft_fail(MPI_ERR_TOPOLOGY, "%s has no Cartesian topology",
                         weft_comm_label(*comm_out));
    *cart_out = &topology->cart;
    return MPI_SUCCESS;
}

/** How many dimensions the grid of a communicator has (section 8.5.5).
 *  @error MPI_ERR_TOPOLOGY  comm has no grid */
WEFT_API(MPI_Cartdim_get);
int PMPI_Cartdim_get(MPI_Comm handle, int *ndims)
{
    weft_call_t call = weft_call_begin("MPI_Cartdim_get");
    weft_comm_t *comm;
    const weft_cart_t *cart;
    int err = check_cart(&call, handle, &comm, &cart);
    if (err == MPI_SUCCESS)
        err = weft_check_output(ndims, "ndims");
    if (err == MPI_SUCCESS)
        *ndims = cart->ndims;
    return weft_call_end(&call, err);
}

static int check_room(const weft_cart_t *cart, int maxdims)
{
    if (maxdims < cart->ndims)
        return weft_fail(MPI_ERR_ARG, "maxdims is %d, but the grid has %d dimensions", maxdims,
                         cart->ndims);
    return MPI_SUCCESS;
}

static int check_array(const weft_cart_t *cart, const int *array, const char *name)
{
    return cart->ndims == 0 ? MPI_SUCCESS : weft_check_output(array, name);
}

static int get_grid(const weft_comm_t *comm, const weft_cart_t *cart, int dims[], int periods[],
                    int coords[])
{
    int err = check_array(cart, dims, "dims");
    if (err == MPI_SUCCESS)
        err = check_array(cart, periods, "periods");
    if (err == MPI_SUCCESS)
        err = check_array(cart, coords, "coords");
    if (err != MPI_SUCCESS)
        return err;
    for (int i = 0; i < cart->ndims; i++) {
        dims[i] = cart->dims[i];
        periods[i] = cart->periods[i];
    }
    weft_cart_coords(cart, comm->rank, coords);
    return MPI_SUCCESS;
}

/** The shape of a communicator's grid, and where the caller is in it (section 8.5.5). As many
 *  entries of the arrays are written as the grid has dimensions.
 *  @param[out] dims  how many places each dimension has
 *  @param[out] periods  what MPI_Cart_create was given
 *  @param[out] coords  the coordinates of the caller, from 0
 *  @error MPI_ERR_TOPOLOGY  comm has no grid
 *  @error MPI_ERR_ARG  maxdims is less than the number of dimensions
 *  @see MPI_Cartdim_get */
WEFT_API(MPI_Cart_get);
int PMPI_Cart_get(MPI_Comm handle, int maxdims, int dims[], int periods[], int coords[])
{
    weft_call_t call = weft_call_begin("MPI_Cart_get");
    weft_comm_t *comm;
    const weft_cart_t *cart;
    int err = check_cart(&call, handle, &comm, &cart);
    if (err == MPI_SUCCESS)
        err = check_room(cart, maxdims);
    if (err == MPI_SUCCESS)
        err = get_grid(comm, cart, dims, periods, coords);
    return weft_call_end(&call, err);
}

static int find_rank(const weft_cart_t *cart, const int coords[], int *rank)
{
    int err = cart->ndims == 0 ? MPI_SUCCESS : weft_check_input(coords, "coords");
    if (err != MPI_SUCCESS)
        return err;
    int found = weft_cart_rank(cart, coords);
    if (found != MPI_PROC_NULL) {
        *rank = found;
        return MPI_SUCCESS;
    }
    int i = 0;
    while (cart->periods[i] || (coords[i] >= 0 && coords[i] < cart->dims[i]))
        i++;
    return weft_fail(MPI_ERR_ARG, "coords[%d] is %d, but that dimension has 0 to %d and no period",
                     i, coords[i], cart->dims[i] - 1);
}

/** The rank at a place of the grid (section 8.5.5). In a periodic dimension a coordinate may be any
 *  number, and goes around.
 *  @param[in] coords  one coordinate for each dimension, from 0
 *  @param[out] rank  the rank in comm
 *  @error MPI_ERR_TOPOLOGY  comm has no grid
 *  @error MPI_ERR_ARG  coords is NULL, or a coordinate is outside and its dimension not periodic */
WEFT_API(MPI_Cart_rank);
int PMPI_Cart_rank(MPI_Comm handle, const int coords[], int *rank)
{
    weft_call_t call = weft_call_begin("MPI_Cart_rank");
    weft_comm_t *comm;
    const weft_cart_t *cart;
    int err = check_cart(&call, handle, &comm, &cart);
    if (err == MPI_SUCCESS)
        err = weft_check_output(rank, "rank");
    if (err == MPI_SUCCESS)
        err = find_rank(cart, coords, rank);
    return weft_call_end(&call, err);
}

/** Where a rank is in the grid (section 8.5.5). As many entries of coords are written as the grid
 *  has dimensions.
 *  @param[out] coords  the coordinates, from 0
 *  @error MPI_ERR_TOPOLOGY  comm has no grid
 *  @error MPI_ERR_RANK  rank is no rank of comm
 *  @error MPI_ERR_ARG  maxdims is less than the number of dimensions */
WEFT_API(MPI_Cart_coords);
int PMPI_Cart_coords(MPI_Comm handle, int rank, int maxdims, int coords[])
{
    weft_call_t call = weft_call_begin("MPI_Cart_coords");
    weft_comm_t *comm;
    const weft_cart_t *cart;
    int err = check_cart(&call, handle, &comm, &cart);
    if (err == MPI_SUCCESS && (unsigned)rank >= (unsigned)comm->size)
        err = weft_bad_rank(comm, rank, "rank");
    if (err == MPI_SUCCESS)
        err = check_room(cart, maxdims);
    if (err == MPI_SUCCESS)
        err = check_array(cart, coords, "coords");
    if (err == MPI_SUCCESS)
        weft_cart_coords(cart, rank, coords);
    return weft_call_end(&call, err);
}

static int check_direction(const weft_cart_t *cart, int direction)
{
    if (direction < 0 || direction >= cart->ndims)
        return weft_fail(MPI_ERR_DIMS, "direction is %d, but the grid has %d dimensions", direction,
                         cart->ndims);
    return MPI_SUCCESS;
}

/** The ranks to receive from and to send to, if all data move along one dimension of the grid
 *  (section 8.5.6). They can be given to MPI_Sendrecv as they are.
 *  @param[in] direction  the dimension, from 0
 *  @param[in] disp  places to move by; a negative number moves towards smaller coordinates
 *  @param[out] rank_source  the rank that lies disp places before the caller
 *  @param[out] rank_dest  the rank that lies disp places behind. Either is MPI_PROC_NULL if that is
 *      outside and the dimension is not periodic
 *  @error MPI_ERR_TOPOLOGY  comm has no grid
 *  @error MPI_ERR_DIMS  the grid has no such dimension */
WEFT_API(MPI_Cart_shift);
int PMPI_Cart_shift(MPI_Comm handle, int direction, int disp, int *rank_source, int *rank_dest)
{
    weft_call_t call = weft_call_begin("MPI_Cart_shift");
    weft_comm_t *comm;
    const weft_cart_t *cart;
    int err = check_cart(&call, handle, &comm, &cart);
    if (err == MPI_SUCCESS)
        err = check_direction(cart, direction);
    if (err == MPI_SUCCESS)
        err = weft_check_output(rank_source, "rank_source");
    if (err == MPI_SUCCESS)
        err = weft_check_output(rank_dest, "rank_dest");
    if (err == MPI_SUCCESS) {
        *rank_source = weft_cart_neighbor(cart, comm->rank, direction, -(int64_t)disp);
        *rank_dest = weft_cart_neighbor(cart, comm->rank, direction, disp);
    }
    return weft_call_end(&call, err);
}

/* ---- parts of grids ---- */

/* The dimensions that stay, in arrays of ndims, and which part this rank is in: the ranks of a part
 * have the same coordinates in the dimensions that go. */
static int cut_grid(const weft_comm_t *comm, const weft_cart_t *cart, const int remain_dims[],
                    int kept[], weft_cart_t *part_out)
{
    int *dims = kept, *periods = kept + cart->ndims, *coords = kept + 2 * cart->ndims, color = 0;
    *part_out = (weft_cart_t){0, dims, periods};
    weft_cart_coords(cart, comm->rank, coords);
    for (int i = 0; i < cart->ndims; i++) {
        if (!remain_dims[i]) {
            color = color * cart->dims[i] + coords[i];
            continue;
        }
        dims[part_out->ndims] = cart->dims[i];
        periods[part_out->ndims++] = cart->periods[i];
    }
    return color;
}

static int make_subgrid(weft_comm_t *comm, const weft_cart_t *cart, const int remain_dims[],
                        weft_comm_t **out)
{
    weft_cart_t part;
    int *kept = weft_alloc_array(3 * (size_t)cart->ndims, sizeof(int));
    if (kept == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %d dimensions", cart->ndims);
    int color = cut_grid(comm, cart, remain_dims, kept, &part);
    int err = weft_comm_split(comm, color, comm->rank, out);
    if (err == MPI_SUCCESS) {
        (*out)->topology = weft_topology_of_cart(&part);
        if ((*out)->topology == NULL) {
            weft_comm_release(*out);
            err = weft_fail(MPI_ERR_NO_MEM, "no memory for a topology");
        }
    }
    weft_free(kept);
    return err;
}

/** Cuts a grid into grids of fewer dimensions (section 8.5.7). Collective over comm. The ranks of a
 *  part have the same coordinates in all dimensions that go, and are in row-major order in those
 *  that stay.
 *  @param[in] remain_dims  for each dimension, true if it stays
 *  @param[out] newcomm  the caller's part, with its grid; if no dimension stays, the caller alone,
 *      with a grid of no dimensions
 *  @error MPI_ERR_TOPOLOGY  comm has no grid
 *  @error MPI_ERR_ARG  remain_dims is NULL */
WEFT_API(MPI_Cart_sub);
int PMPI_Cart_sub(MPI_Comm handle, const int remain_dims[], MPI_Comm *newcomm)
{
    weft_call_t call = weft_call_begin("MPI_Cart_sub");
    weft_comm_t *comm, *made;
    const weft_cart_t *cart;
    int err = check_cart(&call, handle, &comm, &cart);
    if (err == MPI_SUCCESS && cart->ndims > 0)
        err = weft_check_input(remain_dims, "remain_dims");
    if (err == MPI_SUCCESS)
        err = weft_check_output(newcomm, "newcomm");
    if (err == MPI_SUCCESS)
        err = make_subgrid(comm, cart, remain_dims, &made);
    if (err == MPI_SUCCESS)
        *newcomm = weft_give_comm(call.name, made);
    return weft_call_end(&call, err);
}
