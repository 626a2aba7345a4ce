/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/job_facts.h"

#include <string.h>

bool weft_job_same_host(const weft_job_facts_t *job, int a, int b)
{
    return strcmp(job->of[a].host, job->of[b].host) == 0;
}

bool weft_job_speaks_for_host(const weft_job_facts_t *job, int rank)
{
    for (int i = 0; i < rank; i++) {
        if (weft_job_same_host(job, i, rank))
            return false;
    }
    return true;
}

int weft_job_hosts(const weft_job_facts_t *job)
{
    int hosts = 0;
    for (int rank = 0; rank < job->ranks; rank++)
        hosts += weft_job_speaks_for_host(job, rank);
    return hosts;
}

int weft_job_host_ranks(const weft_job_facts_t *job, int rank)
{
    int ranks = 0;
    for (int i = 0; i < job->ranks; i++)
        ranks += weft_job_same_host(job, i, rank);
    return ranks;
}

int weft_job_host_cores(const weft_job_facts_t *job, int rank)
{
    weft_cpus_t cpus = {{0}};
    for (int i = 0; i < job->ranks; i++) {
        if (weft_job_same_host(job, i, rank))
            weft_cpus_add(&cpus, &job->of[i].cpus);
    }
    return weft_cpus_count(&cpus);
}

bool weft_job_knows_gpu(const weft_job_facts_t *job, int rank)
{
    return job->of[rank].gpu.state == WEFT_GPU_KNOWN;
}

bool weft_job_share_gpu(const weft_job_facts_t *job, int a, int b)
{
    const weft_gpu_report_t *one = &job->of[a].gpu, *other = &job->of[b].gpu;
    return weft_job_knows_gpu(job, a) && weft_job_knows_gpu(job, b) &&
           weft_job_same_host(job, a, b) && memcmp(one->uuid, other->uuid, sizeof(one->uuid)) == 0;
}

bool weft_job_shares_by_mps(const weft_job_facts_t *job, int rank)
{
    uint64_t mps = job->of[rank].gpu.mps;
    for (int i = 0; i < job->ranks; i++) {
        if (weft_job_share_gpu(job, i, rank) && job->of[i].gpu.mps != mps)
            return false;
    }
    return mps != 0;
}

bool weft_job_is_first_with_gpu(const weft_job_facts_t *job, int rank,
                                weft_job_relation_t *are_related)
{
    for (int i = 0; i < rank; i++) {
        if (are_related(job, i, rank))
            return false;
    }
    return weft_job_knows_gpu(job, rank);
}

static bool has_warning(const weft_rank_report_t *report, int count, const char *warning)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(report->warnings[i], warning) == 0)
            return true;
    }
    return false;
}

bool weft_job_host_is_warned(const weft_job_facts_t *job, int rank, const char *warning)
{
    for (int i = 0; i < job->ranks; i++) {
        if (weft_job_same_host(job, i, rank) &&
            has_warning(&job->of[i], job->of[i].warning_count, warning))
            return true;
    }
    return false;
}

static bool was_before(const weft_job_facts_t *job, weft_job_warning_t at, const char *warning)
{
    for (int i = 0; i < at.rank; i++) {
        if (has_warning(&job->of[i], job->of[i].warning_count, warning))
            return true;
    }
    return has_warning(&job->of[at.rank], at.index, warning);
}

const char *weft_job_next_warning(const weft_job_facts_t *job, weft_job_warning_t *at)
{
    for (; at->rank < job->ranks; at->rank++, at->index = 0) {
        while (at->index < job->of[at->rank].warning_count) {
            const char *warning = job->of[at->rank].warnings[at->index];
            bool is_new = !was_before(job, *at, warning);
            at->index++;
            if (is_new)
                return warning;
        }
    }
    return NULL;
}
