/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributed arrays against their type maps, which are found element by element. */
#include "datatype/pack.h"
#include "datatype/arena.h"
#include "base/fail.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void check_share(const model_t *model)
{
    const weft_type_t *type = model->type;
    if (type->size != model->bytes || type->lb != 0 || type->extent != model->ub)
        fail_msg("seed %llu: %zu bytes, extent %ld, not %zu and %ld", model_seed, type->size,
                 (long)type->extent, model->bytes, (long)model->ub);
    arena_t arena = make_arena(model, 2);
    size_t total = 2 * model->bytes;
    unsigned char *out = malloc(total + 1);
    assert_int_equal(weft_type_commit(model->type), MPI_SUCCESS);
    assert_int_equal(weft_pack(arena.at, 2, type, 0, out, total), total);
    for (size_t i = 0; i < total; i++) {
        if (out[i] != arena.at[place_of(model, i)])
            fail_msg("seed %llu: byte %zu of %zu differs", model_seed, i, total);
    }
    free(out);
    free(arena.memory);
}

static void random_shares_are_their_maps(void **state)
{
    (void)state;
    for (int i = 0; i < 4000; i++) {
        model_seed = (unsigned long long)i * 53 + 1;
        model_t basic = model_random_basic();
        model_t old = model_random(2) ? model_random_over(&basic) : model_dup(&basic);
        model_t share = model_random_darray(1 + 2000 / (int)(old.bytes + 4), &old);
        check_share(&share);
        model_free(&share);
        model_free(&old);
        model_free(&basic);
    }
}

/* All ranks together have each element once. */
static void check_cover(weft_darray_t darray, size_t elements)
{
    model_t number = model_basic(MPI_CHAR, 1, 0, 0);
    bool *is_taken = calloc(elements, 1);
    size_t taken = 0;
    for (darray.rank = 0; darray.rank < darray.size; darray.rank++) {
        model_t share = model_darray(&darray, &number);
        check_share(&share);
        for (size_t i = 0; i < share.bytes; i++) {
            assert_false(is_taken[share.place[i]]);
            is_taken[share.place[i]] = true;
        }
        taken += share.bytes;
        model_free(&share);
    }
    assert_int_equal(taken, elements);
    free(is_taken);
    model_free(&number);
}

static void the_shares_of_all_ranks_make_the_array(void **state)
{
    const int forms[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE},
              arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG, -7};
    (void)state;
    for (int first = 1; first <= 5; first++) {
        for (int second = 1; second <= 7; second++) {
            const int sizes[] = {2 + 3 * first, 11, 3}, processes[] = {first, second, 1};
            weft_darray_t darray = {.size = first * second,
                                    .dimensions = 3,
                                    .global_sizes = weft_counts_int(sizes),
                                    .distributions = forms,
                                    .arguments = arguments,
                                    .process_counts = processes};
            darray.order = second % 2 == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
            check_cover(darray, (size_t)(sizes[0] * sizes[1] * sizes[2]));
        }
    }
}

/* The entries of all lists of a layout. */
static size_t entries_below(const weft_layout_t *layout)
{
    size_t entries = layout->leaf == WEFT_LEAF_BLOCK ? 0 : layout->list_count;
    for (size_t i = 0; layout->leaf == WEFT_LEAF_PARTS && i < layout->list_count; i++)
        entries += entries_below(layout->parts[i].layout);
    return entries;
}

