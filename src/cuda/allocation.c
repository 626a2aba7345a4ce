/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "cuda/allocation.h"

#include "cuda/bar.h"
#include "cuda/cuda_multicast.h"
#include "cuda/cuda_segments.h"
#include "cuda/cuda_share.h"
#include "cuda/cuda_stream.h"
#include "cuda/host_place.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <sys/uio.h>
#include <unistd.h>

enum { BINS = 256, ENTRIES_PER_LOOK = 4, BINS_PER_SHARE = 4 };

static weft_allocation_t *bins[BINS];
/* the number of entries; and of those added since freed ones were last looked for */
static size_t count, learned;

/* ---- asking ---- */

/* Answers of at most 8 bytes each; the driver writes as much of a word as its type has. */
typedef struct answers {
    uint64_t type, is_managed, id, context, ordinal, is_legacy, start, bytes, handle_types, pool;
} answers_t;

static weft_cu_result_t ask_first(const void *buf, answers_t *out)
{
    int attributes[] = {WEFT_CU_POINTER_MEMORY_TYPE, WEFT_CU_POINTER_IS_MANAGED,
                        WEFT_CU_POINTER_BUFFER_ID};
    void *data[] = {&out->type, &out->is_managed, &out->id};
    return wefti_cu.cuPointerGetAttributes(3, attributes, data, (uintptr_t)buf);
}

static weft_cu_result_t ask_all(const void *buf, answers_t *out)
{
    int attributes[] = {WEFT_CU_POINTER_MEMORY_TYPE,  WEFT_CU_POINTER_IS_MANAGED,
                        WEFT_CU_POINTER_BUFFER_ID,    WEFT_CU_POINTER_CONTEXT,
                        WEFT_CU_POINTER_ORDINAL,      WEFT_CU_POINTER_IS_LEGACY,
                        WEFT_CU_POINTER_RANGE_START,  WEFT_CU_POINTER_RANGE_SIZE,
                        WEFT_CU_POINTER_HANDLE_TYPES, WEFT_CU_POINTER_POOL};
    void *data[] = {&out->type,         &out->is_managed, &out->id,    &out->context,
                    &out->ordinal,      &out->is_legacy,  &out->start, &out->bytes,
                    &out->handle_types, &out->pool};
    return wefti_cu.cuPointerGetAttributes(sizeof(data) / sizeof(data[0]), attributes, data,
                                           (uintptr_t)buf);
}

/* Where the driver does not answer (after a failure on the device it answers no question), the
 * memory is the host's if the kernel can read it. */
static bool is_readable(const void *buf)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *)buf, 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

static weft_memory_kind_t kind_of(const answers_t *answers)
{
    if (answers->is_managed)
        return WEFT_MEMORY_MANAGED;
    if (answers->type == WEFT_CU_MEMORY_DEVICE)
        return WEFT_MEMORY_DEVICE;
    return answers->type == WEFT_CU_MEMORY_HOST ? WEFT_MEMORY_PINNED : WEFT_MEMORY_HOST;
}

/* It is the host's for certain, or nothing: empty messages have no buffer. */
static bool needs_no_question(const void *buf)
{
    return buf == NULL || wefti_is_host_place(buf) || !wefti_driver_find();
}

bool wefti_is_device(const void *buf)
{
    if (needs_no_question(buf))
        return false;
    answers_t answers = {0};
    if (__builtin_expect(ask_first(buf, &answers) != WEFT_CU_SUCCESS, 0))
        return !is_readable(buf);
    return kind_of(&answers) >= WEFT_MEMORY_MANAGED;
}

/* ---- what is known ---- */

static weft_allocation_t **allocation_bin(uint64_t id)
{
    return &bins[id % BINS];
}

weft_allocation_t *wefti_allocation_of(uint64_t id)
{
    weft_allocation_t *entry = *allocation_bin(id);
    while (entry != NULL && entry->memory.id != id)
        entry = entry->next;
    return entry;
}

bool wefti_allocation_lives(const weft_allocation_t *entry)
{
    answers_t answers = {0};
    return ask_first((const void *)entry->seen_at, &answers) == WEFT_CU_SUCCESS &&
           answers.id == entry->memory.id;
}

static bool holds(const weft_memory_t *memory, const void *buf)
{
    return (uintptr_t)buf - memory->base < memory->bytes;
}

/* Remove *at. */
static void forget_allocation(weft_allocation_t **at)
{
    weft_allocation_t *entry = *at;
    *at = entry->next;
    wefti_bar_forget(entry);
    wefti_segments_forget(entry->memory.id);
    wefti_multicast_forget(entry->memory.id);
    if (entry->is_known_elsewhere && weft_device_freed != NULL)
        weft_device_freed(entry->memory.id);
    wefti_share_end(entry);
    weft_free(entry);
    count--;
}

static void look_at_bin(weft_allocation_t **at)
{
    while (*at != NULL) {
        if (wefti_allocation_lives(*at))
            at = &(*at)->next;
        else
            forget_allocation(at);
    }
}

/* An entry of freed memory holds a file descriptor, and that keeps the memory from the program. An
 * entry is never given up only to make room: a peer may be about to ask for its descriptor. */
static void forget_freed(void)
{
    if (++learned * ENTRIES_PER_LOOK <= count)
        return;
    learned = 0;
    for (int i = 0; i < BINS; i++)
        look_at_bin(&bins[i]);
}

void wefti_allocations_look_for_freed(void)
{
    static int next;
    for (int i = 0; i < BINS_PER_SHARE; i++)
        look_at_bin(&bins[next++ % BINS]);
    wefti_multicasts_unbind_gone();
}

