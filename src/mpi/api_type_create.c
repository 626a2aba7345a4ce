/* SPDX-License-Identifier: BSD-3-Clause */
/* Constructors of datatypes (MPI 5.0, section 5.1). Both forms are written out: the envelope of a
 * type tells which of them was called. */
#include "mpi/api.h"
#include "mpi/call.h"
#include "mpi/check.h"
#include "mpi/leaks.h"
#include "datatype/type.h"
#include "object/counts.h"
#include "base/fail.h"

typedef enum form { INT_FORM, WIDE_FORM } constructor_form_t;

static int check_arguments(MPI_Datatype oldtype, const MPI_Datatype *newtype, weft_type_t **old)
{
    int err = weft_check_named_type(oldtype, "oldtype", old);
    return err == MPI_SUCCESS ? weft_check_output(newtype, "newtype") : err;
}

/* An array may be NULL when it has no entries. */
static int check_type_array(MPI_Count count, const void *array, const char *name)
{
    if (count > 0 && array == NULL)
        return weft_fail(MPI_ERR_ARG, "%s is NULL, but has %lld entries", name, (long long)count);
    return MPI_SUCCESS;
}

static int end_create(const weft_call_t *call, int err, weft_type_t *type, constructor_form_t form,
                      MPI_Datatype *newtype)
{
    if (err == MPI_SUCCESS) {
        if (form == WIDE_FORM)
            weft_type_set_wide(type);
        *newtype = weft_give_type(call->name, type);
    }
    return weft_call_end(call, err);
}

static int contiguous(MPI_Count count, MPI_Datatype oldtype, constructor_form_t form,
                      MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin("MPI_Type_contiguous");
    weft_type_t *old = NULL, *type = NULL;
    int err = check_arguments(oldtype, newtype, &old);
    if (err == MPI_SUCCESS)
        err = weft_type_contiguous(count, old, &type);
    return end_create(&call, err, type, form, newtype);
}

/** Makes a datatype of a number of elements that follow each other, an extent of oldtype apart
 *  (section 5.1.2). As for all constructors, oldtype need not be committed and may be freed
 *  afterwards, and newtype has to be committed before it describes a buffer, and is freed with
 *  MPI_Type_free.
 *  @param[in] count  how many elements there are
 *  @error MPI_ERR_COUNT  a size or a bound of newtype exceeds 64 bits
 *  @see MPI_Type_commit */
WEFT_API(MPI_Type_contiguous);
int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return contiguous(count, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_contiguous_c);
int PMPI_Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return contiguous(count, oldtype, WIDE_FORM, newtype);
}

/* The arguments of the two vectors and the four indexed types. */
typedef struct blocks {
    const char *name;
    MPI_Count count, block_count, stride;
    weft_counts_t block_counts, displacements;
} type_blocks_t;

typedef int (*vector_fn_t)(MPI_Count count, MPI_Count block_count, MPI_Count stride,
                           weft_type_t *old, weft_type_t **out);

static int vector(vector_fn_t construct, const type_blocks_t *blocks, MPI_Datatype oldtype,
                  constructor_form_t form, MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin(blocks->name);
    weft_type_t *old = NULL, *type = NULL;
    int err = check_arguments(oldtype, newtype, &old);
    if (err == MPI_SUCCESS)
        err = construct(blocks->count, blocks->block_count, blocks->stride, old, &type);
    return end_create(&call, err, type, form, newtype);
}

/** Makes a datatype of blocks of elements that begin at equal distances (section 5.1.2).
 *  @param[in] count  how many blocks there are
 *  @param[in] stride  from the beginning of a block to that of the next, in extents of oldtype; may
 *      be negative
 *  @error MPI_ERR_COUNT  a size or a bound of newtype exceeds 64 bits
 *  @see MPI_Type_create_hvector, MPI_Type_commit */
WEFT_API(MPI_Type_vector);
int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                     MPI_Datatype *newtype)
{
    type_blocks_t blocks = {"MPI_Type_vector", count, blocklength, stride, {0}, {0}};
    return vector(weft_type_vector, &blocks, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_vector_c);
int PMPI_Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                       MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    type_blocks_t blocks = {"MPI_Type_vector", count, blocklength, stride, {0}, {0}};
    return vector(weft_type_vector, &blocks, oldtype, WIDE_FORM, newtype);
}

