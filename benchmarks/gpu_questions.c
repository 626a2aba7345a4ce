/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a CUDA driver does where its documentation is silent, and Weft relies on an answer or was
 * suspected to (docs/device_verdicts.md): which calls wait while a stream waits at a gate (a word
 * in memory), how much such a stream takes, how many of them hold up another one, what is known of
 * pieces of pools and of virtual memory, which memory takes SYNC_MEMOPS; and how long small steps
 * take. Prints a JSON object a line: {"question", "answer"} or {"limit", "bytes", "us"}.
 *
 * Each question has a process of its own, which is ended after LIMIT_S: a call may never return.
 */
#include "gpu_gate.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S    8 /* of a question */
#define MEBI       ((size_t)1 << 20)
#define VIRTUAL    (2 * MEBI) /* a multiple of the granularity of virtual memory */
#define ROUNDS_MAX 6          /* 4, 8, ... streams at the gate */
#define GATED_MAX  (4 << (ROUNDS_MAX - 1))

static volatile unsigned has_returned;

/* Opens the gate when the call has returned, or does not seem to. */
static void *open_later(void *returned_early)
{
    *(bool *)returned_early = gpu_comes(&has_returned, 1);
    gpu.words[GPU_GATE] = 1;
    return NULL;
}

/* ---- calls beside a shut gate ---- */

static CUdeviceptr memory, memory2, pool_memory, mapping;
static void *host_memory;
static char pages[3 * 4096];
static CUmemGenericAllocationHandle handle;
static CUstream third;
static CUipcMemHandle ipc; /* of another process */

static const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                               .requestedHandleTypes =
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                               .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};

static void *page(void)
{
    return pages + 4096 - (size_t)pages % 4096;
}

static void prepare_memory(void)
{
    OK(cuMemAlloc(&memory, MEBI));
    OK(cuMemAlloc(&memory2, MEBI));
    OK(cuMemHostAlloc(&host_memory, MEBI, 0));
    OK(cuMemAllocAsync(&pool_memory, MEBI, gpu.other));
    OK(cuStreamSynchronize(gpu.other));
    OK(cuMemAddressReserve(&mapping, 2 * VIRTUAL, 0, 0, 0));
    OK(cuMemCreate(&handle, VIRTUAL, &properties, 0));
    OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
}

static void map(void)
{
    const CUmemAccessDesc access = {.location = properties.location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    OK(cuMemMap(mapping, VIRTUAL, 0, handle, 0));
    OK(cuMemSetAccess(mapping, VIRTUAL, &access, 1));
}

static void call_nothing(void)
{
}

static void call_alloc(void)
{
    CUdeviceptr more;

    OK(cuMemAlloc(&more, 64 * MEBI));
}

static void call_free(void)
{
    OK(cuMemFree(memory));
}

static void call_host_alloc(void)
{
    void *more;

    OK(cuMemHostAlloc(&more, 64 * MEBI, 0));
}

static void call_host_free(void)
{
    OK(cuMemFreeHost(host_memory));
}

static void call_register(void)
{
    OK(cuMemHostRegister(page(), 4096, 0));
}

static void call_pool(void)
{
    CUdeviceptr more;

    OK(cuMemAllocAsync(&more, 64 * MEBI, gpu.other));
    OK(cuStreamSynchronize(gpu.other));
}

static void call_pool_free(void)
{
    OK(cuMemFreeAsync(pool_memory, gpu.other));
    OK(cuStreamSynchronize(gpu.other));
}

static void call_create(void)
{
    CUmemGenericAllocationHandle more;

    OK(cuMemCreate(&more, VIRTUAL, &properties, 0));
}

static void call_stream(void)
{
    CUstream more;

    OK(cuStreamCreateWithPriority(&more, CU_STREAM_NON_BLOCKING, -5));
}

static void call_stream_destroy(void)
{
    OK(cuStreamDestroy(third));
}

static void call_event(void)
{
    CUevent event;

    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, gpu.other));
    OK(cuEventSynchronize(event));
}

static void call_module(void)
{
    CUmodule module;
    CUfunction function;

    OK(cuModuleLoadData(&module, gpu_empty_kernel));
    OK(cuModuleGetFunction(&function, module, "weft_empty"));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, gpu.other, NULL, NULL));
    OK(cuStreamSynchronize(gpu.other));
}

static void call_ipc_get(void)
{
    CUipcMemHandle mine;

    OK(cuIpcGetMemHandle(&mine, memory));
}

