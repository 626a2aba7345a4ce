/* SPDX-License-Identifier: BSD-3-Clause */
/* Process sets that the launcher has defined. Most launchers know none, or do not answer. */
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"
#include "pmi/pmi_private.h"

#include <stdlib.h>
#include <string.h>

/* The answer to one question; NULL: there is none. To be given to PMIX_INFO_FREE. */
static pmix_info_t *ask_launcher(const char *key, const char *set, size_t *count)
{
    char *keys[] = {(char *)key, NULL};
    pmix_info_t qualifier, *infos = NULL;
    pmix_query_t query = {.keys = keys};
    if (set != NULL) {
        PMIX_INFO_LOAD(&qualifier, PMIX_PSET_NAME, set, PMIX_STRING);
        query.qualifiers = &qualifier;
        query.nqual = 1;
    }
    *count = 0;
    pmix_status_t status = PMIx_Query_info(&query, 1, &infos, count);
    if (set != NULL)
        PMIX_INFO_DESTRUCT(&qualifier);
    return status == PMIX_SUCCESS ? infos : NULL;
}

static const pmix_value_t *find_answer(const pmix_info_t *infos, size_t count, const char *key)
{
    for (size_t i = 0; infos != NULL && i < count; i++) {
        if (strncmp(infos[i].key, key, PMIX_MAX_KEYLEN) == 0)
            return &infos[i].value;
    }
    return NULL;
}

static int compare_ranks(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* false: a member is of another job, this process is no member, or there is no memory. */
static bool take_members(const pmix_proc_t *self, const pmix_data_array_t *array, int size,
                         weft_pmi_pset_t *out)
{
    const pmix_proc_t *members = array->array;
    bool has_self = false, are_ours = true;
    out->ranks = weft_alloc_array(array->size, sizeof(int));
    for (size_t i = 0; out->ranks != NULL && i < array->size; i++) {
        are_ours = are_ours && strcmp(members[i].nspace, self->nspace) == 0 &&
                   members[i].rank < (pmix_rank_t)size;
        has_self = has_self || members[i].rank == self->rank;
        out->ranks[i] = (int)members[i].rank;
    }
    if (out->ranks == NULL || !has_self || !are_ours)
        return false;
    out->size = (int)array->size;
    qsort(out->ranks, array->size, sizeof(int), compare_ranks);
    return true;
}

static bool read_set(const pmix_proc_t *self, const char *name, int size, weft_pmi_pset_t *out)
{
    size_t count;
    *out = (weft_pmi_pset_t){.name = weft_strdup(name)};
    pmix_info_t *infos = ask_launcher(PMIX_QUERY_PSET_MEMBERSHIP, name, &count);
    const pmix_value_t *value = find_answer(infos, count, PMIX_QUERY_PSET_MEMBERSHIP);
    bool is_good = out->name != NULL && value != NULL && value->type == PMIX_DATA_ARRAY &&
                   value->data.darray != NULL && value->data.darray->type == PMIX_PROC &&
                   take_members(self, value->data.darray, size, out);
    if (infos != NULL)
        PMIX_INFO_FREE(infos, count);
    if (!is_good) {
        weft_free(out->name);
        weft_free(out->ranks);
    }
    return is_good;
}

/* "one,two": at most so many as there is room for. */
static int read_sets(const pmix_proc_t *self, char *names, int size, weft_pmi_pset_t sets[])
{
    int count = 0;
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        if (count < WEFT_PMI_PSETS && read_set(self, name, size, &sets[count]))
            count++;
    }
    return count;
}

int weft_pmi_find_psets_of(const pmix_proc_t *self, int size, weft_pmi_pset_t sets[])
{
    size_t infos_count;
    int count = 0;
    pmix_info_t *infos = ask_launcher(PMIX_QUERY_PSET_NAMES, NULL, &infos_count);
    const pmix_value_t *value = find_answer(infos, infos_count, PMIX_QUERY_PSET_NAMES);
    if (value != NULL && value->type == PMIX_STRING && value->data.string != NULL)
        count = read_sets(self, value->data.string, size, sets);
    if (infos != NULL)
        PMIX_INFO_FREE(infos, infos_count);
    return count;
}
