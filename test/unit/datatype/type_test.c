/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/type.h"
#include "datatype/envelope.h"
#include "datatype/type_map.h"
#include "base/fail.h"
#include "mpix.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void predefined_types_are_in_order(void **state)
{
    int found = 0;
    (void)state;
    for (uintptr_t value = 0; value < WEFT_PREDEFINED_HANDLES; value++) {
        const weft_type_t *type = weft_type_of((MPI_Datatype)value);
        if (type == NULL)
            continue;
        found++;
        assert_int_equal((uintptr_t)weft_type_handle(type), value);
        assert_int_equal(type->size, type->layout.bytes);
        assert_true(type->is_committed && type->is_predefined && type->size > 0);
        assert_int_equal(strncmp(type->name, value < WEFT_TYPE_HANDLES ? "MPI_" : "MPIX_", 4), 0);
        assert_int_equal(type->is_dense, (size_t)type->extent == type->size);
    }
    assert_int_equal(found, 70 + 4); /* as many as mpi.h and mpix.h have */
    assert_int_equal(weft_type_of(MPIX_BFLOAT16)->size, 2);
    assert_int_equal(weft_type_of(MPIX_FLOAT8_E5M2)->size, 1);
    assert_string_equal(weft_type_of(MPIX_C_FLOAT16)->name, "MPIX_C_FLOAT16");
    assert_null(weft_type_of(MPI_DATATYPE_NULL));
    assert_null(weft_type_of((MPI_Datatype)(uintptr_t)0x800));
    assert_null(weft_type_of((MPI_Datatype)(uintptr_t)0x1280));
}

static void pairs_are_structs(void **state)
{
    struct {
        double value;
        int index;
    } example;
    const weft_type_t *type = weft_type_of(MPI_DOUBLE_INT);
    (void)state;
    assert_int_equal(type->size, 12);
    assert_int_equal(type->extent, sizeof(example));
    assert_int_equal(type->true_extent, 12);
    assert_int_equal(weft_type_of(MPI_SHORT_INT)->size, 6);
    assert_int_equal(weft_type_of(MPI_SHORT_INT)->extent, 8);
    assert_true(weft_type_of(MPI_2INT)->is_dense);
    assert_string_equal(weft_type_of(MPI_LONG_LONG)->name, "MPI_LONG_LONG_INT");
    assert_string_equal(weft_type_of(MPI_C_FLOAT_COMPLEX)->name, "MPI_C_COMPLEX");
}

/* The result that section 3.2.5 demands of MPI_Get_elements, counted byte by byte. */
static MPI_Count count_elements(const model_t *model, size_t bytes)
{
    MPI_Count elements = 0;
    if (bytes > 0 && !model->ends_basic[(bytes - 1) % model->bytes])
        return MPI_UNDEFINED;
    for (size_t i = 0; i < bytes; i++)
        elements += model->ends_basic[i % model->bytes];
    return elements;
}

/* Elements of bytes, and bytes of elements. */
static void check_elements(const model_t *model, size_t bytes)
{
    MPI_Count elements = count_elements(model, bytes);
    assert_int_equal(weft_type_elements(model->type, bytes), elements);
    if (elements != MPI_UNDEFINED)
        assert_int_equal(weft_type_element_bytes(model->type, elements), bytes);
}

static void check_bounds(const model_t *model)
{
    const weft_type_t *type = model->type;
    ptrdiff_t low = 0, high = 0;
    for (size_t i = 0; i < model->bytes; i++) {
        low = i == 0 || model->place[i] < low ? model->place[i] : low;
        high = i == 0 || model->place[i] >= high ? model->place[i] + 1 : high;
    }
    if (type->lb != model->lb || type->extent != model->ub - model->lb)
        fail_msg("bounds are %ld and %ld, not %ld and %ld", (long)type->lb,
                 (long)(type->lb + type->extent), (long)model->lb, (long)model->ub);
    assert_int_equal(type->size, model->bytes);
    assert_int_equal(type->true_lb, low);
    assert_int_equal(type->true_extent, high - low);
}

