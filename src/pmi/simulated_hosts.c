/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WEFT_SIMULATE_HOSTS: the ranks of this machine as if they were on several hosts, so that they
 * share memory with those of their own host only. It is a number of hosts, each of which has a
 * block of ranks, or the host of each rank as in 0,0,1,2, from the beginning again when it ends.
 */
#include "pmi/bootstrap_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int *host_of, *local_ranks; /* [size] by rank; [local_size] */

static int refuse_hosts(const weft_pmi_job_t *job)
{
    return weft_fail(MPI_ERR_OTHER,
                     "WEFT_SIMULATE_HOSTS is %s; expected is a number of hosts from 1 to %d, the "
                     "number of ranks, or the host of each rank as in 0,0,1,2",
                     weft_config.SIMULATE_HOSTS, job->size);
}

static int read_simulated(const weft_pmi_job_t *job)
{
    const char *text = weft_config.SIMULATE_HOSTS, *at = text;
    char *end;
    long count = strtol(text, &end, 10);
    bool is_count = end != text && *end == '\0';
    if (is_count && (count < 1 || count > job->size))
        return refuse_hosts(job);
    for (int rank = 0; rank < job->size; rank++) {
        long host = is_count ? (long)rank * count / job->size : strtol(at, &end, 10);
        if ((!is_count && end == at) || host < 0 || host >= job->size)
            return refuse_hosts(job);
        host_of[rank] = (int)host;
        at = *end == ',' ? end + 1 : *end == '\0' ? text : end;
    }
    return MPI_SUCCESS;
}

static void gather_local(weft_pmi_job_t *job)
{
    int count = 0;
    for (int rank = 0; rank < job->size; rank++) {
        if (host_of[rank] != host_of[job->rank])
            continue;
        if (rank == job->rank)
            job->local_rank = count;
        local_ranks[count++] = rank;
    }
    job->local_ranks = local_ranks;
    job->local_size = count;
}

/* Names of files of one host must not be those of another: they go on from the job's with a dot. */
static void name_host(weft_pmi_job_t *job)
{
    char suffix[24];
    int host = host_of[job->rank];
    int length = snprintf(suffix, sizeof(suffix), ".h%d", host);
    size_t most = sizeof(job->id) - 1 - (size_t)length, used = strlen(job->id);
    memcpy(job->id + (used < most ? used : most), suffix, (size_t)length + 1);
    snprintf(job->machine, sizeof(job->machine), "%s", job->hostname);
    snprintf(job->hostname, sizeof(job->hostname), "sim%d", host);
}

bool weft_pmi_simulates(void)
{
    return host_of != NULL;
}

int weft_pmi_simulate_hosts(weft_pmi_job_t *job)
{
    if (weft_config.SIMULATE_HOSTS[0] == '\0')
        return MPI_SUCCESS;
    if (job->local_size < job->size)
        return weft_fail(MPI_ERR_OTHER,
                         "WEFT_SIMULATE_HOSTS is for ranks on one host, and these are on several");
    host_of = weft_alloc_array((size_t)job->size, sizeof(*host_of));
    local_ranks = weft_alloc_array((size_t)job->size, sizeof(*local_ranks));
    int err = host_of == NULL || local_ranks == NULL
                  ? weft_fail(MPI_ERR_NO_MEM, "the simulated hosts of %d ranks", job->size)
                  : read_simulated(job);
    if (err != MPI_SUCCESS) {
        weft_pmi_end_simulation();
        return err;
    }
    gather_local(job);
    name_host(job);
    job->is_crowded = job->size > sysconf(_SC_NPROCESSORS_ONLN);
    return MPI_SUCCESS;
}

int weft_pmi_simulated_nodes(int size, int *node_of)
{
    memcpy(node_of, host_of, (size_t)size * sizeof(*node_of));
    return MPI_SUCCESS;
}

void weft_pmi_end_simulation(void)
{
    weft_free(host_of);
    weft_free(local_ranks);
    host_of = local_ranks = NULL;
}
