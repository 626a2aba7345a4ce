/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/device_copy.h"

#include "pt2pt/device_private.h"

#include "runtime/progress.h"

/* Both sides, and what of them lies on a device. */
typedef struct typed_copy {
    const weft_elements_t *from, *to;
    weft_memory_t from_memory, to_memory; /* device NULL: the host's */
    size_t bytes;
} typed_copy_t;

static int look_at_copy(const weft_elements_t *elements, weft_memory_t *out)
{
    return weft_device->look(wefti_first_byte(elements->buf, elements->type), out);
}

/* The data when they are in one piece; else NULL. */
static char *piece_of(const weft_elements_t *elements)
{
    ptrdiff_t offset;
    size_t bytes;
    if (!weft_type_span(elements->type, elements->count, &offset, &bytes))
        return NULL;
    return (char *)((uintptr_t)elements->buf + (uintptr_t)offset);
}

static int move_runs(const typed_copy_t *copy, weft_queue_t *queue, const weft_packing_t *what,
                     bool is_packing)
{
    if (queue == NULL)
        return MPI_ERR_OTHER; /* the text of weft_fail is set */
    weft_packing_t packing = *what;
    packing.elements = is_packing ? copy->from : copy->to;
    int err =
        is_packing ? weft_device->pack(queue, &packing) : weft_device->unpack(queue, &packing);
    return err == MPI_SUCCESS ? weft_queue_wait(queue) : err;
}

/* Copy part of one side to or from the slot without the driver. False: not possible; only a side
 * that is in one piece can be copied so. */
static bool move_by_processor(const typed_copy_t *copy, const weft_packing_t *what, bool is_packing)
{
    weft_bar_t bar;
    const char *piece = piece_of(is_packing ? copy->from : copy->to);
    const weft_memory_t *memory = is_packing ? &copy->from_memory : &copy->to_memory;
    if (piece == NULL ||
        !weft_device->bar_find(memory, piece + what->offset, what->bytes, !is_packing, &bar))
        return false;
    if (is_packing)
        weft_device->bar_read(&bar, what->packed, what->bytes);
    else
        weft_device->bar_write(&bar, what->packed, what->bytes);
    return true;
}

static int move_device_part(const typed_copy_t *copy, const weft_packing_t *what, bool is_packing)
{
    weft_device_t *device = is_packing ? copy->from_memory.device : copy->to_memory.device;
    weft_stream_class_t stream_class = is_packing ? WEFT_STREAM_DOWN : WEFT_STREAM_UP;
    if (move_by_processor(copy, what, is_packing))
        return MPI_SUCCESS;
    return move_runs(copy, wefti_queue_for(device, stream_class, copy->bytes), what, is_packing);
}

/* One side is in one piece: the device packs or unpacks the other in one step. */
static int copy_span_at_once(const typed_copy_t *copy, char *from, char *to)
{
    weft_packing_t what = {.bytes = copy->bytes, .packed = from != NULL ? from : to};
    bool is_packing = from == NULL;
    weft_device_t *device = is_packing ? copy->from_memory.device : copy->to_memory.device;
    return move_runs(copy, wefti_queue_for(device, WEFT_STREAM_BULK, copy->bytes), &what,
                     is_packing);
}

/* One piece, by way of a slot. */
static int copy_through(const typed_copy_t *copy, const weft_packing_t *what)
{
    const weft_elements_t *from = copy->from, *to = copy->to;
    int err = MPI_SUCCESS;
    if (copy->from_memory.device != NULL)
        err = move_device_part(copy, what, true);
    else
        weft_pack(from->buf, from->count, from->type, what->offset, what->packed, what->bytes);
    if (err != MPI_SUCCESS)
        return err;
    if (copy->to_memory.device != NULL)
        return move_device_part(copy, what, false);
    weft_unpack(to->buf, to->count, to->type, what->offset, what->packed, what->bytes);
    return MPI_SUCCESS;
}

static int copy_in_slots(const typed_copy_t *copy)
{
    weft_device_t *device = copy->from_memory.device;
    if (device == NULL)
        device = copy->to_memory.device;
    int err = MPI_SUCCESS;
    for (size_t at = 0; err == MPI_SUCCESS && at < copy->bytes; at += WEFT_PINNED_SLOT) {
        size_t left = copy->bytes - at;
        weft_packing_t what = {.offset = at,
                               .bytes = left < WEFT_PINNED_SLOT ? left : WEFT_PINNED_SLOT};
        while ((what.packed = weft_device->take_pinned(device, what.bytes)) == NULL)
            weft_progress();
        err = copy_through(copy, &what);
        weft_device->give_pinned(what.packed);
    }
    return err;
}

int weft_copy_anywhere(const weft_elements_t *from, const weft_elements_t *to)
{
    typed_copy_t copy = {.from = from, .to = to};
    size_t from_bytes = from->count * from->type->size, to_bytes = to->count * to->type->size;
    copy.bytes = from_bytes < to_bytes ? from_bytes : to_bytes;
    if (__builtin_expect(*weft_device_news == 0, 1) || copy.bytes == 0) {
        weft_copy_elements(from, to);
        return MPI_SUCCESS;
    }
    int err = look_at_copy(from, &copy.from_memory);
    if (err == MPI_SUCCESS)
        err = look_at_copy(to, &copy.to_memory);
    if (err != MPI_SUCCESS)
        return err;
    bool both = copy.from_memory.device != NULL && copy.to_memory.device != NULL;
    if (copy.from_memory.device == NULL && copy.to_memory.device == NULL) {
        weft_copy_elements(from, to);
        return MPI_SUCCESS;
    }
    char *from_piece = piece_of(from), *to_piece = piece_of(to);
    if (both && (from_piece != NULL || to_piece != NULL) &&
        copy.from_memory.device == copy.to_memory.device)
        return copy_span_at_once(&copy, from_piece, to_piece);
    return copy_in_slots(&copy);
}
