/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copying a large message from both ends: the receiver reads chunks of the sender's memory from
 * the front (process_vm_readv) while the sender, if it happens to be in MPI, writes chunks from the
 * back (process_vm_writev).
 *
 *   message  | 0 | 1 | 2 | ... | 7 |        claims: number of the job | front | end
 *     receiver takes ->       <- sender takes      front == end: nothing is left to take
 *
 * Each side claims a chunk in one word, so neither waits for the other except for a chunk that is
 * being copied; a sender that is not in MPI costs nothing. The job's number in the word keeps a
 * late sender out of the next job.
 */
#ifndef WEFT_SHM_SHARED_COPY_H
#define WEFT_SHM_SHARED_COPY_H

#include "base/copy.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** In shared memory, one for each direction of each pair: what the receiver offers to the sender.
 */
typedef struct weft_copy_job {
    _Alignas(64) atomic_ullong claims; /* number:32 | end:16 | front:16 */
    uint64_t from, to;                 /* addresses in the sender's and in the receiver's memory */
    uint64_t bytes, chunk_bytes;
    _Alignas(64) atomic_uint helped; /* chunks that the sender has copied */
    atomic_uint has_failed;          /* the sender may not write to us */
} weft_copy_job_t;

/** Copy `bytes` bytes at address `from` of process `pid` to `to`; with job != NULL its owner may
 * help. False: not allowed; errno says why. Called by the receiver. */
bool weft_shared_copy_read(weft_copy_job_t *job, pid_t pid, uint64_t from, void *to, size_t bytes);

/** Where the destination lies within its page, seen from the place of the source in its own: the
 * kernel copies by `rep movsb`, and base/copy.h says what that means. */
typedef enum weft_copy_place {
    WEFT_APART,
    WEFT_BEHIND, /* WEFT_COPY_BEHIND bytes further on, at most */
    WEFT_COPY_PLACES
} weft_copy_place_t;

static inline weft_copy_place_t weft_copy_place(uint64_t from, const void *to)
{
    size_t distance = weft_copy_distance(to, (const void *)(uintptr_t)from);
    return distance < WEFT_COPY_BEHIND ? WEFT_BEHIND : WEFT_APART;
}

/** Copy a chunk, if the receiver `pid` has offered one. Called by the sender, when it polls. */
bool weft_shared_copy_help(weft_copy_job_t *job, pid_t pid);

#endif
