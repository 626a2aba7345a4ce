/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/bounds_private.h"
#include "datatype/envelope.h"
#include "datatype/external32.h"
#include "datatype/layout_private.h"
#include "datatype/type.h"
#include "object/counts.h"
#include "base/fail.h"

#define COUNTS(n)                                                                                  \
    {                                                                                              \
        WEFT_SECTION_COUNT, (size_t)(n)                                                            \
    }
#define ADDRESSES(n)                                                                               \
    {                                                                                              \
        WEFT_SECTION_ADDRESS, (size_t)(n)                                                          \
    }
#define INTS(n)                                                                                    \
    {                                                                                              \
        WEFT_SECTION_INT, (size_t)(n)                                                              \
    }

static int check_type_count(MPI_Count count, const char *name)
{
    if (count < 0)
        return weft_fail(MPI_ERR_COUNT, "%s is %lld, but must be at least 0", name,
                         (long long)count);
    return MPI_SUCCESS;
}

static int check_block_counts(MPI_Count count, weft_counts_t block_counts)
{
    for (MPI_Count i = 0; i < count; i++) {
        MPI_Count blocks = weft_count_at(block_counts, (size_t)i);
        if (blocks < 0)
            return weft_fail(MPI_ERR_COUNT,
                             "array_of_blocklengths[%lld] is %lld, but must be at least 0",
                             (long long)i, (long long)blocks);
    }
    return MPI_SUCCESS;
}

/* Create a type made of one other type; the values of its envelope are still to be set. */
static int create_over(const weft_envelope_shape_t *shape, weft_type_t *old, weft_type_t **out)
{
    int err = weft_type_create(shape, out);
    if (err != MPI_SUCCESS)
        return err;
    (*out)->envelope->types[0] = old;
    weft_type_retain(old);
    return MPI_SUCCESS;
}

static MPI_Count *append_component(MPI_Count *values, weft_counts_t counts, MPI_Count count)
{
    for (MPI_Count i = 0; i < count; i++)
        *values++ = weft_count_at(counts, (size_t)i);
    return values;
}

static int finish_type(weft_type_t *type, weft_bounds_t *bounds, weft_type_t **out)
{
    int err = weft_bounds_apply(bounds, type);
    if (err != MPI_SUCCESS) {
        weft_type_release(type);
        return err;
    }
    *out = type;
    return MPI_SUCCESS;
}

int weft_type_contiguous(MPI_Count count, weft_type_t *old, weft_type_t **out)
{
    static const weft_envelope_shape_t shape = {MPI_COMBINER_CONTIGUOUS, 1, {COUNTS(1)}, 1};
    weft_type_t *type;
    int err = check_type_count(count, "count");
    if (err == MPI_SUCCESS)
        err = create_over(&shape, old, &type);
    if (err != MPI_SUCCESS)
        return err;
    type->envelope->values[0] = count;
    weft_bounds_t bounds = {0};
    weft_bounds_add(&bounds, old, 0, count);
    return finish_type(type, &bounds, out);
}

/* The arguments of vector and hvector, the stride as given and in bytes. */
typedef struct vector {
    MPI_Count count, block_count, stride, stride_bytes;
} vector_t;

/* Only the outermost blocks matter to the bounds; the size counts all of them. */
static void bound_vector(const vector_t *vector, const weft_type_t *old, weft_bounds_t *bounds)
{
    if (vector->count == 0)
        return;
    weft_bounds_add(bounds, old, 0, vector->block_count);
    MPI_Aint last = weft_bounds_times(bounds, vector->count - 1, vector->stride_bytes);
    weft_bounds_add(bounds, old, last, vector->block_count);
    MPI_Aint copies = weft_bounds_times(bounds, vector->count, vector->block_count);
    bounds->size = weft_bounds_times(bounds, copies, (MPI_Aint)old->size);
    bounds->elements = weft_bounds_times(bounds, copies, (MPI_Aint)old->elements);
    bounds->external_size = (size_t)copies * weft_external_size(old);
}

