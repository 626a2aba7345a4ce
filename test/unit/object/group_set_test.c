/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups compared with plain sets: arrays of world ranks in order. */
#include "object/group_set.h"

#include "runtime/world.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static weft_group_t *make(int size, const int ranks[])
{
    weft_group_t *group;
    int *own = weft_alloc_array((size_t)size, sizeof(int));
    memcpy(own, ranks, (size_t)size * sizeof(int));
    assert_int_equal(weft_group_create(own, size, &group), MPI_SUCCESS);
    return group;
}

static void assert_ranks(const weft_group_t *group, int size, const int ranks[])
{
    assert_int_equal(group->size, size);
    for (int i = 0; i < size; i++)
        assert_int_equal(weft_group_process(group, i), ranks[i]);
}

static void combines(void **state)
{
    (void)state;
    weft_group_t *one = make(4, (int[]){7, 2, 9, 4}), *two = make(3, (int[]){4, 5, 7}), *out;
    weft_group_union(one, two, &out);
    assert_ranks(out, 5, (int[]){7, 2, 9, 4, 5});
    weft_group_release(out);
    weft_group_intersection(one, two, &out);
    assert_ranks(out, 2, (int[]){7, 4});
    weft_group_release(out);
    weft_group_difference(one, two, &out);
    assert_ranks(out, 2, (int[]){2, 9});
    weft_group_release(out);
    weft_group_difference(two, &weft_group_empty, &out);
    assert_ptr_equal(out, two);
    weft_group_release(out);
    weft_group_intersection(two, &weft_group_empty, &out);
    assert_ptr_equal(out, &weft_group_empty);
    weft_group_release(one);
    weft_group_release(two);
}

static void chooses(void **state)
{
    (void)state;
    weft_group_t *group = make(6, (int[]){10, 11, 12, 13, 14, 15}), *out;
    weft_group_include(group, 2, (int[]){5, 0}, &out);
    assert_ranks(out, 2, (int[]){15, 10});
    weft_group_release(out);
    weft_group_exclude(group, 2, (int[]){5, 0}, &out);
    assert_ranks(out, 4, (int[]){11, 12, 13, 14});
    weft_group_release(out);
    weft_group_release(group);
}

static void takes_ranges(void **state)
{
    (void)state;
    weft_group_t *group = make(9, (int[]){20, 21, 22, 23, 24, 25, 26, 27, 28}), *out;
    int ranges[][3] = {{6, 7, 1}, {3, 0, -2}, {0, 8, 4}}, twice[][3] = {{6, 7, 1}, {0, 8, 2}};
    assert_int_equal(weft_group_include_ranges(group, 3, ranges, &out), MPI_SUCCESS);
    assert_ranks(out, 7, (int[]){26, 27, 23, 21, 20, 24, 28});
    weft_group_release(out);
    assert_int_equal(weft_group_exclude_ranges(group, 3, ranges, &out), MPI_SUCCESS);
    assert_ranks(out, 2, (int[]){22, 25});
    weft_group_release(out);
    assert_int_equal(weft_group_include_ranges(group, 2, twice, &out), MPI_ERR_RANK);
    weft_group_release(group);
}

static void compares(void **state)
{
    (void)state;
    weft_group_t *one = make(3, (int[]){3, 1, 2}), *same = make(3, (int[]){3, 1, 2});
    weft_group_t *turned = make(3, (int[]){1, 2, 3}), *other = make(3, (int[]){3, 1, 4});
    assert_int_equal(weft_group_compare(one, same), MPI_IDENT);
    assert_int_equal(weft_group_compare(one, turned), MPI_SIMILAR);
    assert_int_equal(weft_group_compare(one, other), MPI_UNEQUAL);
    assert_int_equal(weft_group_compare(one, &weft_group_empty), MPI_UNEQUAL);
    weft_group_release(one);
    weft_group_release(same);
    weft_group_release(turned);
    weft_group_release(other);
}

/* A random order of many ranks, and every second of them. */
static void stays_quick(void **state)
{
    enum { SIZE = 50000 };
    (void)state;
    int *ranks = weft_alloc_array(SIZE, sizeof(int));
    srand(5);
    for (int i = 0; i < SIZE; i++)
        ranks[i] = 2 * i;
    for (int i = SIZE - 1; i > 0; i--) {
        int j = rand() % (i + 1), kept = ranks[i];
        ranks[i] = ranks[j];
        ranks[j] = kept;
    }
    weft_group_t *shuffled = make(SIZE, ranks), *all, *both;
    weft_free(ranks);
    assert_int_equal(weft_group_create(NULL, SIZE, &all), MPI_SUCCESS);
    weft_group_intersection(shuffled, all, &both);
    assert_int_equal(both->size, SIZE / 2);
    for (int i = 0; i < both->size; i++)
        assert_true(weft_group_process(both, i) < SIZE);
    weft_group_release(both);
    weft_group_union(all, shuffled, &both);
    assert_int_equal(both->size, SIZE + SIZE / 2);
    weft_group_release(both);
    weft_group_release(all);
    weft_group_release(shuffled);
}

static void knows_the_identity(void **state)
{
    (void)state;
    weft_group_t *group = make(4, (int[]){0, 1, 2, 3});
    assert_null(group->processes);
    assert_int_equal(group->rank, 2);
    weft_group_release(group);
}

static void refuses(void **state)
{
    (void)state;
    weft_group_t *group = make(3, (int[]){5, 6, 7}), *out;
    assert_int_equal(weft_group_include(group, 1, (int[]){3}, &out), MPI_ERR_RANK);
    assert_int_equal(weft_group_include(group, 2, (int[]){1, 1}, &out), MPI_ERR_RANK);
    assert_int_equal(weft_group_exclude(group, 1, (int[]){-1}, &out), MPI_ERR_RANK);
    assert_int_equal(weft_group_exclude(group, -1, NULL, &out), MPI_ERR_ARG);
    assert_int_equal(weft_group_exclude(group, 1, NULL, &out), MPI_ERR_ARG);
    assert_int_equal(weft_group_include_ranges(group, 1, (int[][3]){{0, 2, 0}}, &out), MPI_ERR_ARG);
    assert_int_equal(weft_group_include_ranges(group, 1, (int[][3]){{0, 2, -1}}, &out),
                     MPI_ERR_ARG);
    assert_int_equal(weft_group_include_ranges(group, 1, (int[][3]){{0, 3, 1}}, &out),
                     MPI_ERR_RANK);
    weft_group_release(group);
}

int main(void)
{
    weft_processes.self = weft_world.rank = 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(combines),     cmocka_unit_test(chooses),
        cmocka_unit_test(takes_ranges), cmocka_unit_test(compares),
        cmocka_unit_test(stays_quick),  cmocka_unit_test(knows_the_identity),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
