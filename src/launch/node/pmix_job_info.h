/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a job can learn from PMIx about themselves and the others. */
#ifndef WEFT_LAUNCH_NODE_PMIX_JOB_INFO_H
#define WEFT_LAUNCH_NODE_PMIX_JOB_INFO_H

#include "launch/plan/job_plan.h"

#include <pmix.h>
#include <stddef.h>

/** A list of facts under construction; the memory is PMIx's. */
typedef struct weft_rank_report {
    pmix_info_t *infos;
    size_t count, capacity;
} weft_rank_report_t;

/** Room for `capacity` facts. MPI_ERR_NO_MEM. */
int weft_facts_open(size_t capacity, weft_rank_report_t *out);

void weft_facts_add_text(weft_rank_report_t *facts, const char *key, const char *value);
void weft_facts_add_rank(weft_rank_report_t *facts, const char *key, pmix_rank_t value);
void weft_facts_add_bool(weft_rank_report_t *facts, const char *key, bool value);

/**
 * All that the ranks on the host with that index are told of the job.
 * directory  the job's on this host
 * returns    MPI_SUCCESS; MPI_ERR_NO_MEM; MPI_ERR_SERVICE
 */
int weft_facts_of_job(const weft_job_plan_t *plan, int host, const char *directory,
                      weft_rank_report_t *out);

void weft_facts_release(weft_rank_report_t *facts);

#endif
