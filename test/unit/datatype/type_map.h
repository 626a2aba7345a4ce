/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain model of datatypes to test the real ones against: the type map written out byte by byte,
 * as section 5.1 of MPI 5.0 defines it. Each model_* function makes a type and its model together.
 */
#ifndef TEST_UNIT_DATATYPE_TYPE_MAP_H
#define TEST_UNIT_DATATYPE_TYPE_MAP_H

#include "datatype/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model {
    weft_type_t *type;
    size_t bytes;     /* of data */
    size_t room;      /* of the two lists */
    ptrdiff_t *place; /* of each byte, in the order of the type map */
    bool *ends_basic; /* is the byte the last one of a basic element? */
    ptrdiff_t lb, ub;
    bool has_entries, has_markers;
    ptrdiff_t alignment;
} model_t;

static void model_fail(const char *what)
{
    fprintf(stderr, "model: %s failed\n", what);
    abort();
}

static void model_free(model_t *model)
{
    weft_type_release(model->type);
    free(model->place);
    free(model->ends_basic);
}

/* Append `old`, moved by `displacement`; lb and ub by the rule of section 5.1.6. */
static void model_append(model_t *to, const model_t *old, ptrdiff_t displacement)
{
    if (!old->has_entries)
        return;
    if (to->bytes + old->bytes >= to->room) {
        to->room = 2 * (to->bytes + old->bytes) + 16;
        to->place = realloc(to->place, to->room * sizeof(*to->place));
        to->ends_basic = realloc(to->ends_basic, to->room);
    }
    for (size_t i = 0; i < old->bytes; i++) {
        to->place[to->bytes] = old->place[i] + displacement;
        to->ends_basic[to->bytes++] = old->ends_basic[i];
    }
    bool replaces = !to->has_entries || (old->has_markers && !to->has_markers);
    bool counts = replaces || old->has_markers == to->has_markers;
    if (counts && (replaces || old->lb + displacement < to->lb))
        to->lb = old->lb + displacement;
    if (counts && (replaces || old->ub + displacement > to->ub))
        to->ub = old->ub + displacement;
    to->has_entries = true;
    to->has_markers |= old->has_markers;
    if (old->alignment > to->alignment)
        to->alignment = old->alignment;
}

static void model_append_block(model_t *to, const model_t *old, ptrdiff_t displacement, int count)
{
    for (int i = 0; i < count; i++)
        model_append(to, old, displacement + i * (old->ub - old->lb));
}

/* A basic type of `first` bytes, and for a pair a second part of `second` bytes (0: none). */
static model_t model_basic(MPI_Datatype handle, size_t first, ptrdiff_t second_place, size_t second)
{
    model_t model = {.type = weft_type_of(handle), .has_entries = true, .bytes = first + second};
    model.place = malloc(model.bytes * sizeof(*model.place));
    model.ends_basic = calloc(model.bytes, 1);
    for (size_t i = 0; i < first; i++)
        model.place[i] = (ptrdiff_t)i;
    for (size_t i = 0; i < second; i++)
        model.place[first + i] = second_place + (ptrdiff_t)i;
    model.ends_basic[first - 1] = true;
    model.ends_basic[model.bytes - 1] = true;
    model.ub = model.type->extent;
    model.alignment = model.type->alignment;
    return model;
}

static model_t model_vector(int count, int blocks, int stride, const model_t *old)
{
    model_t model = {0};
    for (int i = 0; i < count; i++)
        model_append_block(&model, old, i * stride * (old->ub - old->lb), blocks);
    if (weft_type_vector(count, blocks, stride, old->type, &model.type) != MPI_SUCCESS)
        model_fail("vector");
    return model;
}

static model_t model_hvector(int count, int blocks, ptrdiff_t stride, const model_t *old)
{
    model_t model = {0};
    for (int i = 0; i < count; i++)
        model_append_block(&model, old, i * stride, blocks);
    if (weft_type_hvector(count, blocks, stride, old->type, &model.type) != MPI_SUCCESS)
        model_fail("hvector");
    return model;
}

static model_t model_contiguous(int count, const model_t *old)
{
    model_t model = {0};
    model_append_block(&model, old, 0, count);
    if (weft_type_contiguous(count, old->type, &model.type) != MPI_SUCCESS)
        model_fail("contiguous");
    return model;
}

