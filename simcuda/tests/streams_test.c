/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of streams, and that a program that ignores it sees wrong data. */
#include "case.h"

#include <pthread.h>
#include <stdatomic.h>

enum { COUNT = 100 };

static int *pinned_ints(int value)
{
    void *memory;
    OK(cuMemHostAlloc(&memory, COUNT * sizeof(int), 0));
    for (int i = 0; i < COUNT; i++)
        ((int *)memory)[i] = value;
    return memory;
}

static CUstream new_stream(unsigned flags)
{
    CUstream stream;
    OK(cuStreamCreate(&stream, flags));
    return stream;
}

/* The stream reads the source late: it must stay as it is until the stream has been waited for. */
static void source_changes_too_early(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    int *source = pinned_ints(1);
    OK(cuMemcpyHtoDAsync(memory, source, COUNT * sizeof(int), stream));
    source[7] = 2;
    OK(cuStreamSynchronize(stream));
    SAME(int_at(memory + 28), 2);
}

static void result_is_read_too_early(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 5);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    int *target = pinned_ints(0);
    OK(cuMemcpyDtoHAsync(target, memory, COUNT * sizeof(int), stream));
    SAME(((volatile int *)target)[0], 0);
    OK(cuStreamSynchronize(stream));
    SAME(target[0], 5);
}

/* A stream without CU_STREAM_NON_BLOCKING waits for the legacy one, and the other way round. */
static void legacy_order(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 0), ones = ints_on_device(COUNT, 1);
    CUstream blocking = new_stream(CU_STREAM_DEFAULT);
    for (int round = 0; round < 20; round++) {
        OK(cuMemsetD32Async(memory, 0, COUNT, blocking));
        OK(launch_add(memory, ones, COUNT, NULL));
        OK(cuMemcpyDtoDAsync(memory + 200, memory, 200, blocking));
        OK(launch_add(memory, memory, COUNT, CU_STREAM_LEGACY));
        OK(launch_add(memory, ones, COUNT, CU_STREAM_PER_THREAD));
        OK(launch_add(memory, memory, COUNT, NULL));
        SAME(int_at(memory), 6);
        SAME(int_at(memory + 396), 6);
    }
}

static void no_order_without_blocking(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 1);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuMemsetD32Async(memory, 2, COUNT, stream));
    SAME(int_at(memory), 1);
    OK(cuStreamSynchronize(stream));
    SAME(int_at(memory), 2);
}

static void events_order_streams(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 0);
    CUstream first = new_stream(CU_STREAM_NON_BLOCKING),
             second = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventQuery(event));
    OK(cuStreamWaitEvent(second, event, 0));
    for (unsigned round = 1; round < 20; round++) {
        OK(cuMemsetD32Async(memory, round, COUNT, first));
        OK(cuEventRecord(event, first));
        OK(cuStreamWaitEvent(second, event, 0));
        OK(cuMemcpyDtoDAsync(memory + 200, memory, 100, second));
        OK(cuStreamSynchronize(second));
        SAME(int_at(memory + 200), round);
        OK(cuEventQuery(event));
    }
    OK(cuEventDestroy(event));
}

static void questions_end(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 0);
    CUstream stream = new_stream(CU_STREAM_DEFAULT);
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuMemsetD32Async(memory, 1, COUNT, stream));
    OK(cuEventRecord(event, stream));
    GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        ;
    OK(cuStreamQuery(stream));
    OK(cuStreamQuery(NULL));
}

static void times(void)
{
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_DEFAULT);
    CUevent first, last, plain;
    float ms = -1;
    OK(cuEventCreate(&first, 0));
    OK(cuEventCreate(&last, CU_EVENT_BLOCKING_SYNC));
    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, first, last));
    OK(cuEventRecord(first, stream));
    OK(cuEventRecord(last, stream));
    GIVES(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, first, last));
    OK(cuEventSynchronize(last));
    OK(cuEventElapsedTime(&ms, first, last));
    CHECK(ms >= 0);
    GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, first, plain));
}

/* ---- host functions, values in memory ---- */

typedef struct seen {
    _Atomic int calls;
    CUresult code; /* of a CUDA call inside the host function */
} seen_t;

static void look(void *data)
{
    seen_t *seen = data;
    CUdeviceptr memory;
    seen->code = cuMemAlloc(&memory, 8);
    atomic_fetch_add(&seen->calls, 1);
}

