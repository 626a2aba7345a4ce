/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logging: one line on stderr, "weft: rank 3: area: text". Of the library only the warnings of
 * config.c and the report (report/) write there besides. A call below the threshold costs one test
 * of a byte.
 */
#ifndef WEFT_BASE_LOG_H
#define WEFT_BASE_LOG_H

typedef enum weft_log_level {
    WEFT_ERROR,
    WEFT_WARN,
    WEFT_INFO,  /* facts of start-up */
    WEFT_DEBUG, /* per object */
    WEFT_TRACE, /* per message */
} weft_log_level_t;

extern signed char weft_log_threshold;

/** Take the level from weft_config.LOG and the prefix from `rank` (negative: no rank yet). */
void weft_log_open(int rank);
/** weft_config.LOG has changed. */
void weft_log_reopen(void);

void weft_log_write(weft_log_level_t level, const char *area, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define WEFT_LOG(level, area, ...)                                                                 \
    do {                                                                                           \
        if (__builtin_expect((level) <= weft_log_threshold, 0))                                    \
            weft_log_write(level, area, __VA_ARGS__);                                              \
    } while (0)

#endif
