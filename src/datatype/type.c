/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/type.h"

#include "datatype/envelope.h"
#include "datatype/layout_private.h"
#include "object/int_handles.h"
#include "base/fail.h"
#include "base/pool.h"

#include <string.h>

static weft_pool_t pool = WEFT_POOL(weft_type_t);

void (*weft_type_release_shape)(void *shape);

int weft_type_create(const weft_envelope_shape_t *shape, weft_type_t **out)
{
    weft_type_t *type = weft_pool_take(&pool);
    if (type == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a datatype");
    *type = (weft_type_t){.handle = (MPI_Datatype)(void *)type,
                          .envelope = weft_envelope_create(shape)};
    if (type->envelope == NULL) {
        weft_pool_give(&pool, type);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the arguments of a datatype");
    }
    weft_object_init(&type->object, WEFT_KIND_TYPE);
    *out = type;
    return MPI_SUCCESS;
}

void weft_type_destroy(weft_type_t *type)
{
    if (type->index != 0)
        weft_int_handles_remove(&weft_type_int_handles, type->index);
    if (type->device_shape != NULL && weft_type_release_shape != NULL)
        weft_type_release_shape(type->device_shape);
    weft_layout_clear(&type->layout);
    weft_envelope_destroy(type->envelope);
    type->object.kind = WEFT_FREED;
    weft_pool_give(&pool, type);
}

void weft_type_set_wide(weft_type_t *type)
{
    type->envelope->is_wide = true;
}

int weft_type_commit(weft_type_t *type)
{
    if (type->is_committed)
        return MPI_SUCCESS;
    int err = weft_type_lay_out(type);
    if (err != MPI_SUCCESS)
        return err;
    const weft_layout_t *layout = &type->layout;
    bool is_block = layout->leaf == WEFT_LEAF_BLOCK && layout->levels == 0 && layout->offset == 0;
    type->is_dense = type->lb == 0 && (size_t)type->extent == type->size && is_block;
    type->is_committed = true;
    return MPI_SUCCESS;
}

/* Basic elements in the first `bytes` bytes of one struct. */
static MPI_Count elements_of_struct(const weft_envelope_t *envelope, size_t bytes)
{
    const MPI_Count *block_counts = envelope->values + 1;
    MPI_Count elements = 0;
    for (size_t i = 0; i < envelope->type_count; i++) {
        const weft_type_t *type = envelope->types[i];
        size_t block_bytes = (size_t)block_counts[i] * type->size;
        if (bytes < block_bytes) {
            MPI_Count part = weft_type_elements(type, bytes);
            return part == MPI_UNDEFINED ? part : elements + part;
        }
        elements += block_counts[i] * (MPI_Count)type->elements;
        bytes -= block_bytes;
    }
    return elements;
}

/* Basic elements in the first `bytes` bytes, fewer than one basic element or pair has. */
static MPI_Count elements_of_predefined(const weft_type_t *type, size_t bytes)
{
    if (bytes == 0)
        return 0;
    if (type->elements == 1)
        return MPI_UNDEFINED;
    return bytes == weft_pair_value_bytes(type) ? 1 : MPI_UNDEFINED;
}

MPI_Count weft_type_elements(const weft_type_t *type, size_t bytes)
{
    if (type->size == 0)
        return bytes == 0 ? 0 : MPI_UNDEFINED;
    MPI_Count whole = (MPI_Count)(bytes / type->size) * (MPI_Count)type->elements;
    size_t rest = bytes % type->size;
    const weft_envelope_t *envelope = type->envelope;
    MPI_Count part;
    if (envelope == NULL)
        part = elements_of_predefined(type, rest);
    else if (envelope->combiner == MPI_COMBINER_STRUCT)
        part = elements_of_struct(envelope, rest);
    else
        part = weft_type_elements(weft_envelope_base(envelope), rest);
    return part == MPI_UNDEFINED ? part : whole + part;
}

/* The bytes of the first `elements` basic elements of one struct. */
static size_t element_bytes_of_struct(const weft_envelope_t *envelope, MPI_Count elements)
{
    const MPI_Count *block_counts = envelope->values + 1;
    size_t bytes = 0;
    for (size_t i = 0; i < envelope->type_count; i++) {
        const weft_type_t *type = envelope->types[i];
        MPI_Count block_elements = block_counts[i] * (MPI_Count)type->elements;
        if (elements < block_elements)
            return bytes + weft_type_element_bytes(type, elements);
        elements -= block_elements;
        bytes += (size_t)block_counts[i] * type->size;
    }
    return bytes;
}

size_t weft_type_element_bytes(const weft_type_t *type, MPI_Count elements)
{
    if (type->elements == 0)
        return 0;
    size_t whole = (size_t)elements / type->elements * type->size;
    MPI_Count rest = elements % (MPI_Count)type->elements;
    const weft_envelope_t *envelope = type->envelope;
    if (rest == 0)
        return whole;
    if (envelope == NULL) /* a pair */
        return whole + weft_pair_value_bytes(type);
    if (envelope->combiner == MPI_COMBINER_STRUCT)
        return whole + element_bytes_of_struct(envelope, rest);
    return whole + weft_type_element_bytes(weft_envelope_base(envelope), rest);
}

static ptrdiff_t lower_bound(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static ptrdiff_t upper(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? b : a;
}

void weft_type_room(const weft_type_t *type, size_t count, ptrdiff_t *low_out, ptrdiff_t *high_out)
{
    /* The last element may lie before the first. */
    ptrdiff_t last = (ptrdiff_t)(count - 1) * type->extent;
    *low_out = lower_bound(type->lb, type->true_lb) + lower_bound(last, 0);
    *high_out = upper(type->lb + type->extent, type->true_lb + type->true_extent) + upper(last, 0);
}

void weft_types_close(void)
{
    weft_int_handles_close(&weft_type_int_handles);
    weft_pool_close(&pool);
}