static void host_functions(void)
{
    open_device(0);
    seen_t seen = {0};
    CUstream stream = new_stream(CU_STREAM_DEFAULT);
    OK(cuLaunchHostFunc(stream, look, &seen));
    OK(cuLaunchHostFunc(stream, look, &seen));
    SAME(seen.calls, 0);
    OK(cuStreamSynchronize(stream));
    SAME(seen.calls, 2);
    SAME(seen.code, CUDA_ERROR_NOT_PERMITTED);
}

static void values_in_memory(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 0);
    CUstream waits = new_stream(CU_STREAM_NON_BLOCKING),
             writes = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuStreamWaitValue32(waits, memory, 3, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuMemsetD32Async(memory + 8, 9, 1, waits));
    OK(cuStreamWriteValue32(writes, memory, 2, 0));
    OK(cuStreamSynchronize(writes));
    GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(waits));
    SAME(int_at(memory + 8), 0);
    OK(cuStreamWriteValue32(writes, memory, 4, 0));
    OK(cuStreamSynchronize(waits));
    SAME(int_at(memory + 8), 9);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(writes, memory + 1, 4, 0));
}

/* A kernel that waits for another stream's work: streams run side by side. */
static void streams_run_together(void)
{
    open_device(0);
    CUdeviceptr flag = ints_on_device(1, 0);
    CUstream first = new_stream(CU_STREAM_NON_BLOCKING),
             second = new_stream(CU_STREAM_NON_BLOCKING);
    spin_args_t args = {flag, 1};
    void *parameters[] = {&args};
    OK(cuLaunchKernel(test_kernel("test_spin"), 1, 1, 1, 1, 1, 1, 0, first, parameters, NULL));
    OK(cuStreamWriteValue32(second, flag, 1, 0));
    OK(cuStreamSynchronize(first));
}

/* ---- threads ---- */

static void *work_in_order(void *context)
{
    OK(cuCtxSetCurrent(context));
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 50; i++) {
        CUdeviceptr memory = ints_on_device(COUNT, i);
        OK(cuMemsetD32Async(memory, (unsigned)i + 1, 10, stream));
        OK(cuStreamSynchronize(stream));
        SAME(int_at(memory), i + 1);
        SAME(int_at(memory + 40), i);
        OK(cuMemFree(memory));
    }
    OK(cuStreamDestroy(stream));
    return NULL;
}

static void threads_of_the_program(void)
{
    pthread_t threads[6];
    CUcontext context = open_device(0);
    for (int i = 0; i < 6; i++)
        SAME(pthread_create(&threads[i], NULL, work_in_order, context), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    OK(cuDevicePrimaryCtxRelease(0));
}

/* A stream that is destroyed while it has work still does the work. */
static void streams_end_later(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuMemsetD32Async(memory, 1, COUNT, stream));
    OK(cuEventRecord(event, stream));
    OK(cuStreamDestroy(stream));
    OK(cuEventSynchronize(event));
    SAME(int_at(memory), 1);
}

/* The simulator finds the use of what was destroyed, also while work is under way; a real driver
 * may crash. */
static void destroyed_handles(void)
{
    open_device(0);
    CUdeviceptr memory = ints_on_device(COUNT, 0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING), other = new_stream(CU_STREAM_DEFAULT);
    CUevent event;
    OK(cuEventCreate(&event, 0));
    OK(cuMemsetD32Async(memory, 1, COUNT, stream));
    OK(cuEventRecord(event, stream));
    OK(cuStreamDestroy(stream));
    GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    OK(cuEventSynchronize(event));
    OK(cuEventDestroy(event));
    GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, other));
}

int main(void)
{
    static const test_case_t cases[] = {
        {"the source changes too early", "lazy,late=100", source_changes_too_early, 0},
        {"the result is read too early", "lazy,late=100", result_is_read_too_early, 0},
        {"legacy order", "", legacy_order, 0},
        {"legacy order, at once", "late=0", legacy_order, 0},
        {"no order without blocking", "lazy,late=100", no_order_without_blocking, 0},
        {"events order streams", "", events_order_streams, 0},
        {"questions end", "lazy,late=1000000", questions_end, 0},
        {"times", "lazy,late=100", times, 0},
        {"host functions", "lazy,late=100", host_functions, 0},
        {"values in memory", "", values_in_memory, 0},
        {"streams run together", "", streams_run_together, 0},
        {"threads of the program", "late=1", threads_of_the_program, 0},
        {"streams end later", "", streams_end_later, 0},
        {"destroyed handles", "late=1", destroyed_handles, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
