/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a peer's memory (fi_read), in parts that go out over all rails in turn; and making our
 * own memory readable.
 *
 * Only so many parts are on their way at a time, of the oldest fetches first. Over sockets this
 * keeps what is on its way within the cache: 1 MiB took 420 us as one read and 200 us in parts of
 * 256 KiB, two at a time, between two hosts of two cores in all.
 */
#include "ofi/ofi_private.h"

#include "ofi/fabric_library.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/pool.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

/* Memory that was registered on all rails. */
typedef struct registration {
    struct fid_mr *mr[WEFT_RAILS_MAX];
} registration_t;

typedef struct part {
    weft_ofi_op_t op;
    weft_fetch_t *fetch;
} get_part_t;

static weft_pool_t registrations = WEFT_POOL(registration_t);
static weft_pool_t parts = WEFT_POOL(get_part_t);
static weft_fetch_t *queue_first, **queue_last = &queue_first; /* not all parts have begun */
static int parts_out;

/* ---- registration ---- */

static void release_registration(registration_t *registration)
{
    if (registration == NULL)
        return;
    for (int i = 0; i < WEFT_RAILS_MAX; i++) {
        if (registration->mr[i] != NULL)
            fi_close(&registration->mr[i]->fid);
    }
    weft_pool_give(&registrations, registration);
}

static registration_t *create_registration(const weft_rail_region_t *region, uint64_t access)
{
    registration_t *registration = weft_pool_take(&registrations);
    if (registration == NULL)
        return NULL;
    *registration = (registration_t){0};
    for (int i = 0; i < wefti_ofi.rail_count; i++) {
        int rc = weft_rail_register(&wefti_ofi.rails[i], region, access, &registration->mr[i]);
        if (rc != 0) {
            WEFT_LOG(WEFT_INFO, "ofi", "%zu bytes of %s memory cannot be registered: %s",
                     region->bytes, region->memory == NULL ? "host" : "device",
                     weft_fabric_error(rc));
            registration->mr[i] = NULL;
            release_registration(registration);
            return NULL;
        }
    }
    return registration;
}

bool wefti_ofi_expose(weft_endpoint_t *endpoint, const void *data, size_t bytes,
                      const weft_memory_t *memory, weft_exposure_t *out)
{
    if (!endpoint->can_read)
        return false;
    weft_rail_region_t region = {data, bytes, memory};
    registration_t *registration = create_registration(&region, FI_REMOTE_READ);
    if (registration == NULL)
        return false;
    *out = (weft_exposure_t){.registration = registration};
    out->window.address = weft_rail_address(&wefti_ofi.rails[0], data);
    for (int i = 0; i < wefti_ofi.rail_count; i++)
        out->window.keys[i] = fi_mr_key(registration->mr[i]);
    return true;
}

void wefti_ofi_conceal(weft_endpoint_t *endpoint, weft_exposure_t *exposure)
{
    (void)endpoint;
    release_registration(exposure->registration);
    exposure->registration = NULL;
}

/* ---- fetching ---- */

static void pump(void);

static weft_ofi_peer_t *peer_of(const weft_fetch_t *fetch)
{
    return (weft_ofi_peer_t *)fetch->endpoint;
}

static void finish_get(weft_fetch_t *fetch)
{
    peer_of(fetch)->fetches--;
    release_registration(fetch->registration);
    fetch->registration = NULL;
    fetch->done(fetch, !fetch->has_failed);
}

static void get_part_is_here(weft_ofi_op_t *op, const struct fi_cq_data_entry *entry, int error)
{
    get_part_t *part = (get_part_t *)op;
    weft_fetch_t *fetch = part->fetch;
    (void)entry;
    weft_pool_give(&parts, part);
    parts_out--;
    fetch->outstanding--;
    if (error != 0) {
        WEFT_LOG(WEFT_INFO, "ofi", "reading memory of rank %d failed: %s",
                 peer_of(fetch)->world_rank, weft_fabric_error(error));
        fetch->has_failed = true;
    }
    /* Looked at before pump(), which ends the fetch itself where it is still in the queue. */
    bool is_over = fetch->outstanding == 0 && fetch->begun == fetch->bytes;
    if (is_over)
        finish_get(fetch);
    pump();
}

