/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "cuda/cuda_mapping.h"

#include "cuda/allocation.h"
#include "cuda/cuda_share.h"
#include "cuda/cuda_stream.h"
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

enum { BINS = 256, MAPPED_MOST = 512, POOLS_MAX = 64, BLOCK = 2 << 20 };

/* A peer's allocation as it is mapped for one device. */
typedef struct mapped {
    weft_link_t order; /* least recently used first */
    struct mapped *next_in_bin;
    weft_share_t share; /* the share in which the allocation was first described */
    weft_device_t *device;
    weft_cu_address_t address; /* 0: the allocation is known, but not mapped */
    size_t users;
    bool is_reached; /* the device reaches the memory */
    bool is_refused; /* it cannot be mapped, and is not tried again */
    bool made_way;   /* it was unmapped so that another allocation of its block could be mapped */
} mapped_t;

/* What the functions below return beside the driver's results: the owner gives no descriptor. */
enum { NO_DESCRIPTOR = -1 };

typedef struct pool {
    uint32_t owner;
    uint64_t ticket; /* of the descriptor */
    weft_device_t *device;
    weft_cu_pool_t pool;
} pool_t;

static mapped_t *bins[BINS];
static weft_list_t order = {&order, &order};
static weft_list_t unmapped_later = {&unmapped_later, &unmapped_later};
static size_t mapped_bytes;
static int mapped_count;
static pool_t pools[POOLS_MAX];
static int pool_count;
/* an allocation that was unmapped for another is in use again: nothing more is unmapped so */
static bool blocks_are_shared;

int wefti_mappings(void)
{
    return mapped_count;
}

/* ---- handles ---- */

/* How to open and close each kind of handle. The functions run in the device's context. */
typedef struct handle_ops {
    const char *name;
    weft_cu_result_t (*open)(const weft_share_t *share, const weft_device_t *device,
                             weft_cu_address_t *out);
    void (*close)(weft_cu_address_t address, size_t bytes);
    bool is_kept; /* the mapping is kept between uses */
} handle_ops_t;

static weft_cu_result_t mapping_open_legacy(const weft_share_t *share, const weft_device_t *device,
                                            weft_cu_address_t *out)
{
    weft_cu_ipc_handle_t handle;
    (void)device;
    memcpy(handle.bytes, share->handle, sizeof(handle.bytes));
    return wefti_cu.cuIpcOpenMemHandle(out, handle, WEFT_CU_IPC_LAZY_PEER_ACCESS);
}

static void mapping_close_legacy(weft_cu_address_t address, size_t bytes)
{
    (void)bytes;
    wefti_cu.cuIpcCloseMemHandle(address);
}

/* WEFT_CU_NOT_READY: the owner has been asked. */
static weft_cu_result_t fetch_fd(const weft_share_t *share, int *out)
{
    weft_fd_answer_t answer = weft_fd_fetch((int)share->owner, share->ticket, out);
    return answer == WEFT_FD_HERE      ? WEFT_CU_SUCCESS
           : answer == WEFT_FD_AWAITED ? WEFT_CU_NOT_READY
                                       : NO_DESCRIPTOR;
}

static weft_cu_access_t access_by(const weft_device_t *device)
{
    return (weft_cu_access_t){{WEFT_CU_LOCATION_DEVICE, device->number}, WEFT_CU_ACCESS_READWRITE};
}

weft_cu_result_t wefti_map_allocation(weft_cu_allocation_t allocation, size_t bytes,
                                      size_t alignment, const weft_device_t *device,
                                      weft_cu_address_t *out)
{
    weft_cu_access_t access = access_by(device);
    weft_cu_address_t address;
    weft_cu_result_t result = wefti_cu.cuMemAddressReserve(&address, bytes, alignment, 0, 0);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = wefti_cu.cuMemMap(address, bytes, 0, allocation, 0);
    if (result == WEFT_CU_SUCCESS) {
        result = wefti_cu.cuMemSetAccess(address, bytes, &access, 1);
        if (result == WEFT_CU_SUCCESS) {
            *out = address;
            return result;
        }
        wefti_cu.cuMemUnmap(address, bytes);
    }
    wefti_cu.cuMemAddressFree(address, bytes);
    return result;
}