static model_t model_indexed(int count, const int *blocks, const int *places, const model_t *old)
{
    model_t model = {0};
    for (int i = 0; i < count; i++)
        model_append_block(&model, old, places[i] * (old->ub - old->lb), blocks[i]);
    if (weft_type_indexed(count, weft_counts_int(blocks), weft_counts_int(places), old->type,
                          &model.type) != MPI_SUCCESS)
        model_fail("indexed");
    return model;
}

static model_t model_hindexed(int count, const int *blocks, const MPI_Aint *places,
                              const model_t *old)
{
    model_t model = {0};
    for (int i = 0; i < count; i++)
        model_append_block(&model, old, places[i], blocks[i]);
    if (weft_type_hindexed(count, weft_counts_int(blocks), weft_counts_aint(places), old->type,
                           &model.type) != MPI_SUCCESS)
        model_fail("hindexed");
    return model;
}

static model_t model_indexed_block(int count, int blocks, const int *places, const model_t *old)
{
    model_t model = {0};
    for (int i = 0; i < count; i++)
        model_append_block(&model, old, places[i] * (old->ub - old->lb), blocks);
    if (weft_type_indexed_block(count, blocks, weft_counts_int(places), old->type, &model.type) !=
        MPI_SUCCESS)
        model_fail("indexed_block");
    return model;
}

static model_t model_hindexed_block(int count, int blocks, const MPI_Aint *places,
                                    const model_t *old)
{
    model_t model = {0};
    for (int i = 0; i < count; i++)
        model_append_block(&model, old, places[i], blocks);
    if (weft_type_hindexed_block(count, blocks, weft_counts_aint(places), old->type, &model.type) !=
        MPI_SUCCESS)
        model_fail("hindexed_block");
    return model;
}

static model_t model_struct(int count, const int *blocks, const MPI_Aint *places,
                            const model_t *const olds[])
{
    model_t model = {0};
    MPI_Datatype types[16];
    for (int i = 0; i < count; i++) {
        model_append_block(&model, olds[i], places[i], blocks[i]);
        types[i] = weft_type_handle(olds[i]->type);
    }
    if (!model.has_markers && model.alignment > 1)
        while ((model.ub - model.lb) % model.alignment != 0)
            model.ub++;
    if (weft_type_struct(count, weft_counts_int(blocks), weft_counts_aint(places), types,
                         &model.type) != MPI_SUCCESS)
        model_fail("struct");
    return model;
}

static model_t model_resized(const model_t *old, ptrdiff_t lb, ptrdiff_t extent)
{
    model_t model = {0};
    model_append(&model, old, 0);
    model.lb = lb;
    model.ub = lb + extent;
    model.has_entries = model.has_markers = true;
    if (weft_type_resized(old->type, lb, extent, &model.type) != MPI_SUCCESS)
        model_fail("resized");
    return model;
}

static model_t model_dup(const model_t *old)
{
    model_t model = {0};
    model_append(&model, old, 0);
    if (weft_type_dup(old->type, &model.type) != MPI_SUCCESS)
        model_fail("dup");
    return model;
}

enum { MODEL_DIMENSIONS = 6 };

/* All elements of the whole array in order, those inside kept. */
static model_t model_subarray(const weft_subarray_t *subarray, const model_t *old)
{
    model_t model = {0};
    int n = subarray->dimensions, at[MODEL_DIMENSIONS] = {0};
    ptrdiff_t element = 0, all = 1;
    for (int i = 0; i < n; i++)
        all *= weft_count_at(subarray->sizes, (size_t)i);
    for (; element < all; element++) {
        bool is_inside = true;
        for (int i = 0; i < n; i++) {
            MPI_Count start = weft_count_at(subarray->starts, (size_t)i);
            is_inside &=
                at[i] >= start && at[i] < start + weft_count_at(subarray->subsizes, (size_t)i);
        }
        if (is_inside)
            model_append(&model, old, element * (old->ub - old->lb));
        for (int i = 0; i < n; i++) {
            int d = subarray->order == MPI_ORDER_C ? n - 1 - i : i;
            if (++at[d] < weft_count_at(subarray->sizes, (size_t)d))
                break;
            at[d] = 0;
        }
    }
    model.lb = 0;
    model.ub = all * (old->ub - old->lb);
    model.has_entries = model.has_markers = true;
    if (weft_type_subarray(subarray, old->type, &model.type) != MPI_SUCCESS)
        model_fail("subarray");
    return model;
}

