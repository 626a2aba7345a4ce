/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "cuda/cuda_mapping.h"

#include "cuda/allocation.h"
#include "cuda/cuda_segments.h"
#include "cuda/cuda_share.h"
#include "cuda/cuda_stream.h"
#include "cuda/mapping_handles.h"
#include "cuda/mapping_place.h"
#include "cuda/peer_probe.h"
#include "runtime/fd_mail.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BINS = 256, MAPPED_MOST = 512, BLOCK = 2 << 20, LATE_TRIES = 3 };

/* A peer's allocation as it is mapped for one device. */
typedef struct mapped {
    weft_link_t order; /* least recently used first */
    struct mapped *next_in_bin;
    weft_share_t share; /* the share in which the allocation was first described */
    weft_device_t *device;
    weft_cu_address_t address; /* 0: the allocation is known, but not mapped */
    size_t users;
    bool is_brief;   /* it is unmapped when the last use ends */
    bool is_reached; /* the device reaches the memory */
    bool is_refused; /* it cannot be mapped, and is not tried again */
    int late_tries;  /* that failed, when it had been missed */
    bool is_missed;  /* it would have been mapped, but a stream might have waited */
    bool made_way;   /* it was unmapped so that another allocation of its block could be mapped */
} mapped_t;

static mapped_t *bins[BINS];
static weft_list_t order = {&order, &order};
static weft_list_t unmapped_later = {&unmapped_later, &unmapped_later};
static size_t mapped_bytes;
static int mapped_count, missed_count;
/* an allocation that was unmapped for another is in use again: nothing more is unmapped so */
static bool blocks_are_shared;

int wefti_mappings(void)
{
    return mapped_count;
}

/* ---- the table ---- */

static mapped_t **mapping_bin(uint32_t owner, uint64_t id)
{
    return &bins[(id * 0x9e3779b97f4a7c15u + owner * 0xbf58476d1ce4e5b9u) >> 56];
}

static mapped_t *find_mapping(const weft_share_t *share, const weft_device_t *device)
{
    mapped_t *entry = *mapping_bin(share->owner, share->id);
    while (entry != NULL && (entry->share.owner != share->owner || entry->share.id != share->id ||
                             entry->device != device))
        entry = entry->next_in_bin;
    return entry;
}

static void unmap_entry(mapped_t *entry)
{
    weft_visit_t visit;
    if (entry->address == 0)
        return;
    if (!entry->device->is_dead && wefti_device_enter(entry->device, &visit) == MPI_SUCCESS) {
        wefti_handle_of(&entry->share)->close(entry->address, entry->share.bytes);
        wefti_device_leave(&visit);
    }
    entry->address = 0;
    mapped_bytes -= entry->share.bytes;
}

/* Except for pools, unmapping waits for all work under way in the context. */
static bool may_unmap(const mapped_t *entry)
{
    return entry->address == 0 || !wefti_handle_of(&entry->share)->is_kept ||
           !wefti_streams_may_wait();
}

bool wefti_is_awaited(const weft_share_t *share)
{
    return weft_fd_is_awaited((int)share->owner, share->ticket) ||
           wefti_segments_are_awaited(share);
}

void wefti_give_up(const weft_share_t *share)
{
    weft_fd_forget((int)share->owner, share->ticket);
    wefti_segments_give_up(share);
}

static void drop_mapping(mapped_t *entry)
{
    mapped_t **at = mapping_bin(entry->share.owner, entry->share.id);
    while (*at != entry)
        at = &(*at)->next_in_bin;
    *at = entry->next_in_bin;
    weft_list_remove(&entry->order);
    mapped_count--;
    missed_count -= entry->is_missed;
    entry->is_missed = false;
    wefti_give_up(&entry->share);
    if (may_unmap(entry)) {
        unmap_entry(entry);
        weft_free(entry);
    } else {
        weft_list_append(&unmapped_later, &entry->order);
    }
}

