/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/tuning_row.h"

#include "coll/device_calls.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5, RADIX_LEAST = 2, RADIX_MOST = 64 };

/* "any" or, for nodes, "nodes:efa". */
static bool parse_where(const char *word, weft_tuning_row_t *row)
{
    static const char *const words[] = {[WEFT_TUNE_ANY] = "any",
                                        [WEFT_TUNE_ENOUGH] = "enough",
                                        [WEFT_TUNE_SHORT] = "short",
                                        [WEFT_TUNE_NODES] = "nodes",
                                        [WEFT_TUNE_CROWDED_NODES] = "crowded"};
    size_t length = strcspn(word, ":");
    for (int i = 0; i <= WEFT_TUNE_CROWDED_NODES; i++) {
        if (strncmp(word, words[i], length) != 0 || words[i][length] != '\0')
            continue;
        row->where = (weft_tuning_where_t)i;
        snprintf(row->fabric, sizeof(row->fabric), "%.31s",
                 word[length] == ':' ? word + length + 1 : "");
        return word[length] == '\0' || (i >= WEFT_TUNE_NODES && row->fabric[0] != '\0');
    }
    return false;
}

/* ",radix=4" or ",segment=64K". */
static bool row_parse_option(const char *text, weft_tuning_row_t *row)
{
    size_t radix;
    if (strncmp(text, "segment=", 8) == 0)
        return (row->algorithm->has & WEFT_HAS_SEGMENT) != 0 &&
               weft_tuning_number(text + 8, &row->segment_bytes);
    if (strncmp(text, "radix=", 6) != 0 || !weft_tuning_number(text + 6, &radix) ||
        radix < RADIX_LEAST || radix > RADIX_MOST)
        return false;
    row->radix = (int)radix;
    return (row->algorithm->has & WEFT_HAS_RADIX) != 0;
}

/* The model must find an algorithm for every call. */
static bool can_be_modelled(weft_coll_t coll)
{
    for (const weft_algorithm_t *its = weft_coll_algorithms(coll); its->name != NULL; its++) {
        if (its->cost_us != NULL && its->needs == 0)
            return true;
    }
    return false;
}

bool wefti_tuning_algorithm_parse(char *word, weft_tuning_row_t *row)
{
    char *option = strchr(word, ',');
    row->radix = WEFT_TUNING_RADIX;
    row->segment_bytes = 0;
    row->algorithm = NULL;
    if (strcmp(word, "model") == 0)
        return can_be_modelled(row->coll);
    if (option != NULL)
        *option++ = '\0';
    row->algorithm = weft_coll_algorithms(row->coll);
    while (row->algorithm->name != NULL && strcmp(word, row->algorithm->name) != 0)
        row->algorithm++;
    while (row->algorithm->name != NULL && option != NULL) {
        char *next = strchr(option, ',');
        if (next != NULL)
            *next++ = '\0';
        if (!row_parse_option(option, row))
            return false;
        option = next;
    }
    return row->algorithm->name != NULL;
}

static bool parse_method(const char *word, weft_tuning_row_t *row)
{
    row->method = -1;
    if (weft_device_calls == NULL)
        return true;
    for (int i = 0; weft_device_calls->methods[i] != NULL && row->method < 0; i++) {
        if (strcmp(word, weft_device_calls->methods[i]) == 0)
            row->method = i;
    }
    return row->method >= 0;
}

/* The first two words of a row, which differ between the two kinds of rows. */
static bool parse_call(const char *first, const char *second, weft_tuning_row_t *row)
{
    bool is_device = strcmp(first, "device") == 0;
    row->coll = weft_coll_named(is_device ? second : first);
    if (!is_device)
        return row->coll != WEFT_COLLS && parse_where(second, row);
    row->where = WEFT_TUNE_DEVICE;
    return row->coll != WEFT_COLLS || strcmp(second, "any") == 0;
}

bool wefti_tuning_row_parse(const char *line, weft_tuning_row_t *out)
{
    char words[COLUMNS][WEFT_TUNING_WORD_BYTES], more[2];
    if (sscanf(line, "%63s %63s %63s %63s %63s %1s", words[0], words[1], words[2], words[3],
               words[4], more) != COLUMNS)
        return false;
    return parse_call(words[0], words[1], out) && weft_tuning_ranks(words[2], &out->range) &&
           weft_tuning_bytes(words[3], &out->range) &&
           (out->where == WEFT_TUNE_DEVICE ? parse_method(words[4], out)
                                           : wefti_tuning_algorithm_parse(words[4], out));
}
