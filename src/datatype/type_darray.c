/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributed arrays (MPI 5.0, section 5.1.4). */
#include "datatype/envelope.h"
#include "datatype/layout_private.h"
#include "datatype/type.h"
#include "base/fail.h"

static int check_grid(const weft_darray_t *darray)
{
    if (darray->size < 1)
        return weft_fail(MPI_ERR_ARG, "size is %d, but must be at least 1", darray->size);
    if (darray->rank < 0 || darray->rank >= darray->size)
        return weft_fail(MPI_ERR_ARG, "rank is %d, but must be in 0..%d", darray->rank,
                         darray->size - 1);
    if (darray->dimensions < 1)
        return weft_fail(MPI_ERR_ARG, "ndims is %d, but must be at least 1", darray->dimensions);
    if (darray->order != MPI_ORDER_C && darray->order != MPI_ORDER_FORTRAN)
        return weft_fail(MPI_ERR_ARG, "order is %d, but must be MPI_ORDER_C or MPI_ORDER_FORTRAN",
                         darray->order);
    return MPI_SUCCESS;
}

static int check_process_count(const weft_darray_t *darray, int dimension)
{
    int processes = darray->process_counts[dimension];
    if (processes < 1)
        return weft_fail(MPI_ERR_ARG, "array_of_psizes[%d] is %d, but must be at least 1",
                         dimension, processes);
    if (darray->distributions[dimension] == MPI_DISTRIBUTE_NONE && processes != 1)
        return weft_fail(MPI_ERR_ARG,
                         "array_of_psizes[%d] is %d, but must be 1, since array_of_distribs[%d] is "
                         "MPI_DISTRIBUTE_NONE",
                         dimension, processes, dimension);
    return MPI_SUCCESS;
}

/* The argument is ignored for a dimension that is not distributed. */
static int check_distribution(const weft_darray_t *darray, int dimension)
{
    int distribution = darray->distributions[dimension], argument = darray->arguments[dimension];
    long long size = weft_count_at(darray->global_sizes, (size_t)dimension);
    if (distribution != MPI_DISTRIBUTE_BLOCK && distribution != MPI_DISTRIBUTE_CYCLIC &&
        distribution != MPI_DISTRIBUTE_NONE)
        return weft_fail(MPI_ERR_ARG,
                         "array_of_distribs[%d] is %d, but must be MPI_DISTRIBUTE_BLOCK, "
                         "MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE",
                         dimension, distribution);
    if (distribution == MPI_DISTRIBUTE_NONE || argument == MPI_DISTRIBUTE_DFLT_DARG)
        return MPI_SUCCESS;
    if (argument < 1)
        return weft_fail(MPI_ERR_ARG,
                         "array_of_dargs[%d] is %d, but must be at least 1 or "
                         "MPI_DISTRIBUTE_DFLT_DARG",
                         dimension, argument);
    if (distribution == MPI_DISTRIBUTE_BLOCK &&
        (long long)argument * darray->process_counts[dimension] < size)
        return weft_fail(MPI_ERR_ARG,
                         "array_of_dargs[%d] is %d, but %d blocks of that size cannot hold the "
                         "%lld elements of array_of_gsizes[%d]",
                         dimension, argument, darray->process_counts[dimension], size, dimension);
    return MPI_SUCCESS;
}

static int check_darray_dimension(const weft_darray_t *darray, int dimension)
{
    long long size = weft_count_at(darray->global_sizes, (size_t)dimension);
    if (size < 1)
        return weft_fail(MPI_ERR_ARG, "array_of_gsizes[%d] is %lld, but must be at least 1",
                         dimension, size);
    int err = check_process_count(darray, dimension);
    return err == MPI_SUCCESS ? check_distribution(darray, dimension) : err;
}

static int check_darray(const weft_darray_t *darray)
{
    int err = check_grid(darray);
    for (int i = 0; i < darray->dimensions && err == MPI_SUCCESS; i++)
        err = check_darray_dimension(darray, i);
    if (err != MPI_SUCCESS)
        return err;
    long long processes = 1; /* stays below 2^62: it ends when it exceeds the size, an int */
    for (int i = 0; i < darray->dimensions && processes <= darray->size; i++)
        processes *= darray->process_counts[i];
    if (processes != darray->size)
        return weft_fail(MPI_ERR_ARG, "size is %d, but must be the product of array_of_psizes",
                         darray->size);
    return MPI_SUCCESS;
}

/* What a process has of one dimension: `blocks` whole blocks, `cycle` elements apart, and behind
 * them one of `rest` elements, which the end of the array cuts off. */
typedef struct share_of_dimension {
    MPI_Count start, block, cycle, blocks, rest;
} share_of_dimension_t;

static MPI_Count block_of(const weft_darray_t *darray, size_t dimension)
{
    MPI_Count size = weft_count_at(darray->global_sizes, dimension);
    MPI_Count processes = darray->process_counts[dimension];
    if (darray->distributions[dimension] == MPI_DISTRIBUTE_NONE)
        return size;
    if (darray->arguments[dimension] != MPI_DISTRIBUTE_DFLT_DARG)
        return darray->arguments[dimension];
    if (darray->distributions[dimension] == MPI_DISTRIBUTE_CYCLIC)
        return 1;
    return size / processes + (size % processes != 0);
}

