/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/tuning.h"

#include "devcoll/device_way.h"
#include "coll/tuning_words.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 5, WORD_BYTES = 64, FABRIC_BYTES = 32, DEFAULT_RADIX = 2, LEAST_RADIX = 2, MOST_RADIX = 64 };

/* Where a row holds: on one host with enough cores or short of them, on several nodes, anywhere. */
typedef enum where {
    ANYWHERE,
    CORES_ENOUGH,
    CORES_SHORT,
    ON_NODES,
    ON_CROWDED_NODES,
} where_t;

typedef struct row {
    weft_coll_t coll;
    where_t where;
    char fabric[FABRIC_BYTES]; /* between the nodes; "": any */
    weft_tuning_range_t range;
    const weft_algorithm_t *algorithm; /* NULL: the model chooses */
    int radix;
    size_t segment_bytes;
    int line;
    size_t next; /* row of the same collective; row_count: none */
} row_t;

static row_t *rows;
static size_t row_count, row_room;
static size_t first_rows[WEFT_COLLS]; /* row_count: none */

static const struct {
    const char *name;
    const weft_algorithm_t *algorithms;
} colls[WEFT_COLLS] = {
    [WEFT_BARRIER] = {"barrier", weft_barrier_algorithms},
    [WEFT_BCAST] = {"bcast", weft_bcast_algorithms},
    [WEFT_GATHER] = {"gather", weft_gather_algorithms},
    [WEFT_GATHERV] = {"gatherv", weft_gatherv_algorithms},
    [WEFT_SCATTER] = {"scatter", weft_scatter_algorithms},
    [WEFT_SCATTERV] = {"scatterv", weft_scatterv_algorithms},
    [WEFT_ALLGATHER] = {"allgather", weft_allgather_algorithms},
    [WEFT_ALLGATHERV] = {"allgatherv", weft_allgatherv_algorithms},
    [WEFT_ALLTOALL] = {"alltoall", weft_alltoall_algorithms},
    [WEFT_ALLTOALLV] = {"alltoallv", weft_alltoallv_algorithms},
    [WEFT_ALLTOALLW] = {"alltoallw", weft_alltoallw_algorithms},
    [WEFT_REDUCE] = {"reduce", weft_reduce_algorithms},
    [WEFT_ALLREDUCE] = {"allreduce", weft_allreduce_algorithms},
    [WEFT_REDUCE_SCATTER] = {"reduce_scatter", weft_reduce_scatter_algorithms},
    [WEFT_REDUCE_SCATTER_BLOCK] = {"reduce_scatter_block", weft_reduce_scatter_block_algorithms},
    [WEFT_SCAN] = {"scan", weft_scan_algorithms},
    [WEFT_EXSCAN] = {"exscan", weft_exscan_algorithms},
};

const char *weft_coll_name(weft_coll_t coll)
{
    return colls[coll].name;
}

weft_coll_t weft_coll_named(const char *word)
{
    int i = 0;
    while (i < WEFT_COLLS && strcmp(word, colls[i].name) != 0)
        i++;
    return (weft_coll_t)i;
}

const weft_algorithm_t *weft_coll_algorithms(weft_coll_t coll)
{
    return colls[coll].algorithms;
}

/* ---- reading ---- */

static bool parse_coll(const char *word, row_t *row)
{
    row->coll = weft_coll_named(word);
    return row->coll != WEFT_COLLS;
}

/* "any", or of nodes "nodes:efa" */
static bool parse_where(const char *word, row_t *row)
{
    static const char *const words[] = {[ANYWHERE] = "any",
                                        [CORES_ENOUGH] = "enough",
                                        [CORES_SHORT] = "short",
                                        [ON_NODES] = "nodes",
                                        [ON_CROWDED_NODES] = "crowded"};
    size_t length = strcspn(word, ":");
    for (int i = 0; i <= ON_CROWDED_NODES; i++) {
        if (strncmp(word, words[i], length) != 0 || words[i][length] != '\0')
            continue;
        row->where = (where_t)i;
        snprintf(row->fabric, sizeof(row->fabric), "%.31s", word[length] == ':' ? word + length + 1 : "");
        return word[length] == '\0' || (i >= ON_NODES && row->fabric[0] != '\0');
    }
    return false;
}

