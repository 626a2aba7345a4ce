/* SPDX-License-Identifier: BSD-3-Clause */
/* What all ranks know, gathered at one of them, and questions about it. The first rank of each host
 * speaks for the host. */
#ifndef WEFT_REPORT_JOB_FACTS_H
#define WEFT_REPORT_JOB_FACTS_H

#include "runtime/rank_report.h"

#include <stdbool.h>

/** The facts of all ranks, by rank. */
typedef struct weft_job_facts {
    weft_rank_report_t *of;
    int ranks;
} weft_job_facts_t;

/** How many hosts there are. */
int weft_job_hosts(const weft_job_facts_t *job);

bool weft_job_speaks_for_host(const weft_job_facts_t *job, int rank);
bool weft_job_same_host(const weft_job_facts_t *job, int a, int b);

/** Whether two ranks belong together in some way. */
typedef bool weft_job_relation_t(const weft_job_facts_t *job, int a, int b);

/** Whether the GPU of a rank is known, and whether that of two ranks is, and the same. */
bool weft_job_knows_gpu(const weft_job_facts_t *job, int rank);
bool weft_job_share_gpu(const weft_job_facts_t *job, int a, int b);

/** Whether kernels of all ranks that share the GPU of a rank may run at the same time, as clients
 *  of one MPS. */
bool weft_job_shares_by_mps(const weft_job_facts_t *job, int rank);

/** Whether the GPU of a rank is known, and the rank is the first of those that it is related to. */
bool weft_job_is_first_with_gpu(const weft_job_facts_t *job, int rank,
                                weft_job_relation_t *are_related);

/** How many ranks are on the host of `rank`, and how many processors they have together. */
int weft_job_host_ranks(const weft_job_facts_t *job, int rank);
int weft_job_host_cores(const weft_job_facts_t *job, int rank);

/** Whether a rank on the host of `rank` has this warning. */
bool weft_job_host_is_warned(const weft_job_facts_t *job, int rank, const char *warning);

typedef struct weft_job_warning {
    int rank, index;
} weft_job_warning_t;

/** Each different warning once; NULL: there are no more. `at` is {0} at first. */
const char *weft_job_next_warning(const weft_job_facts_t *job, weft_job_warning_t *at);

#endif
