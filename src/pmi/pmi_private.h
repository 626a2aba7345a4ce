/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that speak PMIx. */
#ifndef WEFT_PMI_PMI_PRIVATE_H
#define WEFT_PMI_PMI_PRIVATE_H

#include "pmi/pmi.h"

#include <pmix.h>

/** Fill hostname, local_rank, local_size and local_ranks (to be freed by the caller) of a job whose
 *  rank and size are known; `self` is the process as PMIx names it. */
int weft_pmi_find_locality(const pmix_proc_t *self, weft_pmi_job_t *job);

/** As weft_pmi_find_nodes, for a job of `size` ranks. */
int weft_pmi_find_hosts(const pmix_proc_t *self, int size, int *node_of);

/** As weft_pmi_await. */
int weft_pmi_await_blob(const pmix_proc_t *whose, const char *key, int limit_s, void **out,
                        size_t *bytes_out);

/** As weft_pmi_find_psets, for a job of `size` ranks. */
int weft_pmi_find_psets_of(const pmix_proc_t *self, int size, weft_pmi_pset_t sets[]);

/** Give MPI_ERR_OTHER for a status of PMIx: "what: text of the status". */
int weft_pmi_failed(pmix_status_t status, const char *what);

/** A value of `rank` (or PMIX_RANK_WILDCARD: of the job) that the server sent along at the start;
 * NULL when it did not. Never asks the server. To be given to PMIX_VALUE_RELEASE. */
pmix_value_t *weft_pmi_fact(const pmix_proc_t *self, pmix_rank_t rank, const char *key);

#endif