/* `handle` is what cuMemImportFromShareableHandle takes. The mapping keeps the allocation alive. */
static weft_cu_result_t import_allocation(const weft_share_t *share, void *handle, int type,
                                          const weft_device_t *device, weft_cu_address_t *out)
{
    weft_cu_allocation_t allocation;
    weft_cu_result_t result = wefti_cu.cuMemImportFromShareableHandle(&allocation, handle, type);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = wefti_map_allocation(allocation, share->bytes, 0, device, out);
    wefti_cu.cuMemRelease(allocation);
    return result;
}

static weft_cu_result_t mapping_open_fd(const weft_share_t *share, const weft_device_t *device,
                                        weft_cu_address_t *out)
{
    int fd;
    weft_cu_result_t result = fetch_fd(share, &fd);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = import_allocation(share, (void *)(intptr_t)fd, WEFT_CU_HANDLE_POSIX_FD, device, out);
    close(fd);
    return result;
}

static weft_cu_result_t mapping_open_fabric(const weft_share_t *share, const weft_device_t *device,
                                            weft_cu_address_t *out)
{
    uint8_t handle[sizeof(share->handle)];
    memcpy(handle, share->handle, sizeof(handle));
    return import_allocation(share, handle, WEFT_CU_HANDLE_FABRIC, device, out);
}

void wefti_unmap_allocation(weft_cu_address_t address, size_t bytes)
{
    wefti_cu.cuMemUnmap(address, bytes);
    wefti_cu.cuMemAddressFree(address, bytes);
}

static weft_cu_result_t import_pool(const weft_share_t *share, weft_cu_pool_t *out)
{
    int fd;
    weft_cu_result_t result = fetch_fd(share, &fd);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = wefti_cu.cuMemPoolImportFromShareableHandle(out, (void *)(intptr_t)fd,
                                                         WEFT_CU_HANDLE_POSIX_FD, 0);
    close(fd);
    return result;
}

static weft_cu_result_t find_pool(const weft_share_t *share, weft_device_t *device,
                                  weft_cu_pool_t *out)
{
    weft_cu_access_t access = access_by(device);
    for (int i = 0; i < pool_count; i++) {
        if (pools[i].owner == share->owner && pools[i].ticket == share->ticket &&
            pools[i].device == device) {
            *out = pools[i].pool;
            return WEFT_CU_SUCCESS;
        }
    }
    if (pool_count == POOLS_MAX)
        return WEFT_CU_OUT_OF_MEMORY;
    weft_cu_result_t result = import_pool(share, out);
    if (result != WEFT_CU_SUCCESS)
        return result;
    wefti_cu.cuMemPoolSetAccess(*out, &access, 1);
    pools[pool_count++] = (pool_t){share->owner, share->ticket, device, *out};
    return result;
}

static weft_cu_result_t mapping_open_in_pool(const weft_share_t *share, const weft_device_t *device,
                                             weft_cu_address_t *out)
{
    weft_cu_pool_t pool;
    weft_cu_ipc_handle_t place;
    memcpy(place.bytes, share->handle, sizeof(place.bytes));
    weft_cu_result_t result = find_pool(share, (weft_device_t *)device, &pool);
    return result == WEFT_CU_SUCCESS ? wefti_cu.cuMemPoolImportPointer(out, pool, &place) : result;
}

/* For memory of pools cuMemFree does not wait for anything. */
static void mapping_close_in_pool(weft_cu_address_t address, size_t bytes)
{
    (void)bytes;
    wefti_cu.cuMemFree(address);
}

