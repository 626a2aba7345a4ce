/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the report about GPUs. */
#ifndef WEFT_REPORT_REPORT_GPUS_H
#define WEFT_REPORT_REPORT_GPUS_H

#include "report/job_facts.h"
#include "report/report_text.h"

/** How many ranks work on a GPU that is known. */
int weft_gpus_known(const weft_job_facts_t *job);

/** Add which rank works on which GPU, how memory goes between them, and what costs speed; nothing
 *  where no rank has initialised CUDA. */
void weft_report_gpus(weft_report_text_t *text, const weft_job_facts_t *job);

#endif
