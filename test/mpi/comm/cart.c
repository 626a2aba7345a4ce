/* SPDX-License-Identifier: BSD-3-Clause */
/* Grids on any number of ranks: coordinates, shifts that reach the right rank, parts, copies, and
 * what MPI says of wrong arguments. */
#define _GNU_SOURCE
#include "expect.h"

#include "bound.h"

#include <limits.h>
#include <stdlib.h>

enum { DIMS_MOST = 4 };

/* Coordinates as the standard defines them: row-major, the last changes fastest. */
static void expect_place(MPI_Comm grid, int ndims, const int dims[])
{
    int rank, size, coords[DIMS_MOST], back;
    MPI_Comm_rank(grid, &rank);
    MPI_Comm_size(grid, &size);
    for (int other = 0; other < size; other++) {
        int rest = other;
        MPI_Cart_coords(grid, other, ndims, coords);
        for (int i = ndims - 1; i >= 0; i--) {
            EXPECT(coords[i], rest % dims[i]);
            rest /= dims[i];
        }
        MPI_Cart_rank(grid, coords, &back);
        EXPECT(back, other);
    }
}

/* Each rank sends its coordinates to where a shift says, and knows whose must come. */
static void expect_shift(MPI_Comm grid, int ndims, int direction, int steps)
{
    int rank, source, dest, dims[DIMS_MOST], periods[DIMS_MOST], coords[DIMS_MOST];
    int got[DIMS_MOST] = {-1, -1, -1, -1};
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_get(grid, DIMS_MOST, dims, periods, coords);
    MPI_Cart_shift(grid, direction, steps, &source, &dest);
    MPI_Sendrecv(coords, ndims, MPI_INT, dest, 3, got, ndims, MPI_INT, source, 3, grid,
                 MPI_STATUS_IGNORE);
    int from = coords[direction] - steps, extent = dims[direction];
    int is_outside = !periods[direction] && (from < 0 || from >= extent);
    EXPECT(source == MPI_PROC_NULL, is_outside);
    for (int i = 0; i < ndims && !is_outside; i++)
        EXPECT(got[i], i == direction ? (from % extent + extent) % extent : coords[i]);
}

static void expect_parts(MPI_Comm grid, int ndims, const int dims[], const int periods[])
{
    for (int which = 0; which < 1 << ndims; which++) {
        int remain[DIMS_MOST], kept[DIMS_MOST], rings[DIMS_MOST], coords[DIMS_MOST];
        int part_dims[DIMS_MOST], part_periods[DIMS_MOST], part_coords[DIMS_MOST];
        int count = 0, size = 1, got;
        MPI_Comm part;
        MPI_Cart_get(grid, DIMS_MOST, part_dims, part_periods, coords);
        for (int i = 0; i < ndims; i++) {
            remain[i] = which >> i & 1;
            if (!remain[i])
                continue;
            coords[count] = coords[i];
            rings[count] = periods[i] != 0;
            kept[count++] = dims[i];
            size *= dims[i];
        }
        MPI_Cart_sub(grid, remain, &part);
        MPI_Comm_size(part, &got);
        EXPECT(got, size);
        MPI_Cartdim_get(part, &got);
        EXPECT(got, count);
        MPI_Cart_get(part, DIMS_MOST, part_dims, part_periods, part_coords);
        for (int i = 0; i < count; i++) {
            EXPECT(part_dims[i], kept[i]);
            EXPECT(part_periods[i] != 0, rings[i]);
            EXPECT(part_coords[i], coords[i]);
        }
        MPI_Comm_free(&part);
    }
}

static void expect_grid(MPI_Comm grid, int ndims, const int dims[], const int periods[])
{
    int kind, got;
    MPI_Topo_test(grid, &kind);
    EXPECT(kind, MPI_CART);
    MPI_Cartdim_get(grid, &got);
    EXPECT(got, ndims);
    expect_place(grid, ndims, dims);
    for (int i = 0; i < ndims; i++) {
        for (int steps = -3; steps <= 3; steps++)
            expect_shift(grid, ndims, i, steps);
        expect_shift(grid, ndims, i, dims[i] * 5 + 1);
    }
    expect_parts(grid, ndims, dims, periods);
}

/* A copy has the topology of the original, whichever way it is made, and outlives it. */
static void expect_copies(MPI_Comm grid, int ndims, const int dims[], const int periods[])
{
    MPI_Comm first, copies[3];
    MPI_Request request;
    MPI_Comm_dup(grid, &first);
    MPI_Comm_dup(first, &copies[0]);
    MPI_Comm_dup_with_info(first, MPI_INFO_NULL, &copies[1]);
    MPI_Comm_idup(first, &copies[2], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&first);
    for (int i = 0; i < 3; i++) {
        expect_grid(copies[i], ndims, dims, periods);
        MPI_Comm_free(&copies[i]);
    }
}

