/* SPDX-License-Identifier: BSD-3-Clause */
/* The report at start-up: what the job runs on, and what costs it speed. */
#ifndef WEFT_REPORT_REPORT_H
#define WEFT_REPORT_REPORT_H

#include "runtime/rank_report.h"

/** Print the report on rank 0's stderr. Collective over MPI_COMM_WORLD, whose ranks all call it or
 *  none does; `own` is what the transports of this rank have filled in. Error classes. */
int weft_report(const weft_rank_report_t *own);

/** In MPI_Finalize, alike: print which GPUs were used, if more is known of them than at the start. */
int weft_report_end(void);

/** The facts that no transport knows: host, cores, GPU. */
void weft_report_begin(weft_rank_report_t *out);

#endif