/** Makes a datatype of blocks of elements that begin at equal distances, as MPI_Type_vector does,
 *  but with the distance in bytes (section 5.1.2).
 *  @copydoc MPI_Type_vector
 *  @param[in] stride  from the beginning of a block to that of the next, in bytes; may be
 *      negative */
WEFT_API(MPI_Type_create_hvector);
int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                             MPI_Datatype *newtype)
{
    type_blocks_t blocks = {"MPI_Type_create_hvector", count, blocklength, stride, {0}, {0}};
    return vector(weft_type_hvector, &blocks, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_create_hvector_c);
int PMPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                               MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    type_blocks_t blocks = {"MPI_Type_create_hvector", count, blocklength, stride, {0}, {0}};
    return vector(weft_type_hvector, &blocks, oldtype, WIDE_FORM, newtype);
}

typedef int (*indexed_fn_t)(MPI_Count count, weft_counts_t block_counts,
                            weft_counts_t displacements, weft_type_t *old, weft_type_t **out);

static int indexed(indexed_fn_t construct, const type_blocks_t *blocks, MPI_Datatype oldtype,
                   constructor_form_t form, MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin(blocks->name);
    weft_type_t *old = NULL, *type = NULL;
    int err = check_arguments(oldtype, newtype, &old);
    if (err == MPI_SUCCESS)
        err = check_type_array(blocks->count, blocks->block_counts.at, "array_of_blocklengths");
    if (err == MPI_SUCCESS)
        err = check_type_array(blocks->count, blocks->displacements.at, "array_of_displacements");
    if (err == MPI_SUCCESS)
        err = construct(blocks->count, blocks->block_counts, blocks->displacements, old, &type);
    return end_create(&call, err, type, form, newtype);
}

/** Makes a datatype of blocks of elements of any lengths at any places (section 5.1.2).
 *  @param[in] count  how many blocks there are: entries of both arrays
 *  @param[in] array_of_displacements  where each block begins, in extents of oldtype; may be
 *      negative
 *  @error MPI_ERR_COUNT  an entry of array_of_blocklengths is negative, or a size or a bound of
 *      newtype exceeds 64 bits
 *  @error MPI_ERR_ARG  an array is NULL, but has entries
 *  @see MPI_Type_create_hindexed, MPI_Type_create_indexed_block, MPI_Type_commit */
WEFT_API(MPI_Type_indexed);
int PMPI_Type_indexed(int count, const int array_of_blocklengths[],
                      const int array_of_displacements[], MPI_Datatype oldtype,
                      MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.name = "MPI_Type_indexed",
                            .count = count,
                            .block_counts = weft_counts_int(array_of_blocklengths),
                            .displacements = weft_counts_int(array_of_displacements)};
    return indexed(weft_type_indexed, &blocks, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_indexed_c);
int PMPI_Type_indexed_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                        const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                        MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.name = "MPI_Type_indexed",
                            .count = count,
                            .block_counts = weft_counts_wide(array_of_blocklengths),
                            .displacements = weft_counts_wide(array_of_displacements)};
    return indexed(weft_type_indexed, &blocks, oldtype, WIDE_FORM, newtype);
}

/** Makes a datatype of blocks of elements of any lengths at any places, as MPI_Type_indexed does,
 *  but with the places in bytes (section 5.1.2).
 *  @copydoc MPI_Type_indexed
 *  @param[in] array_of_displacements  where each block begins, in bytes; may be negative */
WEFT_API(MPI_Type_create_hindexed);
int PMPI_Type_create_hindexed(int count, const int array_of_blocklengths[],
                              const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.name = "MPI_Type_create_hindexed",
                            .count = count,
                            .block_counts = weft_counts_int(array_of_blocklengths),
                            .displacements = weft_counts_aint(array_of_displacements)};
    return indexed(weft_type_hindexed, &blocks, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_create_hindexed_c);
int PMPI_Type_create_hindexed_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                                const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                                MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.name = "MPI_Type_create_hindexed",
                            .count = count,
                            .block_counts = weft_counts_wide(array_of_blocklengths),
                            .displacements = weft_counts_wide(array_of_displacements)};
    return indexed(weft_type_hindexed, &blocks, oldtype, WIDE_FORM, newtype);
}

typedef int (*indexed_block_fn_t)(MPI_Count count, MPI_Count block_count,
                                  weft_counts_t displacements, weft_type_t *old, weft_type_t **out);

