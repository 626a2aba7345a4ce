/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts; each thread has a stack of them, whose top is the current one. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum { STACK_MAX = 64, LIMITS = 16, PRIORITY_LEAST = 0, PRIORITY_GREATEST = -5 };

static _Thread_local sim_context_t *stack[STACK_MAX];
static _Thread_local int depth;
/* Ended contexts stay in memory: threads may have them on their stacks. */
static sim_context_t **ended;
static size_t ended_count;

sim_context_t *sim_context_of(CUcontext handle)
{
    return sim_object_find(SIM_CONTEXT, handle);
}

CUresult sim_current(sim_context_t **out)
{
    if (depth == 0 || stack[depth - 1] == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_context_t *context = stack[depth - 1];
    if (sim_context_of((CUcontext)context) == NULL)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (context->error != CUDA_SUCCESS)
        return context->error;
    *out = context;
    return CUDA_SUCCESS;
}

static sim_context_t *create_context(sim_device_t *device, unsigned flags)
{
    sim_context_t *context = sim_object_create(SIM_CONTEXT, sizeof(*context));
    context->device = device;
    context->flags = flags;
    context->id = sim_next_id();
    return context;
}

/* Waits for queued work, then frees all that belongs to the context. */
static void end_context(sim_context_t *context)
{
    sim_context_drain(context);
    sim_object_forget(context);
    while (context->streams != NULL)
        sim_stream_end(context->streams);
    sim_events_end(context);
    sim_modules_end(context);
    sim_memory_end(context);
    ended = realloc(ended, (ended_count + 1) * sizeof(*ended));
    if (ended == NULL)
        sim_die("no memory for %zu contexts", ended_count + 1);
    ended[ended_count++] = context;
}

sim_context_t *sim_context_on(const sim_device_t *device)
{
    sim_context_t *context;
    if (sim_current(&context) == CUDA_SUCCESS && context->device == device)
        return context;
    return device->primary;
}

/* ---- primary contexts ---- */

static CUresult retain_primary(CUcontext *out, CUdevice ordinal)
{
    sim_device_t *device = sim_device(ordinal);
    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (out == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (device->primary == NULL) {
        device->primary = create_context(device, device->primary_flags);
        device->primary->is_primary = true;
    }
    device->primary_uses++;
    *out = (CUcontext)device->primary;
    return CUDA_SUCCESS;
}

void sim_primary_reset(sim_device_t *device)
{
    sim_context_t *context = device->primary;
    device->primary = NULL;
    if (context != NULL)
        end_context(context);
}

static CUresult release_primary(CUdevice ordinal)
{
    sim_device_t *device = sim_device(ordinal);
    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (device->primary_uses == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--device->primary_uses == 0)
        sim_primary_reset(device);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice ordinal)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : retain_primary(out, ordinal));
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : release_primary(ordinal));
}

CUresult cuDevicePrimaryCtxReset(CUdevice ordinal)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && sim_device(ordinal) == NULL)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS)
        sim_primary_reset(sim_device(ordinal));
    return sim_end(result);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    sim_device_t *device = sim_device(ordinal);
    if (result == CUDA_SUCCESS && device == NULL)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS && (flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        device->primary_flags = flags;
        if (device->primary != NULL)
            device->primary->flags = flags;
    }
    return sim_end(result);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *is_active)
{
    CUresult result = sim_begin(__func__);
    sim_device_t *device = sim_device(ordinal);
    if (result == CUDA_SUCCESS && device == NULL)
        result = CUDA_ERROR_INVALID_DEVICE;
    if (result == CUDA_SUCCESS && (flags == NULL || is_active == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *flags = device->primary_flags;
        *is_active = device->primary != NULL;
    }
    return sim_end(result);
}

/* ---- other contexts, and the stack ---- */

static CUresult push(sim_context_t *context)
{
    if (depth == STACK_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult create_current(CUcontext *out, unsigned flags, CUdevice ordinal)
{
    sim_device_t *device = sim_device(ordinal);
    if (device == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    if (out == NULL || (flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    sim_context_t *context = create_context(device, flags);
    *out = (CUcontext)context;
    return push(context);
}

CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *parameters, unsigned flags,
                        CUdevice ordinal)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && parameters != NULL &&
        (parameters->numExecAffinityParams != 0 || parameters->cigParams != NULL))
        result = CUDA_ERROR_NOT_SUPPORTED;
    return sim_end(result ? result : create_current(out, flags, ordinal));
}

static CUresult destroy_context(CUcontext handle)
{
    sim_context_t *context = sim_context_of(handle);
    if (context == NULL || context->is_primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (depth > 0 && stack[depth - 1] == context)
        depth--;
    end_context(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : destroy_context(handle));
}

CUresult cuCtxPushCurrent(CUcontext handle)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && sim_context_of(handle) == NULL)
        result = CUDA_ERROR_INVALID_CONTEXT;
    return sim_end(result ? result : push(sim_context_of(handle)));
}

CUresult cuCtxPopCurrent(CUcontext *out)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && depth == 0)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS) {
        depth--;
        if (out != NULL)
            *out = (CUcontext)stack[depth];
    }
    return sim_end(result);
}