static int construct_vector(const weft_envelope_shape_t *shape, const vector_t *vector,
                            weft_type_t *old, weft_bounds_t *bounds, weft_type_t **out)
{
    weft_type_t *type;
    int err = check_type_count(vector->count, "count");
    if (err == MPI_SUCCESS)
        err = check_type_count(vector->block_count, "blocklength");
    if (err == MPI_SUCCESS)
        err = create_over(shape, old, &type);
    if (err != MPI_SUCCESS)
        return err;
    type->envelope->values[0] = vector->count;
    type->envelope->values[1] = vector->block_count;
    type->envelope->values[2] = vector->stride;
    bound_vector(vector, old, bounds);
    return finish_type(type, bounds, out);
}

int weft_type_vector(MPI_Count count, MPI_Count block_count, MPI_Count stride, weft_type_t *old,
                     weft_type_t **out)
{
    static const weft_envelope_shape_t shape = {MPI_COMBINER_VECTOR, 1, {COUNTS(3)}, 1};
    weft_bounds_t bounds = {0};
    vector_t vector = {count, block_count, stride, weft_bounds_times(&bounds, stride, old->extent)};
    return construct_vector(&shape, &vector, old, &bounds, out);
}

int weft_type_hvector(MPI_Count count, MPI_Count block_count, MPI_Count stride, weft_type_t *old,
                      weft_type_t **out)
{
    static const weft_envelope_shape_t shape = {
        MPI_COMBINER_HVECTOR, 2, {COUNTS(2), ADDRESSES(1)}, 1};
    weft_bounds_t bounds = {0};
    vector_t vector = {count, block_count, stride, stride};
    return construct_vector(&shape, &vector, old, &bounds, out);
}

/* The arguments of the four indexed constructors. */
typedef struct indexed {
    MPI_Count count;
    weft_counts_t block_counts; /* .at == NULL: all have block_count */
    MPI_Count block_count;
    weft_counts_t displacements;
    MPI_Aint unit; /* bytes of one displacement */
} indexed_t;

static void bound_indexed(const indexed_t *indexed, const weft_type_t *old, weft_bounds_t *bounds)
{
    for (MPI_Count i = 0; i < indexed->count; i++) {
        size_t at = (size_t)i;
        MPI_Aint displacement = weft_count_at(indexed->displacements, at);
        MPI_Count blocks = indexed->block_counts.at == NULL
                               ? indexed->block_count
                               : weft_count_at(indexed->block_counts, at);
        weft_bounds_add(bounds, old, weft_bounds_times(bounds, displacement, indexed->unit),
                        blocks);
    }
}

static int construct_indexed(const weft_envelope_shape_t *shape, const indexed_t *indexed,
                             weft_type_t *old, weft_type_t **out)
{
    weft_type_t *type;
    int err = create_over(shape, old, &type);
    if (err != MPI_SUCCESS)
        return err;
    MPI_Count *values = type->envelope->values;
    *values++ = indexed->count;
    if (indexed->block_counts.at == NULL)
        *values++ = indexed->block_count;
    else
        values = append_component(values, indexed->block_counts, indexed->count);
    append_component(values, indexed->displacements, indexed->count);
    weft_bounds_t bounds = {0};
    bound_indexed(indexed, old, &bounds);
    return finish_type(type, &bounds, out);
}

static int check_indexed(MPI_Count count, weft_counts_t block_counts)
{
    int err = check_type_count(count, "count");
    return err == MPI_SUCCESS ? check_block_counts(count, block_counts) : err;
}

int weft_type_indexed(MPI_Count count, weft_counts_t block_counts, weft_counts_t displacements,
                      weft_type_t *old, weft_type_t **out)
{
    int err = check_indexed(count, block_counts);
    if (err != MPI_SUCCESS)
        return err;
    weft_envelope_shape_t shape = {
        MPI_COMBINER_INDEXED, 3, {COUNTS(1), COUNTS(count), COUNTS(count)}, 1};
    indexed_t indexed = {count, block_counts, 0, displacements, old->extent};
    return construct_indexed(&shape, &indexed, old, out);
}

int weft_type_hindexed(MPI_Count count, weft_counts_t block_counts, weft_counts_t displacements,
                       weft_type_t *old, weft_type_t **out)
{
    int err = check_indexed(count, block_counts);
    if (err != MPI_SUCCESS)
        return err;
    weft_envelope_shape_t shape = {
        MPI_COMBINER_HINDEXED, 3, {COUNTS(1), COUNTS(count), ADDRESSES(count)}, 1};
    indexed_t indexed = {count, block_counts, 0, displacements, 1};
    return construct_indexed(&shape, &indexed, old, out);
}

