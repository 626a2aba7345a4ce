/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/rank_message.h"

#include <stdio.h>

void weft_rank_event_write(const weft_rank_event_t *event, weft_writer_t *out)
{
    weft_write_u32(out, (uint32_t)event->kind);
    weft_write_u32(out, (uint32_t)event->rank);
    weft_write_u32(out, (uint32_t)event->pid);
    weft_write_u32(out, (uint32_t)event->code);
    weft_write_u32(out, (uint32_t)event->signal);
    weft_write_u32(out, event->has_core);
    weft_write_text(out, event->text);
}

bool weft_rank_event_read(const weft_message_t *message, int size, weft_rank_event_t *out)
{
    weft_reader_t reader = weft_read_begin(message);
    uint32_t kind = weft_read_u32(&reader), rank = weft_read_u32(&reader);
    weft_rank_event_t event = {.kind = (weft_rank_event_kind_t)kind, .rank = (int)rank};
    event.pid = (int)weft_read_u32(&reader);
    event.code = (int)weft_read_u32(&reader);
    event.signal = (int)weft_read_u32(&reader);
    event.has_core = weft_read_u32(&reader) != 0;
    const char *text = weft_read_text(&reader);
    if (reader.has_failed || text == NULL || kind > WEFT_RANK_ENDED || rank >= (uint32_t)size)
        return false;
    snprintf(event.text, sizeof(event.text), "%s", text);
    *out = event;
    return true;
}