static int indexed_block(indexed_block_fn_t construct, const type_blocks_t *blocks,
                         MPI_Datatype oldtype, constructor_form_t form, MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin(blocks->name);
    weft_type_t *old = NULL, *type = NULL;
    int err = check_arguments(oldtype, newtype, &old);
    if (err == MPI_SUCCESS)
        err = check_type_array(blocks->count, blocks->displacements.at, "array_of_displacements");
    if (err == MPI_SUCCESS)
        err = construct(blocks->count, blocks->block_count, blocks->displacements, old, &type);
    return end_create(&call, err, type, form, newtype);
}

/** Makes a datatype of blocks of elements that all have one length, at any places (section 5.1.2).
 *  @param[in] count  how many blocks there are: entries of array_of_displacements
 *  @param[in] array_of_displacements  where each block begins, in extents of oldtype; may be
 *      negative
 *  @error MPI_ERR_COUNT  a size or a bound of newtype exceeds 64 bits
 *  @error MPI_ERR_ARG  array_of_displacements is NULL, but has entries
 *  @see MPI_Type_create_hindexed_block, MPI_Type_commit */
WEFT_API(MPI_Type_create_indexed_block);
int PMPI_Type_create_indexed_block(int count, int blocklength, const int array_of_displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.name = "MPI_Type_create_indexed_block",
                            .count = count,
                            .block_count = blocklength,
                            .displacements = weft_counts_int(array_of_displacements)};
    return indexed_block(weft_type_indexed_block, &blocks, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_create_indexed_block_c);
int PMPI_Type_create_indexed_block_c(MPI_Count count, MPI_Count blocklength,
                                     const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                                     MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.name = "MPI_Type_create_indexed_block",
                            .count = count,
                            .block_count = blocklength,
                            .displacements = weft_counts_wide(array_of_displacements)};
    return indexed_block(weft_type_indexed_block, &blocks, oldtype, WIDE_FORM, newtype);
}

/** Makes a datatype of blocks of elements that all have one length, as
 *  MPI_Type_create_indexed_block does, but with the places in bytes (section 5.1.2).
 *  @copydoc MPI_Type_create_indexed_block
 *  @param[in] array_of_displacements  where each block begins, in bytes; may be negative */
WEFT_API(MPI_Type_create_hindexed_block);
int PMPI_Type_create_hindexed_block(int count, int blocklength,
                                    const MPI_Aint array_of_displacements[], MPI_Datatype oldtype,
                                    MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.name = "MPI_Type_create_hindexed_block",
                            .count = count,
                            .block_count = blocklength,
                            .displacements = weft_counts_aint(array_of_displacements)};
    return indexed_block(weft_type_hindexed_block, &blocks, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_create_hindexed_block_c);
int PMPI_Type_create_hindexed_block_c(MPI_Count count, MPI_Count blocklength,
                                      const MPI_Count array_of_displacements[],
                                      MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.name = "MPI_Type_create_hindexed_block",
                            .count = count,
                            .block_count = blocklength,
                            .displacements = weft_counts_wide(array_of_displacements)};
    return indexed_block(weft_type_hindexed_block, &blocks, oldtype, WIDE_FORM, newtype);
}

static int create_struct(const type_blocks_t *blocks, const MPI_Datatype types[],
                         constructor_form_t form, MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin("MPI_Type_create_struct");
    weft_type_t *type = NULL;
    int err = weft_check_output(newtype, "newtype");
    if (err == MPI_SUCCESS)
        err = check_type_array(blocks->count, blocks->block_counts.at, "array_of_blocklengths");
    if (err == MPI_SUCCESS)
        err = check_type_array(blocks->count, blocks->displacements.at, "array_of_displacements");
    if (err == MPI_SUCCESS)
        err = check_type_array(blocks->count, types, "array_of_types");
    if (err == MPI_SUCCESS)
        err = weft_type_struct(blocks->count, blocks->block_counts, blocks->displacements, types,
                               &type);
    return end_create(&call, err, type, form, newtype);
}

/** Makes a datatype of blocks that may have different datatypes, such as the members of a C struct
 *  (section 5.1.2). The types need not be committed and may be freed afterwards.
 *  @param[in] count  how many blocks there are: entries of the three arrays
 *  @param[in] array_of_displacements  where each block begins, in bytes; may be negative. Addresses
 *      of MPI_Get_address are right if the type is used with MPI_BOTTOM
 *  @error MPI_ERR_COUNT  an entry of array_of_blocklengths is negative, or a size or a bound of
 *      newtype exceeds 64 bits
 *  @error MPI_ERR_ARG  an array is NULL, but has entries
 *  @note The extent is rounded up to the alignment of the strictest basic type, as that of a struct
 *      is, unless a block's type has bounds that MPI_Type_create_resized or an array constructor
 *      has set.
 *  @see MPI_Get_address, MPI_Type_create_resized, MPI_Type_commit */
