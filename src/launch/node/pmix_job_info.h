/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a job can learn from PMIx about themselves and the others. */
#ifndef WEFT_LAUNCH_NODE_PMIX_JOB_INFO_H
#define WEFT_LAUNCH_NODE_PMIX_JOB_INFO_H

#include "launch/plan/job_plan.h"

#include <pmix.h>
#include <stddef.h>

/** A list of infos under construction; PMIx allocates its memory. */
typedef struct wl_pmix_infos {
    pmix_info_t *infos;
    size_t count, capacity;
} wl_pmix_infos_t;

/** Room for `capacity` infos. MPI_ERR_NO_MEM. */
int wl_pmix_infos_open(size_t capacity, wl_pmix_infos_t *out);

void wl_pmix_infos_add_text(wl_pmix_infos_t *infos, const char *key, const char *value);
void wl_pmix_infos_add_rank(wl_pmix_infos_t *infos, const char *key, pmix_rank_t value);
void wl_pmix_infos_add_bool(wl_pmix_infos_t *infos, const char *key, bool value);

/**
 * Make the infos about the job for the ranks on the host with that index.
 * directory  the job's scratch directory on this host
 * returns    MPI_SUCCESS; MPI_ERR_NO_MEM; MPI_ERR_SERVICE
 */
int wl_pmix_infos_of_job(const wl_job_plan_t *plan, int host, const char *directory,
                         wl_pmix_infos_t *out);

void wl_pmix_infos_release(wl_pmix_infos_t *infos);

#endif
