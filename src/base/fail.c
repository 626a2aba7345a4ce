/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char text[512];

int weft_fail(int error_class, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return error_class;
}

const char *weft_fail_text(void)
{
    return text;
}

void weft_fail_clear(void)
{
    text[0] = '\0';
}
