/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes that have failed, in the order in which this process has learnt of them. The list
 * only grows: what a program has acknowledged (MPIX_Comm_failure_ack) is a length of it. It stays
 * empty without WEFT_RECOVERY.
 */
#ifndef WEFT_RUNTIME_FAILURES_H
#define WEFT_RUNTIME_FAILURES_H

#include "runtime/process.h"

#include <stdbool.h>

typedef struct weft_failure {
    int process;
    char why[380]; /* a sentence that names the rank */
} weft_failure_t;

typedef struct weft_failures {
    weft_failure_t *at; /* [count] */
    int count, capacity;
} weft_failures_t;

extern weft_failures_t weft_failures;

/** Note that a process has failed; false: it was noted before. Without memory the job ends. */
bool weft_failures_add(int process, const char *why);

static inline bool weft_has_failed(int process)
{
    return weft_processes.at[process].has_failed;
}

/** Why a process that has failed is taken for failed. */
const char *weft_failure_text(int process);

void weft_failures_close(void);

#endif
