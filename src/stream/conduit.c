/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/conduit_private.h"

#include "runtime/host_devices.h"
#include "runtime/lock.h"
#include "runtime/nodes.h"
#include "runtime/progress.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"

enum {
    /* All of them take about half of the memory that WEFT_DEVICE_SCRATCH_MAX allows by default. */
    CONDUITS_MOST = 24,
    IDLE_MS = 1000,
    MAP_MS = 2000, /* how long another rank may take to try whether a device reaches another one */
};

weft_list_t wefti_conduits = {&wefti_conduits, &wefti_conduits};

/* ---- the agreement ---- */

/* What each member tells all others. */
typedef struct conduit_offer {
    int32_t can;
    int32_t unused;
    weft_share_t inbox;
} conduit_offer_t;

static int exchange_offers(weft_comm_t *comm, const conduit_offer_t *own, conduit_offer_t *all)
{
    weft_coll_args_t args = weft_coll_args_of_bytes(comm, own, all, sizeof(*own));
    return weft_coll_run(WEFT_ALLGATHER, &args);
}

static bool can_all(const conduit_offer_t *all, int members)
{
    for (int i = 0; i < members; i++) {
        if (!all[i].can)
            return false;
    }
    return true;
}

/* One member after the other: is it on this host, as far as algorithms are concerned? The same
 * answer on all members, without a message. */
static bool is_within_host(const weft_comm_t *comm)
{
    if (weft_nodes_is_one())
        return true;
    if (weft_nodes_open() != MPI_SUCCESS)
        return false;
    for (int i = 1; i < comm->size; i++) {
        if (weft_node_of(weft_comm_process(comm, i)) != weft_node_of(weft_comm_process(comm, 0)))
            return false;
    }
    return true;
}

/* ---- memory ---- */

/* While a kernel may wait, nothing is taken from the driver. If all ranks call in the same order,
 * all have enqueued their part of what this rank has enqueued, so the kernels end soon; and so do
 * graphs that the program has destroyed, of which a thread of the driver tells. */
static void await_other_conduits(void)
{
    int64_t until_ms = weft_clock_ms() + IDLE_MS;
    weft_link_t *link = wefti_conduits.next;
    while (link != &wefti_conduits && weft_clock_ms() < until_ms) {
        const conduit_t *conduit = WEFT_ELEMENT(link, conduit_t, link);
        if (!wefti_conduit_may_wait(conduit)) {
            link = link->next;
            continue;
        }
        weft_progress_test(); /* it may let other threads change the list */
        wefti_tickets_collect();
        link = wefti_conduits.next;
    }
}

static void conduit_is_cleared(weft_event_t *event, int error)
{
    bool *is_over = event->owner;
    (void)error;
    *is_over = true;
}

/* The inbox is all zeros when this returns. */
static bool open_inbox(conduit_t *conduit)
{
    bool is_over = false;
    weft_event_t cleared = {.done = conduit_is_cleared, .owner = &is_over};
    if (!weft_device->open_inbox(conduit->device, CONDUIT_INBOX, &cleared, &conduit->inbox))
        return false;
    weft_progress_await_silent(1);
    weft_progress_until(&is_over);
    weft_progress_await_silent(-1);
    return cleared.error == MPI_SUCCESS;
}

/* A slot is ordinary memory where the driver has refused to pin any. */
static bool is_pinned_slot(const void *slot)
{
    weft_memory_t memory;
    return slot != NULL && weft_device->look(slot, &memory) == MPI_SUCCESS &&
           memory.kind == WEFT_MEMORY_PINNED;
}

static bool take_room(conduit_t *conduit)
{
    bool has_all = true;
    for (int side = 0; side < CONDUIT_SIDES; side++) {
        conduit->stage[side] = weft_device->take_scratch(conduit->device, CONDUIT_STAGE);
        conduit->bounce[side] = weft_device->take_pinned(conduit->device, CONDUIT_STAGE);
        has_all = has_all && conduit->stage[side] != NULL && is_pinned_slot(conduit->bounce[side]);
    }
    return has_all;
}

static bool share_conduit(conduit_t *conduit)
{
    weft_memory_t memory;
    return weft_device->look(conduit->inbox.memory, &memory) == MPI_SUCCESS &&
           weft_device->share(&memory, conduit->inbox.memory, CONDUIT_INBOX, &conduit->share);
}

static bool open_memory(conduit_t *conduit, const weft_stream_t *stream)
{
    conduit->watch =
        (weft_conduit_watch_t *)(void *)weft_device->streams->take_watch(stream->users);
    return conduit->watch != NULL && open_inbox(conduit) && take_room(conduit) &&
           share_conduit(conduit);
}

