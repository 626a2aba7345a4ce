/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of two and three dimensions. There are no arrays here, only memory. */
#include "sim_copy.h"

/* One side of the driver's structures. */
typedef struct given {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, pitch, height;
} given_t;

static CUresult take_side(const given_t *given, size_t width, size_t rows, sim_side_t *out)
{
    size_t pitch = given->pitch == 0 ? width + given->x : given->pitch;
    size_t height = given->height == 0 ? rows + given->y : given->height;
    bool is_host = given->type == CU_MEMORYTYPE_HOST;
    if (given->type == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    if ((!is_host && given->type != CU_MEMORYTYPE_DEVICE && given->type != CU_MEMORYTYPE_UNIFIED) ||
        given->x + width > pitch || given->y + rows > height)
        return CUDA_ERROR_INVALID_VALUE;
    uintptr_t base = is_host ? (uintptr_t)given->host : given->device;
    *out = (sim_side_t){.start = base + given->z * height * pitch + given->y * pitch + given->x,
                        .pitch = pitch,
                        .slice = height * pitch,
                        .is_device = given->type == CU_MEMORYTYPE_DEVICE};
    return CUDA_SUCCESS;
}

static CUresult copy_sides(const given_t *to, const given_t *from, sim_copy_t copy, CUstream handle,
                           bool is_async)
{
    sim_stream_t *stream;
    CUresult result = take_side(to, copy.width, copy.height, &copy.to);
    if (result == CUDA_SUCCESS)
        result = take_side(from, copy.width, copy.height, &copy.from);
    if (result == CUDA_SUCCESS)
        result = sim_stream_of(handle, &stream);
    return result ? result : sim_copy_submit(stream, &copy, is_async);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *asked, CUstream stream, bool is_async)
{
    if (asked == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const given_t to = {asked->dstMemoryType, asked->dstHost,
                        asked->dstDevice,     asked->dstXInBytes,
                        asked->dstY,          0,
                        asked->dstPitch,      0};
    const given_t from = {asked->srcMemoryType, asked->srcHost,
                          asked->srcDevice,     asked->srcXInBytes,
                          asked->srcY,          0,
                          asked->srcPitch,      0};
    const sim_copy_t copy = {.width = asked->WidthInBytes, .height = asked->Height, .depth = 1};
    return copy_sides(&to, &from, copy, stream, is_async);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *asked, CUstream stream, bool is_async)
{
    if (asked == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const given_t to = {asked->dstMemoryType, asked->dstHost, asked->dstDevice, asked->dstXInBytes,
                        asked->dstY,          asked->dstZ,    asked->dstPitch,  asked->dstHeight};
    const given_t from = {asked->srcMemoryType, asked->srcHost,  asked->srcDevice,
                          asked->srcXInBytes,   asked->srcY,     asked->srcZ,
                          asked->srcPitch,      asked->srcHeight};
    const sim_copy_t copy = {
        .width = asked->WidthInBytes, .height = asked->Height, .depth = asked->Depth};
    return copy_sides(&to, &from, copy, stream, is_async);
}

static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *asked, CUstream stream, bool is_async)
{
    if (asked == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const given_t to = {asked->dstMemoryType, asked->dstHost, asked->dstDevice, asked->dstXInBytes,
                        asked->dstY,          asked->dstZ,    asked->dstPitch,  asked->dstHeight};
    const given_t from = {asked->srcMemoryType, asked->srcHost,  asked->srcDevice,
                          asked->srcXInBytes,   asked->srcY,     asked->srcZ,
                          asked->srcPitch,      asked->srcHeight};
    const sim_copy_t copy = {
        .width = asked->WidthInBytes, .height = asked->Height, .depth = asked->Depth};
    return copy_sides(&to, &from, copy, stream, is_async);
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D *copy)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_2d(copy, NULL, false));
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *copy)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_2d(copy, NULL, false));
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_2d(copy, stream, true));
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D *copy)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_3d(copy, NULL, false));
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_3d(copy, stream, true));
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_3d_peer(copy, NULL, false));
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : copy_3d_peer(copy, stream, true));
}
