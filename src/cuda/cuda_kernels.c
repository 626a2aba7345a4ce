/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_kernels.h"

#include "cuda/cuda_copy.h"
#include "cuda/cuda_memory.h"
#include "cuda/kernels/kernel_arches.h"
#include "cuda/kernels/kernel_image.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

struct weft_kernels {
    weft_cu_module_t module; /* NULL: the device has no kernels */
    weft_cu_function_t functions[WEFT_KERNEL_COUNT];
    unsigned char fitting[WEFT_KERNEL_COUNT]; /* full blocks of a multiprocessor; 0: not asked */
    unsigned processors;
    bool are_loaded;
};

/* ---- loading ---- */

/* Whether the driver is too old for the image, in words; "" if it is not, or if that is not
 * known. */
static const char *age_of_driver(void)
{
    static char text[160];
    int cuda = 0;
    if (wefti_cu.cuDriverGetVersion != NULL)
        wefti_cu.cuDriverGetVersion(&cuda);
    text[0] = '\0';
    if (cuda != 0 && cuda < weft_kernel_cuda)
        snprintf(text, sizeof(text),
                 "; they were compiled by CUDA %s and need a driver of version %s or later, and "
                 "this one is for CUDA %d.%d",
                 weft_kernel_toolkit, weft_kernel_driver, cuda / 1000, cuda % 1000 / 10);
    return text;
}

static void load_kernels(weft_device_t *device)
{
    weft_visit_t visit;
    int processors = 0;
    if (wefti_device_enter(device, &visit) != MPI_SUCCESS)
        return;
    weft_cu_result_t result = wefti_cu.cuModuleLoadData(&device->kernels->module, weft_fatbin);
    wefti_cu.cuDeviceGetAttribute(&processors, WEFT_CU_DEVICE_MULTIPROCESSORS, device->number);
    wefti_device_leave(&visit);
    device->kernels->processors = processors > 0 ? (unsigned)processors : 1;
    if (result == WEFT_CU_SUCCESS)
        return;
    device->kernels->module = NULL;
    if (weft_world_may_warn(WEFT_WARNING_NO_KERNELS))
        WEFT_LOG(
            WEFT_WARN, "cuda",
            "device %s does not take Weft's kernels (cuModuleLoadData: %s): reductions go through "
            "the host, and derived datatypes block by block%s",
            device->pci, wefti_driver_error(result), age_of_driver());
}

static void say_there_are_none(void)
{
    if (weft_world_may_warn(WEFT_WARNING_NO_KERNELS))
        WEFT_LOG(
            WEFT_WARN, "cuda",
            "Weft was built without nvcc: reductions of device memory go through the host, and "
            "derived datatypes block by block");
}

bool wefti_has_kernels(weft_device_t *device)
{
    if (weft_fatbin_bytes == 0) {
        say_there_are_none();
        return false;
    }
    if (device->kernels == NULL) {
        device->kernels = weft_alloc_zeroed(1, sizeof(*device->kernels));
        if (device->kernels == NULL)
            return false;
        load_kernels(device);
    }
    return device->kernels->module != NULL;
}

unsigned wefti_processors(weft_device_t *device)
{
    return device->kernels->processors;
}

void wefti_kernels_release(weft_device_t *device, bool is_alive)
{
    if (device->kernels == NULL)
        return;
    if (is_alive && device->kernels->module != NULL)
        wefti_cu.cuModuleUnload(device->kernels->module);
    weft_free(device->kernels);
    device->kernels = NULL;
}

/* Called in the device's context. */
static weft_cu_result_t find_function(struct weft_kernels *kernels, weft_kernel_t kernel,
                                      weft_cu_function_t *out)
{
    weft_cu_result_t result = WEFT_CU_SUCCESS;
    if (kernels->functions[kernel] == NULL)
        result = wefti_cu.cuModuleGetFunction(&kernels->functions[kernel], kernels->module,
                                              weft_kernel_names[kernel]);
    *out = kernels->functions[kernel];
    return result;
}

/* A kernel that does not load here is reported when it is launched. Before CUDA 12.4 finding a
 * function loads it. */
