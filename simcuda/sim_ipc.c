/* SPDX-License-Identifier: BSD-3-Clause */
/* Legacy IPC: handles of cuMemAlloc's memory and of events. */
#include "sim_event.h"
#include "sim_share.h"

#include <string.h>

/* ---- memory ---- */

static CUresult export_memory(CUipcMemHandle *out, CUdeviceptr address)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const sim_range_t *range = sim_range_find(address);
    if (out == NULL || range == NULL || range->what != SIM_DEVICE_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    sim_token_t token =
        sim_token_create(SIM_SHARED_MEMORY, range->backing->fd, range->device_index);
    token.offset = range->offset;
    token.bytes = range->bytes;
    token.granule = (uint32_t)((range->start - range->offset) / SIM_GRANULE);
    memcpy(out, &token, sizeof(*out));
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr address)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : export_memory(out, address));
}

typedef struct import {
    const sim_token_t *token;
    sim_range_t *found;
} import_t;

static void match(sim_range_t *range, void *data)
{
    import_t *import = data;
    if (range->what == SIM_IMPORTED &&
        memcmp(range->handle, import->token, sizeof(range->handle)) == 0)
        import->found = range;
}

static uint64_t end_granule(const sim_token_t *token)
{
    return token->granule + (token->offset + token->bytes + SIM_GRANULE - 1) / SIM_GRANULE;
}

/* Memory that its owner has freed occupies its place as long as this process has it open, be it by
 * another allocation of the same block: what lies there then cannot be opened. */
static void match_stale(sim_range_t *range, void *data)
{
    import_t *import = data;
    sim_token_t old;
    if (range->what != SIM_IMPORTED)
        return;
    memcpy(&old, range->handle, sizeof(old));
    if (old.pid == import->token->pid && old.index == import->token->index &&
        old.inode != import->token->inode && old.granule < end_granule(import->token) &&
        import->token->granule < end_granule(&old))
        import->found = range;
}

/* "CUipcMemHandles from each CUdevice in a given process may only be opened by one CUcontext per
 * CUdevice per other process": memory of the same process and device in another context of the
 * same device. */
typedef struct rival {
    const sim_token_t *token;
    const sim_context_t *context;
    bool is_there;
} rival_t;

static void match_rival(sim_range_t *range, void *data)
{
    rival_t *rival = data;
    sim_token_t other;
    if (range->what != SIM_IMPORTED || range->context == rival->context ||
        range->context->device != rival->context->device)
        return;
    memcpy(&other, range->handle, sizeof(other));
    rival->is_there |= other.pid == rival->token->pid && other.index == rival->token->index;
}

static CUresult may_open(const sim_context_t *context, const sim_token_t *token)
{
    if (token->kind != SIM_SHARED_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_token_is_own(token))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!sim_is_granted(token->index))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!sim_are_peers(context->device->index, token->index))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return CUDA_SUCCESS;
}

/* Maps the whole file, which may be a block of many allocations, but enters only the
 * imported one. */
static CUresult map_import(sim_context_t *context, const sim_token_t *token, sim_range_t **out)
{
    int fd;
    CUresult result = sim_token_open(token, SIM_SHARED_MEMORY, &fd);
    if (result != CUDA_SUCCESS)
        return result;
    size_t bytes = (token->offset + token->bytes + SIM_GRANULE - 1) / SIM_GRANULE * SIM_GRANULE;
    sim_backing_t *backing = sim_backing_adopt(fd, bytes);
    uintptr_t base = sim_space_take(bytes, SIM_GRANULE, 0);
    if (base == 0 || !sim_space_map(base, backing, 0, bytes)) {
        if (base != 0)
            sim_space_give(base, bytes);
        sim_backing_release(backing);
        return CUDA_ERROR_MAP_FAILED;
    }
    const sim_device_t *device = sim_token_device(token);
    sim_range_t range = {.start = base + token->offset,
                         .bytes = token->bytes,
                         .what = SIM_IMPORTED,
                         .context = context,
                         .device = device == NULL ? CU_DEVICE_INVALID : device->ordinal,
                         .device_index = token->index,
                         .backing = backing,
                         .offset = token->offset};
    memcpy(range.handle, token, sizeof(range.handle));
    *out = sim_range_add(&range);
    return CUDA_SUCCESS;
}

static CUresult import_memory(CUdeviceptr *out, const CUipcMemHandle *handle, unsigned flags)
{
    sim_context_t *context;
    sim_token_t token;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    if (out == NULL || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    sim_quiesce_device(context->device);
    memcpy(&token, handle, sizeof(token));
    result = may_open(context, &token);
    if (result != CUDA_SUCCESS)
        return result;
    import_t import = {&token, NULL};
    sim_range_each(match_stale, &import);
    if (import.found != NULL)
        return CUDA_ERROR_ALREADY_MAPPED;
    sim_range_each(match, &import);
    if (import.found != NULL && import.found->context != context)
        return CUDA_ERROR_ALREADY_MAPPED;
    rival_t rival = {&token, context, false};
    sim_range_each(match_rival, &rival);
    if (rival.is_there)
        return CUDA_ERROR_INVALID_HANDLE;
    if (import.found == NULL)
        result = map_import(context, &token, &import.found);
    if (result != CUDA_SUCCESS)
        return result;
    import.found->opens++;
    *out = import.found->start;
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : import_memory(out, &handle, flags));
}

void sim_import_close(sim_range_t *range)
{
    uintptr_t base = range->start - range->offset;
    sim_space_unmap(base, range->backing->bytes);
    sim_space_give(base, range->backing->bytes);
    sim_backing_release(range->backing);
    sim_range_remove(range);
}

static CUresult close_memory(CUdeviceptr address)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    sim_range_t *range = sim_range_at(address);
    if (range == NULL || range->what != SIM_IMPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    sim_quiesce(range->context);
    range = sim_range_at(address);
    if (range != NULL && range->what == SIM_IMPORTED && --range->opens == 0)
        sim_import_close(range);
    return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : close_memory(address));
}

/* ---- events ---- */

static CUresult export_event(CUipcEventHandle *out, const sim_event_t *event)
{
    if (event == NULL || event->shared == NULL || event->is_imported)
        return CUDA_ERROR_INVALID_HANDLE;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    sim_token_t token =
        sim_token_create(SIM_SHARED_EVENT, event->shared->fd, event->context->device->index);
    memcpy(out, &token, sizeof(*out));
    return CUDA_SUCCESS;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : export_event(out, sim_event_of(event)));
}

static CUresult import_event(CUevent *out, const CUipcEventHandle *handle)
{
    sim_context_t *context;
    sim_token_t token;
    int fd;
    CUresult result = sim_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(&token, handle, sizeof(token));
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_token_is_own(&token))
        return CUDA_ERROR_INVALID_CONTEXT;
    result = sim_token_open(&token, SIM_SHARED_EVENT, &fd);
    if (result != CUDA_SUCCESS)
        return result;
    sim_shared_event_t *shared = sim_shared_event_open(fd);
    if (shared == NULL)
        return CUDA_ERROR_MAP_FAILED;
    sim_event_t *event = sim_event_create(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    event->shared = shared;
    event->is_imported = true;
    *out = (CUevent)event;
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : import_event(out, &handle));
}
