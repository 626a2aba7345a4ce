/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat in a square plate: Jacobi sweeps over a grid that is cut into blocks, one a rank. Before
 * each sweep the blocks exchange their edges (the halo) with four neighbours: rows lie together in
 * memory, a column is an MPI_Type_vector. The upper edge of the plate is hot, the others are cold.
 *
 *   mpicc -O2 -o halo halo.c -lm && mpirun -np 4 ./halo
 *
 * Check: each rank also sweeps the whole plate by itself and compares its block; the arithmetic is
 * the same.
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SIDE   96
#define SWEEPS 200
#define HOT    100.0

enum { UP, DOWN, LEFT, RIGHT };

/* A block with one line of halo (or of the plate's edge) around it: cell (r, c) is at[r * (columns
 * + 2) + c]. */
typedef struct block {
    int rows, columns, first_row,
        first_column; /* inner cells; place of the first one in the plate, from 1 */
    double *at, *next;
} block_t;

static void make_block(block_t *block)
{
    size_t cells = (size_t)(block->rows + 2) * (size_t)(block->columns + 2);

    block->at = calloc(cells, sizeof(double));
    block->next = calloc(cells, sizeof(double));
    if (block->at == NULL || block->next == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (block->first_row == 1)
        for (int c = 0; c < block->columns + 2; c++)
            block->at[c] = block->next[c] = HOT;
}

static void free_block(block_t *block)
{
    free(block->at);
    free(block->next);
}

static void sweep(block_t *block)
{
    int width = block->columns + 2;
    double *old = block->at;

    for (int r = 1; r <= block->rows; r++)
        for (int c = 1; c <= block->columns; c++) {
            const double *cell = &old[r * width + c];

            block->next[r * width + c] = 0.25 * (cell[-width] + cell[width] + cell[-1] + cell[1]);
        }
    block->at = block->next;
    block->next = old;
}

/* The corners are not needed, so four exchanges in any order are enough. A neighbour is
 * MPI_PROC_NULL at the edge of the plate. */
static void exchange_halo(block_t *block, MPI_Datatype column, const int neighbours[4])
{
    int width = block->columns + 2;
    double *cell = block->at;

    MPI_Sendrecv(&cell[width + 1], block->columns, MPI_DOUBLE, neighbours[UP], UP,
                 &cell[(block->rows + 1) * width + 1], block->columns, MPI_DOUBLE, neighbours[DOWN],
                 UP, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&cell[block->rows * width + 1], block->columns, MPI_DOUBLE, neighbours[DOWN], DOWN,
                 &cell[1], block->columns, MPI_DOUBLE, neighbours[UP], DOWN, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&cell[width + 1], 1, column, neighbours[LEFT], LEFT,
                 &cell[width + block->columns + 1], 1, column, neighbours[RIGHT], LEFT,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&cell[width + block->columns], 1, column, neighbours[RIGHT], RIGHT, &cell[width],
                 1, column, neighbours[LEFT], RIGHT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void solve(block_t *block, const int neighbours[4])
{
    MPI_Datatype column;

    MPI_Type_vector(block->rows, 1, block->columns + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < SWEEPS; i++) {
        exchange_halo(block, column, neighbours);
        sweep(block);
    }
    MPI_Type_free(&column);
}

/* The greatest difference between this block and the same cells of a plate that was not cut. */
static double compare(const block_t *block)
{
    block_t plate = {.rows = SIDE, .columns = SIDE, .first_row = 1, .first_column = 1};
    double worst = 0;

    make_block(&plate);
    for (int i = 0; i < SWEEPS; i++)
        sweep(&plate);
    for (int r = 1; r <= block->rows; r++)
        for (int c = 1; c <= block->columns; c++) {
            int row = block->first_row + r - 1, column = block->first_column + c - 1;

            worst = fmax(worst, fabs(block->at[r * (block->columns + 2) + c] -
                                     plate.at[row * (SIDE + 2) + column]));
        }
    free_block(&plate);
    return worst;
}

/* Cut SIDE lines into `parts`, and return the lines of part `mine`. */
static void cut(int parts, int mine, int *first, int *count)
{
    *first = 1 + SIDE * mine / parts;
    *count = 1 + SIDE * (mine + 1) / parts - *first;
}

/* Arrange `ranks` blocks in the most square grid possible, numbered along its rows; the grid is not
 * periodic. */
static void make_grid(int rank, int ranks, int dims[2], int neighbours[4])
{
    int row, column;

    dims[0] = (int)sqrt((double)ranks);
    while (ranks % dims[0] != 0)
        dims[0]--;
    dims[1] = ranks / dims[0];
    row = rank / dims[1];
    column = rank % dims[1];
    neighbours[UP] = row > 0 ? rank - dims[1] : MPI_PROC_NULL;
    neighbours[DOWN] = row + 1 < dims[0] ? rank + dims[1] : MPI_PROC_NULL;
    neighbours[LEFT] = column > 0 ? rank - 1 : MPI_PROC_NULL;
    neighbours[RIGHT] = column + 1 < dims[1] ? rank + 1 : MPI_PROC_NULL;
}

int main(int argc, char **argv)
{
    int dims[2], neighbours[4], rank, ranks;
    double error, worst;
    block_t block;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    make_grid(rank, ranks, dims, neighbours);
    cut(dims[0], rank / dims[1], &block.first_row, &block.rows);
    cut(dims[1], rank % dims[1], &block.first_column, &block.columns);
    make_block(&block);
    solve(&block, neighbours);
    error = compare(&block);
    MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d sweeps over %d x %d cells in %d x %d blocks, greatest difference from one block "
               "%.1e: %s\n",
               SWEEPS, SIDE, SIDE, dims[0], dims[1], worst, worst < 1e-12 ? "correct" : "WRONG");
    free_block(&block);
    MPI_Finalize();
    return !(worst < 1e-12);
}