/* Another rank may be trying just now whether the devices reach each other. */
static bool map_one(conduit_t *conduit, int member, const weft_share_t *share)
{
    int64_t until_ms = weft_clock_ms() + MAP_MS;
    while (!weft_device->map(share, conduit->device, true, &conduit->peers[member])) {
        if (weft_device->is_refused(share, conduit->device) || weft_clock_ms() > until_ms)
            return false;
        weft_progress_test();
    }
    return true;
}

static bool map_all(conduit_t *conduit, const conduit_offer_t *all)
{
    const weft_share_t *inboxes[CONDUIT_MEMBERS];
    for (int i = 0; i < conduit->members; i++)
        inboxes[i] = &all[i].inbox;
    conduit->crowd = weft_host_device_crowd(inboxes, conduit->members);
    if (weft_device->is_shared(conduit->device)) /* now that all are known to work on theirs */
        return false;
    for (int i = 0; i < conduit->members; i++) {
        if (i != conduit->member && !map_one(conduit, i, &all[i].inbox))
            return false;
    }
    return true;
}

void wefti_conduit_destroy(conduit_t *conduit, bool has_device)
{
    weft_list_remove(&conduit->link);
    for (int i = 0; i < conduit->members && has_device; i++) {
        if (conduit->peers[i].entry != NULL)
            weft_device->unmap(&conduit->peers[i]);
    }
    for (int side = 0; side < CONDUIT_SIDES && has_device; side++) {
        if (conduit->stage[side] != NULL)
            weft_device->give_scratch(conduit->device, conduit->stage[side]);
        if (conduit->bounce[side] != NULL)
            weft_device->give_pinned(conduit->bounce[side]);
    }
    /* After a failure kernels of others may still write into the inbox. */
    if (has_device && conduit->inbox.memory != NULL && !wefti_conduit_has_failed(conduit))
        weft_device->close_inbox(conduit->device, &conduit->inbox);
    if (has_device && conduit->watch != NULL)
        weft_device->streams->give_watch((uint32_t *)(void *)conduit->watch);
    weft_free(conduit);
}

/* ---- making ---- */

static conduit_t *new_conduit(weft_comm_t *comm, weft_stream_t *stream)
{
    int count = 0;
    for (weft_link_t *link = wefti_conduits.next; link != &wefti_conduits; link = link->next)
        count++;
    if (stream == NULL || stream->users == NULL || weft_device == NULL || count >= CONDUITS_MOST ||
        weft_device->is_shared(weft_device->streams->device(stream->users)))
        return NULL;
    conduit_t *conduit = weft_alloc_zeroed(1, sizeof(*conduit));
    if (conduit == NULL)
        return NULL;
    conduit->comm = comm;
    conduit->device = weft_device->streams->device(stream->users);
    conduit->members = comm->size;
    conduit->member = comm->rank;
    for (int i = 0; i < comm->size; i++)
        conduit->processes[i] = weft_comm_process(comm, i);
    conduit->block_most = wefti_conduit_row(comm->size) / 2;
    conduit->stopped = conduit->lost = WEFT_NO_PROCESS;
    weft_list_append(&wefti_conduits, &conduit->link);
    return conduit;
}

/* The stages of the agreement: who would, who has the memory, and who has mapped it. */
static int agree(weft_comm_t *comm, const weft_stream_t *stream, conduit_t *conduit,
                 conduit_offer_t *all)
{
    conduit_offer_t own = {.can = conduit != NULL};
    int err = exchange_offers(comm, &own, all);
    if (err != MPI_SUCCESS || !can_all(all, comm->size))
        return err;
    await_other_conduits();
    own.can = open_memory(conduit, stream);
    own.inbox = conduit->share;
    err = exchange_offers(comm, &own, all);
    if (err != MPI_SUCCESS || !can_all(all, comm->size))
        return err;
    own.can = map_all(conduit, all);
    return exchange_offers(comm, &own, all);
}

int wefti_conduit_create(weft_comm_t *comm, weft_stream_t *stream, conduit_t **out)
{
    *out = NULL;
    if (weft_config.DEVICE_STREAM_KERNELS == 0 || comm->size > CONDUIT_MEMBERS ||
        !is_within_host(comm))
        return MPI_SUCCESS;
    conduit_offer_t *all = weft_alloc_array((size_t)comm->size, sizeof(*all));
    if (all == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %d ranks", comm->size);
    conduit_t *conduit = new_conduit(comm, stream);
    int err = agree(comm, stream, conduit, all);
    bool is_made = err == MPI_SUCCESS && can_all(all, comm->size);
    weft_free(all);
    if (!is_made && conduit != NULL)
        wefti_conduit_destroy(conduit, true);
    *out = is_made ? conduit : NULL;
    WEFT_LOG(WEFT_DEBUG, "stream", "enqueued collectives of %s %s kernels in its streams",
             comm->name, is_made ? "are" : "are no");
    return err;
}
