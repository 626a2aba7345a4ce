/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks in a grid by nodes: known cases, and random ones, whose edges between nodes are counted
 * place by place. */
#include "comm/grid_placement.h"

#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DIMENSIONS = 4, PLACES = 4096, TRIALS = 2000 };

static unsigned seed = 5;

static int random_below(int below)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)below);
}

/* Edges of the grid between ranks of different nodes; `ranks` NULL: in order. */
static int count_edges(const weft_cart_t *grid, const weft_shape_t *shape, const int *ranks)
{
    int edges = 0;
    for (int place = 0; place < weft_cart_size(grid); place++) {
        for (int i = 0; i < grid->ndims; i++) {
            int next = weft_cart_neighbor(grid, place, i, 1);
            if (next == MPI_PROC_NULL)
                continue;
            int one = ranks == NULL ? place : ranks[place];
            int two = ranks == NULL ? next : ranks[next];
            edges += weft_shape_node(shape, one) != weft_shape_node(shape, two);
        }
    }
    return edges;
}

static void expect_permutation(const int ranks[], int count)
{
    static bool is_there[PLACES];
    for (int i = 0; i < count; i++)
        is_there[i] = false;
    for (int i = 0; i < count; i++) {
        assert_in_range(ranks[i], 0, count - 1);
        assert_false(is_there[ranks[i]]);
        is_there[ranks[i]] = true;
    }
}

static void fills_squares(void **state)
{
    static const int dims[] = {4, 4}, periods[] = {0, 0};
    static const int expected[] = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};
    weft_cart_t grid = {2, dims, periods};
    weft_shape_t shape = weft_shape_blocks(4, 4);
    int ranks[16];
    (void)state;
    assert_true(wefti_grid_place(&grid, &shape, ranks));
    for (int i = 0; i < 16; i++)
        assert_int_equal(ranks[i], expected[i]);
    assert_int_equal(count_edges(&grid, &shape, NULL), 12);
    assert_int_equal(count_edges(&grid, &shape, ranks), 8);
}

/* Rank i is on node i modulo 2: neighbours in a row never share one. */
static void undoes_cycles(void **state)
{
    static const int dims[] = {2, 8}, periods[] = {0, 1};
    weft_cart_t grid = {2, dims, periods};
    weft_shape_t shape = weft_shape_cyclic(2, 8);
    int ranks[16];
    (void)state;
    assert_true(wefti_grid_place(&grid, &shape, ranks));
    assert_int_equal(count_edges(&grid, &shape, NULL), 16);
    assert_int_equal(count_edges(&grid, &shape, ranks), 4);
}

static void leaves_what_is_good(void **state)
{
    static const int dims[] = {4, 1, 2}, periods[] = {1, 1, 0}, small[] = {3};
    weft_cart_t grid = {3, dims, periods}, part = {1, small, periods}, point = {0, NULL, NULL};
    weft_shape_t one = weft_shape_blocks(1, 8), four = weft_shape_blocks(4, 2), uneven;
    const int hosts[] = {0, 0, 0, 1, 1, 1, 1, 1};
    int ranks[8];
    (void)state;
    assert_false(wefti_grid_place(&grid, &one, ranks));
    assert_false(wefti_grid_place(&grid, &four, ranks)); /* pairs share nodes already */
    assert_false(wefti_grid_place(&part, &four, ranks)); /* smaller than the communicator */
    assert_false(wefti_grid_place(&point, &four, ranks));
    assert_int_equal(weft_shape_open(hosts, 8, 2, &uneven), MPI_SUCCESS);
    assert_false(wefti_grid_place(&grid, &uneven, ranks));
    weft_shape_close(&uneven);
}

/* Nodes with equally many ranks, anywhere. */
static void shuffle_hosts(int hosts[], int count, int nodes)
{
    for (int i = 0; i < count; i++)
        hosts[i] = i % nodes;
    for (int i = count - 1; i > 0; i--) {
        int other = random_below(i + 1), moved = hosts[i];
        hosts[i] = hosts[other];
        hosts[other] = moved;
    }
}

static int divisor_of(int number)
{
    int divisor = 1 + random_below(number);
    while (number % divisor != 0)
        divisor--;
    return divisor;
}

static void try_random(void)
{
    static int hosts[PLACES], ranks[PLACES];
    int dims[DIMENSIONS], periods[DIMENSIONS], size = 1;
    weft_cart_t grid = {1 + random_below(DIMENSIONS), dims, periods};
    weft_shape_t shape;
    for (int i = 0; i < grid.ndims; i++) {
        dims[i] = 1 + random_below(6);
        periods[i] = random_below(2);
        size *= dims[i];
    }
    int nodes = divisor_of(size), placing = random_below(3);
    shuffle_hosts(hosts, size, nodes);
    if (placing == 0)
        shape = weft_shape_blocks(nodes, size / nodes);
    else if (placing == 1)
        shape = weft_shape_cyclic(nodes, size / nodes);
    else
        assert_int_equal(weft_shape_open(hosts, size, nodes, &shape), MPI_SUCCESS);
    if (wefti_grid_place(&grid, &shape, ranks)) {
        expect_permutation(ranks, size);
        assert_true(count_edges(&grid, &shape, ranks) < count_edges(&grid, &shape, NULL));
    }
    if (placing == 2)
        weft_shape_close(&shape);
}

static void never_makes_it_worse(void **state)
{
    (void)state;
    for (int i = 0; i < TRIALS; i++)
        try_random();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_squares),
        cmocka_unit_test(undoes_cycles),
        cmocka_unit_test(leaves_what_is_good),
        cmocka_unit_test(never_makes_it_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
