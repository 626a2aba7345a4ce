/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a peer's memory (fi_read), in parts that go out over all rails in turn; and making our
 * own memory readable.
 *
 * Only reads_max parts are on their way at a time, those of the oldest gets first. Over sockets
 * this keeps the data on their way within the cache: 1 MiB took 420 us as one read and 200 us in
 * parts of 256 KiB, two at a time, between two hosts of two cores in all.
 */
#include "ofi/ofi_private.h"

#include "ofi/fabric_library.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

/* A registration of memory on all rails. */
typedef struct handle {
    struct fid_mr *mr[WEFT_RAILS_MAX];
} handle_t;

typedef struct part {
    weft_ofi_op_t op;
    weft_get_t *get;
} part_t;

static weft_pool_t handles = WEFT_POOL(handle_t);
static weft_pool_t parts = WEFT_POOL(part_t);
static weft_get_t *queue_first, **queue_last = &queue_first; /* gets with parts still to begin */
static int parts_out;

/* ---- registration ---- */

static void release_handle(handle_t *handle)
{
    if (handle == NULL)
        return;
    for (int i = 0; i < WEFT_RAILS_MAX; i++) {
        if (handle->mr[i] != NULL)
            fi_close(&handle->mr[i]->fid);
    }
    weft_pool_give(&handles, handle);
}

static handle_t *create_handle(const weft_rail_region_t *region, uint64_t access)
{
    handle_t *handle = weft_pool_take(&handles);
    if (handle == NULL)
        return NULL;
    *handle = (handle_t){0};
    for (int i = 0; i < wefti_ofi.rail_count; i++) {
        int rc = weft_rail_register(&wefti_ofi.rails[i], region, access, &handle->mr[i]);
        if (rc != 0) {
            WEFT_LOG(WEFT_INFO, "ofi", "%zu bytes of %s memory cannot be registered: %s",
                     region->bytes, region->memory == NULL ? "host" : "device",
                     weft_fabric_error(rc));
            handle->mr[i] = NULL;
            release_handle(handle);
            return NULL;
        }
    }
    return handle;
}

bool wefti_ofi_register(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                        const weft_memory_t *memory, weft_registration_t *out)
{
    if (!endpoint->can_get)
        return false;
    weft_rail_region_t region = {data, bytes, memory};
    handle_t *handle = create_handle(&region, FI_REMOTE_READ);
    if (handle == NULL)
        return false;
    *out = (weft_registration_t){.handle = handle};
    out->rkey.address = weft_rail_address(&wefti_ofi.rails[0], data);
    for (int i = 0; i < wefti_ofi.rail_count; i++)
        out->rkey.keys[i] = fi_mr_key(handle->mr[i]);
    return true;
}

void wefti_ofi_deregister(weft_endpoint_t *endpoint, weft_registration_t *registration)
{
    (void)endpoint;
    release_handle(registration->handle);
    registration->handle = NULL;
}

/* ---- getting ---- */

static void pump(void);

static weft_ofi_peer_t *peer_of(const weft_get_t *get)
{
    return (weft_ofi_peer_t *)get->endpoint;
}

static void finish(weft_get_t *get)
{
    peer_of(get)->gets--;
    release_handle(get->handle);
    get->handle = NULL;
    get->done(get, !get->has_failed);
}

static void part_is_here(weft_ofi_op_t *op, const struct fi_cq_data_entry *entry, int error)
{
    part_t *part = (part_t *)op;
    weft_get_t *get = part->get;
    (void)entry;
    weft_pool_give(&parts, part);
    parts_out--;
    get->outstanding--;
    if (error != 0) {
        WEFT_LOG(WEFT_INFO, "ofi", "reading memory of rank %d failed: %s",
                 weft_process_rank(peer_of(get)->net.process), weft_fabric_error(error));
        get->has_failed = true;
    }
    /* Found out before pump(), which ends a get that is still in the queue itself. */
    bool is_over = get->outstanding == 0 && get->begun == get->bytes;
    if (is_over)
        finish(get);
    pump();
}

static long ofi_get_begin_part(weft_get_t *get, weft_rail_t *rail, size_t bytes)
{
    const weft_ofi_peer_t *peer = peer_of(get);
    const handle_t *handle = get->handle;
    part_t *part = weft_pool_take(&parts);
    if (part == NULL)
        return -FI_ENOMEM;
    part->op.done = part_is_here;
    part->get = get;
    void *descriptor = handle == NULL ? NULL : fi_mr_desc(handle->mr[rail->index]);
    long rc =
        fi_read(rail->ep, get->to + get->begun, bytes, descriptor, peer->addresses[rail->index],
                get->rkey.address + get->begun, get->rkey.keys[rail->index], &part->op.context);
    if (rc != 0)
        weft_pool_give(&parts, part);
    return rc;
}

/* Begin the next part of a get; false when the provider takes none at the moment. */
static bool begin_next(weft_get_t *get)
{
    static unsigned turn;
    weft_rail_t *rail = &wefti_ofi.rails[turn % (unsigned)wefti_ofi.rail_count];
    size_t bytes = get->bytes - get->begun;
    if (bytes > rail->read_max)
        bytes = rail->read_max;
    long rc = ofi_get_begin_part(get, rail, bytes);
    if (rc == -FI_EAGAIN)
        return false;
    turn++;
    if (rc == 0) {
        parts_out++;
        get->outstanding++;
        get->begun += bytes;
        return true;
    }
    WEFT_LOG(WEFT_INFO, "ofi", "fi_read: %s", weft_fabric_error(rc));
    get->has_failed = true;
    return true;
}

static void leave_queue(weft_get_t *get)
{
    queue_first = get->next;
    if (queue_first == NULL)
        queue_last = &queue_first;
}

/* Begin as many parts as the limit allows. A get that has failed begins no more of them. */
static void pump(void)
{
    while (queue_first != NULL && parts_out < wefti_ofi.rails[0].reads_max) {
        weft_get_t *get = queue_first;
        get->has_failed = get->has_failed || peer_of(get)->is_lost;
        if (!get->has_failed && !begin_next(get))
            return;
        if (get->has_failed)
            get->begun = get->bytes;
        if (get->begun < get->bytes)
            continue;
        leave_queue(get);
        if (get->outstanding == 0)
            finish(get);
    }
}

static void enter_queue(weft_get_t *get)
{
    get->next = NULL;
    *queue_last = get;
    queue_last = &get->next;
}

void wefti_ofi_get(weft_get_t *get)
{
    peer_of(get)->gets++;
    get->handle = NULL;
    get->begun = 0;
    get->outstanding = 0;
    get->has_failed = false;
    if (wefti_ofi.rails[0].needs_local || get->memory != NULL) {
        weft_rail_region_t region = {get->to, get->bytes, get->memory};
        get->handle = create_handle(&region, FI_READ);
        get->has_failed = get->handle == NULL;
    }
    enter_queue(get);
    pump();
}

bool wefti_gets_is_refused(void)
{
    return queue_first != NULL && parts_out < wefti_ofi.rails[0].reads_max;
}

bool wefti_gets_is_idle(void)
{
    return queue_first == NULL && parts_out == 0;
}

int wefti_gets_progress(void)
{
    int before = parts_out;
    pump();
    return parts_out > before;
}

void wefti_gets_close(void)
{
    queue_first = NULL;
    queue_last = &queue_first;
    parts_out = 0;
    weft_pool_close(&parts);
    weft_pool_close(&handles);
}