WEFT_API(MPI_Type_create_struct);
int PMPI_Type_create_struct(int count, const int array_of_blocklengths[],
                            const MPI_Aint array_of_displacements[],
                            const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.count = count,
                            .block_counts = weft_counts_int(array_of_blocklengths),
                            .displacements = weft_counts_aint(array_of_displacements)};
    return create_struct(&blocks, array_of_types, INT_FORM, newtype);
}

WEFT_API(MPI_Type_create_struct_c);
int PMPI_Type_create_struct_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                              const MPI_Count array_of_displacements[],
                              const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    type_blocks_t blocks = {.count = count,
                            .block_counts = weft_counts_wide(array_of_blocklengths),
                            .displacements = weft_counts_wide(array_of_displacements)};
    return create_struct(&blocks, array_of_types, WIDE_FORM, newtype);
}

static int create_subarray(const weft_subarray_t *subarray, MPI_Datatype oldtype,
                           constructor_form_t form, MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin("MPI_Type_create_subarray");
    weft_type_t *old = NULL, *type = NULL;
    int err = check_arguments(oldtype, newtype, &old);
    if (err == MPI_SUCCESS)
        err = check_type_array(subarray->dimensions, subarray->sizes.at, "array_of_sizes");
    if (err == MPI_SUCCESS)
        err = check_type_array(subarray->dimensions, subarray->subsizes.at, "array_of_subsizes");
    if (err == MPI_SUCCESS)
        err = check_type_array(subarray->dimensions, subarray->starts.at, "array_of_starts");
    if (err == MPI_SUCCESS)
        err = weft_type_subarray(subarray, old, &type);
    return end_create(&call, err, type, form, newtype);
}

/** Makes a datatype of a box of elements within an array of several dimensions (section 5.1.3). Its
 *  extent is that of the whole array, so that a buffer is given by the array's first element.
 *  @param[in] ndims  how many entries the three arrays have, at least 1
 *  @param[in] array_of_sizes  the size of the whole array in each dimension, in elements, at least
 *      1
 *  @param[in] array_of_subsizes  the size of the box in each dimension, in elements, at least 1
 *  @param[in] array_of_starts  where the box begins in each dimension, from 0
 *  @param[in] order  MPI_ORDER_C: the last dimension is the one whose elements are next to each
 *      other; MPI_ORDER_FORTRAN: the first one is
 *  @error MPI_ERR_ARG  an array is NULL, ndims or order is wrong, or the box is empty or not within
 *      the array
 *  @error MPI_ERR_COUNT  a size or a bound of newtype exceeds 64 bits
 *  @see MPI_Type_create_darray, MPI_Type_commit */
