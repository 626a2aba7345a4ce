/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/tuning_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool weft_tuning_number(const char *word, size_t *out)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || errno != 0)
        return false;
    size_t unit = *end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1;
    if (unit > 1)
        end++;
    return *end == '\0' && !__builtin_mul_overflow(number, unit, out);
}

bool weft_tuning_ranks(const char *word, weft_tuning_range_t *range)
{
    size_t number;
    range->ranks_min = 1;
    range->ranks_max = INT_MAX;
    if (strcmp(word, "any") == 0)
        return true;
    if ((word[0] != '<' && word[0] != '>') || word[1] != '=' ||
        !weft_tuning_number(word + 2, &number) || number > INT_MAX)
        return false;
    if (word[0] == '<')
        range->ranks_max = (int)number;
    else
        range->ranks_min = (int)number;
    return true;
}

bool weft_tuning_bytes(const char *word, weft_tuning_range_t *range)
{
    range->bytes_min = 0;
    range->bytes_end = SIZE_MAX;
    if (strcmp(word, "any") == 0)
        return true;
    if (word[0] == '<')
        return weft_tuning_number(word + 1, &range->bytes_end);
    return word[0] == '>' && word[1] == '=' && weft_tuning_number(word + 2, &range->bytes_min);
}
