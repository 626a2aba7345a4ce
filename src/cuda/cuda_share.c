/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_share.h"

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

static size_t exported_bytes; /* of allocations that have a descriptor */

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

/* A range may consist of several VMM allocations, but a handle stands for one only. */
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
} pools[POOLS_MAX];
static int pool_count;

static int pool_fd(weft_cu_pool_t pool)
{
    int fd = -1;
    for (int i = 0; i < pool_count; i++) {
        if (pools[i].pool == pool)
            return pools[i].fd;
    }
    if (pool_count == POOLS_MAX || wefti_cu.cuMemPoolExportToShareableHandle(
                                       &fd, pool, WEFT_CU_HANDLE_POSIX_FD, 0) != WEFT_CU_SUCCESS)
        return -1;
    pools[pool_count].pool = pool;
    pools[pool_count++].fd = fd;
    return fd;
}

static bool share_export_pool(weft_allocation_t *entry)
{
    weft_cu_ipc_handle_t place;
    entry->fd = pool_fd(entry->pool);
    if (entry->fd < 0 ||
        wefti_cu.cuMemPoolExportPointer(&place, entry->memory.base) != WEFT_CU_SUCCESS)
        return false;
    memcpy(entry->handle, place.bytes, sizeof(entry->handle));
    return true;
}

void wefti_shares_close(void)
{
    while (pool_count > 0)
        close(pools[--pool_count].fd);
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
            "memory of cuMemCreate without an exportable handle, or put together of "
            "several allocations, cannot be shared between processes: ask for handle "
            "type POSIX_FILE_DESCRIPTOR");
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
    exported_bytes += kind == WEFT_HANDLE_FD ? entry->memory.bytes : 0;
}

/* ---- shares ---- */

/* Parts of a device. Where the program frees memory and allocates it again, it may miss as much as
 * descriptors hold. */
enum { BRIEF_PART = 32, EXPORTED_PART = 16 };

void wefti_share_end(weft_allocation_t *entry)
{
    if (entry->handle_kind == WEFT_HANDLE_FD) {
        close(entry->fd);
        exported_bytes -= entry->memory.bytes;
    }
    entry->handle_kind = WEFT_HANDLE_UNKNOWN;
}

void wefti_unshare(const weft_share_t *share)
{
    weft_allocation_t *entry =
        share->kind == WEFT_HANDLE_FD ? wefti_allocation_of(share->id) : NULL;
    if (entry == NULL || entry->shares == 0 || --entry->shares > 0)
        return;
    if (share->is_brief || exported_bytes > entry->memory.device->bytes / EXPORTED_PART ||
        exported_bytes > weft_config.DEVICE_MAPPED_MAX)
        wefti_share_end(entry);
}

bool wefti_share(const weft_memory_t *memory, const void *buf, size_t bytes, weft_share_t *out)
{
    wefti_allocations_look_for_freed();
    weft_allocation_t *entry = wefti_allocation_of(memory->id);
    uintptr_t address = (uintptr_t)buf;
    if (entry == NULL || strcmp(weft_config.DEVICE_IPC, "no") == 0 ||
        address < entry->memory.base || address + bytes > entry->memory.base + entry->memory.bytes)
        return false;
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
                          .owner = (uint32_t)weft_world.rank,
                          .pid = getpid(),
                          .fd = entry->fd,
                          .kind = (uint16_t)entry->handle_kind,
                          .is_brief = bytes > entry->memory.device->bytes / BRIEF_PART};
    memcpy(out->uuid, entry->memory.device->uuid.bytes, sizeof(out->uuid));
    memcpy(out->handle, entry->handle, sizeof(out->handle));
    return true;
}