static int check_indexed_block(MPI_Count count, MPI_Count block_count)
{
    int err = check_type_count(count, "count");
    return err == MPI_SUCCESS ? check_type_count(block_count, "blocklength") : err;
}

int weft_type_indexed_block(MPI_Count count, MPI_Count block_count, weft_counts_t displacements,
                            weft_type_t *old, weft_type_t **out)
{
    int err = check_indexed_block(count, block_count);
    if (err != MPI_SUCCESS)
        return err;
    weft_envelope_shape_t shape = {MPI_COMBINER_INDEXED_BLOCK, 2, {COUNTS(2), COUNTS(count)}, 1};
    indexed_t indexed = {count, {NULL, false}, block_count, displacements, old->extent};
    return construct_indexed(&shape, &indexed, old, out);
}

int weft_type_hindexed_block(MPI_Count count, MPI_Count block_count, weft_counts_t displacements,
                             weft_type_t *old, weft_type_t **out)
{
    int err = check_indexed_block(count, block_count);
    if (err != MPI_SUCCESS)
        return err;
    weft_envelope_shape_t shape = {
        MPI_COMBINER_HINDEXED_BLOCK, 2, {COUNTS(2), ADDRESSES(count)}, 1};
    indexed_t indexed = {count, {NULL, false}, block_count, displacements, 1};
    return construct_indexed(&shape, &indexed, old, out);
}

static int check_types(MPI_Count count, const MPI_Datatype types[])
{
    for (MPI_Count i = 0; i < count; i++) {
        if (weft_type_of(types[i]) == NULL)
            return weft_fail(MPI_ERR_TYPE, "array_of_types[%lld] is %s", (long long)i,
                             types[i] == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL"
                                                           : "not a live datatype");
    }
    return MPI_SUCCESS;
}

int weft_type_struct(MPI_Count count, weft_counts_t block_counts, weft_counts_t displacements,
                     const MPI_Datatype types[], weft_type_t **out)
{
    int err = check_indexed(count, block_counts);
    if (err == MPI_SUCCESS)
        err = check_types(count, types);
    if (err != MPI_SUCCESS)
        return err;
    weft_envelope_shape_t shape = {
        MPI_COMBINER_STRUCT, 3, {COUNTS(1), COUNTS(count), ADDRESSES(count)}, (size_t)count};
    weft_type_t *type;
    err = weft_type_create(&shape, &type);
    if (err != MPI_SUCCESS)
        return err;
    type->envelope->values[0] = count;
    append_component(append_component(type->envelope->values + 1, block_counts, count),
                     displacements, count);
    weft_bounds_t bounds = {0};
    for (size_t i = 0; i < (size_t)count; i++) {
        weft_type_t *member = type->envelope->types[i] = weft_type_of(types[i]);
        weft_type_retain(member);
        weft_bounds_add(&bounds, member, weft_count_at(displacements, i),
                        weft_count_at(block_counts, i));
    }
    weft_bounds_pad(&bounds);
    return finish_type(type, &bounds, out);
}

static int check_dimension(const weft_subarray_t *subarray, size_t dimension)
{
    long long size = weft_count_at(subarray->sizes, dimension);
    long long subsize = weft_count_at(subarray->subsizes, dimension);
    long long start = weft_count_at(subarray->starts, dimension);
    if (size < 1)
        return weft_fail(MPI_ERR_ARG, "array_of_sizes[%zu] is %lld, but must be at least 1",
                         dimension, size);
    if (subsize < 1 || subsize > size)
        return weft_fail(MPI_ERR_ARG, "array_of_subsizes[%zu] is %lld, but must be in 1..%lld",
                         dimension, subsize, size);
    if (start < 0 || start > size - subsize)
        return weft_fail(MPI_ERR_ARG, "array_of_starts[%zu] is %lld, but must be in 0..%lld",
                         dimension, start, size - subsize);
    return MPI_SUCCESS;
}

