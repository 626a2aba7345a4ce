/* SPDX-License-Identifier: BSD-3-Clause */
/* The report at start-up: what the job runs on, and what costs it speed. */
#ifndef WEFT_MPI_AUDIT_H
#define WEFT_MPI_AUDIT_H

#include "core/facts.h"

/** Print the report on rank 0's stderr. Collective over MPI_COMM_WORLD, whose ranks all call it or
 *  none does; `own` is what the transports of this rank have filled in. Error classes. */
int weft_audit(const weft_facts_t *own);

/** In MPI_Finalize, alike: print which GPUs were used, if more is known of them than at the start. */
int weft_audit_end(void);

/** The facts that no transport knows: host, cores, GPU. */
void weft_audit_begin(weft_facts_t *out);

#endif
