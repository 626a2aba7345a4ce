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

/* Hosts alone. */
static weft_nearness_t only_hosts(const weft_shape_t *hosts)
{
    return (weft_nearness_t){.count = 1, .levels = {*hosts}};
}

static bool place(const weft_cart_t *grid, const weft_nearness_t *nearness, int ranks[])
{
    bool is_better = false;
    assert_int_equal(wefti_grid_place(grid, nearness, ranks, &is_better), MPI_SUCCESS);
    return is_better;
}

static void divide(weft_nearness_t *nearness, const int number[])
{
    assert_int_equal(wefti_nearness_divide(nearness, number), MPI_SUCCESS);
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
    weft_nearness_t nearness = only_hosts(&shape);
    int ranks[16];
    (void)state;
    assert_true(place(&grid, &nearness, ranks));
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
    weft_nearness_t nearness = only_hosts(&shape);
    int ranks[16];
    (void)state;
    assert_true(place(&grid, &nearness, ranks));
    assert_int_equal(count_edges(&grid, &shape, NULL), 16);
    assert_int_equal(count_edges(&grid, &shape, ranks), 4);
}

/* 8 caches of 4 ranks on one host: 2 x 2 places each instead of 1 x 4. */
static void fills_caches(void **state)
{
    static const int dims[] = {4, 8}, periods[] = {0, 0};
    weft_cart_t grid = {2, dims, periods};
    weft_shape_t host = weft_shape_blocks(1, 32);
    weft_nearness_t nearness = only_hosts(&host);
    int cache[32], ranks[32];
    (void)state;
    assert_true(wefti_nearness_is_flat(&nearness));
    for (int i = 0; i < 32; i++)
        cache[i] = i / 4;
    divide(&nearness, cache);
    assert_false(wefti_nearness_is_flat(&nearness));
    assert_true(place(&grid, &nearness, ranks));
    expect_permutation(ranks, 32);
    assert_int_equal(count_edges(&grid, &nearness.levels[1], NULL), 28);
    assert_int_equal(count_edges(&grid, &nearness.levels[1], ranks), 20);
    wefti_nearness_close(&nearness);
}

/* Two hosts in turn, whose packages have the numbers 0 and 1 on both. */
static void fills_packages_of_hosts(void **state)
{
    static const int dims[] = {4, 4}, periods[] = {0, 0};
    weft_cart_t grid = {2, dims, periods};
    weft_shape_t hosts = weft_shape_cyclic(2, 8);
    weft_nearness_t nearness = only_hosts(&hosts);
    int package[16], same[16] = {0}, alone[16], ranks[16];
    (void)state;
    for (int i = 0; i < 16; i++) {
        package[i] = i / 2 % 2;
        alone[i] = i;
    }
    divide(&nearness, same);
    assert_int_equal(nearness.count, 1); /* divides nothing */
    divide(&nearness, package);
    assert_int_equal(nearness.count, 2);
    assert_int_equal(nearness.levels[1].nodes, 4);
    divide(&nearness, alone);
    assert_int_equal(nearness.count, 2); /* leaves no two together */
    assert_true(place(&grid, &nearness, ranks));
    expect_permutation(ranks, 16);
    assert_int_equal(count_edges(&grid, &nearness.levels[0], ranks), 4);
    assert_int_equal(count_edges(&grid, &nearness.levels[1], ranks), 8);
    wefti_nearness_close(&nearness);
}

static void leaves_what_is_good(void **state)
{
    static const int dims[] = {4, 1, 2}, periods[] = {1, 1, 0}, small[] = {3};
    weft_cart_t grid = {3, dims, periods}, part = {1, small, periods}, point = {0, NULL, NULL};
    weft_shape_t one = weft_shape_blocks(1, 8), four = weft_shape_blocks(4, 2), uneven;
    const int hosts[] = {0, 0, 0, 1, 1, 1, 1, 1};
    weft_nearness_t nearness = only_hosts(&one);
    int ranks[8];
    (void)state;
    assert_true(wefti_grid_has_blocks(&grid, &nearness));
    assert_false(place(&grid, &nearness, ranks));
    nearness = only_hosts(&four);
    assert_false(place(&grid, &nearness, ranks));          /* pairs share nodes already */
    assert_false(wefti_grid_has_blocks(&part, &nearness)); /* smaller than the communicator */
    assert_false(wefti_grid_has_blocks(&point, &nearness));
    assert_int_equal(weft_shape_open(hosts, 8, 2, &uneven), MPI_SUCCESS);
    nearness = only_hosts(&uneven);
    assert_false(wefti_grid_has_blocks(&grid, &nearness));
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

/* Up to three levels more, with parts of one size or of any. */
static void divide_at_random(weft_nearness_t *nearness)
{
    static int number[PLACES];
    int ranks = nearness->levels[0].ranks;
    for (int levels = random_below(4); levels > 0; levels--) {
        int parts = 1 + random_below(4), is_even = random_below(3);
        for (int i = 0; i < ranks; i++)
            number[i] = is_even ? i * parts / ranks : random_below(parts);
        divide(nearness, number);
    }
}

/* On the first level where anything is different. */
static void expect_better(const weft_cart_t *grid, const weft_nearness_t *nearness,
                          const int ranks[])
{
    int level = 0, placed, in_order;
    do {
        assert_true(level < nearness->count);
        placed = count_edges(grid, &nearness->levels[level], ranks);
        in_order = count_edges(grid, &nearness->levels[level], NULL);
        level++;
    } while (placed == in_order);
    assert_true(placed < in_order);
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
    weft_nearness_t nearness = only_hosts(&shape);
    divide_at_random(&nearness);
    if (place(&grid, &nearness, ranks)) {
        expect_permutation(ranks, size);
        expect_better(&grid, &nearness, ranks);
    }
    wefti_nearness_close(&nearness);
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
        cmocka_unit_test(fills_squares),       cmocka_unit_test(undoes_cycles),
        cmocka_unit_test(fills_caches),        cmocka_unit_test(fills_packages_of_hosts),
        cmocka_unit_test(leaves_what_is_good), cmocka_unit_test(never_makes_it_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
