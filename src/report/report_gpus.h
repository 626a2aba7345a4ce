/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the report about GPUs. */
#ifndef WEFT_REPORT_REPORT_GPUS_H
#define WEFT_REPORT_REPORT_GPUS_H

#include "runtime/rank_report.h"

#include <stdbool.h>

/** The facts of all ranks of the job, by rank. */
typedef struct weft_job_facts {
    const weft_rank_report_t *of;
    int ranks;
} weft_job_facts_t;

/** How many ranks work on a GPU that is known. */
int weft_gpus_known(const weft_job_facts_t *job);

/** Print which rank works on which GPU, how memory goes between them, and what costs
 *  speed; on stderr. Prints nothing where no rank has initialised CUDA. */
void weft_report_gpus(const weft_job_facts_t *job);

#endif
