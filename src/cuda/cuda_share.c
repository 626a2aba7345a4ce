/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_share.h"

#include "cuda/cuda_segments.h"
#include "cuda/peer_probe.h"
#include "runtime/fd_mail.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"

#include <string.h>
#include <unistd.h>

void wefti_warn_of_detour(weft_warning_t note, const char *reason)
{
    if (weft_world_may_warn(note))
        WEFT_LOG(WEFT_WARN, "cuda",
                 "%s; such messages go through pinned host memory, at the speed of the bus",
                 reason);
}

/* the allocations that have a descriptor, and their bytes */
static size_t exported_count, exported_bytes;

/* ---- making handles ---- */

typedef bool (*export_fn_t)(weft_allocation_t *entry);

static bool share_export_legacy(weft_allocation_t *entry)
{
    weft_cu_ipc_handle_t handle;
    if (wefti_cu.cuIpcGetMemHandle(&handle, entry->memory.base) != WEFT_CU_SUCCESS)
        return false;
    memcpy(entry->handle, handle.bytes, sizeof(entry->handle));
    return true;
}

/* The range of a driver that knows only of reservations may hold several allocations, but a handle
 * stands for one. */
static bool retain_whole(const weft_allocation_t *entry, weft_cu_allocation_t *out)
{
    weft_cu_allocation_t last;
    const weft_memory_t *memory = &entry->memory;
    if (wefti_cu.cuMemRetainAllocationHandle(out, (void *)memory->base) != WEFT_CU_SUCCESS)
        return false;
    void *end = (void *)(memory->base + memory->bytes - 1);
    bool is_whole = false;
    if (wefti_cu.cuMemRetainAllocationHandle(&last, end) == WEFT_CU_SUCCESS) {
        is_whole = last == *out;
        wefti_cu.cuMemRelease(last);
    }
    if (!is_whole)
        wefti_cu.cuMemRelease(*out);
    return is_whole;
}

static bool share_export_fd(weft_allocation_t *entry)
{
    weft_cu_allocation_t allocation;
    if (!retain_whole(entry, &allocation))
        return false;
    bool is_exported = wefti_cu.cuMemExportToShareableHandle(
                           &entry->fd, allocation, WEFT_CU_HANDLE_POSIX_FD, 0) == WEFT_CU_SUCCESS;
    wefti_cu.cuMemRelease(allocation);
    if (is_exported)
        entry->ticket = weft_fd_offer(entry->fd);
    return is_exported;
}

static bool share_export_fabric(weft_allocation_t *entry)
{
    weft_cu_allocation_t allocation;
    if (!retain_whole(entry, &allocation))
        return false;
    bool is_exported = wefti_cu.cuMemExportToShareableHandle(
                           entry->handle, allocation, WEFT_CU_HANDLE_FABRIC, 0) == WEFT_CU_SUCCESS;
    wefti_cu.cuMemRelease(allocation);
    return is_exported;
}

/* A pool has one file descriptor for all its allocations. */
enum { POOLS_MAX = 16 };

static struct {
    weft_cu_pool_t pool;
    int fd;
    uint64_t ticket;
} pools[POOLS_MAX];
static int pool_count;

/* The ticket of the pool's descriptor; 0: the pool has none. */
static uint64_t pool_ticket(weft_cu_pool_t pool)
{
    int fd = -1;
    for (int i = 0; i < pool_count; i++) {
        if (pools[i].pool == pool)
            return pools[i].ticket;
    }
    if (pool_count == POOLS_MAX || wefti_cu.cuMemPoolExportToShareableHandle(
                                       &fd, pool, WEFT_CU_HANDLE_POSIX_FD, 0) != WEFT_CU_SUCCESS)
        return 0;
    pools[pool_count].pool = pool;
    pools[pool_count].fd = fd;
    pools[pool_count].ticket = weft_fd_offer(fd);
    return pools[pool_count++].ticket;
}

static bool share_export_pool(weft_allocation_t *entry)
{
    weft_cu_ipc_handle_t place;
    entry->ticket = pool_ticket(entry->pool);
    if (entry->ticket == 0 ||
        wefti_cu.cuMemPoolExportPointer(&place, entry->memory.base) != WEFT_CU_SUCCESS)
        return false;
    memcpy(entry->handle, place.bytes, sizeof(entry->handle));
    return true;
}

void wefti_shares_close(void)
{
    while (pool_count > 0) {
        weft_fd_withdraw(pools[--pool_count].ticket);
        close(pools[pool_count].fd);
    }
}

static export_fn_t exporter_for(const weft_allocation_t *entry, weft_handle_kind_t *kind_out)
{
    const uint64_t types = entry->handle_types;
    if (entry->memory.kind != WEFT_MEMORY_DEVICE)
        return NULL;
    if (entry->is_legacy) {
        *kind_out = WEFT_HANDLE_LEGACY;
        return share_export_legacy;
    }
    if (entry->pool != NULL) {
        *kind_out = WEFT_HANDLE_POOL;
        return share_export_pool;
    }
    if (types & WEFT_CU_HANDLE_POSIX_FD) {
        *kind_out = WEFT_HANDLE_FD;
        return share_export_fd;
    }
    *kind_out = WEFT_HANDLE_FABRIC;
    return types & WEFT_CU_HANDLE_FABRIC ? share_export_fabric : NULL;
}

