/* SPDX-License-Identifier: BSD-3-Clause */
/* Memsets of 1, 2 and 4 bytes, in rows. */
#include "sim_stream.h"

#include <string.h>

typedef struct fill {
    uintptr_t start;
    size_t pitch, width, height; /* pitch in bytes, width in elements */
    unsigned value, element;     /* element: bytes */
} fill_t;

static size_t span(const fill_t *fill)
{
    return (fill->height - 1) * fill->pitch + fill->width * fill->element;
}

static CUresult run_fill(sim_work_t *work)
{
    const fill_t *fill = (fill_t *)work->arguments;
    sim_lock();
    bool may = sim_may_copy(work->context, (sim_area_t){fill->start, span(fill), true});
    bool is_lost = sim_is_lost(work->context, fill->start);
    sim_unlock();
    if (!may)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (is_lost)
        return CUDA_SUCCESS;
    for (size_t row = 0; row < fill->height; row++) {
        char *at = sim_alias(fill->start + row * fill->pitch);
        for (size_t i = 0; i < fill->width; i++)
            memcpy(at + i * fill->element, &fill->value, fill->element);
    }
    return CUDA_SUCCESS;
}

/* A synchronous call returns when memory that the host can touch is set; for memory of a device it
 * may return before. */
static CUresult submit_fill(const fill_t *fill, CUstream handle, bool is_async)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS && !is_async)
        result = sim_unsafe_call();
    if (result != CUDA_SUCCESS || fill->width == 0 || fill->height == 0)
        return result;
    const sim_range_t *range = sim_range_find(fill->start);
    if (range == NULL || !sim_range_covers(fill->start, span(fill)) ||
        fill->start % fill->element != 0 ||
        (fill->height > 1 &&
         (fill->pitch % fill->element != 0 || fill->pitch < fill->width * fill->element)))
        return CUDA_ERROR_INVALID_VALUE;
    bool wait = !is_async &&
                (sim_is_synchronous(range) || sim_is_host(range) || range->what == SIM_MANAGED);
    sim_work_t *work = sim_work_create(stream->context, CU_GRAPH_NODE_TYPE_MEMSET, sizeof(*fill));
    memcpy(work->arguments, fill, sizeof(*fill));
    work->run = run_fill;
    result = sim_submit(stream, work, wait && stream->capture == NULL);
    if (!is_async && !wait)
        sim_returns_early(stream);
    return result;
}

static CUresult fill_rows(const char *name, const fill_t *fill, CUstream stream, bool is_async)
{
    CUresult result = sim_begin(name);
    return sim_end(result ? result : submit_fill(fill, stream, is_async));
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count)
{
    return fill_rows(__func__, &(fill_t){to, 0, count, 1, value, 1}, NULL, false);
}

CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count)
{
    return fill_rows(__func__, &(fill_t){to, 0, count, 1, value, 2}, NULL, false);
}

CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count)
{
    return fill_rows(__func__, &(fill_t){to, 0, count, 1, value, 4}, NULL, false);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    return fill_rows(__func__, &(fill_t){to, 0, count, 1, value, 1}, stream, true);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    return fill_rows(__func__, &(fill_t){to, 0, count, 1, value, 2}, stream, true);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    return fill_rows(__func__, &(fill_t){to, 0, count, 1, value, 4}, stream, true);
}

CUresult cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                      size_t height)
{
    return fill_rows(__func__, &(fill_t){to, pitch, width, height, value, 1}, NULL, false);
}

CUresult cuMemsetD2D16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                       size_t height)
{
    return fill_rows(__func__, &(fill_t){to, pitch, width, height, value, 2}, NULL, false);
}

CUresult cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height)
{
    return fill_rows(__func__, &(fill_t){to, pitch, width, height, value, 4}, NULL, false);
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream)
{
    return fill_rows(__func__, &(fill_t){to, pitch, width, height, value, 1}, stream, true);
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream)
{
    return fill_rows(__func__, &(fill_t){to, pitch, width, height, value, 2}, stream, true);
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
                            size_t height, CUstream stream)
{
    return fill_rows(__func__, &(fill_t){to, pitch, width, height, value, 4}, stream, true);
}
