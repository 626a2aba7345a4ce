/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: what the job runs on, and what costs it speed. */
#ifndef WEFT_REPORT_REPORT_H
#define WEFT_REPORT_REPORT_H

#include "report/report_text.h"
#include "object/comm.h"
#include "runtime/rank_report.h"

typedef enum weft_report_form { WEFT_REPORT_TEXT, WEFT_REPORT_JSON } weft_report_form_t;

/** Print the report on rank 0's stderr. Collective over MPI_COMM_WORLD, whose ranks all call it or
 *  none does; the transports of this rank have filled in `own`. Returns an error class. */
int weft_report(const weft_rank_report_t *own);

/** As weft_report, in MPI_Finalize: print the GPUs in use, if more are known than at the start. */
int weft_report_end(void);

/** The report of the ranks of an intracommunicator, as a text that all of them get; collective.
 *  The caller clears `out`. Returns an error class. */
int weft_report_write(weft_comm_t *comm, const weft_rank_report_t *own, weft_report_form_t form,
                      weft_report_text_t *out);

/** The facts that no transport knows: host, cores, GPU. */
void weft_report_begin(weft_rank_report_t *out);

#endif