static void say_why_not_shared(const weft_allocation_t *entry)
{
    if (entry->memory.kind == WEFT_MEMORY_MANAGED)
        wefti_warn_of_detour(WEFT_WARNING_MANAGED,
                             "managed memory cannot be shared between processes");
    else if (entry->is_legacy)
        wefti_warn_of_detour(WEFT_WARNING_REFUSED,
                             "the driver gives no handles of device memory for other processes "
                             "(cuIpcGetMemHandle)");
    else if (entry->pool != NULL)
        wefti_warn_of_detour(
            WEFT_WARNING_POOL,
            "memory of a pool without exportable handles (cudaMallocAsync's default) "
            "cannot be shared between processes: create the pool with handle type "
            "POSIX_FILE_DESCRIPTOR");
    else
        wefti_warn_of_detour(
            WEFT_WARNING_NO_HANDLE,
            "memory of cuMemCreate without an exportable handle cannot be shared between "
            "processes: ask for handle type POSIX_FILE_DESCRIPTOR");
}

static void export_entry(weft_allocation_t *entry)
{
    weft_visit_t visit;
    weft_handle_kind_t kind;
    export_fn_t export = exporter_for(entry, &kind);
    bool is_exported = false;
    if (export != NULL && wefti_device_enter(entry->memory.device, &visit) == 0) {
        is_exported = export(entry);
        wefti_device_leave(&visit);
    }
    if (!is_exported) {
        kind = WEFT_HANDLE_NONE;
        say_why_not_shared(entry);
    }
    entry->handle_kind = kind;
    if (kind == WEFT_HANDLE_FD) {
        exported_bytes += entry->memory.bytes;
        exported_count++;
    }
}

/* ---- shares ---- */

/* Parts of a device. Where the program frees memory and allocates it again, it may miss as much as
 * descriptors hold; and processes often may have a thousand descriptors only. */
enum { BRIEF_PART = 32, EXPORTED_PART = 16, EXPORTED_MOST = 256 };

void wefti_share_end(weft_allocation_t *entry)
{
    if (entry->handle_kind == WEFT_HANDLE_FD) {
        weft_fd_withdraw(entry->ticket);
        close(entry->fd);
        exported_bytes -= entry->memory.bytes;
        exported_count--;
    }
    entry->handle_kind = WEFT_HANDLE_UNKNOWN;
}

bool wefti_is_brief(const weft_device_t *device, size_t bytes)
{
    return bytes > device->bytes / BRIEF_PART || bytes > weft_config.DEVICE_MAPPED_MAX;
}

void wefti_share_let_go(weft_allocation_t *entry, bool is_brief)
{
    if (entry == NULL || entry->shares == 0 || --entry->shares > 0 ||
        entry->handle_kind != WEFT_HANDLE_FD)
        return;
    if (is_brief || exported_count > EXPORTED_MOST ||
        exported_bytes > entry->memory.device->bytes / EXPORTED_PART ||
        exported_bytes > weft_config.DEVICE_MAPPED_MAX)
        wefti_share_end(entry);
}

void wefti_unshare(const weft_share_t *share)
{
    if (share->kind == WEFT_HANDLE_SEGMENTS)
        wefti_segments_unshare(share);
    else if (share->kind == WEFT_HANDLE_FD)
        wefti_share_let_go(wefti_allocation_of(share->id), share->is_brief);
}

/* The peer maps a brief share for one use, and needs the descriptors each time. */
void wefti_push_share(const weft_share_t *share, int rank)
{
    if (share->kind == WEFT_HANDLE_SEGMENTS)
        wefti_segments_push(share, rank);
    weft_fd_push(share->ticket, rank, share->is_brief);
}

weft_allocation_t *wefti_share_by_fd(uint64_t id)
{
    weft_allocation_t *entry = wefti_allocation_of(id);
    if (entry != NULL && entry->handle_kind == WEFT_HANDLE_UNKNOWN)
        export_entry(entry);
    return entry != NULL && entry->handle_kind == WEFT_HANDLE_FD ? entry : NULL;
}

bool wefti_share(const weft_memory_t *memory, const void *buf, size_t bytes, weft_share_t *out)
{
    wefti_allocations_look_for_freed();
    weft_allocation_t *entry = wefti_allocation_of(memory->id);
    uintptr_t address = (uintptr_t)buf;
    if (entry == NULL || strcmp(weft_config.DEVICE_IPC, "no") == 0 || address < entry->memory.base)
        return false;
    if (entry->handle_kind == WEFT_HANDLE_UNKNOWN) {
        wefti_probe_offer(memory->device);
        entry = wefti_allocation_of(memory->id); /* it may have forgotten freed ones */
        if (entry == NULL)
            return false;
    }
    if (address + bytes > entry->memory.base + entry->memory.bytes)
        return entry->memory.kind == WEFT_MEMORY_DEVICE && !entry->is_legacy &&
               entry->pool == NULL && wefti_segments_share(buf, bytes, out);
    if (entry->handle_kind == WEFT_HANDLE_UNKNOWN)
        export_entry(entry);
    if (entry->handle_kind == WEFT_HANDLE_NONE)
        return false;
    entry->is_known_elsewhere = true;
    entry->shares++;
    *out = (weft_share_t){.base = entry->memory.base,
                          .bytes = entry->memory.bytes,
                          .id = entry->memory.id,
                          .address = address,
                          .ticket = entry->ticket,
                          .owner = (uint32_t)weft_world.rank,
                          .kind = (uint16_t)entry->handle_kind,
                          .is_brief = wefti_is_brief(entry->memory.device, bytes)};
    memcpy(out->uuid, entry->memory.device->uuid.bytes, sizeof(out->uuid));
    memcpy(out->handle, entry->handle, sizeof(out->handle));
    return true;
}