static int check_subarray(const weft_subarray_t *subarray)
{
    if (subarray->dimensions < 1)
        return weft_fail(MPI_ERR_ARG, "ndims is %d, but must be at least 1", subarray->dimensions);
    if (subarray->order != MPI_ORDER_C && subarray->order != MPI_ORDER_FORTRAN)
        return weft_fail(MPI_ERR_ARG, "order is %d, but must be MPI_ORDER_C or MPI_ORDER_FORTRAN",
                         subarray->order);
    int err = MPI_SUCCESS;
    for (int i = 0; i < subarray->dimensions && err == MPI_SUCCESS; i++)
        err = check_dimension(subarray, (size_t)i);
    return err;
}

/* Goes dimension by dimension, the fastest first: a subarray is a vector of smaller subarrays. */
static void bound_subarray(const weft_subarray_t *subarray, const weft_type_t *old,
                           weft_bounds_t *bounds)
{
    weft_type_t row = *old;
    MPI_Aint stride = old->extent, displacement = 0;
    row.is_predefined = false;
    row.external_size = weft_external_size(old);
    for (int i = 0; i < subarray->dimensions; i++) {
        bool is_c = subarray->order == MPI_ORDER_C;
        size_t at = (size_t)(is_c ? subarray->dimensions - 1 - i : i);
        MPI_Aint start = weft_count_at(subarray->starts, at);
        displacement =
            weft_bounds_plus(bounds, displacement, weft_bounds_times(bounds, start, stride));
        weft_bounds_t rows = {0};
        row.extent = stride;
        weft_bounds_add(&rows, &row, 0, weft_count_at(subarray->subsizes, at));
        bounds->has_overflow |= rows.has_overflow || weft_bounds_apply(&rows, &row) != MPI_SUCCESS;
        stride = weft_bounds_times(bounds, stride, weft_count_at(subarray->sizes, at));
    }
    weft_bounds_add(bounds, &row, displacement, 1);
    bounds->lb = 0;
    bounds->ub = stride;
    bounds->has_markers = true;
}

int weft_type_subarray(const weft_subarray_t *subarray, weft_type_t *old, weft_type_t **out)
{
    int err = check_subarray(subarray);
    if (err != MPI_SUCCESS)
        return err;
    int dimensions = subarray->dimensions;
    weft_envelope_shape_t shape = {
        MPI_COMBINER_SUBARRAY, 3, {INTS(1), COUNTS(3 * (size_t)dimensions), INTS(1)}, 1};
    weft_type_t *type;
    err = create_over(&shape, old, &type);
    if (err != MPI_SUCCESS)
        return err;
    MPI_Count *values = type->envelope->values;
    *values++ = dimensions;
    values = append_component(values, subarray->sizes, dimensions);
    values = append_component(values, subarray->subsizes, dimensions);
    values = append_component(values, subarray->starts, dimensions);
    *values = subarray->order;
    weft_bounds_t bounds = {0};
    bound_subarray(subarray, old, &bounds);
    return finish_type(type, &bounds, out);
}

int weft_type_resized(weft_type_t *old, MPI_Count lb, MPI_Count extent, weft_type_t **out)
{
    static const weft_envelope_shape_t shape = {MPI_COMBINER_RESIZED, 1, {ADDRESSES(2)}, 1};
    weft_type_t *type;
    int err = create_over(&shape, old, &type);
    if (err != MPI_SUCCESS)
        return err;
    type->envelope->values[0] = lb;
    type->envelope->values[1] = extent;
    weft_bounds_t bounds = {0};
    weft_bounds_add(&bounds, old, 0, 1);
    bounds.lb = lb;
    bounds.ub = weft_bounds_plus(&bounds, lb, extent);
    bounds.has_markers = true;
    return finish_type(type, &bounds, out);
}

int weft_type_dup(weft_type_t *old, weft_type_t **out)
{
    static const weft_envelope_shape_t shape = {MPI_COMBINER_DUP, 0, {{0}}, 1};
    weft_type_t *type;
    int err = create_over(&shape, old, &type);
    if (err != MPI_SUCCESS)
        return err;
    weft_bounds_t bounds = {0};
    weft_bounds_add(&bounds, old, 0, 1);
    bounds.lb = old->lb;
    bounds.ub = old->lb + old->extent;
    err = finish_type(type, &bounds, &type);
    if (err == MPI_SUCCESS && old->is_committed) {
        err = weft_type_commit(type);
        if (err != MPI_SUCCESS)
            weft_type_release(type);
    }
    if (err == MPI_SUCCESS)
        *out = type;
    return err;
}
