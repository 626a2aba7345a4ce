/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/report_text.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>

enum { ROOM_AT_FIRST = 2048 };

static bool make_room(weft_report_text_t *text, size_t bytes)
{
    size_t room = text->room == 0 ? ROOM_AT_FIRST : text->room;
    while (room < text->bytes + bytes + 1)
        room *= 2;
    if (room == text->room)
        return true;
    char *at = weft_realloc(text->at, room);
    if (at == NULL)
        return false;
    text->at = at;
    text->room = room;
    return true;
}

void weft_report_add(weft_report_text_t *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int bytes = vsnprintf(NULL, 0, format, args);
    if (bytes < 0 || !make_room(text, (size_t)bytes)) {
        text->is_short = true;
    } else {
        vsnprintf(text->at + text->bytes, (size_t)bytes + 1, format, again);
        text->bytes += (size_t)bytes;
    }
    va_end(again);
    va_end(args);
}

void weft_report_text_clear(weft_report_text_t *text)
{
    weft_free(text->at);
    *text = (weft_report_text_t){0};
}