static void random_types_have_the_bounds_of_their_maps(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        model_seed = (unsigned long long)i * 91 + 3;
        model_t model = model_random_type(1 + i % 4);
        check_bounds(&model);
        for (size_t bytes = 0; bytes < 2 * model.bytes && bytes < 300; bytes++)
            check_elements(&model, bytes);
        model_free(&model);
    }
}

static void folds_what_is_contiguous(void **state)
{
    weft_type_t *row, *matrix, *resized;
    (void)state;
    weft_type_contiguous(7, weft_type_of(MPI_DOUBLE), &row);
    weft_type_vector(5, 2, 2, row, &matrix);
    weft_type_resized(matrix, 0, 1000, &resized);
    weft_type_commit(matrix);
    weft_type_commit(resized);
    assert_true(matrix->is_dense);
    assert_false(resized->is_dense);
    ptrdiff_t offset;
    size_t bytes;
    assert_true(weft_type_span(resized, 1, &offset, &bytes));
    assert_int_equal(bytes, 560);
    assert_false(weft_type_span(resized, 2, &offset, &bytes));
    weft_type_release(row);
    weft_type_release(matrix);
    weft_type_release(resized);
}

/* A column of a matrix, given as a vector, as indices and as a struct, is one strided level. */
static void regular_lists_become_levels(void **state)
{
    static const int ones[] = {1, 1, 1, 1}, places[] = {0, 8, 16, 24};
    static const MPI_Aint bytes[] = {0, 32, 64, 96};
    MPI_Datatype types[] = {MPI_INT, MPI_INT, MPI_FLOAT, MPI_INT};
    weft_type_t *made[3];
    (void)state;
    weft_type_vector(4, 1, 8, weft_type_of(MPI_INT), &made[0]);
    weft_type_indexed(4, weft_counts_int(ones), weft_counts_int(places), weft_type_of(MPI_INT),
                      &made[1]);
    weft_type_struct(4, weft_counts_int(ones), weft_counts_aint(bytes), types, &made[2]);
    for (int i = 0; i < 3; i++) {
        weft_type_commit(made[i]);
        assert_int_equal(made[i]->layout.leaf, WEFT_LEAF_BLOCK);
        assert_int_equal(made[i]->layout.levels, 1);
        assert_int_equal(made[i]->layout.level[0].stride, 32);
        weft_type_release(made[i]);
    }
}

static void counts_beyond_an_int(void **state)
{
    weft_type_t *huge, *strided, *refused = NULL;
    (void)state;
    assert_int_equal(weft_type_contiguous((MPI_Count)1 << 33, weft_type_of(MPI_INT), &huge), 0);
    assert_int_equal(huge->size, (size_t)1 << 35);
    assert_int_equal(weft_type_hvector(4, 1, (MPI_Count)1 << 40, huge, &strided), 0);
    assert_int_equal(strided->extent, ((MPI_Aint)3 << 40) + ((MPI_Aint)1 << 35));
    assert_int_equal(weft_type_contiguous((MPI_Count)1 << 40, huge, &refused), MPI_ERR_COUNT);
    assert_null(refused);
    weft_type_release(huge);
    weft_type_release(strided);
}

static void bad_arguments_are_named(void **state)
{
    weft_type_t *out = NULL, *integer = weft_type_of(MPI_INT);
    static const int blocks[] = {1, -2}, places[] = {0, 4};
    MPI_Datatype types[] = {MPI_INT, MPI_DATATYPE_NULL};
    static const MPI_Aint bytes[] = {0, 4};
    (void)state;
    assert_int_equal(weft_type_contiguous(-3, integer, &out), MPI_ERR_COUNT);
    assert_string_equal(weft_fail_text(), "count is -3, but must be at least 0");
    assert_int_equal(
        weft_type_indexed(2, weft_counts_int(blocks), weft_counts_int(places), integer, &out),
        MPI_ERR_COUNT);
    assert_string_equal(weft_fail_text(), "array_of_blocklengths[1] is -2, but must be at least 0");
    assert_int_equal(
        weft_type_struct(2, weft_counts_int(places), weft_counts_aint(bytes), types, &out),
        MPI_ERR_TYPE);
    assert_string_equal(weft_fail_text(), "array_of_types[1] is MPI_DATATYPE_NULL");
    int sizes[] = {4, 4}, subsizes[] = {2, 3}, starts[] = {0, 2};
    weft_subarray_t subarray = {2, MPI_ORDER_C, weft_counts_int(sizes), weft_counts_int(subsizes),
                                weft_counts_int(starts)};
    assert_int_equal(weft_type_subarray(&subarray, integer, &out), MPI_ERR_ARG);
    assert_string_equal(weft_fail_text(), "array_of_starts[1] is 2, but must be in 0..1");
    assert_null(out);
}

