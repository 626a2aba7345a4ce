/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/coll_pvars.h"

#include "coll/coll.h"
#include "coll/inter/inter.h"
#include "coll/neighbor/neighbor.h"
#include "coll/tuning.h"
#include "base/memory.h"

#include <stdio.h>

weft_coll_counts_t weft_coll_counts;

/* ---- calls by algorithm ---- */

enum { NAME_ROOM = 64, HELP_ROOM = 128 };

/* An algorithm of a collective, and the variable that is made of it. */
typedef struct calls {
    weft_coll_t coll;
    const weft_algorithm_t *algorithm;
    uint64_t count;
    char name[NAME_ROOM], help[HELP_ROOM];
} calls_t;

static calls_t *all_calls; /* [calls_count]; NULL: not made yet. They stay for good. */
static int calls_count;

static void describe_calls(calls_t *calls, weft_coll_t coll, const weft_algorithm_t *algorithm,
                           const char *kind)
{
    calls->coll = coll;
    calls->algorithm = algorithm;
    const char *coll_name = weft_coll_name(coll);
    if (weft_coll_is_neighbor(coll))
        snprintf(calls->name, sizeof(calls->name), "coll_%s", kind);
    else
        snprintf(calls->name, sizeof(calls->name), "coll_%s_%s", coll_name, kind);
    snprintf(calls->help, sizeof(calls->help), "Calls of %s with a plan of the algorithm %s",
             coll_name, kind);
}

/* Describe all algorithms in `out`, if that is not NULL; returns how many there are. */
static int list_calls(calls_t *out)
{
    int count = 0;
    for (weft_coll_t coll = WEFT_BARRIER; coll < WEFT_COLLS; coll++) {
        for (const weft_algorithm_t *a = weft_coll_algorithms(coll); a->name != NULL;
             a++, count++) {
            if (out != NULL)
                describe_calls(&out[count], coll, a, a->name);
        }
        const weft_algorithm_t *between = weft_inter_algorithm(coll);
        if (between != NULL && out != NULL)
            describe_calls(&out[count], coll, between, "inter");
        count += between != NULL;
    }
    for (weft_coll_t coll = WEFT_NEIGHBOR_ALLGATHER; coll < WEFT_COLL_FORMS; coll++) {
        for (int on_wall = 0; on_wall < 2; on_wall++, count++) {
            const weft_algorithm_t *among = weft_neighbor_algorithm(coll, on_wall != 0);
            if (out != NULL)
                describe_calls(&out[count], coll, among, among->name);
        }
    }
    return count;
}

int weft_coll_pvar_of(weft_coll_t coll, const weft_algorithm_t *algorithm)
{
    for (int i = 0; i < calls_count; i++) {
        if (all_calls[i].coll == coll && all_calls[i].algorithm == algorithm)
            return i;
    }
    return -1;
}

void weft_coll_count_call(const weft_plan_t *plan)
{
    int index = weft_coll_pvar_of(plan->coll, plan->algorithm);
    if (index >= 0)
        all_calls[index].count++;
}

/* ---- the table ---- */

static void read_plans_kept(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)pvar;
    out->count = (unsigned long long)weft_coll_plans_kept(object);
}

static const weft_pvar_t plan_pvars[] = {
    {.name = "coll_plans_written",
     .help = "Plans of collectives that were written, since none was kept for such a call",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .category = WEFT_CATEGORY_COLL,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &weft_coll_counts.plans_written},
    {.name = "comm_plans_kept",
     .help = "Plans of collectives that are kept with the communicator",
     .pvar_class = MPI_T_PVAR_CLASS_LEVEL,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .category = WEFT_CATEGORY_COMM,
     .type = MPI_UNSIGNED_LONG_LONG,
     .is_of_comm = true,
     .read = read_plans_kept},
};
enum { PLAN_PVARS = sizeof(plan_pvars) / sizeof(plan_pvars[0]) };

static void fill_row(weft_pvar_t *row, const calls_t *calls)
{
    *row = (weft_pvar_t){.name = calls->name,
                         .help = calls->help,
                         .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
                         .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
                         .category = WEFT_CATEGORY_COLL,
                         .type = MPI_UNSIGNED_LONG_LONG,
                         .read = weft_pvar_read_count,
                         .source = &calls->count,
                         .watched = &weft_coll_counts.watched};
}

const weft_pvar_table_t *weft_coll_pvars(void)
{
    static weft_pvar_table_t table;
    if (table.count > 0)
        return &table;
    int count = list_calls(NULL);
    calls_t *calls = weft_alloc_zeroed((size_t)count, sizeof(*calls));
    weft_pvar_t *rows = weft_alloc_array((size_t)count + PLAN_PVARS, sizeof(*rows));
    if (calls == NULL || rows == NULL) {
        weft_free(calls);
        weft_free(rows);
        return NULL;
    }
    list_calls(calls);
    for (int i = 0; i < count; i++)
        fill_row(&rows[i], &calls[i]);
    for (int i = 0; i < PLAN_PVARS; i++)
        rows[count + i] = plan_pvars[i];
    all_calls = calls;
    calls_count = count;
    table = (weft_pvar_table_t){rows, count + PLAN_PVARS};
    return &table;
}

/* ---- the event ---- */

static const weft_enum_t chosen_names = {
    "algorithm_chosen", 6, {"variable", "ranks", "nodes", "radix", "bytes", "segment_bytes"}};

static const weft_event_element_t chosen_elements[] = {
    WEFT_ELEMENT_OF(weft_algorithm_chosen_event_t, variable, MPI_INT),
    WEFT_ELEMENT_OF(weft_algorithm_chosen_event_t, ranks, MPI_INT),
    WEFT_ELEMENT_OF(weft_algorithm_chosen_event_t, nodes, MPI_INT),
    WEFT_ELEMENT_OF(weft_algorithm_chosen_event_t, radix, MPI_INT),
    WEFT_ELEMENT_OF(weft_algorithm_chosen_event_t, bytes, MPI_UNSIGNED_LONG_LONG),
    WEFT_ELEMENT_OF(weft_algorithm_chosen_event_t, segment_bytes, MPI_UNSIGNED_LONG_LONG),
};

weft_event_type_t weft_algorithm_chosen_event = {
    .name = "algorithm_chosen",
    .help = "An algorithm has been chosen for a collective of this communicator, and its plan "
            "written: the index of the "
            "performance variable that counts its calls (or -1), how many ranks and hosts there "
            "are, the "
            "bytes by which it was chosen, and its options",
    .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
    .category = WEFT_CATEGORY_COLL,
    .is_of_comm = true,
    .bytes = sizeof(weft_algorithm_chosen_event_t),
    .elements = chosen_elements,
    .names = &chosen_names,
};
