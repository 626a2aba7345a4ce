/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/process_sets.h"

#include "pmi/pmi.h"
#include "object/comm.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SET_WORLD = 0, SET_SELF = 1, SETS_OF_STANDARD = 2 };

typedef struct process_set {
    char name[MPI_MAX_PSET_NAME_LEN];
    weft_pmi_pset_t members; /* of the launcher's only */
} process_set_t;

/* Found once: the program may number sets as long as the process lives. */
static struct {
    process_set_t at[SETS_OF_STANDARD + WEFT_PMI_PSETS];
    int count; /* 0: not looked for yet */
} sets = {.at = {{.name = "mpi://WORLD"}, {.name = "mpi://SELF"}}};

static void enter_set(const weft_pmi_pset_t *members)
{
    process_set_t *set = &sets.at[sets.count];
    bool is_uri = strstr(members->name, "://") != NULL;
    int length =
        snprintf(set->name, sizeof(set->name), "%s%s", is_uri ? "" : "pmix://", members->name);
    set->members = *members;
    if (length < (int)sizeof(set->name))
        sets.count++;
}

static void find_sets(void)
{
    weft_pmi_pset_t found[WEFT_PMI_PSETS];
    if (sets.count > 0)
        return;
    sets.count = SETS_OF_STANDARD;
    int count = weft_pmi_find_psets(found);
    for (int i = 0; i < count; i++)
        enter_set(&found[i]);
}

int weft_process_sets_count(void)
{
    find_sets();
    return sets.count;
}

const char *weft_process_set_name(int number)
{
    return sets.at[number].name;
}

static bool is_same_name(const char *one, const char *two)
{
    int slashes = 0;
    for (; *one != '\0' && *two != '\0'; one++, two++) {
        slashes += *one == '/';
        bool is_exact = slashes > 2; /* what follows scheme://authority/ */
        if (is_exact ? *one != *two : tolower((unsigned char)*one) != tolower((unsigned char)*two))
            return false;
    }
    return *one == *two;
}

/* The launcher is not asked for a set of the standard. */
int weft_process_set_find(const char *name)
{
    for (int i = 0; i < SETS_OF_STANDARD; i++) {
        if (is_same_name(name, sets.at[i].name))
            return i;
    }
    find_sets();
    for (int i = SETS_OF_STANDARD; i < sets.count; i++) {
        if (is_same_name(name, sets.at[i].name))
            return i;
    }
    return -1;
}

int weft_process_set_size(int number)
{
    if (number == SET_WORLD)
        return weft_world.size;
    return number == SET_SELF ? 1 : sets.at[number].members.size;
}

int weft_process_set_first(int number)
{
    if (number < SETS_OF_STANDARD)
        return number == SET_WORLD ? 0 : weft_world.rank;
    const weft_pmi_pset_t *members = &sets.at[number].members;
    int first = members->ranks[0];
    for (int i = 1; i < members->size; i++)
        first = members->ranks[i] < first ? members->ranks[i] : first;
    return first;
}

int weft_process_set_group(int number, weft_session_t *session, weft_group_t **out)
{
    int size = weft_process_set_size(number);
    weft_group_t origin = {.session = session};
    int *processes = NULL;
    if (number != SET_WORLD) {
        processes = weft_alloc_array((size_t)size, sizeof(int));
        if (processes == NULL)
            return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %d", size);
        for (int i = 0; i < size; i++)
            processes[i] = weft_process_find(WEFT_OWN_JOB, number == SET_SELF
                                                               ? weft_world.rank
                                                               : sets.at[number].members.ranks[i]);
    }
    return weft_group_derive(&origin, processes, size, out);
}
