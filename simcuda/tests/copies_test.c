/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and memsets in all forms, compared with the same on the host. */
#include "case.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 3 << 20 };

static unsigned char *pattern(size_t bytes, unsigned seed)
{
    unsigned char *memory = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)((seed += 0x9e3779b9) >> 24);
    return memory;
}

static CUdeviceptr device_copy(const void *from, size_t bytes)
{
    CUdeviceptr memory;
    OK(cuMemAlloc(&memory, bytes));
    OK(cuMemcpyHtoD(memory, from, bytes));
    return memory;
}

static void expect(CUdeviceptr at, const void *expected, size_t bytes)
{
    unsigned char *got = malloc(bytes);
    OK(cuMemcpyDtoH(got, at, bytes));
    SAME(memcmp(got, expected, bytes), 0);
    free(got);
}

static void linear(void)
{
    CUcontext context = open_device(0);
    static const size_t sizes[] = {1, 7, 65536, 65537, BYTES};
    unsigned char *host = pattern(BYTES, 1);
    CUdeviceptr to, from = device_copy(host, BYTES);
    OK(cuMemAlloc(&to, BYTES));
    for (int i = 0; i < 5; i++) {
        OK(cuMemcpyDtoD(to, from, sizes[i]));
        expect(to, host, sizes[i]);
        OK(cuMemcpy(to, (CUdeviceptr)host + 1, sizes[i] - 1));
        expect(to, host + 1, sizes[i] - 1);
        OK(cuMemcpyPeerAsync(to, context, from + 1, context, sizes[i] - 1, NULL));
        expect(to, host + 1, sizes[i] - 1);
    }
    OK(cuMemcpyDtoD(to, from, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(to + 1, from, BYTES));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(to, (CUdeviceptr)host, 10));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD((CUdeviceptr)host, host, 10));
    free(host);
}

static void plain_host_memory(void)
{
    open_device(0);
    unsigned char *from = pattern(100000, 5), *to = calloc(1, 100000);
    OK(cuMemcpy((CUdeviceptr)to, (CUdeviceptr)from, 100000));
    SAME(memcmp(to, from, 100000), 0);
    free(from);
    free(to);
}

static void two_dimensions(void)
{
    open_device(0);
    unsigned char *host = pattern(100 * 200, 3), *back = calloc(100, 50);
    CUdeviceptr device = device_copy(host, 100 * 200);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = device,
                          .srcPitch = 200,
                          .srcXInBytes = 13,
                          .srcY = 20,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .dstPitch = 50,
                          .dstXInBytes = 3,
                          .WidthInBytes = 40,
                          .Height = 70};
    OK(cuMemcpy2D(&copy));
    for (int row = 0; row < 70; row++)
        SAME(memcmp(back + 50 * row + 3, host + 200 * (row + 20) + 13, 40), 0);
    SAME(back[50 * 70 + 3], 0);
    copy.Height = 100;
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&copy)); /* beyond the end of the source */
    free(host);
    free(back);
}

static void three_dimensions(void)
{
    open_device(0);
    unsigned char *host = pattern(8 * 16 * 32, 4), *back = calloc(1, 4 * 4 * 4);
    CUdeviceptr device = device_copy(host, 8 * 16 * 32);
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = device,
                          .srcPitch = 32,
                          .srcHeight = 16,
                          .srcXInBytes = 5,
                          .srcY = 6,
                          .srcZ = 3,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .dstPitch = 4,
                          .dstHeight = 4,
                          .WidthInBytes = 4,
                          .Height = 4,
                          .Depth = 4};
    OK(cuMemcpy3DAsync(&copy, NULL));
    for (int i = 0; i < 64; i++)
        SAME(back[i], host[(3 + i / 16) * 16 * 32 + (6 + i / 4 % 4) * 32 + 5 + i % 4]);
    free(host);
    free(back);
}

