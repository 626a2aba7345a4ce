/* SPDX-License-Identifier: BSD-3-Clause */
/* A text that grows as it is written. */
#ifndef WEFT_REPORT_REPORT_TEXT_H
#define WEFT_REPORT_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct weft_report_text {
    char *at;     /* ends with a zero; NULL: nothing has been written */
    size_t bytes; /* without the zero */
    size_t room;
    bool is_short; /* there was no memory for all of it */
} weft_report_text_t;

void weft_report_add(weft_report_text_t *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Free the text. */
void weft_report_text_clear(weft_report_text_t *text);

#endif