static void call_ipc_open(void)
{
    CUdeviceptr theirs;

    OK(cuIpcOpenMemHandle(&theirs, ipc, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

static void call_sync_memops(void)
{
    int on = 1;

    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory));
}

static void call_copy_up(void)
{
    OK(cuMemcpyHtoD(memory, pages, 4096));
}

static void call_copy_on_device(void)
{
    OK(cuMemcpyDtoD(memory, memory2, MEBI));
}

static void call_set(void)
{
    OK(cuMemsetD8(memory, 1, MEBI));
}

static void call_synchronize(void)
{
    OK(cuCtxSynchronize());
}

typedef struct beside {
    const char *call;
    void (*make)(void);
} beside_t;

static const beside_t calls[] = {
    {"no call", call_nothing},
    {"cuCtxSynchronize", call_synchronize},
    {"cuMemAlloc of 64 MiB", call_alloc},
    {"cuMemFree", call_free},
    {"cuMemHostAlloc of 64 MiB", call_host_alloc},
    {"cuMemFreeHost", call_host_free},
    {"cuMemHostRegister", call_register},
    {"cuMemAllocAsync of 64 MiB and its stream", call_pool},
    {"cuMemFreeAsync and its stream", call_pool_free},
    {"cuMemCreate", call_create},
    {"cuMemMap and cuMemSetAccess", map},
    {"cuStreamCreateWithPriority", call_stream},
    {"cuStreamDestroy of an idle one", call_stream_destroy},
    {"an event in another stream", call_event},
    {"cuModuleLoadData and a first launch", call_module},
    {"cuIpcGetMemHandle", call_ipc_get},
    {"cuIpcOpenMemHandle", call_ipc_open},
    {"cuPointerSetAttribute SYNC_MEMOPS", call_sync_memops},
    {"cuMemcpyHtoD of 4 KiB", call_copy_up},
    {"cuMemcpyDtoD", call_copy_on_device},
    {"cuMemsetD8", call_set},
};
#define CALLS (int)(sizeof(calls) / sizeof(calls[0]))

static void ask_call(int which)
{
    bool returned_early = false;
    double begin_us;
    pthread_t opener;

    gpu_open();
    prepare_memory();
    gpu_wait_at_gate(gpu.gated, 1);
    OK(cuMemsetD32Async(memory2, 1, 1, gpu.gated));
    pthread_create(&opener, NULL, open_later, &returned_early);
    begin_us = gpu_now_us();
    calls[which].make();
    begin_us = gpu_now_us() - begin_us;
    has_returned = 1;
    pthread_join(opener, NULL);
    gpu_answer(returned_early ? "returns beside a shut gate, after %.0f us"
                              : "waits until the gate opens, %.0f us",
               begin_us);
}

/* ---- other threads while a call waits ---- */

static void *free_memory(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(gpu.context));
    OK(cuMemFree(memory));
    has_returned = 1;
    return NULL;
}

/* The gate is opened by a stream, as a library's thread would; at last by the processor. */
static void *open_by_stream(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(gpu.context));
    OK(cuStreamWriteValue32(gpu.other, gpu.mark, 1, 0));
    OK(cuStreamWriteValue32(gpu.other, gpu.gate, 1, 0));
    return NULL;
}

static void ask_other_threads(int unused)
{
    pthread_t freeing, opening;
    bool waits, gets_through;

    (void)unused;
    gpu_open();
    prepare_memory();
    gpu_wait_at_gate(gpu.gated, 1);
    pthread_create(&freeing, NULL, free_memory, NULL);
    waits = !gpu_comes(&has_returned, 1);
    pthread_create(&opening, NULL, open_by_stream, NULL);
    gets_through = gpu_comes(&gpu.words[GPU_MARK], 1);
    gpu.words[GPU_GATE] = 1;
    pthread_join(freeing, NULL);
    pthread_join(opening, NULL);
    gpu_answer("cuMemFree %s; work of another thread %s", waits ? "waits" : "does not wait",
               gets_through ? "gets through" : "does not get through");
}

/* ---- a stream that is full ---- */

#define ENTRIES_MAX 20000

static volatile unsigned given; /* entries of the gated stream */

static void *fill_stream(void *unused)
{
    (void)unused;
    OK(cuCtxSetCurrent(gpu.context));
    while (given < ENTRIES_MAX && gpu.words[GPU_GATE] == 0) {
        OK(cuMemsetD32Async(memory2, 1, 1, gpu.gated));
        given++;
    }
    return NULL;
}

