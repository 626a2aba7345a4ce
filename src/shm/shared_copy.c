/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shm/shared_copy.h"

#include "base/copy.h"
#include "base/cpu.h"
#include "base/futex.h"

#include <sched.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    CHUNK_MIN = 32 * 1024, /* a call costs 1.4 us, as much as copying 16 KiB */
    CHUNK_MAX = 128 * 1024,
    CHUNKS_MAX = 0xffff,
    PAGE = 4096,
    POLLS_PER_YIELD = 1000,
    POLLS_AWAKE = 20 * POLLS_PER_YIELD, /* a chunk takes some 20 us, this some 800 */
    NAP_NS = 200000,
};

typedef ssize_t (*copy_fn_t)(pid_t, const struct iovec *, unsigned long, const struct iovec *,
                             unsigned long, unsigned long);

static bool copy_all(copy_fn_t copy, pid_t pid, void *own, uint64_t theirs, size_t bytes)
{
    char *at = own;
    while (bytes > 0) {
        struct iovec local = {at, bytes}, remote = {(void *)(uintptr_t)theirs, bytes};
        ssize_t done = copy(pid, &local, 1, &remote, 1, 0);
        if (done <= 0)
            return false;
        at += done;
        theirs += (uint64_t)done;
        bytes -= (size_t)done;
    }
    return true;
}

/* ---- the word of claims ---- */

static unsigned front_of(unsigned long long claims)
{
    return claims & 0xffff;
}

static unsigned end_of_copy(unsigned long long claims)
{
    return claims >> 16 & 0xffff;
}

/* Take a chunk from the front or from the back; -1: none is left. */
static int claim_copy(weft_copy_job_t *job, bool from_front)
{
    unsigned long long claims = atomic_load_explicit(&job->claims, memory_order_acquire);
    while (front_of(claims) < end_of_copy(claims)) {
        unsigned long long taken = from_front ? claims + 1 : claims - (1ull << 16);
        if (atomic_compare_exchange_weak(&job->claims, &claims, taken))
            return (int)(from_front ? front_of(claims) : end_of_copy(claims) - 1);
    }
    return -1;
}

static size_t chunk_size(size_t bytes)
{
    size_t chunk = bytes / 4;
    if (chunk < CHUNK_MIN)
        chunk = CHUNK_MIN;
    if (chunk > CHUNK_MAX)
        chunk = CHUNK_MAX;
    while (bytes / chunk >= CHUNKS_MAX)
        chunk *= 2;
    return (chunk + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static size_t bytes_of_chunk(const weft_copy_job_t *job, int chunk)
{
    size_t first = (size_t)chunk * job->chunk_bytes;
    return job->bytes - first < job->chunk_bytes ? job->bytes - first : job->chunk_bytes;
}

/* ---- the receiver ---- */

static unsigned offer(weft_copy_job_t *job, uint64_t from, void *to, size_t bytes)
{
    unsigned long long number =
        (atomic_load_explicit(&job->claims, memory_order_relaxed) >> 32) + 1;
    job->from = from;
    job->to = (uint64_t)(uintptr_t)to;
    job->bytes = bytes;
    job->chunk_bytes = chunk_size(bytes);
    atomic_store_explicit(&job->helped, 0, memory_order_relaxed);
    unsigned chunks = (unsigned)((bytes + job->chunk_bytes - 1) / job->chunk_bytes);
    atomic_store_explicit(&job->claims, number << 32 | (unsigned long long)chunks << 16,
                          memory_order_release);
    return chunks;
}

static void withdraw(weft_copy_job_t *job)
{
    while (claim_copy(job, true) >= 0)
        continue;
}

/* Memory of a process that has died cannot be read, also before its parent has waited for it. */
static bool is_dead(pid_t pid, uint64_t address)
{
    char byte;
    return !copy_all(process_vm_readv, pid, &byte, address, sizeof(byte));
}

/* A sender that is stopped in the middle of a chunk can take for ever. False: it has died. */
static bool await_helper(weft_copy_job_t *job, pid_t pid, unsigned helped)
{
    for (int polls = 1;; polls += polls <= POLLS_AWAKE) {
        unsigned now = atomic_load_explicit(&job->helped, memory_order_acquire);
        if (now >= helped)
            return true;
        if (polls > POLLS_AWAKE && is_dead(pid, job->from))
            return false;
        if (polls > POLLS_AWAKE)
            weft_futex_wait(&job->helped, now, NAP_NS); /* nobody wakes it: the time ends it */
        else if (polls % POLLS_PER_YIELD == 0)
            sched_yield();
        else
            weft_cpu_relax();
    }
}

static bool read_chunks(weft_copy_job_t *job, pid_t pid)
{
    int chunk;
    while ((chunk = claim_copy(job, true)) >= 0) {
        uint64_t at = (uint64_t)chunk * job->chunk_bytes;
        if (!copy_all(process_vm_readv, pid, (void *)(uintptr_t)(job->to + at), job->from + at,
                      bytes_of_chunk(job, chunk)))
            return false;
    }
    return true;
}

bool weft_shared_copy_read(weft_copy_job_t *job, pid_t pid, uint64_t from, void *to, size_t bytes)
{
    if (job == NULL || bytes < 2 * CHUNK_MIN ||
        atomic_load_explicit(&job->has_failed, memory_order_relaxed))
        return copy_all(process_vm_readv, pid, to, from, bytes);
    unsigned chunks = offer(job, from, to, bytes);
    bool is_read = read_chunks(job, pid);
    if (!is_read)
        withdraw(job);
    unsigned end = end_of_copy(atomic_load_explicit(&job->claims, memory_order_acquire));
    if (!await_helper(job, pid, chunks - end))
        return false;
    size_t own = (size_t)end * job->chunk_bytes;
    /* Read what the sender claimed and could not write. */
    if (is_read && own < bytes && atomic_load_explicit(&job->has_failed, memory_order_acquire))
        is_read = copy_all(process_vm_readv, pid, (char *)to + own, from + own, bytes - own);
    return is_read;
}

/* ---- the sender ---- */

bool weft_shared_copy_help(weft_copy_job_t *job, pid_t pid)
{
    int chunk = claim_copy(job, false);
    if (chunk < 0)
        return false;
    uint64_t at = (uint64_t)chunk * job->chunk_bytes;
    if (!copy_all(process_vm_writev, pid, (void *)(uintptr_t)(job->from + at), job->to + at,
                  bytes_of_chunk(job, chunk)))
        atomic_store_explicit(&job->has_failed, 1, memory_order_release);
    atomic_fetch_add_explicit(&job->helped, 1, memory_order_release);
    return true;
}