WEFT_API(MPI_Type_create_subarray);
int PMPI_Type_create_subarray(int ndims, const int array_of_sizes[], const int array_of_subsizes[],
                              const int array_of_starts[], int order, MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    weft_subarray_t subarray = {ndims, order, weft_counts_int(array_of_sizes),
                                weft_counts_int(array_of_subsizes),
                                weft_counts_int(array_of_starts)};
    return create_subarray(&subarray, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_create_subarray_c);
int PMPI_Type_create_subarray_c(int ndims, const MPI_Count array_of_sizes[],
                                const MPI_Count array_of_subsizes[],
                                const MPI_Count array_of_starts[], int order, MPI_Datatype oldtype,
                                MPI_Datatype *newtype)
{
    weft_subarray_t subarray = {ndims, order, weft_counts_wide(array_of_sizes),
                                weft_counts_wide(array_of_subsizes),
                                weft_counts_wide(array_of_starts)};
    return create_subarray(&subarray, oldtype, WIDE_FORM, newtype);
}

static int create_darray(const weft_darray_t *darray, MPI_Datatype oldtype, constructor_form_t form,
                         MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin("MPI_Type_create_darray");
    weft_type_t *old = NULL, *type = NULL;
    int err = check_arguments(oldtype, newtype, &old);
    if (err == MPI_SUCCESS)
        err = check_type_array(darray->dimensions, darray->global_sizes.at, "array_of_gsizes");
    if (err == MPI_SUCCESS)
        err = check_type_array(darray->dimensions, darray->distributions, "array_of_distribs");
    if (err == MPI_SUCCESS)
        err = check_type_array(darray->dimensions, darray->arguments, "array_of_dargs");
    if (err == MPI_SUCCESS)
        err = check_type_array(darray->dimensions, darray->process_counts, "array_of_psizes");
    if (err == MPI_SUCCESS)
        err = weft_type_darray(darray, old, &type);
    return end_create(&call, err, type, form, newtype);
}

/** Makes a datatype of the elements that a process has of an array that is distributed over a grid
 *  of processes (section 5.1.4). Its extent is that of the whole array. No communicator is asked:
 *  any process can make the type of any other.
 *  @param[in] size  how many processes the grid has: the product of array_of_psizes
 *  @param[in] rank  for which of them the type is; ranks go through the grid in row-major order,
 *      whatever order says
 *  @param[in] ndims  how many entries the four arrays have, at least 1
 *  @param[in] array_of_gsizes  the size of the whole array in each dimension, in elements, at least
 *      1
 *  @param[in] array_of_dargs  the length of a block in each dimension, in elements; or
 *      MPI_DISTRIBUTE_DFLT_DARG: 1 if the distribution is cyclic, one block for each process if it
 *      is in blocks. Ignored where a dimension is not distributed
 *  @param[in] array_of_psizes  how many processes each dimension of the grid has; 1 where it is not
 *      distributed
 *  @param[in] order  MPI_ORDER_C: the last dimension is the one whose elements are next to each
 *      other; MPI_ORDER_FORTRAN: the first one is
 *  @error MPI_ERR_ARG  an array is NULL, or an argument does not suit the others: the text says
 *      which
 *  @error MPI_ERR_COUNT  a size or a bound of newtype exceeds 64 bits
 *  @see MPI_Type_create_subarray, MPI_Type_commit */
WEFT_API(MPI_Type_create_darray);
int PMPI_Type_create_darray(int size, int rank, int ndims, const int array_of_gsizes[],
                            const int array_of_distribs[], const int array_of_dargs[],
                            const int array_of_psizes[], int order, MPI_Datatype oldtype,
                            MPI_Datatype *newtype)
{
    weft_darray_t darray = {
        .size = size,
        .rank = rank,
        .dimensions = ndims,
        .order = order,
        .global_sizes = weft_counts_int(array_of_gsizes),
        .distributions = array_of_distribs,
        .arguments = array_of_dargs,
        .process_counts = array_of_psizes,
    };
    return create_darray(&darray, oldtype, INT_FORM, newtype);
}

WEFT_API(MPI_Type_create_darray_c);
int PMPI_Type_create_darray_c(int size, int rank, int ndims, const MPI_Count array_of_gsizes[],
                              const int array_of_distribs[], const int array_of_dargs[],
                              const int array_of_psizes[], int order, MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    weft_darray_t darray = {
        .size = size,
        .rank = rank,
        .dimensions = ndims,
        .order = order,
        .global_sizes = weft_counts_wide(array_of_gsizes),
        .distributions = array_of_distribs,
        .arguments = array_of_dargs,
        .process_counts = array_of_psizes,
    };
    return create_darray(&darray, oldtype, WIDE_FORM, newtype);
}

static int create_resized(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
                          constructor_form_t form, MPI_Datatype *newtype)
{
    weft_call_t call = weft_call_begin("MPI_Type_create_resized");
    weft_type_t *old = NULL, *type = NULL;
    int err = check_arguments(oldtype, newtype, &old);
    if (err == MPI_SUCCESS)
        err = weft_type_resized(old, lb, extent, &type);
    return end_create(&call, err, type, form, newtype);
}

/** Makes a datatype with the data of another one, but with given bounds (section 5.1.7). They say
 *  where the elements of an array are, and not how much memory an element needs.
 *  @param[in] lb  the lower bound in bytes; may be negative
 *  @param[in] extent  the distance from one element to the next, in bytes; may be 0 or negative
 *  @error MPI_ERR_COUNT  a size or a bound of newtype exceeds 64 bits
 *  @see MPI_Type_get_extent, MPI_Type_commit */
WEFT_API(MPI_Type_create_resized);
int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
                             MPI_Datatype *newtype)
{
    return create_resized(oldtype, lb, extent, INT_FORM, newtype);
}

WEFT_API(MPI_Type_create_resized_c);
int PMPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
                               MPI_Datatype *newtype)
{
    return create_resized(oldtype, lb, extent, WIDE_FORM, newtype);
}