static void load_all(weft_device_t *device)
{
    weft_visit_t visit;
    weft_cu_function_t function;
    if (!wefti_has_kernels(device) || device->kernels->are_loaded ||
        wefti_device_enter(device, &visit) != MPI_SUCCESS)
        return;
    for (int kernel = WEFT_NO_KERNEL + 1; kernel < WEFT_KERNEL_COUNT; kernel++) {
        if (find_function(device->kernels, (weft_kernel_t)kernel, &function) == WEFT_CU_SUCCESS &&
            wefti_cu.cuFuncLoad != NULL)
            wefti_cu.cuFuncLoad(function);
    }
    wefti_device_leave(&visit);
    device->kernels->are_loaded = true;
}

bool wefti_prepare_waits(weft_device_t *device)
{
    for (int stream_class = 0; stream_class < WEFT_STREAM_CLASSES; stream_class++) {
        if (wefti_queue_of(device, (weft_stream_class_t)stream_class) == NULL)
            return false;
    }
    load_all(device);
    return true;
}

/* ---- launching ---- */

/* Full blocks of a kernel that fit on a multiprocessor at once; a large number if the driver does
 * not know. Called in the device's context. */
static unsigned char ask_fitting(weft_cu_function_t function, unsigned threads)
{
    int found = 0;
    if (wefti_cu.cuOccupancyMaxActiveBlocksPerMultiprocessor != NULL &&
        wefti_cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&found, function, (int)threads, 0) !=
            WEFT_CU_SUCCESS)
        found = 0;
    return found > 0 && found < UINT8_MAX ? (unsigned char)found : UINT8_MAX;
}

static unsigned blocks_at_once(struct weft_kernels *kernels, weft_cu_function_t function,
                               const weft_kernel_call_t *call)
{
    unsigned char *fitting = &kernels->fitting[call->kernel];
    if (*fitting == 0)
        *fitting = ask_fitting(function, call->threads);
    unsigned most = *fitting * kernels->processors;
    return call->blocks < most ? call->blocks : most;
}

/* Called in the device's context. */
static weft_cu_result_t launch(const weft_device_t *device, weft_cu_stream_t stream,
                               weft_kernel_call_t *call)
{
    weft_cu_function_t function;
    void *arguments[] = {&call->args};
    weft_cu_result_t result = find_function(device->kernels, call->kernel, &function);
    if (result != WEFT_CU_SUCCESS)
        return result;
    unsigned blocks =
        call->fills_device ? blocks_at_once(device->kernels, function, call) : call->blocks;
    return wefti_cu.cuLaunchKernel(function, blocks, 1, 1, call->threads, 1, 1, 0, stream,
                                   arguments, NULL);
}