static void unmap_late(void)
{
    for (weft_link_t *link; (link = weft_list_pop(&unmapped_later)) != NULL;) {
        mapped_t *entry = WEFT_ELEMENT(link, mapped_t, order);
        unmap_entry(entry);
        weft_free(entry);
    }
}

static bool overlaps(const weft_share_t *a, const weft_share_t *b)
{
    return a->owner == b->owner && a->base < b->base + b->bytes && b->base < a->base + a->bytes;
}

/* If the new allocation overlaps an older one of the same owner, the owner has freed the older
 * one. Lists of pieces may overlap. */
static bool replaces(const weft_share_t *share, const weft_share_t *older)
{
    return share->kind != WEFT_HANDLE_SEGMENTS && older->kind != WEFT_HANDLE_SEGMENTS &&
           share->id != older->id && overlaps(older, share);
}

static void drop_predecessors(const weft_share_t *share)
{
    for (weft_link_t *at = order.next, *next; at != &order; at = next) {
        mapped_t *entry = WEFT_ELEMENT(at, mapped_t, order);
        next = at->next;
        if (entry->users == 0 && replaces(share, &entry->share))
            drop_mapping(entry);
    }
}

static void make_mapping_room(size_t bytes)
{
    for (weft_link_t *at = order.next, *next; at != &order; at = next) {
        mapped_t *entry = WEFT_ELEMENT(at, mapped_t, order);
        next = at->next;
        if (mapped_count < MAPPED_MOST && mapped_bytes + bytes <= weft_config.DEVICE_MAPPED_MAX)
            return;
        /* One that is not mapped yet may wait for its descriptor. */
        if (entry->users == 0 && (entry->address != 0 || mapped_count >= MAPPED_MOST))
            drop_mapping(entry);
    }
}

/* ---- what is kept ----
 *
 * Memory that its owner has freed is missing on the device as long as it is mapped here. So data
 * that are a large part of the device are mapped for one use: opening them takes little time
 * compared with copying them. Of allocations that are small compared with the device, those of one
 * owner are kept up to a part of the device, which all other ranks share. Large allocations of
 * which small pieces are used, such as those of an allocator, are kept: they live long. */
enum { SMALL_PART = 32, KEPT_PART = 8 };

static bool is_small(const mapped_t *entry)
{
    return entry->share.bytes <= entry->device->bytes / SMALL_PART;
}

static size_t kept_of_owner(const mapped_t *entry)
{
    size_t bytes = 0;
    for (weft_link_t *at = order.next; at != &order; at = at->next) {
        const mapped_t *other = WEFT_ELEMENT(at, mapped_t, order);
        if (other->share.owner == entry->share.owner && other->address != 0 && is_small(other))
            bytes += other->share.bytes;
    }
    return bytes;
}

static void make_room_of_owner(const mapped_t *entry)
{
    size_t others = weft_world.local_size > 2 ? (size_t)weft_world.local_size - 1 : 1;
    size_t most = entry->device->bytes / KEPT_PART / others;
    size_t kept = is_small(entry) ? kept_of_owner(entry) + entry->share.bytes : 0;
    for (weft_link_t *at = order.next, *next; at != &order && kept > most; at = next) {
        mapped_t *other = WEFT_ELEMENT(at, mapped_t, order);
        next = at->next;
        if (other->share.owner != entry->share.owner || other->users > 0 || other->address == 0 ||
            !is_small(other))
            continue;
        kept -= other->share.bytes;
        drop_mapping(other);
    }
}

static mapped_t *add_mapping(const weft_share_t *share, weft_device_t *device)
{
    if (!wefti_streams_may_wait())
        unmap_late();
    drop_predecessors(share);
    make_mapping_room(0);
    mapped_t *entry = weft_alloc_zeroed(1, sizeof(*entry));
    if (entry == NULL)
        return NULL;
    entry->share = *share;
    entry->device = device;
    mapped_t **bin = mapping_bin(share->owner, share->id);
    entry->next_in_bin = *bin;
    *bin = entry;
    weft_list_append(&order, &entry->order);
    mapped_count++;
    return entry;
}