static const handle_ops_t handles[] = {
    [WEFT_HANDLE_LEGACY] = {"cuIpcOpenMemHandle", mapping_open_legacy, mapping_close_legacy, true},
    [WEFT_HANDLE_FD] = {"cuMemImportFromShareableHandle", mapping_open_fd, wefti_unmap_allocation,
                        true},
    [WEFT_HANDLE_FABRIC] = {"cuMemImportFromShareableHandle", mapping_open_fabric,
                            wefti_unmap_allocation, true},
    [WEFT_HANDLE_POOL] = {"cuMemPoolImportPointer", mapping_open_in_pool, mapping_close_in_pool,
                          false},
};

static const handle_ops_t *handle_of(const weft_share_t *share)
{
    return share->kind < sizeof(handles) / sizeof(handles[0]) && handles[share->kind].open != NULL
               ? &handles[share->kind]
               : NULL;
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
        handle_of(&entry->share)->close(entry->address, entry->share.bytes);
        wefti_device_leave(&visit);
    }
    entry->address = 0;
    mapped_bytes -= entry->share.bytes;
}

/* Except for pools, unmapping waits for all work under way in the context. */
static bool may_unmap(const mapped_t *entry)
{
    return entry->address == 0 || !handle_of(&entry->share)->is_kept || !wefti_streams_may_wait();
}

