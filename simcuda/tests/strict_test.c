/* SPDX-License-Identifier: BSD-3-Clause */
/* What calls wait for with the word `strict`, and streams that share hardware queues. */
#include "case.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 100, MEBI = 1 << 20, DEPTH = 4 };

static CUstream streams[2];
static int *pinned;
static CUdeviceptr memory;

static void begin(void)
{
    void *host;
    open_device(0);
    OK(cuMemHostAlloc(&host, COUNT * sizeof(int), 0));
    pinned = host;
    memory = ints_on_device(COUNT, 5);
    for (int i = 0; i < 2; i++)
        OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
}

/* What a late copy has brought when `call` returns. */
static int brought_by(void (*call)(void))
{
    memset(pinned, 0, COUNT * sizeof(int));
    OK(cuMemcpyDtoHAsync((void *)pinned, memory, COUNT * sizeof(int), streams[0]));
    call();
    int value = ((volatile int *)pinned)[0];
    OK(cuStreamSynchronize(streams[0]));
    return value;
}

static void allocate(void)
{
    CUdeviceptr other;
    OK(cuMemAlloc(&other, MEBI));
}

static void allocate_pinned(void)
{
    void *other;
    OK(cuMemHostAlloc(&other, MEBI, 0));
}

static void register_host(void)
{
    static char page[2 * 4096];
    OK(cuMemHostRegister(page, sizeof(page), 0));
}

static void create_stream(void)
{
    CUstream other;
    OK(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, -1));
}

static void load_module(void)
{
    CUmodule module;
    OK(cuModuleLoadData(&module, kernel_image));
}

static void free_in_pool(void)
{
    CUdeviceptr other;
    OK(cuMemAllocAsync(&other, MEBI, streams[1]));
    OK(cuStreamSynchronize(streams[1]));
    OK(cuMemFree(other));
}

static void map_memory(void)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr start;
    OK(cuMemAddressReserve(&start, 2 * MEBI, 0, 0, 0));
    OK(cuMemCreate(&handle, 2 * MEBI, &properties, 0));
    OK(cuMemMap(start, 2 * MEBI, 0, handle, 0));
}

static void calls_wait(void)
{
    begin();
    SAME(brought_by(allocate), 5);
    SAME(brought_by(allocate_pinned), 5);
    SAME(brought_by(register_host), 5);
    SAME(brought_by(create_stream), 5);
    SAME(brought_by(map_memory), 5);
    SAME(brought_by(load_module), 5);
    SAME(brought_by(free_in_pool), 0);
}

static void calls_do_not_wait(void)
{
    begin();
    SAME(brought_by(allocate), 0);
    SAME(brought_by(allocate_pinned), 0);
    SAME(brought_by(create_stream), 0);
    SAME(brought_by(map_memory), 0);
    SAME(brought_by(load_module), 5); /* waits for its context at least */
}

/* The work of another context of the device is waited for, too, but not that of another device. */
static void of_all_contexts(void)
{
    CUcontext second;
    begin();
    OK(cuCtxCreate(&second, NULL, 0, 0));
    SAME(brought_by(allocate), 5);
    SAME(brought_by(load_module), 5);
    open_device(1);
    SAME(brought_by(allocate), 0);
}

/* ---- other calls ---- */

static pid_t first_thread;
static atomic_bool is_about_to;

/* Is the first thread asleep? It sleeps nowhere but in its call. */
static bool is_asleep(void)
{
    char path[64], state = '?';
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)first_thread);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fscanf(file, "%*d %*s %c", &state) == 1);
    fclose(file);
    return state == 'S';
}

static void *open_by_a_call(void *word)
{
    OK(cuCtxSetCurrent(open_device(0)));
    while (!atomic_load(&is_about_to) || !is_asleep())
        usleep(100);
    OK(cuStreamWriteValue32(streams[1], (CUdeviceptr)word, 1, 0));
    return NULL;
}

/* If the call keeps the other out, neither returns: the first one waits for the stream, the second
 * one for the first. */
static void keep_others_out(void (*call)(void))
{
    pthread_t thread;
    begin();
    pinned[0] = 0;
    OK(cuStreamWaitValue32(streams[0], (CUdeviceptr)pinned, 1, CU_STREAM_WAIT_VALUE_GEQ));
    first_thread = getpid();
    CHECK(pthread_create(&thread, NULL, open_by_a_call, pinned) == 0);
    alarm(1);
    atomic_store(&is_about_to, true);
    call();
}

static void keeps_others_out(void)
{
    keep_others_out(allocate);
}

static void keeps_others_out_loading(void)
{
    keep_others_out(load_module);
}

static void copy_to_pageable(void)
{
    static int pageable[COUNT];
    OK(cuMemcpyDtoHAsync(pageable, memory, sizeof(pageable), streams[0]));
}

static void keeps_others_out_copying(void)
{
    keep_others_out(copy_to_pageable);
}

static void synchronize(void)
{
    OK(cuStreamSynchronize(streams[0]));
    copy_to_pageable();
}

static void lets_others_in(void)
{
    keep_others_out(synchronize);
}

