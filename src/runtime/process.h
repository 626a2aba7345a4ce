/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes that this one can talk to.
 *
 * A process is named by its index in a table that grows and shrinks: groups hold indices, matching
 * compares them, transports keep their peers by them. The index is local to this process. A number
 * that all processes of a job understand (in a packet, on a business card) is the rank in the world
 * of the job; weft_process_find() makes an index of it. At start-up the table has the processes of
 * the own job, and index and rank are the same number there.
 *
 * An entry of zeros stands for a process of the own job whose rank is its index, on node 0, never
 * reached: so the pages of a large table are not touched before they are needed.
 */
#ifndef WEFT_RUNTIME_PROCESS_H
#define WEFT_RUNTIME_PROCESS_H

#include "runtime/transport.h"
#include "base/own_symbol.h"

#include <stdbool.h>
#include <stdint.h>

enum { WEFT_OWN_JOB = 0, WEFT_NO_PROCESS = -1 };

typedef struct weft_process {
    weft_endpoint_t *endpoint; /* NULL: not reached yet */
    int32_t node;              /* number of its host (runtime/nodes.h) */
    int32_t job;               /* WEFT_OWN_JOB, or the number of another; below 0: no process */
    int32_t rank_offset;       /* its rank in the world of its job, less its index */
    uint32_t generation;       /* how many processes had this entry before */
    bool has_failed;           /* it is in the list of runtime/failures.h */
    bool has_left;             /* it has called MPI_Finalize, and ended (src/ft) */
} weft_process_t;

_Static_assert(sizeof(weft_process_t) <= 64, "what a peer costs before the first contact");

typedef struct weft_processes {
    weft_process_t *at; /* [count] */
    int count;          /* entries, free ones among them */
    int self;           /* the index of this process */
    int capacity, free_count;
} weft_processes_t;

extern WEFT_OWN_SYMBOL weft_processes_t weft_processes;

/** Make the table, with the `size` processes of the own job, of which this one has index `self`.
 *  MPI_ERR_NO_MEM with a text. */
int weft_processes_open(int size, int self);
void weft_processes_close(void);

/** Enter a process of another job, in a free entry, with the entry's next generation, or in a new
 *  one. Entries may move. MPI_ERR_NO_MEM with a text. */
int weft_process_add(int job, int rank, int *out);

/** Free an entry, whose endpoint must be NULL; the table shrinks when the last entries are free. */
void weft_process_remove(int process);

/** The index of a process; WEFT_NO_PROCESS when it is not in the table. O(1) for the own job. */
int weft_process_find(int job, int rank);

static inline bool weft_process_is_used(int process)
{
    return process >= 0 && process < weft_processes.count && weft_processes.at[process].job >= 0;
}

/** Its rank in the world of its job: for messages to the user and for packets. */
static inline int weft_process_rank(int process)
{
    return process + weft_processes.at[process].rank_offset;
}

/** Its endpoint, if it has been reached; else NULL. */
static inline weft_endpoint_t *weft_process_reached(int process)
{
    return weft_processes.at[process].endpoint;
}

#endif