/* ",radix=4" or ",segment=64K". */
static bool parse_option(const char *text, row_t *row)
{
    size_t radix;
    if (strncmp(text, "segment=", 8) == 0)
        return (row->algorithm->has & WEFT_HAS_SEGMENT) != 0 &&
               weft_tuning_number(text + 8, &row->segment_bytes);
    if (strncmp(text, "radix=", 6) != 0 || !weft_tuning_number(text + 6, &radix) || radix < LEAST_RADIX ||
        radix > MOST_RADIX)
        return false;
    row->radix = (int)radix;
    return (row->algorithm->has & WEFT_HAS_RADIX) != 0;
}

/* The model must find something, whatever the call. */
static bool can_be_modelled(weft_coll_t coll)
{
    for (const weft_algorithm_t *its = colls[coll].algorithms; its->name != NULL; its++) {
        if (its->cost_us != NULL && its->needs == 0)
            return true;
    }
    return false;
}

static bool parse_algorithm(char *word, row_t *row)
{
    char *option = strchr(word, ',');
    row->radix = DEFAULT_RADIX;
    row->segment_bytes = 0;
    row->algorithm = NULL;
    if (strcmp(word, "model") == 0)
        return can_be_modelled(row->coll);
    if (option != NULL)
        *option++ = '\0';
    row->algorithm = colls[row->coll].algorithms;
    while (row->algorithm->name != NULL && strcmp(word, row->algorithm->name) != 0)
        row->algorithm++;
    while (row->algorithm->name != NULL && option != NULL) {
        char *next = strchr(option, ',');
        if (next != NULL)
            *next++ = '\0';
        if (!parse_option(option, row))
            return false;
        option = next;
    }
    return row->algorithm->name != NULL;
}

static bool parse_row(const char *line, row_t *row)
{
    char words[COLUMNS][WORD_BYTES], more[2];
    if (sscanf(line, "%63s %63s %63s %63s %63s %1s", words[0], words[1], words[2], words[3],
               words[4], more) != COLUMNS)
        return false;
    return parse_coll(words[0], row) && parse_where(words[1], row) && weft_tuning_ranks(words[2], &row->range) &&
           weft_tuning_bytes(words[3], &row->range) && parse_algorithm(words[4], row);
}

bool weft_tuning_parse(weft_coll_t coll, const char *text, weft_choice_t *out)
{
    char word[WORD_BYTES];
    row_t row = {.coll = coll};
    if ((size_t)snprintf(word, sizeof(word), "%s", text) >= sizeof(word) ||
        !parse_algorithm(word, &row) || row.algorithm == NULL)
        return false;
    *out = (weft_choice_t){row.algorithm, row.radix, row.segment_bytes, 0, false, -1};
    return true;
}

static bool add_row(const row_t *row)
{
    if (row_count == row_room) {
        size_t room = row_room == 0 ? 64 : row_room * 2;
        row_t *bigger = weft_realloc(rows, room * sizeof(*rows));
        if (bigger == NULL)
            return false;
        rows = bigger;
        row_room = room;
    }
    rows[row_count++] = *row;
    return true;
}

/* Read a whole table; false at the first bad line. */
static bool parse_table(const char *text, const char *name)
{
    row_count = 0;
    weft_device_ways_begin_table();
    for (int number = 1; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        char line[256];
        row_t row;
        snprintf(line, sizeof(line), "%.*s", (int)length, text);
        line[strcspn(line, "#")] = '\0';
        row.line = number;
        if (line[strspn(line, " \t")] != '\0' && !weft_fabric_parse(line) &&
            !weft_device_way_parse(line, number) &&
            !(parse_row(line, &row) && add_row(&row))) {
            WEFT_LOG(WEFT_WARN, "coll",
                     "%s line %d is not a row of a tuning table: %s; using the built-in "
                     "table",
                     name, number, line);
            return false;
        }
        text += length + (text[length] == '\n');
    }
    return true;
}