static void *open_by_a_store(void *word)
{
    while (!atomic_load(&is_about_to) || !is_asleep())
        usleep(100);
    __atomic_store_n((int *)word, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* A store of the host needs no call. */
static void ends_when_the_word_comes(void)
{
    pthread_t thread;
    begin();
    pinned[0] = 0;
    OK(cuStreamWaitValue32(streams[0], (CUdeviceptr)pinned, 1, CU_STREAM_WAIT_VALUE_GEQ));
    first_thread = getpid();
    CHECK(pthread_create(&thread, NULL, open_by_a_store, pinned) == 0);
    atomic_store(&is_about_to, true);
    allocate();
    OK(cuStreamQuery(streams[0]));
    pthread_join(thread, NULL);
}

/* One more than `depth`, with the wait that is there. */
static void fill_stream(void)
{
    for (int i = 0; i < DEPTH; i++)
        OK(cuStreamWriteValue32(streams[0], (CUdeviceptr)(pinned + 1), (cuuint32_t)i, 0));
}

static void full_stream_keeps_others_out(void)
{
    keep_others_out(fill_stream);
}

static void full_stream_lets_others_in(void)
{
    keep_others_out(fill_stream);
    OK(cuStreamSynchronize(streams[0]));
    SAME(((volatile int *)pinned)[1], DEPTH - 1);
}

/* ---- hardware queues ---- */

/* The second stream does not get past a wait of the first one, though nothing orders them. */
static void one_queue_for_two(void)
{
    begin();
    pinned[0] = pinned[1] = 0;
    OK(cuStreamWaitValue32(streams[0], (CUdeviceptr)pinned, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue32(streams[1], (CUdeviceptr)(pinned + 1), 1, 0));
    for (int i = 0; i < 100; i++)
        GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(streams[1]));
    SAME(((volatile int *)pinned)[1], 0);
    __atomic_store_n(pinned, 1, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(streams[1]));
    SAME(((volatile int *)pinned)[1], 1);
}

static void two_queues_for_two(void)
{
    begin();
    pinned[0] = pinned[1] = 0;
    OK(cuStreamWaitValue32(streams[0], (CUdeviceptr)pinned, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuStreamWriteValue32(streams[1], (CUdeviceptr)(pinned + 1), 1, 0));
    OK(cuStreamSynchronize(streams[1]));
    SAME(((volatile int *)pinned)[1], 1);
    __atomic_store_n(pinned, 1, __ATOMIC_RELEASE);
    OK(cuStreamSynchronize(streams[0]));
}

/* Streams that wait hold up another one when they are as many as there are queues. */
static void wait_in_all_of(int queues)
{
    begin();
    memset(pinned, 0, COUNT * sizeof(int));
    for (int i = 1; i <= queues; i++) {
        CUstream waiting;
        OK(cuStreamSynchronize(streams[1]));
        SAME(((volatile int *)pinned)[1], i - 1);
        OK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
        OK(cuStreamWaitValue32(waiting, (CUdeviceptr)pinned, 1, CU_STREAM_WAIT_VALUE_GEQ));
        OK(cuStreamWriteValue32(streams[1], (CUdeviceptr)(pinned + 1), (unsigned)i, 0));
    }
    for (int i = 0; i < 100; i++)
        GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(streams[1]));
    SAME(((volatile int *)pinned)[1], queues - 1);
    __atomic_store_n(pinned, 1, __ATOMIC_RELEASE);
    OK(cuCtxSynchronize());
    SAME(pinned[1], queues);
}

static void wait_in_two(void)
{
    wait_in_all_of(2);
}

static void wait_in_three(void)
{
    wait_in_all_of(3);
}

/* Streams in which kernels wait hold up nobody. */
static void kernels_hold_up_nobody(void)
{
    enum { KERNELS = 5 };
    begin();
    memset(pinned, 0, COUNT * sizeof(int));
    spin_args_t args = {(CUdeviceptr)pinned, 1};
    void *parameters[] = {&args};
    CUfunction spin = test_kernel("test_spin");
    for (int i = 0; i < KERNELS; i++) {
        CUstream waiting;
        OK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
        OK(cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, waiting, parameters, NULL));
    }
    OK(cuStreamWriteValue32(streams[1], (CUdeviceptr)(pinned + 1), 1, 0));
    OK(cuStreamSynchronize(streams[1]));
    SAME(((volatile int *)pinned)[1], 1);
    __atomic_store_n(pinned, 1, __ATOMIC_RELEASE);
    OK(cuCtxSynchronize());
}

int main(void)
{
    static const test_case_t cases[] = {
        {"calls wait for streams", "strict=1,lazy,late=20", calls_wait, 0},
        {"calls do not wait without it", "lazy,late=20", calls_do_not_wait, 0},
        {"those of driver 580 do not wait", "strict=2,lazy,late=20", calls_do_not_wait, 0},
        {"one that loads keeps others out", "strict=2,late=0", keeps_others_out_loading, SIGALRM},
        {"a copy to pageable memory, too", "strict=2,late=0", keeps_others_out_copying, SIGALRM},
        {"but no call that only waits", "strict=2,late=0", lets_others_in, 0},
        {"for all contexts of the device", "strict=1,devices=2,lazy,late=20", of_all_contexts, 0},
        {"a waiting call keeps others out", "strict=1,late=0", keeps_others_out, SIGALRM},
        {"a store ends the wait", "strict=1,late=0", ends_when_the_word_comes, 0},
        {"a full stream keeps others out", "strict=1,late=0,depth=4", full_stream_keeps_others_out,
         SIGALRM},
        {"without it they come in", "strict=2,late=0,depth=4", full_stream_lets_others_in, 0},
        {"one hardware queue", "connections=1,late=0", one_queue_for_two, 0},
        {"two hardware queues", "connections=2,late=0", two_queues_for_two, 0},
        {"as many as three queues", "connections=3,late=0", wait_in_three, 0},
        {"as many as a client of MPS has", "mps=1,late=0", wait_in_two, 0},
        {"kernels hold up nobody", "connections=1,late=0", kernels_hold_up_nobody, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
