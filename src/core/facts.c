/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/facts.h"

#include <stdarg.h>
#include <stdio.h>

void weft_facts_note(weft_facts_t *facts, const char *format, ...)
{
    va_list args;
    if (facts->note_count == WEFT_NOTES_MAX)
        return;
    va_start(args, format);
    vsnprintf(facts->notes[facts->note_count++], WEFT_NOTE_BYTES, format, args);
    va_end(args);
}