/* 2^50 elements, cut off at the end of each dimension. */
static void cost_depends_on_dimensions_alone(void **state)
{
    const MPI_Count sizes[] = {(MPI_Count)1 << 25, ((MPI_Count)1 << 25) - 1};
    const int forms[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, arguments[] = {3, 5},
              processes[] = {2, 3};
    weft_darray_t darray = {.size = 6,
                            .dimensions = 2,
                            .order = MPI_ORDER_C,
                            .global_sizes = weft_counts_wide(sizes),
                            .distributions = forms,
                            .arguments = arguments,
                            .process_counts = processes};
    size_t bytes = 0;
    (void)state;
    for (darray.rank = 0; darray.rank < 6; darray.rank++) {
        weft_type_t *type;
        assert_int_equal(weft_type_darray(&darray, weft_type_of(MPI_INT), &type), MPI_SUCCESS);
        assert_int_equal(type->extent, 4 * sizes[0] * sizes[1]);
        assert_int_equal(weft_type_commit(type), MPI_SUCCESS);
        assert_true(entries_below(&type->layout) <= 8);
        bytes += type->size;
        weft_type_release(type);
    }
    assert_int_equal(bytes, 4 * sizes[0] * sizes[1]);
}

static void lengths_beyond_64_bits(void **state)
{
    const MPI_Count most = LLONG_MAX, half = (MPI_Count)1 << 62;
    const int block = MPI_DISTRIBUTE_BLOCK, normal = MPI_DISTRIBUTE_DFLT_DARG, processes = INT_MAX;
    weft_darray_t darray = {.size = INT_MAX,
                            .rank = INT_MAX - 1,
                            .dimensions = 1,
                            .order = MPI_ORDER_C,
                            .global_sizes = weft_counts_wide(&most),
                            .distributions = &block,
                            .arguments = &normal,
                            .process_counts = &processes};
    weft_type_t *type = NULL;
    (void)state;
    assert_int_equal(weft_type_darray(&darray, weft_type_of(MPI_CHAR), &type), MPI_SUCCESS);
    assert_int_equal(type->extent, LLONG_MAX);
    /* A block has 2^32 + 3 elements, and the last rank what is left behind 2^31 - 2 of them. */
    assert_int_equal(type->size, ((MPI_Count)1 << 31) + 5);
    weft_type_release(type);
    type = NULL;
    darray.global_sizes = weft_counts_wide(&half);
    assert_int_equal(weft_type_darray(&darray, weft_type_of(MPI_SHORT), &type), MPI_ERR_COUNT);
    assert_null(type);
}

static void refuse(const weft_darray_t *darray, const char *text)
{
    weft_type_t *type = NULL;
    assert_int_equal(weft_type_darray(darray, weft_type_of(MPI_INT), &type), MPI_ERR_ARG);
    assert_string_equal(weft_fail_text(), text);
    assert_null(type);
}

static void bad_grids_are_named(void **state)
{
    int sizes[] = {8, 9}, forms[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK}, dargs[] = {-1, 3},
        processes[] = {1, 3};
    const weft_darray_t good = {3,     2,     2,        MPI_ORDER_FORTRAN, weft_counts_int(sizes),
                                forms, dargs, processes};
    weft_darray_t bad = good;
    (void)state;
    bad.size = 0;
    refuse(&bad, "size is 0, but must be at least 1");
    bad.size = 4;
    refuse(&bad, "size is 4, but must be the product of array_of_psizes");
    bad = good;
    bad.rank = 3;
    refuse(&bad, "rank is 3, but must be in 0..2");
    bad.rank = -1;
    refuse(&bad, "rank is -1, but must be in 0..2");
    bad = good;
    bad.dimensions = 0;
    refuse(&bad, "ndims is 0, but must be at least 1");
    bad = good;
    bad.order = 5;
    refuse(&bad, "order is 5, but must be MPI_ORDER_C or MPI_ORDER_FORTRAN");
}

static void bad_dimensions_are_named(void **state)
{
    int sizes[] = {8, 9}, forms[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK}, dargs[] = {-1, 3},
        processes[] = {1, 3};
    const weft_darray_t darray = {3,     2,     2,        MPI_ORDER_FORTRAN, weft_counts_int(sizes),
                                  forms, dargs, processes};
    (void)state;
    sizes[1] = 0;
    refuse(&darray, "array_of_gsizes[1] is 0, but must be at least 1");
    sizes[1] = 10;
    refuse(&darray, "array_of_dargs[1] is 3, but 3 blocks of that size cannot hold the 10 elements "
                    "of array_of_gsizes[1]");
    dargs[1] = 0;
    refuse(&darray, "array_of_dargs[1] is 0, but must be at least 1 or MPI_DISTRIBUTE_DFLT_DARG");
    dargs[1] = 4;
    forms[1] = 3;
    refuse(&darray, "array_of_distribs[1] is 3, but must be MPI_DISTRIBUTE_BLOCK, "
                    "MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE");
    forms[1] = MPI_DISTRIBUTE_NONE;
    refuse(&darray, "array_of_psizes[1] is 3, but must be 1, since array_of_distribs[1] is "
                    "MPI_DISTRIBUTE_NONE");
    processes[0] = 0;
    refuse(&darray, "array_of_psizes[0] is 0, but must be at least 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_shares_are_their_maps),
        cmocka_unit_test(the_shares_of_all_ranks_make_the_array),
        cmocka_unit_test(cost_depends_on_dimensions_alone),
        cmocka_unit_test(lengths_beyond_64_bits),
        cmocka_unit_test(bad_grids_are_named),
        cmocka_unit_test(bad_dimensions_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