/* NULL pops the top of the stack; a context replaces it. */
static CUresult set_current(CUcontext handle)
{
    sim_context_t *context = sim_context_of(handle);
    if (handle != NULL && context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (depth > 0)
        depth--;
    return context == NULL ? CUDA_SUCCESS : push(context);
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : set_current(handle));
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = depth == 0 ? NULL : (CUcontext)stack[depth - 1];
    return sim_end(result);
}

/* ---- about a context ---- */

/* Begins a call about the current context that fills in `out`. */
static CUresult begin_current(const char *name, const void *out, sim_context_t **context)
{
    CUresult result = sim_begin(name);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return result ? result : sim_current(context);
}

/* Begins a call about `handle`, NULL: the current context. */
static CUresult begin_context(const char *name, CUcontext handle, const void *out,
                              sim_context_t **context)
{
    if (handle == NULL)
        return begin_current(name, out, context);
    CUresult result = sim_begin(name);
    if (result == CUDA_SUCCESS && out == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    *context = sim_context_of(handle);
    return result == CUDA_SUCCESS && *context == NULL ? CUDA_ERROR_INVALID_CONTEXT : result;
}

CUresult cuCtxGetDevice(CUdevice *out)
{
    sim_context_t *context;
    CUresult result = begin_current(__func__, out, &context);
    if (result == CUDA_SUCCESS)
        *out = context->device->ordinal;
    return sim_end(result);
}

CUresult cuCtxGetFlags(unsigned *out)
{
    sim_context_t *context;
    CUresult result = begin_current(__func__, out, &context);
    if (result == CUDA_SUCCESS)
        *out = context->flags;
    return sim_end(result);
}

CUresult cuCtxSetFlags(unsigned flags)
{
    sim_context_t *context;
    CUresult result = begin_current(__func__, &flags, &context);
    if (result == CUDA_SUCCESS && (flags & ~(unsigned)CU_CTX_FLAGS_MASK) != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        context->flags = flags;
    return sim_end(result);
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *out)
{
    sim_context_t *context;
    CUresult result = begin_context(__func__, handle, out, &context);
    if (result == CUDA_SUCCESS)
        *out = context->id;
    return sim_end(result);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *out)
{
    sim_context_t *context;
    CUresult result = begin_context(__func__, handle, out, &context);
    if (result == CUDA_SUCCESS)
        *out = 3020;
    return sim_end(result);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    sim_context_t *context;
    CUresult result = begin_current(__func__, &depth, &context);
    if (result == CUDA_SUCCESS && least != NULL)
        *least = PRIORITY_LEAST;
    if (result == CUDA_SUCCESS && greatest != NULL)
        *greatest = PRIORITY_GREATEST;
    return sim_end(result);
}

CUresult cuCtxSynchronize(void)
{
    sim_context_t *context;
    CUresult result = begin_current(__func__, &depth, &context);
    if (result == CUDA_SUCCESS)
        result = sim_unsafe_call();
    return sim_end(result ? result : sim_context_drain(context));
}

static size_t limits[LIMITS] = {[CU_LIMIT_STACK_SIZE] = 1024,
                                [CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
                                [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20};

CUresult cuCtxGetLimit(size_t *out, CUlimit limit)
{
    sim_context_t *context;
    CUresult result = begin_current(__func__, out, &context);
    if (result == CUDA_SUCCESS && (unsigned)limit >= CU_LIMIT_MAX)
        result = CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (result == CUDA_SUCCESS)
        *out = limits[limit];
    return sim_end(result);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    sim_context_t *context;
    CUresult result = begin_current(__func__, &value, &context);
    if (result == CUDA_SUCCESS && (unsigned)limit >= CU_LIMIT_MAX)
        result = CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (result == CUDA_SUCCESS)
        limits[limit] = value;
    return sim_end(result);
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *out)
{
    sim_context_t *context;
    CUresult result = begin_current(__func__, out, &context);
    if (result == CUDA_SUCCESS)
        *out = CU_FUNC_CACHE_PREFER_NONE;
    return sim_end(result);
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    sim_context_t *context;
    return sim_end(begin_current(__func__, &config, &context));
}

/* ---- peers ---- */

static CUresult find_peer(CUcontext handle, sim_context_t **context, sim_context_t **peer)
{
    CUresult result = sim_current(context);
    if (result != CUDA_SUCCESS)
        return result;
    *peer = sim_context_of(handle);
    if (*peer == NULL || *peer == *context)
        return CUDA_ERROR_INVALID_CONTEXT;
    bool can = (*peer)->device != (*context)->device &&
               sim_are_peers((*context)->device->index, (*peer)->device->index);
    return can ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

static CUresult change_peer(CUcontext handle, bool enable)
{
    sim_context_t *context, *peer;
    CUresult result = find_peer(handle, &context, &peer);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t bit = (uint64_t)1 << peer->device->ordinal;
    bool is_enabled = (context->peers & bit) != 0;
    if (enable == is_enabled)
        return enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    context->peers ^= bit;
    sim_range_changed();
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : change_peer(handle, true));
}

CUresult cuCtxDisablePeerAccess(CUcontext handle)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : change_peer(handle, false));
}
