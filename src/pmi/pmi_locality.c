/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks are on this host. No single source works under every launcher, so three are tried,
 * the cheapest first: the list of local peers, the server's resolver, and the host name of every
 * rank. Node numbers and the local ranks of others are not used: Open MPI's daemon and Slurm leave
 * them out.
 */
#include "pmi/pmi_private.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct peers {
    int *ranks; /* [size] room for all */
    int count;
} peers_t;

static int compare_ranks(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* "0,1,4,5" */
static void add_listed(const char *text, int size, peers_t *peers)
{
    while (*text != '\0' && peers->count < size) {
        char *end;
        long rank = strtol(text, &end, 10);
        if (end == text || rank < 0 || rank >= size)
            return;
        peers->ranks[peers->count++] = (int)rank;
        text = *end == ',' ? end + 1 : end;
    }
}

static void locality_from_peers(const pmix_proc_t *self, const weft_pmi_job_t *job, peers_t *peers)
{
    pmix_value_t *value = weft_pmi_fact(self, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS);
    if (value == NULL)
        return;
    if (value->type == PMIX_STRING && value->data.string != NULL)
        add_listed(value->data.string, job->size, peers);
    PMIX_VALUE_RELEASE(value);
}

static void locality_from_resolver(const pmix_proc_t *self, const weft_pmi_job_t *job,
                                   peers_t *peers)
{
    pmix_proc_t *found = NULL;
    size_t count = 0;
    if (PMIx_Resolve_peers(job->hostname, self->nspace, &found, &count) != PMIX_SUCCESS)
        return;
    for (size_t i = 0; i < count && peers->count < job->size; i++)
        peers->ranks[peers->count++] = (int)found[i].rank;
    PMIX_PROC_FREE(found, count);
}

static void locality_from_names(const pmix_proc_t *self, const weft_pmi_job_t *job, peers_t *peers)
{
    for (int rank = 0; rank < job->size; rank++) {
        pmix_value_t *value = weft_pmi_fact(self, (pmix_rank_t)rank, PMIX_HOSTNAME);
        bool is_here = rank == job->rank || (value != NULL && value->type == PMIX_STRING &&
                                             strcmp(value->data.string, job->hostname) == 0);
        if (is_here)
            peers->ranks[peers->count++] = rank;
        if (value != NULL)
            PMIX_VALUE_RELEASE(value);
    }
}

/* Sort the list; true when this rank is in it, and each of the job's ranks once at most and no
 * other. */
static bool is_sound(const weft_pmi_job_t *job, peers_t *peers)
{
    qsort(peers->ranks, (size_t)peers->count, sizeof(int), compare_ranks);
    bool has_self = false;
    for (int i = 0; i < peers->count; i++) {
        int rank = peers->ranks[i];
        if (rank < 0 || rank >= job->size || (i > 0 && rank == peers->ranks[i - 1]))
            return false;
        has_self = has_self || rank == job->rank;
    }
    return has_self;
}

/* The launcher's name for this host, with which the host names of other ranks are compared. */
static void find_hostname(const pmix_proc_t *self, weft_pmi_job_t *job)
{
    gethostname(job->hostname, sizeof(job->hostname) - 1);
    pmix_value_t *value = weft_pmi_fact(self, self->rank, PMIX_HOSTNAME);
    if (value == NULL)
        return;
    if (value->type == PMIX_STRING && value->data.string != NULL)
        strncpy(job->hostname, value->data.string, sizeof(job->hostname) - 1);
    PMIX_VALUE_RELEASE(value);
}

int weft_pmi_find_locality(const pmix_proc_t *self, weft_pmi_job_t *job)
{
    typedef void (*source_fn_t)(const pmix_proc_t *, const weft_pmi_job_t *, peers_t *);
    static const source_fn_t sources[] = {locality_from_peers, locality_from_resolver,
                                          locality_from_names};

    find_hostname(self, job);
    peers_t peers = {.ranks = weft_alloc_array((size_t)job->size, sizeof(int))};
    if (peers.ranks == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "a list of %d ranks", job->size);
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        peers.count = 0;
        sources[i](self, job, &peers);
        if (is_sound(job, &peers))
            break;
    }
    job->local_ranks = peers.ranks;
    job->local_size = peers.count;
    for (job->local_rank = 0; peers.ranks[job->local_rank] != job->rank;)
        job->local_rank++;
    return MPI_SUCCESS;
}
