/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of one piece, synchronous (on the legacy stream) and asynchronous, and batches of them. */
#include "sim_copy.h"
#include "sim_older.h"

static CUresult copy_now(sim_side_t to, sim_side_t from, size_t bytes)
{
    sim_stream_t *stream;
    sim_copy_t copy = sim_copy_linear(to, from, bytes);
    CUresult result = sim_stream_of(NULL, &stream);
    return result ? result : sim_copy_submit(stream, &copy, false);
}

static CUresult copy_later(sim_side_t to, sim_side_t from, size_t bytes, CUstream handle)
{
    sim_stream_t *stream;
    sim_copy_t copy = sim_copy_linear(to, from, bytes);
    CUresult result = sim_stream_of(handle, &stream);
    return result ? result : sim_copy_submit(stream, &copy, true);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result
                          : copy_now(sim_any_side((void *)to), sim_any_side((void *)from), bytes));
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_now(sim_device_side(to), sim_any_side(from), bytes));
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_now(sim_any_side(to), sim_device_side(from), bytes));
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_now(sim_device_side(to), sim_device_side(from), bytes));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(
        result ? result
               : copy_later(sim_any_side((void *)to), sim_any_side((void *)from), bytes, stream));
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result
                          : copy_later(sim_device_side(to), sim_any_side(from), bytes, stream));
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result
                          : copy_later(sim_any_side(to), sim_device_side(from), bytes, stream));
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result
                          : copy_later(sim_device_side(to), sim_device_side(from), bytes, stream));
}

/* ---- between contexts: these need only exist, the addresses say which memory is meant ---- */

static CUresult check_contexts(CUcontext to, CUcontext from)
{
    return sim_context_of(to) == NULL || sim_context_of(from) == NULL ? CUDA_ERROR_INVALID_CONTEXT
                                                                      : CUDA_SUCCESS;
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                      CUcontext from_context, size_t bytes)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS)
        result = check_contexts(to_context, from_context);
    return sim_end(result ? result : copy_now(sim_device_side(to), sim_device_side(from), bytes));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS)
        result = check_contexts(to_context, from_context);
    return sim_end(result ? result
                          : copy_later(sim_device_side(to), sim_device_side(from), bytes, stream));
}

/* ---- batches ---- */

typedef struct batch {
    const CUdeviceptr *to, *from;
    const size_t *bytes;
    size_t count, attribute_count;
    CUstream stream;
} batch_t;

static CUresult copy_batch(const batch_t *batch)
{
    if (batch->to == NULL || batch->from == NULL || batch->bytes == NULL || batch->count == 0 ||
        batch->attribute_count == 0 || batch->attribute_count > batch->count ||
        batch->stream == NULL || batch->stream == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < batch->count; i++) {
        CUresult result =
            copy_later(sim_any_side((void *)batch->to[i]), sim_any_side((void *)batch->from[i]),
                       batch->bytes[i], batch->stream);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

/* Attributes (which may let a source be read late) change nothing here: all are read in stream
 * order. */
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attribute_indices,
                               size_t attribute_count, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS && (attributes == NULL || attribute_indices == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    const batch_t batch = {to, from, bytes, count, attribute_count, stream};
    return sim_end(result ? result : copy_batch(&batch));
}