/* ---- mapping ---- */

static void say_why_not_mapped(const mapped_t *entry, weft_cu_result_t result)
{
    const char *trouble = weft_fd_mail_trouble();
    char why[224];
    snprintf(why, sizeof(why),
             "descriptors of device memory cannot be passed between the ranks of this host (%s)",
             trouble == NULL ? "the owner has none" : trouble);
    if (result == WEFT_NO_DESCRIPTOR)
        wefti_warn_of_detour(WEFT_WARNING_NO_DESCRIPTORS, why);
    else if (wefti_device_number(entry->share.uuid) < 0)
        wefti_warn_of_detour(
            WEFT_WARNING_NOT_VISIBLE,
            "a rank's device is not visible to the other ranks of its host, so they "
            "cannot map its memory: let each rank see all devices (--gpu-bind=none, "
            "CUDA_VISIBLE_DEVICES)");
    else
        wefti_warn_of_detour(
            WEFT_WARNING_REFUSED,
            "the driver refuses to map device memory of other ranks (WEFT_LOG=info "
            "says which call and why)");
}

static weft_cu_result_t try_open(mapped_t *entry)
{
    weft_visit_t visit;
    weft_cu_result_t result = WEFT_CU_INVALID_CONTEXT;
    if (wefti_device_enter(entry->device, &visit) == MPI_SUCCESS) {
        result =
            wefti_handle_of(&entry->share)->open(&entry->share, entry->device, &entry->address);
        wefti_device_leave(&visit);
    }
    return result;
}

static bool are_in_one_block(const weft_share_t *a, const weft_share_t *b)
{
    return a->owner == b->owner && a->base / BLOCK <= (b->base + b->bytes - 1) / BLOCK &&
           b->base / BLOCK <= (a->base + a->bytes - 1) / BLOCK;
}

/* The driver maps small allocations by whole blocks. After the owner has put a new allocation into
 * a block, the mapping of an older one there may stand in the way even where the two do not
 * overlap. */
static weft_cu_result_t open_again(mapped_t *entry)
{
    unmap_late();
    for (weft_link_t *at = order.next; at != &order; at = at->next) {
        mapped_t *other = WEFT_ELEMENT(at, mapped_t, order);
        if (other->users > 0 || other->address == 0 ||
            !are_in_one_block(&other->share, &entry->share))
            continue;
        unmap_entry(other);
        other->made_way = true;
    }
    return try_open(entry);
}

static void note_missed(mapped_t *entry, bool is_missed)
{
    missed_count += is_missed - entry->is_missed;
    entry->is_missed = is_missed;
}

static weft_cu_result_t open_in_room(mapped_t *entry)
{
    blocks_are_shared |= entry->made_way;
    entry->users++;
    make_mapping_room(entry->share.bytes);
    make_room_of_owner(entry);
    entry->users--;
    weft_cu_result_t result = try_open(entry);
    if (result == WEFT_CU_ALREADY_MAPPED && !wefti_streams_may_wait() && !blocks_are_shared)
        result = open_again(entry);
    if (result == WEFT_CU_SUCCESS)
        mapped_bytes += entry->share.bytes;
    else
        entry->address = 0;
    return result;
}

static void refuse(mapped_t *entry, weft_cu_result_t result)
{
    entry->is_refused = true;
    WEFT_LOG(WEFT_INFO, "cuda", "%s of memory of rank %u: %s", wefti_handle_of(&entry->share)->name,
             entry->share.owner,
             result == WEFT_NO_DESCRIPTOR ? "no descriptor" : wefti_driver_error(result));
    if (!wefti_is_probing())
        say_why_not_mapped(entry, result);
}