static void ask_full_stream(int unused)
{
    pthread_t filling, opening;
    unsigned held = 0;
    bool gets_through;

    (void)unused;
    gpu_open();
    prepare_memory();
    gpu_wait_at_gate(gpu.gated, 1);
    pthread_create(&filling, NULL, fill_stream, NULL);
    while (held < ENTRIES_MAX && gpu_comes(&given, held + 1))
        held = given;
    pthread_create(&opening, NULL, open_by_stream, NULL);
    gets_through = gpu_comes(&gpu.words[GPU_MARK], 1);
    gpu.words[GPU_GATE] = 1;
    pthread_join(filling, NULL);
    pthread_join(opening, NULL);
    gpu_answer("takes %s%u small memsets; then work of another thread %s",
               held == ENTRIES_MAX ? "more than " : "", held,
               gets_through ? "gets through" : "does not get through");
}

/* ---- streams that share hardware queues ---- */

static bool gets_through(CUstream stream)
{
    gpu.words[GPU_MARK] = 0;
    OK(cuMemsetD32Async(memory, 1, 1, stream));
    OK(cuStreamWriteValue32(stream, gpu.mark, 1, 0));
    return gpu_comes(&gpu.words[GPU_MARK], 1);
}

/* Streams are made before the gate is shut, since making one may wait for the others. */
static void make_streams(CUstream gated[], CUstream usual[], CUstream high[])
{
    int least, greatest;

    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    for (int i = 0; i < GATED_MAX; i++)
        OK(cuStreamCreate(&gated[i], CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < ROUNDS_MAX; i++) {
        OK(cuStreamCreateWithPriority(&usual[i], CU_STREAM_NON_BLOCKING, least));
        OK(cuStreamCreateWithPriority(&high[i], CU_STREAM_NON_BLOCKING, greatest));
    }
}

static void ask_queues(int connections)
{
    CUstream gated[GATED_MAX], usual[ROUNDS_MAX], high[ROUNDS_MAX];
    char text[16];
    int waiting = 0;
    bool goes_on = true;

    snprintf(text, sizeof(text), "%d", connections);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", text, 1);
    gpu_open();
    OK(cuMemAlloc(&memory, MEBI));
    make_streams(gated, usual, high);
    for (int round = 0; round < ROUNDS_MAX && goes_on; round++) {
        bool usual_goes, high_goes;

        while (waiting < 4 << round)
            gpu_wait_at_gate(gated[waiting++], 1);
        usual_goes = gets_through(usual[round]);
        high_goes = gets_through(high[round]);
        goes_on = usual_goes || high_goes;
        gpu_answer("beside %d streams at a gate, one of usual priority %s, of high priority %s",
                   waiting, usual_goes ? "runs" : "is held up", high_goes ? "runs" : "is held up");
    }
    gpu.words[GPU_GATE] = 1;
}

/* ---- what is known of memory ---- */

static void describe(const char *what, CUdeviceptr at)
{
    CUdeviceptr start = 0, base = 0;
    size_t size = 0, length = 0;
    unsigned long long id = 0;
    CUcontext owner = NULL;
    int on = 1, memops;

    cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at);
    cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at);
    cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at);
    cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, at);
    cuMemGetAddressRange(&base, &length, at);
    memops = (int)cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at);
    gpu_answer(
        "%s: range from -%llu, %zu bytes; cuMemGetAddressRange from -%llu, %zu bytes; buffer id "
        "%llu; context %s; SYNC_MEMOPS: %s",
        what, (unsigned long long)(at - start), size, (unsigned long long)(at - base), length, id,
        owner == NULL ? "none" : "known", gpu_code_name((CUresult)memops));
}

static void ask_memory(int unused)
{
    CUdeviceptr small[3], managed;

    (void)unused;
    gpu_open();
    prepare_memory();
    describe("1 MiB of cuMemAlloc", memory);
    for (int i = 0; i < 3; i++)
        OK(cuMemAlloc(&small[i], 1000));
    describe("1000 B of cuMemAlloc", small[1]);
    for (int i = 0; i < 3; i++)
        OK(cuMemAllocAsync(&small[i], 1000, gpu.other));
    OK(cuStreamSynchronize(gpu.other));
    for (int i = 0; i < 3; i++)
        describe("1000 B of a pool", small[i]);
    describe("1 MiB of a pool", pool_memory);
    map();
    mapping += VIRTUAL;
    OK(cuMemCreate(&handle, VIRTUAL, &properties, 0));
    map();
    describe("first mapping of a reservation", mapping - VIRTUAL + 4096);
    describe("second mapping of a reservation", mapping + 4096);
    OK(cuMemAllocManaged(&managed, MEBI, CU_MEM_ATTACH_GLOBAL));
    describe("managed", managed);
    describe("pinned", gpu.gate);
}

