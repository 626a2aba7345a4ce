/* SPDX-License-Identifier: BSD-3-Clause */
/* Launching kernels and host functions; what kernels may touch. */
#include "sim_module.h"
#include "sim_turn.h"
#include "sim_vmm.h"

#include <setjmp.h>
#include <string.h>

enum {
    BLOCK_MAX = 1024,
    RESIDENT_MAX = 2048, /* threads of a multiprocessor, */
    REGISTERS = 65536,   /* and its registers */
    REGISTERS_OF_THREAD = 64
};

/* ---- a kernel's addresses ---- */

enum {
    TOUCHED = 64 /* ranges that are remembered */
};

/* The kernel that this thread runs, and a cache of the ranges that it has touched: each place has
 * the range of the last address that belongs to this place. */
static _Thread_local struct {
    const sim_context_t *context; /* NULL: none runs */
    jmp_buf *illegal;             /* where an illegal address jumps to */
    struct {
        uintptr_t start;
        size_t bytes;
        bool is_lost; /* accesses go nowhere */
    } touched[TOUCHED];
    _Alignas(16) char nowhere[16]; /* where an access of the last lost address goes */
    uint64_t epoch;                /* of the ranges when these were found */
    struct {
        uintptr_t start;
        size_t bytes; /* 0: none */
        unsigned count;
        char *places[SIM_DEVICES_MAX];
        uint64_t epoch;
    } team; /* the granule of multicast memory that was accessed last */
} running;

static unsigned place_of(uintptr_t address)
{
    return (unsigned)((uint64_t)(address >> 16) * 0x9e3779b97f4a7c15 >> 58);
}

static bool find_touched(uintptr_t address)
{
    unsigned place = place_of(address);
    sim_lock();
    if (running.epoch != sim_range_epoch())
        memset(running.touched, 0, sizeof(running.touched));
    running.epoch = sim_range_epoch();
    bool may = sim_may_touch(running.context, (sim_area_t){address, 1, false});
    const sim_range_t *range = may ? sim_range_find(address) : NULL;
    if (range != NULL) {
        running.touched[place].start = range->start;
        running.touched[place].bytes = range->bytes;
        running.touched[place].is_lost = sim_is_lost(running.context, address);
    }
    sim_unlock();
    return range != NULL;
}

void *sim_kernel_translate(const void *given)
{
    uintptr_t address = (uintptr_t)given;
    unsigned place = place_of(address);
    bool is_known = address - running.touched[place].start < running.touched[place].bytes &&
                    running.epoch == sim_range_epoch();
    if (running.context != NULL && !is_known && !find_touched(address))
        longjmp(*running.illegal, 1);
    if (running.context == NULL || !running.touched[place].is_lost)
        return sim_alias(address);
    memset(running.nowhere, 0xff, sizeof(running.nowhere));
    return running.nowhere + address % sizeof(running.nowhere);
}

static bool find_team(uintptr_t address)
{
    sim_lock();
    const sim_range_t *range =
        sim_may_multicast(running.context, address) ? sim_range_find(address) : NULL;
    if (range != NULL) {
        running.team.epoch = sim_range_epoch();
        running.team.start = address & ~((uintptr_t)SIM_GRANULE - 1);
        running.team.bytes = SIM_GRANULE;
        running.team.count = sim_team_places(range->memory->team, running.team.start - range->start,
                                             SIM_GRANULE, running.team.places);
    }
    sim_unlock();
    return range != NULL && running.team.count > 0;
}

unsigned sim_kernel_multicast(const void *given, void **places_out, unsigned most)
{
    uintptr_t address = (uintptr_t)given;
    bool is_known = address - running.team.start < running.team.bytes && running.team.count > 0 &&
                    running.team.epoch == sim_range_epoch();
    if (!is_known && !find_team(address))
        longjmp(*running.illegal, 1);
    for (unsigned i = 0; i < running.team.count && i < most; i++)
        places_out[i] = running.team.places[i] + (address - running.team.start);
    return running.team.count < most ? running.team.count : most;
}