static bool open_entry(mapped_t *entry)
{
    const weft_handle_ops_t *handle = wefti_handle_of(&entry->share);
    if (handle->is_kept && wefti_streams_may_wait() && !entry->device->gives_beside_waits) {
        note_missed(entry, !entry->share.is_brief);
        return false;
    }
    weft_cu_result_t result = open_in_room(entry);
    if (result != WEFT_CU_SUCCESS && result != WEFT_CU_NOT_READY)
        refuse(entry, result);
    return result == WEFT_CU_SUCCESS;
}

/* Returns false if it cannot be mapped, or not yet. */
static bool is_reached(mapped_t *entry)
{
    weft_reach_t reach = WEFT_REACHES;
    const weft_share_t *share = &entry->share;
    entry->users++; /* a probe maps other memory, for which this entry must not make room */
    if (memcmp(entry->device->uuid.bytes, share->uuid, sizeof(share->uuid)) != 0)
        reach = wefti_is_reachable(share, entry->device)
                    ? wefti_probe_reach(entry->device, share->uuid)
                    : WEFT_REACH_FAILS;
    entry->users--;
    entry->is_reached = reach == WEFT_REACHES;
    entry->is_refused = reach == WEFT_REACH_FAILS;
    return entry->is_reached;
}

/* All that one process has on one device must be opened in one context of a device
 * (cuIpcOpenMemHandle). Returns another context of the same device in which some of it is open. */
static weft_device_t *rival_in(const weft_list_t *list, const weft_share_t *share,
                               const weft_device_t *device)
{
    for (const weft_link_t *at = list->next; at != list; at = at->next) {
        const mapped_t *other = WEFT_ELEMENT(at, mapped_t, order);
        if (other->address != 0 && other->share.kind == WEFT_HANDLE_LEGACY &&
            other->share.owner == share->owner && other->device != device &&
            other->device->number == device->number && wefti_device_lives(other->device) &&
            memcmp(other->share.uuid, share->uuid, sizeof(share->uuid)) == 0)
            return other->device;
    }
    return NULL;
}

static bool has_twin(const weft_device_t *device)
{
    weft_device_t *other = wefti_devices;
    while (other != NULL &&
           (other == device || other->number != device->number || !wefti_device_lives(other)))
        other = other->next;
    return other != NULL;
}

static weft_device_t *rival_of(const weft_share_t *share, const weft_device_t *device)
{
    if (share->kind != WEFT_HANDLE_LEGACY || !has_twin(device))
        return NULL;
    weft_device_t *rival = rival_in(&order, share, device);
    return rival != NULL ? rival : rival_in(&unmapped_later, share, device);
}

/* Where to map: on `device`, or if that is NULL on any that suits. NULL: nowhere. */
static weft_device_t *context_for(const weft_share_t *share, weft_device_t *device)
{
    weft_device_t *place = device != NULL ? device : wefti_place_of_mapping(share);
    weft_device_t *rival = place == NULL ? NULL : rival_of(share, place);
    if (rival == NULL || device == NULL)
        return rival == NULL ? place : rival;
    wefti_warn_of_detour(WEFT_WARNING_CONTEXTS,
                         "a rank has buffers in several contexts of a device, and the driver opens "
                         "memory of another process in one of them only");
    return NULL;
}

/* Ids are not used again, so what is known of one needs no question to the driver. */
static bool map_own(const weft_share_t *share, weft_mapping_t *out)
{
    weft_memory_t memory;
    void *address = (void *)(uintptr_t)share->address;
    const weft_allocation_t *known = wefti_allocation_of(share->id);
    if (known != NULL && !known->memory.device->is_dead)
        memory = known->memory;
    else if (wefti_memory_look(address, &memory) != MPI_SUCCESS || memory.device == NULL)
        return false;
    *out = (weft_mapping_t){address, memory.device, NULL};
    return true;
}