/* Does the process have the element at this place of a dimension? */
static bool model_owns(const weft_darray_t *darray, int dimension, int coordinate, int at)
{
    int size = (int)weft_count_at(darray->global_sizes, (size_t)dimension);
    int processes = darray->process_counts[dimension], block = darray->arguments[dimension];
    if (darray->distributions[dimension] == MPI_DISTRIBUTE_NONE)
        return true;
    if (block == MPI_DISTRIBUTE_DFLT_DARG)
        block = darray->distributions[dimension] == MPI_DISTRIBUTE_BLOCK
                    ? (size + processes - 1) / processes
                    : 1;
    return at / block % processes == coordinate;
}

/* All elements of the whole array in order, those of the process kept. */
static model_t model_darray(const weft_darray_t *darray, const model_t *old)
{
    model_t model = {0};
    int n = darray->dimensions, at[MODEL_DIMENSIONS] = {0}, coordinates[MODEL_DIMENSIONS];
    ptrdiff_t all = 1;
    for (int i = n - 1, left = darray->rank; i >= 0; i--) {
        coordinates[i] = left % darray->process_counts[i];
        left /= darray->process_counts[i];
        all *= weft_count_at(darray->global_sizes, (size_t)i);
    }
    for (ptrdiff_t element = 0; element < all; element++) {
        bool is_mine = true;
        for (int i = 0; i < n; i++)
            is_mine &= model_owns(darray, i, coordinates[i], at[i]);
        if (is_mine)
            model_append(&model, old, element * (old->ub - old->lb));
        for (int i = 0; i < n; i++) {
            int d = darray->order == MPI_ORDER_C ? n - 1 - i : i;
            if (++at[d] < weft_count_at(darray->global_sizes, (size_t)d))
                break;
            at[d] = 0;
        }
    }
    model.lb = 0;
    model.ub = all * (old->ub - old->lb);
    model.has_entries = model.has_markers = true;
    if (weft_type_darray(darray, old->type, &model.type) != MPI_SUCCESS)
        model_fail("darray");
    return model;
}

static unsigned long long model_seed = 1;

/* A number in 0..limit-1. */
static int model_random(int limit)
{
    model_seed = model_seed * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((model_seed >> 33) % (unsigned)limit);
}

/* Eight bytes a step, as most of them only fill memory. */
static inline void model_random_bytes(void *to, size_t bytes)
{
    unsigned char *at = to;
    for (size_t done = 0; done < bytes; done += 8) {
        model_seed = model_seed * 6364136223846793005ull + 1442695040888963407ull;
        unsigned long long mixed = (model_seed ^ model_seed >> 29) * 0x9e3779b97f4a7c15ull;
        mixed ^= mixed >> 32;
        memcpy(at + done, &mixed, bytes - done < 8 ? bytes - done : 8);
    }
}

static model_t model_random_basic(void)
{
    switch (model_random(7)) {
    case 0:
        return model_basic(MPI_CHAR, 1, 0, 0);
    case 1:
        return model_basic(MPI_SHORT, 2, 0, 0);
    case 2:
        return model_basic(MPI_INT, 4, 0, 0);
    case 3:
        return model_basic(MPI_DOUBLE, 8, 0, 0);
    case 4:
        return model_basic(MPI_DOUBLE_INT, 8, 8, 4);
    case 5:
        return model_basic(MPI_SHORT_INT, 2, 4, 4);
    default:
        return model_basic(MPI_LONG_DOUBLE, 16, 0, 0);
    }
}

static model_t model_random_type(int depth);

