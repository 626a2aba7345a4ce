/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include "base/config.h"
#include "base/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

signed char weft_log_threshold = WEFT_WARN;

static int log_rank = -1;

static const char *const levels[] = {"error", "warn", "info", "debug", "trace"};
enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

void weft_log_reopen(void)
{
    const char *nearest = weft_nearest(weft_config.LOG, levels, LEVELS);
    for (signed char i = 0; i < LEVELS; i++) {
        if (nearest == levels[i])
            weft_log_threshold = i;
    }
}

void weft_log_open(int rank)
{
    log_rank = rank;
    weft_log_reopen();
}

void weft_log_write(weft_log_level_t level, const char *area, const char *format, ...)
{
    char line[2048];
    int used = log_rank < 0 ? snprintf(line, sizeof(line), "weft: ")
                            : snprintf(line, sizeof(line), "weft: rank %d: ", log_rank);
    if (level >= WEFT_INFO)
        used += snprintf(line + used, sizeof(line) - (size_t)used, "%s: ", area);
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(line + used, sizeof(line) - (size_t)used, format, arguments);
    va_end(arguments);
    size_t bytes = (size_t)used < sizeof(line) - 1 ? (size_t)used : sizeof(line) - 2;
    line[bytes] = '\n';
    /* One write a line, so that lines of several ranks do not mix. */
    ssize_t written = write(STDERR_FILENO, line, bytes + 1);
    (void)written;
}