/* ---- launches ---- */

typedef struct launch {
    const weft_kernel_on_host_t *kernel;
    unsigned blocks, threads;
    bool faults;
    _Alignas(16) char args[];
} launch_t;

static CUresult run_kernel(sim_work_t *work)
{
    const launch_t *launch = (launch_t *)work->arguments;
    jmp_buf illegal;
    if (launch->faults)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    running.context = work->context;
    running.illegal = &illegal;
    running.epoch = 0;
    running.team.bytes = 0;
    sim_turn_begin(work->context->device);
    int is_illegal = setjmp(illegal);
    if (is_illegal == 0)
        launch->kernel->invoke(launch->args, launch->blocks, launch->threads);
    sim_turn_end(work->context->device);
    running.context = NULL;
    return is_illegal == 0 ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* The program gives either a pointer for each parameter (kernels here have one), or one buffer with
 * all parameters. */
static const void *arguments_of(void **parameters, void **extra, size_t bytes)
{
    if (parameters != NULL)
        return extra == NULL ? parameters[0] : NULL;
    const void *buffer = NULL;
    size_t given = 0;
    for (; extra != NULL && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            given = *(size_t *)extra[1];
    }
    return given >= bytes ? buffer : NULL;
}

static bool is_launchable(const CUlaunchConfig *config)
{
    uint64_t blocks = (uint64_t)config->gridDimX * config->gridDimY * config->gridDimZ;
    uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    return blocks > 0 && blocks <= INT32_MAX && config->gridDimY <= UINT16_MAX &&
           config->gridDimZ <= UINT16_MAX && threads > 0 && threads <= BLOCK_MAX &&
           config->blockDimZ <= 64 && config->sharedMemBytes <= 232448;
}

static CUresult launch_kernel(CUfunction handle, const CUlaunchConfig *config, void **parameters,
                              void **extra)
{
    static unsigned launches;
    sim_stream_t *stream;
    sim_function_t *function = sim_object_find(SIM_FUNCTION, handle);
    if (function == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = sim_stream_of(config->hStream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (function->module->context != NULL && function->module->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    const weft_kernel_on_host_t *kernel = function->kernel;
    const void *args = arguments_of(parameters, extra, kernel->args_bytes);
    if (!is_launchable(config) || args == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    result = sim_planned_failure(kernel->name);
    if (result != CUDA_SUCCESS)
        return result;
    sim_count(kernel->name);
    sim_function_load(function, stream->context);
    sim_work_t *work = sim_work_create(stream->context, CU_GRAPH_NODE_TYPE_KERNEL,
                                       sizeof(launch_t) + kernel->args_bytes);
    launch_t *launch = (launch_t *)work->arguments;
    launch->kernel = kernel;
    launch->blocks = config->gridDimX * config->gridDimY * config->gridDimZ;
    launch->threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    launch->faults = ++launches == sim_options()->fault;
    memcpy(launch->args, args, kernel->args_bytes);
    work->run = run_kernel;
    return sim_submit(stream, work, false);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void **parameters, void **extra)
{
    CUresult result = sim_begin(__func__);
    const CUlaunchConfig config = {.gridDimX = grid_x,
                                   .gridDimY = grid_y,
                                   .gridDimZ = grid_z,
                                   .blockDimX = block_x,
                                   .blockDimY = block_y,
                                   .blockDimZ = block_z,
                                   .sharedMemBytes = shared,
                                   .hStream = stream};
    return sim_end(result ? result : launch_kernel(function, &config, parameters, extra));
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && config == NULL)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result : launch_kernel(function, config, parameters, extra));
}

/* ---- host functions ---- */

typedef struct host_call {
    CUhostFn function;
    CUstreamCallback callback; /* the older kind; one of the two is NULL */
    CUstream stream;
    void *data;
} host_call_t;

static CUresult run_host_call(sim_work_t *work)
{
    const host_call_t *call = (host_call_t *)work->arguments;
    sim_host_function(true);
    if (call->function != NULL)
        call->function(call->data);
    else
        call->callback(call->stream, CUDA_SUCCESS, call->data);
    sim_host_function(false);
    return CUDA_SUCCESS;
}

static CUresult submit_host_call(const host_call_t *call)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(call->stream, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (call->function == NULL && call->callback == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (call->callback != NULL && stream->capture != NULL)
        return sim_spoil_capture(stream);
    sim_work_t *work = sim_work_create(stream->context, CU_GRAPH_NODE_TYPE_HOST, sizeof(*call));
    memcpy(work->arguments, call, sizeof(*call));
    work->run = run_host_call;
    return sim_submit(stream, work, false);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result
                          : submit_host_call(&(host_call_t){function, NULL, stream, data}));
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    return sim_end(result ? result
                          : submit_host_call(&(host_call_t){NULL, callback, stream, data}));
}

/* ---- about functions ---- */

static CUresult load_function(sim_function_t *function)
{
    sim_context_t *context;
    CUresult result = sim_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (function == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_function_load(function, context);
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : load_function(sim_object_find(SIM_FUNCTION, function)));
}

/* Finds the function that a call is about, and checks that `out` is given. */
static CUresult find_asked(CUfunction handle, const void *out, const sim_function_t **function_out)
{
    *function_out = sim_object_find(SIM_FUNCTION, handle);
    return *function_out == NULL ? CUDA_ERROR_INVALID_HANDLE
           : out == NULL         ? CUDA_ERROR_INVALID_VALUE
                                 : CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *out, CUfunction handle)
{
    const sim_function_t *function = NULL;
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS)
        result = find_asked(handle, out, &function);
    if (result == CUDA_SUCCESS)
        *out = function->is_loaded ? CU_FUNCTION_LOADING_STATE_LOADED
                                   : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return sim_end(result);
}

CUresult cuFuncGetAttribute(int *out, CUfunction_attribute attribute, CUfunction function)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && sim_object_find(SIM_FUNCTION, function) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS &&
        (out == NULL || (int)attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? BLOCK_MAX
               : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? REGISTERS_OF_THREAD
                                                                    : 0;
    return sim_end(result);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    CUresult result = sim_begin(__func__);
    (void)attribute, (void)value;
    if (result == CUDA_SUCCESS && sim_object_find(SIM_FUNCTION, function) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    return sim_end(result);
}

CUresult cuFuncGetName(const char **out, CUfunction handle)
{
    const sim_function_t *function = NULL;
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS)
        result = find_asked(handle, out, &function);
    if (result == CUDA_SUCCESS)
        *out = function->kernel->name;
    return sim_end(result);
}

static int blocks_at_once(int threads)
{
    if (threads > BLOCK_MAX)
        return 0;
    int by_registers = REGISTERS / (REGISTERS_OF_THREAD * threads);
    int by_threads = RESIDENT_MAX / threads;
    return by_registers < by_threads ? by_registers : by_threads;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, CUfunction function, int threads,
                                                     size_t shared)
{
    CUresult result = sim_begin(__func__);
    (void)shared;
    if (result == CUDA_SUCCESS && sim_object_find(SIM_FUNCTION, function) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && (out == NULL || threads <= 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *out = blocks_at_once(threads);
    return sim_end(result);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid_out, int *block_out, CUfunction function,
                                          CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
    CUresult result = sim_begin(__func__);
    (void)shared_of, (void)shared;
    if (result == CUDA_SUCCESS && sim_object_find(SIM_FUNCTION, function) == NULL)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS && (grid_out == NULL || block_out == NULL || limit < 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *block_out = limit == 0 || limit > BLOCK_MAX ? BLOCK_MAX : limit;
        *grid_out = 16 * blocks_at_once(*block_out);
    }
    return sim_end(result);
}
