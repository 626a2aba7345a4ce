/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/tuning.h"

#include "coll/neighbor/neighbor.h"
#include "coll/tuning_row.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

typedef struct table {
    weft_tuning_row_t *rows; /* [count] */
    size_t count, room;
} tuning_table_t;

static tuning_table_t hosts, devices;
static size_t first_rows[WEFT_COLLS]; /* indices into `hosts`; hosts.count: none */

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
    return weft_coll_is_neighbor(coll) ? weft_neighbor_algorithm(coll, false)->name
                                       : colls[coll].name;
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

bool weft_tuning_parse(weft_coll_t coll, const char *text, weft_choice_t *out)
{
    char word[WEFT_TUNING_WORD_BYTES];
    weft_tuning_row_t row = {.coll = coll};
    if ((size_t)snprintf(word, sizeof(word), "%s", text) >= sizeof(word) ||
        !wefti_tuning_algorithm_parse(word, &row) || row.algorithm == NULL)
        return false;
    *out = (weft_choice_t){row.algorithm, row.radix, row.segment_bytes, 0, false, -1};
    return true;
}

static bool add_row(tuning_table_t *table, const weft_tuning_row_t *row)
{
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 64 : table->room * 2;
        weft_tuning_row_t *bigger = weft_realloc(table->rows, room * sizeof(*table->rows));
        if (bigger == NULL)
            return false;
        table->rows = bigger;
        table->room = room;
    }
    table->rows[table->count++] = *row;
    return true;
}

/* The first row for devices in a table replaces all those of the earlier table. */
static bool take_row(const char *line, int number, bool *has_devices)
{
    weft_tuning_row_t row = {.line = number};
    if (!wefti_tuning_row_parse(line, &row))
        return false;
    if (row.where != WEFT_TUNE_DEVICE)
        return add_row(&hosts, &row);
    if (!*has_devices)
        devices.count = 0;
    *has_devices = true;
    return add_row(&devices, &row);
}

/* Reads a whole table; returns false at the first bad line. */
static bool parse_table(const char *text, const char *name)
{
    bool has_devices = false;
    hosts.count = 0;
    for (int number = 1; *text != '\0'; number++) {
        size_t length = strcspn(text, "\n");
        char line[256];
        snprintf(line, sizeof(line), "%.*s", (int)length, text);
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t")] != '\0' && !weft_fabric_parse(line) &&
            !take_row(line, number, &has_devices)) {
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
        for (size_t i = 0; i < hosts.count; i++) {
            const weft_tuning_row_t *row = &hosts.rows[i];
            fits_all |= (int)row->coll == coll && row->where == WEFT_TUNE_ANY &&
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

/* The text of the user's table; NULL, with a warning, if it cannot be read. */
static char *read_own_table(void)
{
    char *text = NULL;
    if (weft_text_file_read("WEFT_COLL_TUNING", weft_config.COLL_TUNING, &text) != MPI_SUCCESS)
        WEFT_LOG(WEFT_WARN, "coll", "%s; using the built-in table", weft_fail_text());
    return text;
}

/* Links the rows of each collective in their order. */
static void link_rows(void)
{
    for (int coll = 0; coll < WEFT_COLLS; coll++)
        first_rows[coll] = hosts.count;
    for (size_t i = hosts.count; i-- > 0;) {
        hosts.rows[i].next = first_rows[hosts.rows[i].coll];
        first_rows[hosts.rows[i].coll] = i;
    }
}

static bool is_own_table; /* the user's */

const char *weft_tuning_table(void)
{
    return is_own_table ? weft_config.COLL_TUNING : "the built-in tuning.conf";
}

/* Constants of the built-in table, and its rows for devices, stay valid where the user's table has
 * none. */
static void read_tables(void)
{
    is_own_table = false;
    parse_table(weft_tuning_text, "tuning.conf");
    if (weft_config.COLL_TUNING[0] != '\0') {
        char *text = read_own_table();
        is_own_table = text != NULL && parse_table(text, weft_config.COLL_TUNING) &&
                       is_complete(weft_config.COLL_TUNING);
        weft_free(text);
        if (is_own_table)
            return;
        weft_fabrics_close();
        parse_table(weft_tuning_text, "tuning.conf");
    }
}

void weft_tuning_open(void)
{
    read_tables();
    link_rows();
}

static void close_table(tuning_table_t *table)
{
    weft_free(table->rows);
    *table = (tuning_table_t){.rows = NULL};
}

void weft_tuning_close(void)
{
    close_table(&hosts);
    close_table(&devices);
    weft_fabrics_close();
}

/* ---- choosing ---- */

static bool is_over_fabric(const weft_tuning_row_t *row, const char *fabric)
{
    return row->fabric[0] == '\0' || (fabric != NULL && strcmp(fabric, row->fabric) == 0);
}

static bool holds(const weft_tuning_row_t *row, const weft_tuning_query_t *query)
{
    if (row->where == WEFT_TUNE_ANY)
        return true;
    if (query->nodes > 1)
        return (row->where == WEFT_TUNE_NODES ||
                (row->where == WEFT_TUNE_CROWDED_NODES && query->any_is_oversubscribed)) &&
               is_over_fabric(row, query->fabric);
    return row->where == (query->is_oversubscribed ? WEFT_TUNE_SHORT : WEFT_TUNE_ENOUGH);
}

static bool fits(const weft_tuning_row_t *row, const weft_tuning_query_t *query)
{
    return holds(row, query) && weft_tuning_covers(&row->range, query->ranks, query->bytes) &&
           (row->algorithm == NULL || weft_algorithm_fits(row->algorithm, query));
}

/* The last row fits every call, unless that must be a fold. */
static weft_choice_t choose_first(const weft_tuning_query_t *query)
{
    const weft_algorithm_t *its = colls[query->coll].algorithms;
    while (its[1].name != NULL && !weft_algorithm_fits(its, query))
        its++;
    return (weft_choice_t){its, WEFT_TUNING_RADIX, 0, 0, false, -1};
}

weft_choice_t weft_tuning_choose(const weft_tuning_query_t *query)
{
    for (size_t i = first_rows[query->coll]; i < hosts.count; i = hosts.rows[i].next) {
        const weft_tuning_row_t *row = &hosts.rows[i];
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
    return choose_first(query);
}

weft_method_choice_t weft_tuning_choose_method(weft_coll_t coll, int ranks, size_t bytes,
                                               unsigned possible)
{
    for (size_t i = 0; i < devices.count; i++) {
        const weft_tuning_row_t *row = &devices.rows[i];
        if ((row->coll == coll || row->coll == WEFT_COLLS) && row->method >= 0 &&
            (possible & 1u << row->method) != 0 && weft_tuning_covers(&row->range, ranks, bytes))
            return (weft_method_choice_t){row->method, row->line};
    }
    return (weft_method_choice_t){-1, 0};
}
