/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/stream_work.h"

#include "cuda/cuda_device.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_stream.h"
#include "datatype/op.h"
#include "datatype/type.h"
#include "base/fail.h"
#include "mpi.h"

static int work_failed(weft_cu_result_t result, const char *call, const weft_user_stream_t *stream)
{
    if (result == WEFT_CU_SUCCESS)
        return MPI_SUCCESS;
    return wefti_driver_failed(result, call, "stream %p", (void *)wefti_stream_handle(stream));
}

/* ---- copies ---- */

int wefti_stream_put_copy(weft_user_stream_t *stream, void *to, const void *from, size_t bytes)
{
    weft_visit_t visit;
    int err = wefti_device_enter(wefti_stream_device(stream), &visit);
    if (err != MPI_SUCCESS || bytes == 0)
        return err;
    weft_cu_result_t result =
        wefti_cu.cuMemcpyAsync((weft_cu_address_t)(uintptr_t)to, (weft_cu_address_t)(uintptr_t)from,
                               bytes, wefti_stream_handle(stream));
    wefti_device_leave(&visit);
    return work_failed(result, "cuMemcpyAsync", stream);
}

/* ---- scalings ---- */

static const unsigned char scaled_types[WEFT_MACHINE_COUNT] = {
#define SCALED_TYPE(name, item_t, wide_t) [WEFT_MACHINE_##name] = WEFT_SCALED_##name,
    WEFT_SCALED(SCALED_TYPE)};

static weft_scaled_t scaled_type(const struct weft_type *type)
{
    return (weft_scaled_t)scaled_types[type->machine];
}

bool wefti_stream_can_scale(const weft_user_stream_t *stream, const struct weft_type *type)
{
    return scaled_type(type) != WEFT_NOT_SCALED && wefti_has_kernels(wefti_stream_device(stream));
}

int wefti_stream_put_scaling(weft_user_stream_t *stream, const weft_scaling_t *scaling)
{
    weft_device_t *device = wefti_stream_device(stream);
    weft_kernel_call_t call;
    weft_kernel_scaling_t kernel = {.type = scaled_type(scaling->type),
                                    .is_division = scaling->is_division,
                                    .count = scaling->count,
                                    .from = scaling->from,
                                    .to = scaling->to,
                                    .factor_at = scaling->factor_at,
                                    .factor = scaling->factor};
    weft_call_scaling(&kernel, wefti_processors(device), &call);
    return wefti_launch_in(device, wefti_stream_handle(stream), &call);
}

/* ---- the order of streams ---- */

int wefti_stream_put_mark(weft_user_stream_t *stream, void **mark)
{
    weft_visit_t visit;
    int err = wefti_device_enter(wefti_stream_device(stream), &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = WEFT_CU_SUCCESS;
    const char *call = "cuEventCreate";
    weft_cu_event_t event = *mark;
    if (event == NULL)
        result = wefti_cu.cuEventCreate(&event, WEFT_CU_EVENT_DISABLE_TIMING);
    if (result == WEFT_CU_SUCCESS) {
        *mark = event;
        call = "cuEventRecord";
        result = wefti_cu.cuEventRecord(event, wefti_stream_handle(stream));
    }
    wefti_device_leave(&visit);
    return work_failed(result, call, stream);
}

int wefti_stream_follow(weft_user_stream_t *stream, void *mark)
{
    weft_visit_t visit;
    int err = wefti_device_enter(wefti_stream_device(stream), &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = wefti_cu.cuStreamWaitEvent(wefti_stream_handle(stream), mark, 0);
    wefti_device_leave(&visit);
    return work_failed(result, "cuStreamWaitEvent", stream);
}

/* In a context that was destroyed the event is gone. */
void wefti_stream_drop_mark(weft_user_stream_t *stream, void *mark)
{
    weft_visit_t visit;
    if (mark == NULL || wefti_device_enter(wefti_stream_device(stream), &visit) != MPI_SUCCESS)
        return;
    wefti_cu.cuEventDestroy(mark);
    wefti_device_leave(&visit);
}

/* ---- memory for the program ---- */

static int check_driver(void)
{
    return wefti_driver_find()
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_OTHER, "the program does not use CUDA: no driver "
                                          "is loaded and initialised");
}

int wefti_stream_take_memory(size_t bytes, void **out)
{
    weft_cu_address_t address;
    int err = check_driver();
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = wefti_cu.cuMemAlloc(&address, bytes);
    if (result != WEFT_CU_SUCCESS)
        return wefti_driver_failed(result, "cuMemAlloc", "%zu bytes", bytes);
    *out = (void *)(uintptr_t)address;
    return MPI_SUCCESS;
}

int wefti_stream_give_memory(void *memory)
{
    int err = check_driver();
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = wefti_cu.cuMemFree((weft_cu_address_t)(uintptr_t)memory);
    return result == WEFT_CU_SUCCESS
               ? MPI_SUCCESS
               : wefti_driver_failed(result, "cuMemFree", "memory at %p", memory);
}
