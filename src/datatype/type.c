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

void weft_type_expand(weft_type_t *type, weft_type_t *expansion)
{
    type->size = expansion->size;
    type->elements = expansion->elements;
    type->external_size = expansion->external_size;
    type->lb = expansion->lb;
    type->extent = expansion->extent;
    type->true_lb = expansion->true_lb;
    type->true_extent = expansion->true_extent;
    type->alignment = expansion->alignment;
    type->has_markers = expansion->has_markers;
    type->envelope->expansion = expansion;
}

static void destroy_one(weft_type_t *type)
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

/* The types that it is made of may go with it: they come here while it is destroyed, and wait, so
 * that types may be nested as deep as memory allows. */
void weft_type_destroy(weft_type_t *type)
{
    static weft_type_t *waiting;
    static bool is_busy;
    type->waiting = waiting;
    waiting = type;
    if (is_busy)
        return;
    is_busy = true;
    while (waiting != NULL) {
        weft_type_t *next = waiting;
        waiting = next->waiting;
        destroy_one(next);
    }
    is_busy = false;
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
    type->can_receive = !weft_layout_overlaps(layout);
    return MPI_SUCCESS;
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

/* A stream of elements as it is counted: one member goes down to 0, the other one up. */
typedef struct typed_stream {
    size_t bytes;
    MPI_Count elements;
} typed_stream_t;

/* The member of a struct within which the stream ends, after those that it holds whole were
 * counted. NULL: it ends with the last member. */
static const weft_type_t *skip_member_bytes(const weft_envelope_t *envelope, typed_stream_t *stream)
{
    const MPI_Count *block_counts = envelope->values + 1;
    for (size_t i = 0; i < envelope->type_count; i++) {
        const weft_type_t *type = envelope->types[i];
        size_t block_bytes = (size_t)block_counts[i] * type->size;
        if (stream->bytes < block_bytes)
            return type;
        stream->elements += block_counts[i] * (MPI_Count)type->elements;
        stream->bytes -= block_bytes;
    }
    return NULL;
}

static const weft_type_t *inner_type(const weft_type_t *type)
{
    return weft_envelope_base(type->envelope);
}

static bool is_struct(const weft_type_t *type)
{
    return type->envelope->combiner == MPI_COMBINER_STRUCT;
}

/* Each round goes one type deeper. */
MPI_Count weft_type_elements(const weft_type_t *type, size_t bytes)
{
    typed_stream_t stream = {.bytes = bytes};
    if (type->size == 0)
        return bytes == 0 ? 0 : MPI_UNDEFINED;
    while (type != NULL && stream.bytes > 0) {
        stream.elements += (MPI_Count)(stream.bytes / type->size) * (MPI_Count)type->elements;
        stream.bytes %= type->size;
        if (type->envelope == NULL) {
            MPI_Count part = elements_of_predefined(type, stream.bytes);
            return part == MPI_UNDEFINED ? part : stream.elements + part;
        }
        type = is_struct(type) ? skip_member_bytes(type->envelope, &stream) : inner_type(type);
    }
    return stream.elements;
}

/* The same the other way round. */
static const weft_type_t *skip_member_elements(const weft_envelope_t *envelope,
                                               typed_stream_t *stream)
{
    const MPI_Count *block_counts = envelope->values + 1;
    for (size_t i = 0; i < envelope->type_count; i++) {
        const weft_type_t *type = envelope->types[i];
        MPI_Count block_elements = block_counts[i] * (MPI_Count)type->elements;
        if (stream->elements < block_elements)
            return type;
        stream->elements -= block_elements;
        stream->bytes += (size_t)block_counts[i] * type->size;
    }
    return NULL;
}

size_t weft_type_element_bytes(const weft_type_t *type, MPI_Count elements)
{
    typed_stream_t stream = {.elements = elements};
    if (type->elements == 0)
        return 0;
    while (type != NULL && stream.elements > 0) {
        stream.bytes += (size_t)stream.elements / type->elements * type->size;
        stream.elements %= (MPI_Count)type->elements;
        if (stream.elements > 0 && type->envelope == NULL) /* a pair */
            return stream.bytes + weft_pair_value_bytes(type);
        if (stream.elements > 0)
            type =
                is_struct(type) ? skip_member_elements(type->envelope, &stream) : inner_type(type);
    }
    return stream.bytes;
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
    weft_types_close_f90();
    weft_int_handles_close(&weft_type_int_handles);
    weft_pool_close(&pool);
}