static weft_allocation_t *add_allocation(uint64_t id)
{
    forget_freed();
    weft_allocation_t *entry = wefti_allocation_of(id);
    if (entry != NULL)
        return entry;
    entry = weft_alloc_zeroed(1, sizeof(*entry));
    if (entry == NULL)
        return NULL;
    entry->next = *allocation_bin(id);
    *allocation_bin(id) = entry;
    count++;
    return entry;
}

/* Copies within the device that the program began by a synchronous call may still be under way when
 * it passes the buffer to MPI. This waits for them, and has the driver wait at all later ones ("API
 * synchronization behavior" in NVIDIA's description of the driver). Virtual memory does not take
 * the attribute: it is loose. So is memory of pools, on which a driver (580) sets the attribute and
 * then does not wait (docs/device_verdicts.md, D18). */
static void make_synchronous(weft_allocation_t *entry)
{
    unsigned on = 1;
    weft_cu_result_t result =
        wefti_cu.cuPointerSetAttribute(&on, WEFT_CU_POINTER_SYNC_MEMOPS, entry->seen_at);
    entry->is_loose = result != WEFT_CU_SUCCESS || entry->pool != NULL;
}

/* The range among the attributes is what was set aside: for virtual memory all addresses that the
 * program has reserved, for a pool those of the whole pool. What can be shared is the mapping or
 * allocation, which is asked for by another call, in a context. */
static void learn_in_context(weft_allocation_t *entry)
{
    weft_visit_t visit;
    weft_cu_address_t base;
    size_t bytes;
    if (wefti_device_enter(entry->memory.device, &visit) != MPI_SUCCESS)
        return;
    if (wefti_cu.cuMemGetAddressRange(&base, &bytes, entry->seen_at) == WEFT_CU_SUCCESS) {
        entry->memory.base = base;
        entry->memory.bytes = bytes;
    }
    make_synchronous(entry);
    wefti_device_leave(&visit);
}

/* A stream that is captured, or that would become part of a capture, may not be asked. */
static bool is_stream_ours_to_ask(weft_cu_stream_t stream)
{
    int status = 0;
    return wefti_cu.cuStreamIsCapturing(stream, &status) == WEFT_CU_SUCCESS && status == 0;
}

/* The same for loose memory, each time that it is passed to MPI: synchronous copies go into the
 * default stream, of all threads or of this one. While a stream waits at a gate this may not wait
 * for it: the gate might open only after this call. */
static void await_copies(const weft_allocation_t *entry)
{
    static const weft_cu_stream_t streams[] = {WEFT_CU_STREAM_LEGACY, WEFT_CU_STREAM_PER_THREAD};
    weft_visit_t visit;
    if (wefti_streams_may_wait() || wefti_device_enter(entry->memory.device, &visit) != MPI_SUCCESS)
        return;
    for (int i = 0; i < 2; i++) {
        if (is_stream_ours_to_ask(streams[i]) &&
            wefti_cu.cuStreamQuery(streams[i]) == WEFT_CU_NOT_READY)
            wefti_cu.cuStreamSynchronize(streams[i]);
    }
    wefti_device_leave(&visit);
}

static int learn_allocation(const void *buf, weft_memory_t *out)
{
    answers_t answers = {0};
    weft_device_t *device;
    weft_cu_device_t number;
    weft_cu_result_t result = ask_all(buf, &answers);
    if (result == WEFT_CU_SUCCESS && answers.context == 0)
        result = wefti_cu.cuDeviceGet(&number, (int)answers.ordinal);
    if (result != WEFT_CU_SUCCESS)
        return wefti_driver_failed(result, "cuPointerGetAttributes", "buffer %p", buf);
    int err = answers.context != 0
                  ? wefti_device_of_context((weft_cu_context_t)(uintptr_t)answers.context, &device)
                  : wefti_device_of_number(number, &device);
    if (err != MPI_SUCCESS)
        return err;
    weft_allocation_t *entry = add_allocation(answers.id);
    if (entry == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to know an allocation by");
    entry->memory =
        (weft_memory_t){kind_of(&answers), device, answers.start, answers.bytes, answers.id};
    entry->is_legacy = answers.is_legacy != 0;
    entry->handle_types = answers.handle_types;
    entry->pool = (weft_cu_pool_t)(uintptr_t)answers.pool;
    entry->seen_at = (uintptr_t)buf;
    learn_in_context(entry);
    if (entry->is_loose || answers.context == 0)
        await_copies(entry);
    *out = entry->memory;
    return MPI_SUCCESS;
}

int wefti_memory_look(const void *buf, weft_memory_t *out)
{
    answers_t answers = {0};
    *out = (weft_memory_t){.kind = WEFT_MEMORY_HOST};
    if (needs_no_question(buf))
        return MPI_SUCCESS;
    weft_cu_result_t result = ask_first(buf, &answers);
    if (result != WEFT_CU_SUCCESS)
        return is_readable(buf)
                   ? MPI_SUCCESS
                   : wefti_driver_failed(result, "cuPointerGetAttributes", "buffer %p", buf);
    out->kind = kind_of(&answers);
    if (out->kind < WEFT_MEMORY_MANAGED)
        return MPI_SUCCESS;
    const weft_allocation_t *known = wefti_allocation_of(answers.id);
    if (known == NULL || known->memory.device->is_dead || !holds(&known->memory, buf))
        return learn_allocation(buf, out);
    if (__builtin_expect(known->is_loose, 0))
        await_copies(known);
    *out = known->memory;
    return MPI_SUCCESS;
}

void wefti_allocations_close(void)
{
    for (int i = 0; i < BINS; i++) {
        while (bins[i] != NULL)
            forget_allocation(&bins[i]);
    }
    learned = 0;
}
