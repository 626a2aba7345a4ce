/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/device_way.h"

#include "coll/tuning.h"
#include "coll/tuning_words.h"

#include <stdio.h>
#include <string.h>

enum { ROWS_MAX = 64, WORD_BYTES = 64, COLUMNS = 5 };

typedef struct row {
    weft_coll_t coll; /* WEFT_COLLS: any */
    weft_tuning_range_t range;
    weft_way_flag_t way;
    int line;
} row_t;

static row_t rows[ROWS_MAX];
static int row_count;
static bool is_old; /* rows are of the table before the one that is being read */

static const struct {
    weft_way_flag_t way;
    const char *name;
} ways[] = {
    {WEFT_WAY_MULTICAST, "multicast"},
    {WEFT_WAY_FLAGS, "flags"},
    {WEFT_WAY_TOGETHER, "together"},
    {WEFT_WAY_LEVELS, "levels"},
    {WEFT_WAY_STEPPED, "stepped"},
    {WEFT_WAY_STAGED, "staged"}};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

const char *weft_device_way_name(weft_way_flag_t way)
{
    int i = 0;
    while (i < WAYS - 1 && ways[i].way != way)
        i++;
    return ways[i].name;
}

static bool parse_way(const char *word, row_t *row)
{
    for (int i = 0; i < WAYS; i++) {
        if (strcmp(word, ways[i].name) == 0) {
            row->way = ways[i].way;
            return true;
        }
    }
    return false;
}

static bool parse_coll(const char *word, row_t *row)
{
    row->coll = weft_coll_named(word);
    return row->coll != WEFT_COLLS || strcmp(word, "any") == 0;
}

bool weft_device_way_parse(const char *line, int number)
{
    char words[COLUMNS][WORD_BYTES], more[2];
    row_t row = {.line = number};
    if (sscanf(line, "%63s %63s %63s %63s %63s %1s", words[0], words[1], words[2], words[3],
               words[4], more) != COLUMNS ||
        strcmp(words[0], "device") != 0 || (row_count == ROWS_MAX && !is_old))
        return false;
    if (!parse_coll(words[1], &row) || !weft_tuning_ranks(words[2], &row.range) ||
        !weft_tuning_bytes(words[3], &row.range) || !parse_way(words[4], &row))
        return false;
    if (is_old)
        weft_device_ways_close();
    rows[row_count++] = row;
    return true;
}

weft_device_way_t weft_device_way(weft_coll_t coll, int ranks, size_t bytes, unsigned possible)
{
    for (int i = 0; i < row_count; i++) {
        const row_t *row = &rows[i];
        if ((row->coll == coll || row->coll == WEFT_COLLS) && (row->way & possible) != 0 &&
            weft_tuning_covers(&row->range, ranks, bytes))
            return (weft_device_way_t){row->way, row->line};
    }
    return (weft_device_way_t){WEFT_WAY_STAGED, 0};
}

void weft_device_ways_begin_table(void)
{
    is_old = true;
}

void weft_device_ways_close(void)
{
    row_count = 0;
    is_old = false;
}