static long begin_get_part(weft_fetch_t *fetch, weft_rail_t *rail, size_t bytes)
{
    const weft_ofi_peer_t *peer = peer_of(fetch);
    const registration_t *registration = fetch->registration;
    get_part_t *part = weft_pool_take(&parts);
    if (part == NULL)
        return -FI_ENOMEM;
    part->op.done = get_part_is_here;
    part->fetch = fetch;
    void *descriptor = registration == NULL ? NULL : fi_mr_desc(registration->mr[rail->index]);
    long rc = fi_read(rail->ep, fetch->to + fetch->begun, bytes, descriptor,
                      peer->addresses[rail->index], fetch->window.address + fetch->begun,
                      fetch->window.keys[rail->index], &part->op.context);
    if (rc != 0)
        weft_pool_give(&parts, part);
    return rc;
}

/* The next part of a fetch; false when the provider takes none now. */
static bool begin_next(weft_fetch_t *fetch)
{
    static unsigned turn;
    weft_rail_t *rail = &wefti_ofi.rails[turn % (unsigned)wefti_ofi.rail_count];
    size_t bytes = fetch->bytes - fetch->begun;
    if (bytes > rail->read_max)
        bytes = rail->read_max;
    long rc = begin_get_part(fetch, rail, bytes);
    if (rc == -FI_EAGAIN)
        return false;
    turn++;
    if (rc == 0) {
        parts_out++;
        fetch->outstanding++;
        fetch->begun += bytes;
        return true;
    }
    WEFT_LOG(WEFT_INFO, "ofi", "fi_read: %s", weft_fabric_error(rc));
    fetch->has_failed = true;
    return true;
}

static void leave_queue(weft_fetch_t *fetch)
{
    queue_first = fetch->next;
    if (queue_first == NULL)
        queue_last = &queue_first;
}

/* Begin what parts the limit allows. A fetch that failed begins no more of them. */
static void pump(void)
{
    while (queue_first != NULL && parts_out < wefti_ofi.rails[0].reads_max) {
        weft_fetch_t *fetch = queue_first;
        fetch->has_failed = fetch->has_failed || peer_of(fetch)->is_lost;
        if (!fetch->has_failed && !begin_next(fetch))
            return;
        if (fetch->has_failed)
            fetch->begun = fetch->bytes;
        if (fetch->begun < fetch->bytes)
            continue;
        leave_queue(fetch);
        if (fetch->outstanding == 0)
            finish_get(fetch);
    }
}

static void enter_queue(weft_fetch_t *fetch)
{
    fetch->next = NULL;
    *queue_last = fetch;
    queue_last = &fetch->next;
}

void wefti_ofi_fetch(weft_fetch_t *fetch)
{
    peer_of(fetch)->fetches++;
    fetch->registration = NULL;
    fetch->begun = 0;
    fetch->outstanding = 0;
    fetch->has_failed = false;
    if (wefti_ofi.rails[0].needs_local || fetch->memory != NULL) {
        weft_rail_region_t region = {fetch->to, fetch->bytes, fetch->memory};
        fetch->registration = create_registration(&region, FI_READ);
        fetch->has_failed = fetch->registration == NULL;
    }
    enter_queue(fetch);
    pump();
}

bool wefti_fetching_is_refused(void)
{
    return queue_first != NULL && parts_out < wefti_ofi.rails[0].reads_max;
}

bool wefti_fetching_is_idle(void)
{
    return queue_first == NULL && parts_out == 0;
}

int wefti_fetching_progress(void)
{
    int before = parts_out;
    pump();
    return parts_out > before;
}

void wefti_fetching_close(void)
{
    queue_first = NULL;
    queue_last = &queue_first;
    parts_out = 0;
    weft_pool_close(&parts);
    weft_pool_close(&registrations);
}