int wefti_launch(weft_queue_t *queue, weft_kernel_call_t *call, const char *about)
{
    weft_visit_t visit;
    if (call->blocks == 0)
        return MPI_SUCCESS;
    int err = wefti_device_enter(queue->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = launch(queue->device, queue->stream, call);
    wefti_device_leave(&visit);
    if (result == WEFT_CU_SUCCESS)
        return MPI_SUCCESS;
    return wefti_queue_empty(queue, wefti_driver_failed(result, "cuLaunchKernel", "%s by %s", about,
                                                        weft_kernel_names[call->kernel]));
}

int wefti_launch_in(weft_device_t *device, weft_cu_stream_t stream, weft_kernel_call_t *call)
{
    weft_visit_t visit;
    if (call->blocks == 0)
        return MPI_SUCCESS;
    int err = wefti_device_enter(device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = launch(device, stream, call);
    wefti_device_leave(&visit);
    if (result == WEFT_CU_SUCCESS)
        return MPI_SUCCESS;
    return wefti_driver_failed(result, "cuLaunchKernel", "%s in stream %p",
                               weft_kernel_names[call->kernel], (void *)stream);
}

/* ---- reductions ---- */

bool wefti_can_reduce(weft_device_t *device, const struct weft_op *op, const struct weft_type *type)
{
    return weft_reduce_kernel(op, type) != WEFT_NO_KERNEL && wefti_has_kernels(device);
}

/* A slot that a kernel reads; it is given back when the kernel has run. */
typedef struct lent {
    weft_event_t event; /* first */
    void *slot;
} lent_t;

static void return_kernel_slot(weft_event_t *event, int error)
{
    lent_t *lent = (lent_t *)event;
    (void)error;
    wefti_pinned_give(lent->slot);
    weft_free(lent);
}

static int reduce_listed(weft_queue_t *queue, weft_kernel_reduction_t *reduction, size_t list_bytes)
{
    weft_kernel_call_t call;
    lent_t *lent = weft_alloc_zeroed(1, sizeof(*lent));
    void *slot = lent == NULL ? NULL : wefti_pinned_take(queue->device, list_bytes);
    if (slot == NULL || wefti_is_pageable_slot(queue->device, slot)) {
        if (slot != NULL)
            wefti_pinned_give(slot);
        weft_free(lent);
        return weft_fail(MPI_ERR_NO_MEM, "no pinned memory for the addresses of %u buffers",
                         reduction->sources);
    }
    reduction->list = slot;
    lent->event.done = return_kernel_slot;
    lent->slot = slot;
    weft_call_reduction(reduction, wefti_processors(queue->device), &call);
    int err = wefti_launch(queue, &call, "a reduction");
    if (err == MPI_SUCCESS)
        err = weft_device->record(queue, &lent->event);
    if (err != MPI_SUCCESS)
        return_kernel_slot(&lent->event, err); /* the queue is empty, so no kernel reads the slot */
    return err;
}

int wefti_reduce(weft_queue_t *queue, const weft_reduction_t *reduction)
{
    weft_kernel_call_t call;
    weft_kernel_reduction_t kernel = {.kernel = weft_reduce_kernel(reduction->op, reduction->type),
                                      .bytes = reduction->count * (size_t)reduction->type->extent,
                                      .sources = (uint32_t)reduction->sources,
                                      .destinations = (uint32_t)reduction->outs,
                                      .rounds = weft_config.REPRODUCIBLE,
                                      .source = reduction->in,
                                      .destination = reduction->out};
    if (!wefti_can_reduce(queue->device, reduction->op, reduction->type))
        return weft_fail(MPI_ERR_OTHER, "device %s has no kernel for this reduction",
                         queue->device->pci);
    size_t list_bytes = weft_reduction_list_bytes(kernel.sources, kernel.destinations);
    if (list_bytes > 0)
        return reduce_listed(queue, &kernel, list_bytes);
    weft_call_reduction(&kernel, wefti_processors(queue->device), &call);
    return wefti_launch(queue, &call, "a reduction");
}

/* ---- batches of copies ---- */

/* On an H100 a copy by the driver takes about 2 us of the processor and 2 us of a copy engine, and
 * the copies of a queue go one after the other. They pay only for pieces that are larger than this
 * on average: between devices, whose links one copy fills, soon; within a device, where 8 MiB take
 * 4 us on an H200, late. */
enum { KERNEL_PIECE_MOST = 256 * 1024, KERNEL_LOCAL_PIECE_MOST = 8 * 1024 * 1024 };

static bool suit_kernel(const weft_piece_t *pieces, size_t count, bool are_local)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += pieces[i].bytes;
    return count > 1 && bytes / count <= (are_local ? KERNEL_LOCAL_PIECE_MOST : KERNEL_PIECE_MOST);
}

/* The arguments of one launch have room for this many entries, so no memory has to stay until the
 * kernel has run. */
static int copy_some(weft_queue_t *queue, const weft_piece_t *pieces, size_t count)
{
    weft_kernel_copy_t copies[WEFT_COPY_ENTRIES];
    weft_kernel_copies_t batch = {.copy = copies, .count = count};
    weft_kernel_call_t call;
    for (size_t i = 0; i < count; i++)
        copies[i] = (weft_kernel_copy_t){pieces[i].to, pieces[i].from, pieces[i].bytes};
    weft_call_copies(&batch, wefti_processors(queue->device), &call);
    return wefti_launch(queue, &call, "copies");
}

int wefti_copy_many(weft_queue_t *queue, const weft_piece_t *pieces, size_t count, bool are_local)
{
    if (!suit_kernel(pieces, count, are_local) || !wefti_has_kernels(queue->device))
        return wefti_copy_pieces(queue, pieces, count);
    int err = MPI_SUCCESS;
    while (err == MPI_SUCCESS && count > 0) {
        size_t some = count < WEFT_COPY_ENTRIES ? count : WEFT_COPY_ENTRIES;
        err = copy_some(queue, pieces, some);
        pieces += some;
        count -= some;
    }
    return err;
}