/* All ranks but the last, if there are more than two. */
static void try_grids(int nodes)
{
    int is_bound = is_any_rank_bound();
    for (int ndims = 0; ndims <= DIMS_MOST; ndims++) {
        int dims[DIMS_MOST] = {0}, periods[DIMS_MOST] = {1, 0, 1, 0}, size = ndims == 0 ? 1 : nodes;
        MPI_Comm grid;
        MPI_Dims_create(nodes, ndims, dims);
        MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, ndims % 2, &grid);
        EXPECT(grid == MPI_COMM_NULL, expect_rank >= size);
        int place;
        MPI_Cart_map(MPI_COMM_WORLD, ndims, dims, periods, &place);
        EXPECT(place == MPI_UNDEFINED, expect_rank >= size);
        if (grid == MPI_COMM_NULL)
            continue;
        int rank;
        MPI_Comm_rank(grid, &rank);
        if (ndims % 2 == 0)
            EXPECT(rank, expect_rank);
        else if (!is_bound)
            EXPECT(rank, place); /* reordered as MPI_Cart_map says, which knows of hosts alone */
        expect_grid(grid, ndims, dims, periods);
        expect_copies(grid, ndims, dims, periods);
        MPI_Comm_free(&grid);
    }
}

static void try_dims(void)
{
    int dims[] = {0, 3, 0}, line[] = {2, 0};
    MPI_Dims_create(36, 3, dims);
    EXPECT(dims[0], 4);
    EXPECT(dims[1], 3);
    EXPECT(dims[2], 3);
    MPI_Dims_create(7 * 2, 2, line);
    EXPECT(line[0], 2);
    EXPECT(line[1], 7);
    MPI_Dims_create(14, 2, line); /* nothing is left to choose */
    EXPECT(line[1], 7);
}

static void try_errors(void)
{
    int dims[] = {1, 1}, periods[] = {0, 1}, no_dims[] = {1, 0}, coords[2], rank, dest, kind;
    int too_large[] = {1 << 20, 1 << 20}, wrong[] = {4, 0}, negative[] = {-1, 0};
    MPI_Comm grid = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Dims_create(0, 2, dims), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Dims_create(6, -1, dims), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Dims_create(6, 2, wrong), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Dims_create(6, 2, negative), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Dims_create(6, 2, dims), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Cart_create(MPI_COMM_NULL, 2, dims, periods, 0, &grid), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Cart_create(MPI_COMM_WORLD, -1, dims, periods, 0, &grid), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 2, NULL, periods, 0, &grid), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, NULL, 0, &grid), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 2, no_dims, periods, 0, &grid), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 2, too_large, periods, 0, &grid), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cart_map(MPI_COMM_WORLD, 2, no_dims, periods, &rank), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Cartdim_get(MPI_COMM_WORLD, &rank), MPI_ERR_TOPOLOGY);
    EXPECT_ERROR(MPI_Cart_sub(MPI_COMM_WORLD, dims, &grid), MPI_ERR_TOPOLOGY);
    EXPECT_ERROR(MPI_Topo_test(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    EXPECT(kind, MPI_UNDEFINED);
    MPI_Cart_create(MPI_COMM_SELF, 2, dims, periods, 0, &grid);
    EXPECT_ERROR(MPI_Cart_coords(grid, 1, 2, coords), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Cart_coords(grid, 0, 1, coords), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cart_get(grid, 1, dims, periods, coords), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cart_rank(grid, (int[]){1, 0}, &rank), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cart_rank(grid, NULL, &rank), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cart_rank(grid, (int[]){0, -7}, &rank), MPI_SUCCESS);
    EXPECT(rank, 0);
    EXPECT_ERROR(MPI_Cart_shift(grid, 2, 1, &rank, &dest), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Cart_shift(grid, -1, 1, &rank, &dest), MPI_ERR_DIMS);
    EXPECT_ERROR(MPI_Cart_shift(grid, 0, INT_MIN, &rank, &dest), MPI_SUCCESS);
    EXPECT(rank, MPI_PROC_NULL);
    EXPECT_ERROR(MPI_Graphdims_get(grid, &rank, &dest), MPI_ERR_TOPOLOGY);
    EXPECT_ERROR(MPI_Cart_sub(grid, NULL, &grid), MPI_ERR_ARG);
    MPI_Comm_free(&grid);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    try_grids(expect_size);
    if (expect_size > 2)
        try_grids(expect_size - 1);
    try_dims();
    try_errors();
    return expect_end();
}