static model_t model_random_struct(int depth)
{
    model_t olds[4];
    const model_t *pointers[4] = {0};
    int blocks[4] = {0}, count = model_random(5);
    MPI_Aint places[4] = {0}, place = model_random(16);
    for (int i = 0; i < count; i++) {
        olds[i] = model_random_type(depth - 1);
        pointers[i] = &olds[i];
        blocks[i] = model_random(4);
        places[i] = model_random(8) == 0 ? -place : place;
        place += blocks[i] * (olds[i].ub - olds[i].lb) + model_random(3) * 4;
    }
    model_t model = model_struct(count, blocks, places, pointers);
    for (int i = 0; i < count; i++)
        model_free(&olds[i]);
    return model;
}

static model_t model_random_list(const model_t *old, int form)
{
    int count = model_random(7), blocks[6], places[6], place = model_random(4);
    MPI_Aint byte_places[6];
    for (int i = 0; i < count; i++) {
        blocks[i] = model_random(3);
        places[i] = model_random(6) == 0 ? -1 - place : place;
        byte_places[i] = places[i] * (old->ub - old->lb) + model_random(2) * 4;
        place += blocks[i] + model_random(3);
    }
    switch (form) {
    case 0:
        return model_indexed(count, blocks, places, old);
    case 1:
        return model_hindexed(count, blocks, byte_places, old);
    case 2:
        return model_indexed_block(count, model_random(3), places, old);
    default:
        return model_hindexed_block(count, model_random(3), byte_places, old);
    }
}

static model_t model_random_subarray(const model_t *old)
{
    int n = 1 + model_random(4), sizes[4], subsizes[4], starts[4];
    for (int i = 0; i < n; i++) {
        sizes[i] = 1 + model_random(4);
        subsizes[i] = 1 + model_random(sizes[i]);
        starts[i] = model_random(sizes[i] - subsizes[i] + 1);
    }
    weft_subarray_t subarray = {n, model_random(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                                weft_counts_int(sizes), weft_counts_int(subsizes),
                                weft_counts_int(starts)};
    return model_subarray(&subarray, old);
}

/* One share of an array of at most `most` elements in at most four dimensions. */
static model_t model_random_darray(int most, const model_t *old)
{
    static const int distributions[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK,
                                        MPI_DISTRIBUTE_CYCLIC};
    int n = 1 + model_random(4), sizes[4], forms[4], arguments[4], processes[4], all = 1;
    for (int i = 0; i < n; i++) {
        sizes[i] = 1 + model_random(1 + ((most - 1) >> 2 * (n - 1 - i)));
        most /= sizes[i];
        forms[i] = distributions[model_random(3)];
        processes[i] = forms[i] == MPI_DISTRIBUTE_NONE ? 1 : 1 + model_random(4);
        arguments[i] = 1 + model_random(4);
        if (forms[i] == MPI_DISTRIBUTE_BLOCK)
            arguments[i] += (sizes[i] - 1) / processes[i];
        if (model_random(3) == 0)
            arguments[i] = MPI_DISTRIBUTE_DFLT_DARG;
        all *= processes[i];
    }
    weft_darray_t darray = {all,
                            model_random(all),
                            n,
                            model_random(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                            weft_counts_int(sizes),
                            forms,
                            arguments,
                            processes};
    return model_darray(&darray, old);
}

static model_t model_random_over(const model_t *old)
{
    ptrdiff_t extent = old->ub - old->lb;
    int form = model_random(11);
    switch (form) {
    case 4:
        return model_contiguous(model_random(5), old);
    case 5:
        return model_vector(model_random(6), model_random(4), model_random(9) - 3, old);
    case 6:
        return model_hvector(model_random(6), model_random(4),
                             (model_random(9) - 3) * extent + model_random(2) * 4, old);
    case 7:
        return model_resized(old, model_random(9) - 4, extent + model_random(17) - 4);
    case 8:
        return model_random_subarray(old);
    case 9:
        return model_dup(old);
    case 10:
        return model_random_darray(40, old);
    default:
        return model_random_list(old, form);
    }
}

enum { MODEL_MOST_BYTES = 6000 };

/* A type nested at most `depth` deep. */
static model_t model_random_type(int depth)
{
    if (depth == 0)
        return model_random_basic();
    if (model_random(4) == 0)
        return model_random_struct(depth);
    model_t old = model_random_type(depth - 1);
    if (old.bytes > MODEL_MOST_BYTES)
        return old;
    model_t model = model_random_over(&old);
    model_free(&old);
    return model;
}

#endif