static void drop_mapping(mapped_t *entry)
{
    mapped_t **at = mapping_bin(entry->share.owner, entry->share.id);
    while (*at != entry)
        at = &(*at)->next_in_bin;
    *at = entry->next_in_bin;
    weft_list_remove(&entry->order);
    mapped_count--;
    if (entry->address == 0)
        weft_fd_forget((int)entry->share.owner, entry->share.ticket);
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
 * one. */
static void drop_predecessors(const weft_share_t *share)
{
    for (weft_link_t *at = order.next, *next; at != &order; at = next) {
        mapped_t *entry = WEFT_ELEMENT(at, mapped_t, order);
        next = at->next;
        if (entry->users == 0 && entry->share.id != share->id && overlaps(&entry->share, share))
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
        if (entry->users == 0)
            drop_mapping(entry);
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
    if (result == NO_DESCRIPTOR)
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
        result = handle_of(&entry->share)->open(&entry->share, entry->device, &entry->address);
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

static bool open_entry(mapped_t *entry)
{
    const handle_ops_t *handle = handle_of(&entry->share);
    blocks_are_shared |= entry->made_way;
    entry->users++;
    make_mapping_room(entry->share.bytes);
    entry->users--;
    weft_cu_result_t result = try_open(entry);
    if (result == WEFT_CU_ALREADY_MAPPED && wefti_streams_may_wait())
        return false; /* nothing can be unmapped while a stream may wait */
    if (result == WEFT_CU_ALREADY_MAPPED && !blocks_are_shared)
        result = open_again(entry);
    if (result == WEFT_CU_SUCCESS) {
        mapped_bytes += entry->share.bytes;
        return true;
    }
    entry->address = 0;
    if (result == WEFT_CU_NOT_READY)
        return false;
    entry->is_refused = true;
    WEFT_LOG(WEFT_INFO, "cuda", "%s of memory of rank %u: %s", handle->name, entry->share.owner,
             result == NO_DESCRIPTOR ? "no descriptor" : wefti_driver_error(result));
    if (!wefti_is_probing())
        say_why_not_mapped(entry, result);
    return false;
}

/* Does the driver say that `device` reaches memory of another one? */
static bool is_promised(const weft_share_t *share, const weft_device_t *device)
{
    int is_possible = 0;
    weft_cu_device_t owners = wefti_device_number(share->uuid);
    if (owners < 0)
        return true; /* the device may only be hidden from this process (CUDA_VISIBLE_DEVICES) */
    if (wefti_cu.cuDeviceCanAccessPeer(&is_possible, device->number, owners) != WEFT_CU_SUCCESS ||
        !is_possible)
        wefti_warn_of_detour(WEFT_WARNING_NO_PEERS,
                             "two devices of this host cannot reach each other's memory");
    return is_possible;
}

/* Returns false if it cannot be mapped, or not yet. */
static bool is_reached(mapped_t *entry)
{
    weft_reach_t reach = WEFT_REACHES;
    const weft_share_t *share = &entry->share;
    entry->users++; /* a probe maps other memory, for which this entry must not make room */
    if (memcmp(entry->device->uuid.bytes, share->uuid, sizeof(share->uuid)) != 0)
        reach = is_promised(share, entry->device) ? wefti_probe_reach(entry->device, share->uuid)
                                                  : WEFT_REACH_FAILS;
    entry->users--;
    entry->is_reached = reach == WEFT_REACHES;
    entry->is_refused = reach == WEFT_REACH_FAILS;
    return entry->is_reached;
}

/* The memory's own device, or any other one: the driver knows whether that one reaches the
 * memory. */
static weft_device_t *choose_mapping_device(const weft_share_t *share)
{
    weft_device_t *device;
    weft_cu_context_t context = NULL;
    if (wefti_device_of_uuid(share->uuid, &device))
        return device;
    if (wefti_cu.cuCtxGetCurrent(&context) == WEFT_CU_SUCCESS && context != NULL)
        return wefti_device_of_context(context, &device) == MPI_SUCCESS ? device : NULL;
    for (device = wefti_devices; device != NULL && device->is_dead; device = device->next)
        continue;
    return device;
}

static bool map_own(const weft_share_t *share, weft_mapping_t *out)
{
    weft_memory_t memory;
    void *address = (void *)(uintptr_t)share->address;
    if (wefti_memory_look(address, &memory) != MPI_SUCCESS || memory.device == NULL)
        return false;
    *out = (weft_mapping_t){address, memory.device, NULL};
    return true;
}

static bool give_mapping(mapped_t *entry, const weft_share_t *share, weft_mapping_t *out)
{
    entry->users++;
    weft_list_remove(&entry->order);
    weft_list_append(&order, &entry->order);
    uintptr_t address = (uintptr_t)(entry->address + (share->address - share->base));
    *out = (weft_mapping_t){(void *)address, entry->device, entry};
    return true;
}

bool wefti_map(const weft_share_t *share, weft_device_t *device, bool at_any_price,
               weft_mapping_t *out)
{
    if (share->owner == (uint32_t)weft_world.rank)
        return map_own(share, out);
    const handle_ops_t *handle = handle_of(share);
    if (handle == NULL || !weft_share_covers(share, 0) || !wefti_driver_find() ||
        strcmp(weft_config.DEVICE_IPC, "no") == 0)
        return false;
    if (device == NULL)
        device = choose_mapping_device(share);
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
    if (!entry->is_reached && !is_reached(entry))
        return false;
    if (is_first && handle->is_kept && !at_any_price)
        return false;
    return open_entry(entry) && give_mapping(entry, share, out);
}

bool wefti_is_refused(const weft_share_t *share, weft_device_t *device)
{
    if (strcmp(weft_config.DEVICE_IPC, "no") == 0 || handle_of(share) == NULL)
        return true;
    if (!wefti_driver_find())
        return false;
    if (device == NULL)
        device = choose_mapping_device(share);
    const mapped_t *entry = device == NULL ? NULL : find_mapping(share, device);
    return entry != NULL && entry->is_refused;
}

void wefti_unmap(weft_mapping_t *mapping)
{
    mapped_t *entry = mapping->entry;
    mapping->entry = NULL;
    if (entry != NULL && --entry->users == 0 && !handle_of(&entry->share)->is_kept)
        drop_mapping(entry);
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
    for (weft_visit_t visit; pool_count > 0;) {
        const pool_t *pool = &pools[--pool_count];
        if (pool->device->is_dead || wefti_device_enter(pool->device, &visit) != MPI_SUCCESS)
            continue;
        wefti_cu.cuMemPoolDestroy(pool->pool);
        wefti_device_leave(&visit);
    }
}
