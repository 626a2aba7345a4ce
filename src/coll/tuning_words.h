/* SPDX-License-Identifier: BSD-3-Clause */
/* The words that all rows of the tuning table have. */
#ifndef WEFT_COLL_TUNING_WORDS_H
#define WEFT_COLL_TUNING_WORDS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The calls that a row is for. */
typedef struct weft_tuning_range {
    int ranks_min, ranks_max;
    size_t bytes_min, bytes_end; /* end: not included */
} weft_tuning_range_t;

/** Read a number with an optional K or M. Returns what follows it; NULL if there is none. */
const char *weft_tuning_number_in(const char *word, size_t *out);

/** The same, as the whole word. */
bool weft_tuning_number(const char *word, size_t *out);

/** "any", "<=N", ">=N", "LEAST..MOST" */
bool weft_tuning_ranks(const char *word, weft_tuning_range_t *range);

/** "any", "<N", ">=N", "FROM..BELOW" */
bool weft_tuning_bytes(const char *word, weft_tuning_range_t *range);

static inline bool weft_tuning_covers(const weft_tuning_range_t *range, int ranks, size_t bytes)
{
    return ranks >= range->ranks_min && ranks <= range->ranks_max && bytes >= range->bytes_min &&
           bytes < range->bytes_end;
}

static inline bool weft_tuning_is_any(const weft_tuning_range_t *range)
{
    return range->ranks_min <= 1 && range->ranks_max == INT_MAX && range->bytes_min == 0 &&
           range->bytes_end == SIZE_MAX;
}

#endif