static bool give_mapping(mapped_t *entry, const weft_share_t *share, weft_mapping_t *out)
{
    entry->users++;
    entry->is_brief |= share->is_brief != 0;
    weft_list_remove(&entry->order);
    weft_list_append(&order, &entry->order);
    uintptr_t address = (uintptr_t)(entry->address + (share->address - share->base));
    *out = (weft_mapping_t){(void *)address, entry->device, entry};
    return true;
}

/* The owner may have closed the descriptor of an earlier share, and made another one. */
static void renew(mapped_t *entry, const weft_share_t *share)
{
    if (entry->share.ticket != share->ticket)
        wefti_give_up(&entry->share);
    entry->share = *share;
}

bool wefti_map(const weft_share_t *share, weft_device_t *device, bool at_any_price,
               weft_mapping_t *out)
{
    if (share->owner == (uint32_t)weft_world.rank)
        return map_own(share, out);
    const weft_handle_ops_t *handle = wefti_handle_of(share);
    if (handle == NULL || !weft_share_covers(share, 0) || !wefti_driver_find() ||
        strcmp(weft_config.DEVICE_IPC, "no") == 0)
        return false;
    device = context_for(share, device);
    if (device == NULL)
        return false;
    mapped_t *entry = find_mapping(share, device);
    bool is_first = entry == NULL;
    if (is_first)
        entry = add_mapping(share, device);
    if (entry == NULL || entry->is_refused)
        return false;
    if (entry->address != 0)
        return give_mapping(entry, share, out);
    renew(entry, share);
    if (!entry->is_reached && !is_reached(entry))
        return false;
    if (is_first && handle->is_kept && !at_any_price)
        return false;
    return open_entry(entry) && give_mapping(entry, share, out);
}

bool wefti_is_refused(const weft_share_t *share, weft_device_t *device)
{
    if (strcmp(weft_config.DEVICE_IPC, "no") == 0 || wefti_handle_of(share) == NULL)
        return true;
    if (!wefti_driver_find())
        return false;
    device = context_for(share, device);
    const mapped_t *entry = device == NULL ? NULL : find_mapping(share, device);
    return entry != NULL && entry->is_refused;
}

void wefti_unmap(weft_mapping_t *mapping)
{
    mapped_t *entry = mapping->entry;
    mapping->entry = NULL;
    if (entry == NULL || --entry->users > 0)
        return;
    if (entry->is_brief || !wefti_handle_of(&entry->share)->is_kept)
        drop_mapping(entry);
    else
        make_mapping_room(0);
}

bool wefti_has_missed_mapping(void)
{
    return missed_count > 0;
}

static mapped_t *find_missed(void)
{
    for (weft_link_t *at = order.next; at != &order; at = at->next) {
        mapped_t *entry = WEFT_ELEMENT(at, mapped_t, order);
        if (entry->is_missed)
            return entry;
    }
    return NULL;
}

/* The owner may have freed the memory meanwhile, so one failure says nothing. */
void wefti_mappings_catch_up(void)
{
    for (mapped_t *entry; (entry = find_missed()) != NULL;) {
        note_missed(entry, false);
        if (entry->address != 0 || entry->is_refused)
            continue;
        weft_cu_result_t result = open_in_room(entry);
        if (result != WEFT_CU_SUCCESS && result != WEFT_CU_NOT_READY &&
            ++entry->late_tries == LATE_TRIES)
            refuse(entry, result);
    }
}

void wefti_forget_mapping(int owner, uint64_t id)
{
    mapped_t *entry = *mapping_bin((uint32_t)owner, id);
    for (mapped_t *next; entry != NULL; entry = next) {
        next = entry->next_in_bin;
        if (entry->share.owner == (uint32_t)owner && entry->share.id == id && entry->users == 0)
            drop_mapping(entry);
    }
}

void wefti_mappings_close(void)
{
    blocks_are_shared = false;
    unmap_late();
    while (!weft_list_is_empty(&order))
        drop_mapping(WEFT_ELEMENT(order.next, mapped_t, order));
    wefti_mapped_pools_close();
}
