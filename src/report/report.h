/* SPDX-License-Identifier: BSD-3-Clause */
/* The report at start-up: what the job runs on, and what costs it speed. */
#ifndef WEFT_REPORT_REPORT_H
#define WEFT_REPORT_REPORT_H

#include "runtime/rank_report.h"

/** Print the report on rank 0's stderr. Collective over MPI_COMM_WORLD, whose ranks all call it or
 *  none does; the transports of this rank have filled in `own`. Returns an error class. */
int weft_report(const weft_rank_report_t *own);

/** As weft_report, in MPI_Finalize: print the GPUs in use, if more are known than at the start. */
int weft_report_end(void);

/** The facts that no transport knows: host, cores, GPU. */
void weft_report_begin(weft_rank_report_t *out);

#endif
