/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/rank_message.h"

#include <stdio.h>

void wl_rank_event_write(const wl_rank_event_t *event, wl_writer_t *out)
{
    wl_write_u32(out, (uint32_t)event->kind);
    wl_write_u32(out, (uint32_t)event->rank);
    wl_write_u32(out, (uint32_t)event->pid);
    wl_write_u32(out, (uint32_t)event->code);
    wl_write_u32(out, (uint32_t)event->signal);
    wl_write_u32(out, event->has_core);
    wl_write_u32(out, event->has_notes);
    wl_write_text(out, event->text);
}

bool wl_rank_event_read(const wl_message_t *message, int size, wl_rank_event_t *out)
{
    wl_reader_t reader = wl_read_begin(message);
    uint32_t kind = wl_read_u32(&reader), rank = wl_read_u32(&reader);
    wl_rank_event_t event = {.kind = (wl_rank_event_kind_t)kind, .rank = (int)rank};
    event.pid = (int)wl_read_u32(&reader);
    event.code = (int)wl_read_u32(&reader);
    event.signal = (int)wl_read_u32(&reader);
    event.has_core = wl_read_u32(&reader) != 0;
    event.has_notes = wl_read_u32(&reader) != 0;
    const char *text = wl_read_text(&reader);
    if (reader.has_failed || text == NULL || kind > WL_SERVER_LOST || rank >= (uint32_t)size)
        return false;
    snprintf(event.text, sizeof(event.text), "%s", text);
    *out = event;
    return true;
}