static void ask_attributes(int unused)
{
#define ATTRIBUTE(name)                                                                            \
    {                                                                                              \
#name, CU_DEVICE_ATTRIBUTE_##name                                                          \
    }
    static const struct {
        const char *name;
        CUdevice_attribute which;
    } attributes[] = {ATTRIBUTE(MULTIPROCESSOR_COUNT),
                      ATTRIBUTE(ASYNC_ENGINE_COUNT),
                      ATTRIBUTE(COMPUTE_PREEMPTION_SUPPORTED),
                      ATTRIBUTE(STREAM_PRIORITIES_SUPPORTED),
                      ATTRIBUTE(CAN_USE_STREAM_WAIT_VALUE_NOR),
                      ATTRIBUTE(CAN_FLUSH_REMOTE_WRITES),
                      ATTRIBUTE(GPU_DIRECT_RDMA_SUPPORTED),
                      ATTRIBUTE(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED),
                      ATTRIBUTE(HANDLE_TYPE_FABRIC_SUPPORTED),
                      ATTRIBUTE(MULTICAST_SUPPORTED),
                      ATTRIBUTE(DMA_BUF_SUPPORTED),
                      ATTRIBUTE(HOST_REGISTER_SUPPORTED),
                      ATTRIBUTE(PAGEABLE_MEMORY_ACCESS),
                      ATTRIBUTE(CONCURRENT_MANAGED_ACCESS),
                      ATTRIBUTE(MEMPOOL_SUPPORTED_HANDLE_TYPES),
                      ATTRIBUTE(UNIFIED_FUNCTION_POINTERS),
                      ATTRIBUTE(IPC_EVENT_SUPPORTED),
                      ATTRIBUTE(KERNEL_EXEC_TIMEOUT)};

    (void)unused;
    gpu_open();
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        int value = 0;
        CUresult code = cuDeviceGetAttribute(&value, attributes[i].which, 0);

        gpu.question = attributes[i].name;
        code == CUDA_SUCCESS ? gpu_answer("%d", value) : gpu_answer("%s", gpu_code_name(code));
    }
}

/* ---- a process for each question ---- */

static void ask(const char *question, void (*about)(int), int argument)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    gpu.question = question;
    child = fork(); /* before the driver is loaded, since it does not survive a fork */
    if (child == 0) {
        alarm(LIMIT_S);
        about(argument);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        gpu_answer(WTERMSIG(status) == SIGALRM ? "no answer in %d s" : "ended by signal %d",
                   WTERMSIG(status) == SIGALRM ? LIMIT_S : WTERMSIG(status));
}

/* The process whose memory ipc names; it lives until its pipe is closed. */
static void be_owner(int to_parent, int from_parent)
{
    char end;

    gpu_open();
    OK(cuMemAlloc(&memory, MEBI));
    OK(cuIpcGetMemHandle(&ipc, memory));
    if (write(to_parent, &ipc, sizeof(ipc)) == sizeof(ipc) && read(from_parent, &end, 1) != 0)
        gpu_answer("the pipe says something");
    _exit(0);
}

static void begin_owner(void)
{
    int to[2], from[2];

    gpu.question = "memory of another process";
    if (pipe(to) != 0 || pipe(from) != 0)
        exit(1);
    if (fork() == 0) {
        close(from[1]);
        close(to[0]);
        be_owner(to[1], from[0]);
    }
    close(to[1]);
    close(from[0]);
    if (read(to[0], &ipc, sizeof(ipc)) != sizeof(ipc))
        fprintf(stderr, "gpu_questions: no memory of another process\n");
}

int main(void)
{
    begin_owner();
    ask("small steps", gpu_ask_times, 0);
    ask("attributes", ask_attributes, 0);
    ask("memory", ask_memory, 0);
    ask("multicast", gpu_ask_multicast, 0);
    for (int i = 0; i < CALLS; i++)
        ask(calls[i].call, ask_call, i);
    ask("other threads while cuMemFree waits", ask_other_threads, 0);
    ask("a stream at a gate", ask_full_stream, 0);
    ask("CUDA_DEVICE_MAX_CONNECTIONS=8", ask_queues, 8);
    ask("CUDA_DEVICE_MAX_CONNECTIONS=32", ask_queues, 32);
    return 0;
}
