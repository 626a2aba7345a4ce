/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/tuning_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *weft_tuning_number_in(const char *word, size_t *out)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || errno != 0)
        return NULL;
    size_t unit = *end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1;
    if (unit > 1)
        end++;
    return __builtin_mul_overflow(number, unit, out) ? NULL : end;
}

bool weft_tuning_number(const char *word, size_t *out)
{
    const char *end = weft_tuning_number_in(word, out);
    return end != NULL && *end == '\0';
}

/* "LOW..HIGH" */
static bool read_pair(const char *word, size_t *low, size_t *high)
{
    const char *end = weft_tuning_number_in(word, low);
    return end != NULL && strncmp(end, "..", 2) == 0 && weft_tuning_number(end + 2, high) &&
           *low <= *high;
}

/* Without what the word does not say. */
static bool read_ranks(const char *word, size_t *least, size_t *most)
{
    if (word[0] == '<')
        return word[1] == '=' && weft_tuning_number(word + 2, most);
    if (word[0] == '>')
        return word[1] == '=' && weft_tuning_number(word + 2, least);
    return strcmp(word, "any") == 0 || read_pair(word, least, most);
}

bool weft_tuning_ranks(const char *word, weft_tuning_range_t *range)
{
    size_t least = 1, most = INT_MAX;
    if (!read_ranks(word, &least, &most) || least > INT_MAX || most > INT_MAX)
        return false;
    range->ranks_min = (int)least;
    range->ranks_max = (int)most;
    return true;
}

bool weft_tuning_bytes(const char *word, weft_tuning_range_t *range)
{
    range->bytes_min = 0;
    range->bytes_end = SIZE_MAX;
    if (word[0] == '<')
        return weft_tuning_number(word + 1, &range->bytes_end);
    if (word[0] == '>')
        return word[1] == '=' && weft_tuning_number(word + 2, &range->bytes_min);
    return strcmp(word, "any") == 0 || read_pair(word, &range->bytes_min, &range->bytes_end);
}