/* The last row of each collective must fit every call. */
static bool is_complete(const char *name)
{
    for (int coll = 0; coll < WEFT_COLLS; coll++) {
        bool fits_all = false;
        for (size_t i = 0; i < row_count; i++) {
            const row_t *row = &rows[i];
            fits_all |= (int)row->coll == coll && row->where == ANYWHERE &&
                        weft_tuning_is_any(&row->range) && row->algorithm != NULL &&
                        row->algorithm->needs == 0;
        }
        if (!fits_all) {
            WEFT_LOG(WEFT_WARN, "coll",
                     "%s has no row that fits every %s; using the built-in table", name,
                     colls[coll].name);
            return false;
        }
    }
    return true;
}

/* The text of the user's table; NULL, with a warning, when it cannot be read. */
static char *read_own_table(void)
{
    char *text = NULL;
    if (weft_text_file_read("WEFT_COLL_TUNING", weft_config.COLL_TUNING, &text) != MPI_SUCCESS)
        WEFT_LOG(WEFT_WARN, "coll", "%s; using the built-in table", weft_fail_text());
    return text;
}

/* The rows of each collective, one after the other. */
static void link_rows(void)
{
    for (int coll = 0; coll < WEFT_COLLS; coll++)
        first_rows[coll] = row_count;
    for (size_t i = row_count; i-- > 0;) {
        rows[i].next = first_rows[rows[i].coll];
        first_rows[rows[i].coll] = i;
    }
}

/* Constants of the built-in table, and its rows for devices, stay in force where the user's table has none. */
static void read_tables(void)
{
    parse_table(weft_tuning_text, "tuning.conf");
    if (weft_config.COLL_TUNING[0] != '\0') {
        char *text = read_own_table();
        bool is_good = text != NULL && parse_table(text, weft_config.COLL_TUNING) &&
                       is_complete(weft_config.COLL_TUNING);
        weft_free(text);
        if (is_good)
            return;
        weft_fabrics_close();
        weft_device_ways_close();
        parse_table(weft_tuning_text, "tuning.conf");
    }
}

void weft_tuning_open(void)
{
    read_tables();
    link_rows();
}

void weft_tuning_close(void)
{
    weft_free(rows);
    rows = NULL;
    row_count = row_room = 0;
    weft_fabrics_close();
    weft_device_ways_close();
}

/* ---- choosing ---- */

static bool is_over(const row_t *row, const char *fabric)
{
    return row->fabric[0] == '\0' || (fabric != NULL && strcmp(fabric, row->fabric) == 0);
}

static bool holds(const row_t *row, const weft_tuning_query_t *query)
{
    if (row->where == ANYWHERE)
        return true;
    if (query->nodes > 1)
        return (row->where == ON_NODES || (row->where == ON_CROWDED_NODES && query->any_is_oversubscribed)) &&
               is_over(row, query->fabric);
    return row->where == (query->is_oversubscribed ? CORES_SHORT : CORES_ENOUGH);
}

static bool fits(const row_t *row, const weft_tuning_query_t *query)
{
    return holds(row, query) && weft_tuning_covers(&row->range, query->ranks, query->bytes) &&
           (row->algorithm == NULL || (row->algorithm->needs & ~query->has) == 0);
}

weft_choice_t weft_tuning_choose(const weft_tuning_query_t *query)
{
    for (size_t i = first_rows[query->coll]; i < row_count; i = rows[i].next) {
        const row_t *row = &rows[i];
        if (!fits(row, query))
            continue;
        weft_choice_t choice = {row->algorithm, row->radix, row->segment_bytes,
                                row->line,      false,      -1};
        if (row->algorithm == NULL) {
            choice = weft_tuning_model(query);
            choice.line = row->line;
        }
        return choice;
    }
    return (weft_choice_t){colls[query->coll].algorithms, DEFAULT_RADIX, 0, 0, false, -1};
}