/* Not every cuda.h declares it. */
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attribute_indices,
                               size_t attribute_count, CUstream stream);

static void batches(void)
{
    open_device(0);
    CUstream stream;
    CUdeviceptr from = ints_on_device(100, 6), to = ints_on_device(100, 0);
    CUdeviceptr targets[] = {to, to + 200}, sources[] = {from, from + 300};
    size_t bytes[] = {40, 80}, first = 0;
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuMemcpyBatchAsync_v2(targets, sources, bytes, 2, &attributes, &first, 1, NULL));
    OK(cuMemcpyBatchAsync_v2(targets, sources, bytes, 2, &attributes, &first, 1, stream));
    OK(cuStreamSynchronize(stream));
    SAME(int_at(to + 36), 6);
    SAME(int_at(to + 40), 0);
    SAME(int_at(to + 276), 6);
}

static void memsets(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(1000, 0);
    OK(cuMemsetD16(memory + 2, 0x1234, 3));
    SAME(int_at(memory), 0x12340000);
    SAME(int_at(memory + 4), 0x12341234);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(memory + 2, 1, 1));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(memory, 1, 4001));
    OK(cuMemsetD2D32Async(memory, 400, 7, 5, 10, NULL));
    SAME(int_at(memory + 3600 + 16), 7);
    SAME(int_at(memory + 3600 + 20), 0);
}

/* Pageable memory is read at the call if it is small, so it may change afterwards; it is written
 * before the call returns. */
static void pageable_memory(void)
{
    open_device(0);
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr memory = ints_on_device(4, 0);
    int value = 5, back = 0;
    OK(cuMemcpyHtoDAsync(memory, &value, sizeof(value), stream));
    value = 6;
    OK(cuMemcpyDtoHAsync(&back, memory, sizeof(back), stream));
    SAME(back, 5);
}

/* A small copy from pageable memory returns before it is done; setting
 * CU_POINTER_ATTRIBUTE_SYNC_MEMOPS waits for it, so that other streams find it done. */
static void pending_synchronous_copy(void)
{
    open_device(0);
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr memory = ints_on_device(4, 0);
    int value = 7, back = 0;
    unsigned on = 1;
    OK(cuMemcpyHtoD(memory, &value, sizeof(value)));
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    OK(cuMemcpyDtoHAsync(&back, memory, sizeof(back), stream));
    SAME(back, 7);
}

/* Memory of pools takes CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, too, but synchronous operations on it
 * still return before they are done. */
static void pools_stay_early(void)
{
    open_device(0);
    CUstream stream;
    CUdeviceptr memory;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAllocAsync(&memory, 64, stream));
    OK(cuMemsetD32Async(memory, 0, 16, stream));
    OK(cuStreamSynchronize(stream));
    int value = 7, back = -1;
    unsigned on = 1;
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
    OK(cuMemcpyHtoD(memory, &value, sizeof(value)));
    OK(cuMemsetD32(memory + 4, 8, 1));
    OK(cuMemcpyDtoHAsync(&back, memory, sizeof(back), stream));
    SAME(back, 0);
    OK(cuMemcpyDtoHAsync(&back, memory + 4, sizeof(back), stream));
    SAME(back, 0);
    OK(cuCtxSynchronize());
    SAME(int_at(memory), 7);
    SAME(int_at(memory + 4), 8);
}

int main(void)
{
    static const test_case_t cases[] = {
        {"linear", "", linear, 0},
        {"plain host memory", "", plain_host_memory, 0},
        {"two dimensions", "", two_dimensions, 0},
        {"three dimensions", "", three_dimensions, 0},
        {"batches", "", batches, 0},
        {"memsets", "", memsets, 0},
        {"pageable memory", "lazy,late=50", pageable_memory, 0},
        {"pending synchronous copy", "lazy,late=50", pending_synchronous_copy, 0},
        {"pools stay early", "lazy,late=1000000", pools_stay_early, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