/* All three distributions are the cyclic one, with other blocks. */
static share_of_dimension_t share_dimension(const weft_darray_t *darray, size_t dimension,
                                            MPI_Count coordinate)
{
    MPI_Count size = weft_count_at(darray->global_sizes, dimension);
    share_of_dimension_t share = {.block = block_of(darray, dimension)};
    if (__builtin_mul_overflow(coordinate, share.block, &share.start) || share.start >= size)
        return (share_of_dimension_t){.block = share.block};
    if (__builtin_mul_overflow(darray->process_counts[dimension], share.block, &share.cycle))
        share.cycle = size;
    MPI_Count left = size - share.start;
    MPI_Count last = left - (left - 1) / share.cycle * share.cycle; /* elements from there on */
    share.blocks = (left - 1) / share.cycle + (last >= share.block);
    share.rest = last < share.block ? last : 0;
    return share;
}

/* The coordinate of the rank in a grid of processes, whose ranks are in the order of C. */
static int coordinate_of(const weft_darray_t *darray, int dimension)
{
    int stride = 1;
    for (int i = dimension + 1; i < darray->dimensions; i++)
        stride *= darray->process_counts[i];
    return darray->rank / stride % darray->process_counts[dimension];
}

/* The blocks and the rest as a struct. */
static int place_blocks(const share_of_dimension_t *share, weft_type_t *blocks, weft_type_t *row,
                        weft_type_t **out)
{
    MPI_Count behind = share->rest > 0 ? share->start + share->blocks * share->cycle : 0;
    const MPI_Count counts[2] = {1, share->rest};
    const MPI_Count places[2] = {share->start * row->extent, behind * row->extent};
    const MPI_Datatype types[2] = {weft_type_handle(blocks), weft_type_handle(row)};
    return weft_type_struct(share->rest > 0 ? 2 : 1, weft_counts_wide(counts),
                            weft_counts_wide(places), types, out);
}

/* One dimension: its share of rows, in a type that is as long as the whole dimension. What is
 * within that length cannot overflow. */
static int expand_dimension(const weft_darray_t *darray, int dimension, weft_type_t *row,
                            weft_type_t **out)
{
    size_t at = (size_t)dimension;
    MPI_Count extent, size = weft_count_at(darray->global_sizes, at);
    share_of_dimension_t share = share_dimension(darray, at, coordinate_of(darray, dimension));
    weft_type_t *blocks, *placed;
    if (__builtin_mul_overflow(size, row->extent, &extent))
        return weft_fail(MPI_ERR_COUNT, "the size or the extent of the type exceeds 64 bits");
    MPI_Count stride = share.blocks > 1 ? share.cycle * row->extent : 0;
    int err = weft_type_hvector(share.blocks, share.block, stride, row, &blocks);
    if (err != MPI_SUCCESS)
        return err;
    err = place_blocks(&share, blocks, row, &placed);
    weft_type_release(blocks);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_type_resized(placed, 0, extent, out);
    weft_type_release(placed);
    return err;
}

/* The array, dimension by dimension, the fastest first: a few nested vectors. */
static int expand_darray(const weft_darray_t *darray, weft_type_t *old, weft_type_t **out)
{
    weft_type_t *row = old;
    weft_type_retain(row);
    for (int i = 0; i < darray->dimensions; i++) {
        bool is_c = darray->order == MPI_ORDER_C;
        weft_type_t *rows;
        int err = expand_dimension(darray, is_c ? darray->dimensions - 1 - i : i, row, &rows);
        weft_type_release(row);
        if (err != MPI_SUCCESS)
            return err;
        row = rows;
    }
    *out = row;
    return MPI_SUCCESS;
}

static void keep_arguments(const weft_darray_t *darray, MPI_Count *values)
{
    const int *arrays[] = {darray->distributions, darray->arguments, darray->process_counts};
    size_t dimensions = (size_t)darray->dimensions;
    *values++ = darray->size;
    *values++ = darray->rank;
    *values++ = darray->dimensions;
    for (size_t i = 0; i < dimensions; i++)
        *values++ = weft_count_at(darray->global_sizes, i);
    for (size_t array = 0; array < 3; array++) {
        for (size_t i = 0; i < dimensions; i++)
            *values++ = arrays[array][i];
    }
    *values = darray->order;
}

int weft_type_darray(const weft_darray_t *darray, weft_type_t *old, weft_type_t **out)
{
    weft_type_t *expansion, *type;
    int err = check_darray(darray);
    if (err == MPI_SUCCESS)
        err = expand_darray(darray, old, &expansion);
    if (err != MPI_SUCCESS)
        return err;
    size_t dimensions = (size_t)darray->dimensions;
    weft_envelope_shape_t shape = {MPI_COMBINER_DARRAY,
                                   3,
                                   {{WEFT_SECTION_INT, 3},
                                    {WEFT_SECTION_COUNT, dimensions},
                                    {WEFT_SECTION_INT, 3 * dimensions + 1}},
                                   1};
    err = weft_type_create(&shape, &type);
    if (err != MPI_SUCCESS) {
        weft_type_release(expansion);
        return err;
    }
    keep_arguments(darray, type->envelope->values);
    type->envelope->types[0] = old;
    weft_type_retain(old);
    weft_type_expand(type, expansion);
    *out = type;
    return MPI_SUCCESS;
}
