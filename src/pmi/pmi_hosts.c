/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which host every rank is on. This is asked for when first needed, since a job of one host never
 * needs it. The cheap way costs a question for each host (its list of ranks), the other way a
 * question for each rank (its host name). Both work under every launcher that was tried; node
 * numbers do not.
 */
#include "pmi/pmi_private.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = -1 };

static char *text_of(const pmix_proc_t *self, pmix_rank_t rank, const char *key)
{
    pmix_value_t *value = weft_pmi_fact(self, rank, key);
    if (value == NULL)
        return NULL;
    bool is_text = value->type == PMIX_STRING && value->data.string != NULL;
    char *text = is_text ? weft_strdup(value->data.string) : NULL;
    PMIX_VALUE_RELEASE(value);
    return text;
}

/* Mark the ranks of one host and return how many they are. */
static int mark_ranks_on(const pmix_proc_t *self, const char *host, int size, int mark, int *marks)
{
    pmix_proc_t *found = NULL;
    size_t count = 0;
    int marked = 0;
    if (PMIx_Resolve_peers(host, self->nspace, &found, &count) != PMIX_SUCCESS)
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (found[i].rank < (pmix_rank_t)size && marks[found[i].rank] == UNKNOWN) {
            marks[found[i].rank] = mark;
            marked++;
        }
    }
    PMIX_PROC_FREE(found, count);
    return marked;
}

/* Mark the ranks by the list of hosts; true when every rank was found. */
static bool from_node_list(const pmix_proc_t *self, int size, int *marks)
{
    char *list = text_of(self, PMIX_RANK_WILDCARD, PMIX_NODE_LIST), *rest = list, *host;
    int marked = 0, mark = 0;
    for (char *next = list; next != NULL && (host = strtok_r(next, ",", &rest)) != NULL;
         next = rest) {
        int here = mark_ranks_on(self, host, size, mark, marks);
        mark += here > 0;
        marked += here;
    }
    weft_free(list);
    return marked == size;
}

typedef struct place {
    char *host;
    int rank;
} pmi_place_t;

static int compare_places(const void *a, const void *b)
{
    const pmi_place_t *x = a, *y = b;
    int order = strcmp(x->host, y->host);
    return order != 0 ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static bool hosts_from_names(const pmix_proc_t *self, int size, int *marks)
{
    pmi_place_t *places = weft_alloc_zeroed((size_t)size, sizeof(*places));
    bool is_known = places != NULL;
    for (int rank = 0; is_known && rank < size; rank++) {
        places[rank] = (pmi_place_t){text_of(self, (pmix_rank_t)rank, PMIX_HOSTNAME), rank};
        is_known = places[rank].host != NULL;
    }
    if (is_known)
        qsort(places, (size_t)size, sizeof(*places), compare_places);
    for (int i = 0, mark = 0; is_known && i < size; i++) {
        mark += i > 0 && strcmp(places[i].host, places[i - 1].host) != 0;
        marks[places[i].rank] = mark;
    }
    for (int i = 0; places != NULL && i < size; i++)
        weft_free(places[i].host);
    weft_free(places);
    return is_known;
}

static void forget_hosts(int size, int *marks)
{
    for (int rank = 0; rank < size; rank++)
        marks[rank] = UNKNOWN;
}

int weft_pmi_find_hosts(const pmix_proc_t *self, int size, int *node_of)
{
    forget_hosts(size, node_of);
    if (!from_node_list(self, size, node_of)) {
        forget_hosts(size, node_of);
        if (!hosts_from_names(self, size, node_of))
            return weft_fail(MPI_ERR_OTHER,
                             "the launcher does not tell which host each of the %d ranks is on",
                             size);
    }
    return MPI_SUCCESS;
}
