/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/staging_buffer.h"

#include "base/fail.h"
#include "base/memory.h"

#include <stdint.h>

/* The range of bytes of a buffer that is known to be needed so far. */
typedef struct room {
    bool is_some;
    ptrdiff_t low, high;
} room_t;

static void widen(room_t *room, ptrdiff_t low, ptrdiff_t high)
{
    room->low = !room->is_some || low < room->low ? low : room->low;
    room->high = !room->is_some || high > room->high ? high : room->high;
    room->is_some = true;
}

/* A user's function may also work on the gaps around the data, so the gaps have room as well. */
static void add_room(const weft_regions_t *regions, room_t *room)
{
    for (int i = 0; i < regions->count; i++) {
        weft_coll_region_t region = wefti_regions_room_at(regions, i);
        ptrdiff_t low, high;
        if (region.count == 0)
            continue;
        weft_type_room(region.type, region.count, &low, &high);
        widen(room, region.offset + low, region.offset + high);
    }
}

/* Both sides may lie in the same buffer. */
static int open_staging_buffer(const weft_regions_t sides[WEFT_SIDES], bool is_send_buf,
                               weft_staging_buffer_t *out)
{
    room_t room = {0};
    const void *first = NULL;
    for (int i = 0; i < WEFT_SIDES; i++) {
        if (sides[i].count == 0 || sides[i].in_send_buf != is_send_buf)
            continue;
        add_room(&sides[i], &room);
        first = first == NULL ? wefti_regions_first(&sides[i]) : first;
    }
    weft_memory_t memory;
    if (first == NULL || !weft_is_device(first) || weft_device->look(first, &memory) != MPI_SUCCESS)
        return MPI_SUCCESS;
    size_t bytes = (size_t)(room.high - room.low);
    out->low = room.low;
    out->memory = bytes <= WEFT_PINNED_SLOT ? weft_device->take_pinned(memory.device, bytes) : NULL;
    out->is_pinned = out->memory != NULL;
    if (out->memory == NULL)
        out->memory = weft_alloc_zeroed(bytes, 1);
    return out->memory != NULL
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of a device", bytes);
}

int wefti_staging_buffers_open(weft_coll_t coll, const weft_coll_args_t *args,
                               weft_staging_buffers_t *out)
{
    const weft_regions_t sides[WEFT_SIDES] = {wefti_regions_of(coll, args, WEFT_GIVES),
                                              wefti_regions_of(coll, args, WEFT_GETS)};
    *out = (weft_staging_buffers_t){0};
    int err = open_staging_buffer(sides, true, &out->send);
    if (err == MPI_SUCCESS)
        err = open_staging_buffer(sides, false, &out->recv);
    if (err != MPI_SUCCESS)
        wefti_staging_buffers_close(out);
    return err;
}

static void close_staging_buffer(weft_staging_buffer_t *buffer)
{
    if (buffer->is_pinned)
        weft_device->give_pinned(buffer->memory);
    else
        weft_free(buffer->memory);
    buffer->memory = NULL;
}

void wefti_staging_buffers_close(weft_staging_buffers_t *buffers)
{
    close_staging_buffer(&buffers->send);
    close_staging_buffer(&buffers->recv);
}

/* The arithmetic is done on integers, since the buffer may begin before its data. */
static void *stand_in(const weft_staging_buffer_t *buffer, const void *buf)
{
    return buffer->memory == NULL ? (void *)(uintptr_t)buf
                                  : (void *)((uintptr_t)buffer->memory - (uintptr_t)buffer->low);
}

weft_coll_args_t wefti_staging_buffers_args(const weft_staging_buffers_t *buffers,
                                            const weft_coll_args_t *args)
{
    weft_coll_args_t result = *args;
    result.send_buf = stand_in(&buffers->send, args->send_buf);
    result.recv_buf = stand_in(&buffers->recv, args->recv_buf);
    return result;
}

/* NULL: no staging buffer stands for the buffer of the side. */
static const weft_staging_buffer_t *staging_buffer_of(const weft_staging_buffers_t *buffers,
                                                      const weft_regions_t *regions)
{
    const weft_staging_buffer_t *buffer = regions->in_send_buf ? &buffers->send : &buffers->recv;
    return regions->count > 0 && buffer->memory != NULL ? buffer : NULL;
}

int wefti_staging_buffers_copy(const weft_staging_buffers_t *buffers, const weft_regions_t *regions,
                               wefti_staging_copy_t copy, void *owner)
{
    const weft_staging_buffer_t *buffer = staging_buffer_of(buffers, regions);
    int err = MPI_SUCCESS;
    for (int i = 0; buffer != NULL && i < regions->count && err == MPI_SUCCESS; i++) {
        weft_coll_region_t region = wefti_regions_at(regions, i);
        if (region.count == 0)
            continue;
        /* on integers, since the buffers may be MPI_BOTTOM, or begin before their data */
        void *at = (void *)((uintptr_t)regions->buf + (uintptr_t)region.offset);
        void *beside =
            (void *)((uintptr_t)buffer->memory + (uintptr_t)(region.offset - buffer->low));
        weft_elements_t user = {at, region.count, region.type};
        weft_elements_t host = {beside, region.count, region.type};
        err = regions->side == WEFT_GIVES ? copy(owner, &user, &host) : copy(owner, &host, &user);
    }
    return err;
}