static void freed_types_are_not_live(void **state)
{
    weft_type_t *inner, *outer;
    (void)state;
    weft_type_contiguous(2, weft_type_of(MPI_INT), &inner);
    weft_type_vector(2, 1, 2, inner, &outer);
    MPI_Datatype inner_handle = weft_type_handle(inner), outer_handle = weft_type_handle(outer);
    weft_type_release(inner);
    assert_ptr_equal(weft_type_of(inner_handle), inner);
    weft_type_release(outer);
    assert_null(weft_type_of(outer_handle));
    assert_null(weft_type_of(inner_handle));
}

static void envelopes_tell_the_form(void **state)
{
    static const int blocks[] = {1, 2, 3};
    static const MPI_Aint places[] = {0, 100, 200};
    int integers[8];
    MPI_Aint addresses[8];
    MPI_Count large_counts[8];
    MPI_Datatype types[1];
    weft_contents_t out = {integers, addresses, large_counts, types};
    weft_type_t *type;
    (void)state;
    weft_type_hindexed(3, weft_counts_int(blocks), weft_counts_aint(places), weft_type_of(MPI_CHAR),
                       &type);
    weft_envelope_sizes_t sizes = weft_envelope_sizes(type);
    assert_int_equal(sizes.integers, 4);
    assert_int_equal(sizes.addresses, 3);
    assert_int_equal(sizes.large_counts, 0);
    assert_int_equal(sizes.types, 1);
    assert_int_equal(sizes.combiner, MPI_COMBINER_HINDEXED);
    weft_envelope_contents(type, &out);
    assert_int_equal(integers[0], 3);
    assert_int_equal(integers[3], 3);
    assert_int_equal(addresses[2], 200);
    assert_ptr_equal(types[0], MPI_CHAR);
    weft_type_set_wide(type);
    sizes = weft_envelope_sizes(type);
    assert_int_equal(sizes.integers, 0);
    assert_int_equal(sizes.large_counts, 7);
    weft_envelope_contents(type, &out);
    assert_int_equal(large_counts[6], 200);
    weft_type_release(type);
    assert_int_equal(weft_envelope_sizes(weft_type_of(MPI_INT)).combiner, MPI_COMBINER_NAMED);
}

static void dup_is_committed_with_its_original(void **state)
{
    weft_type_t *type, *early, *late;
    (void)state;
    weft_type_vector(3, 1, 2, weft_type_of(MPI_INT), &type);
    weft_type_dup(type, &early);
    weft_type_commit(type);
    weft_type_dup(type, &late);
    assert_false(early->is_committed);
    assert_true(late->is_committed);
    assert_int_equal(late->extent, type->extent);
    weft_type_release(type);
    weft_type_release(early);
    weft_type_release(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predefined_types_are_in_order),
        cmocka_unit_test(pairs_are_structs),
        cmocka_unit_test(random_types_have_the_bounds_of_their_maps),
        cmocka_unit_test(folds_what_is_contiguous),
        cmocka_unit_test(regular_lists_become_levels),
        cmocka_unit_test(counts_beyond_an_int),
        cmocka_unit_test(bad_arguments_are_named),
        cmocka_unit_test(freed_types_are_not_live),
        cmocka_unit_test(envelopes_tell_the_form),
        cmocka_unit_test(dup_is_committed_with_its_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
