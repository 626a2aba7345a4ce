/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures, what spoils them, and launches of graphs. */
#include "case.h"

#include <pthread.h>

static CUstream new_stream(unsigned flags)
{
    CUstream stream;
    OK(cuStreamCreate(&stream, flags));
    return stream;
}

static CUevent new_event(void)
{
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    return exec;
}

static void count_up(void *count)
{
    ++*(int *)count;
}

static void one_stream(void)
{
    CUgraph graph;
    CUstreamCaptureStatus status;
    size_t nodes;
    int calls = 0;
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr memory = ints_on_device(100, 0), ones = ints_on_device(100, 1);
    OK(launch_add(memory, memory, 100, stream)); /* loads the kernel: the capture forbids that */
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuStreamIsCapturing(stream, &status));
    SAME(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(launch_add(memory, ones, 100, stream));
    OK(cuMemcpyDtoDAsync(ones, memory, 400, stream));
    OK(cuLaunchHostFunc(stream, count_up, &calls));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphGetNodes(graph, NULL, &nodes));
    SAME(nodes, 3);
    OK(cuStreamSynchronize(stream));
    SAME(int_at(memory), 0);
    CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    OK(cuStreamSynchronize(stream));
    SAME(int_at(memory), 4);
    SAME(calls, 3);
}

/* first -> event -> second -> event -> first: the order is that of the events, whatever the seed.
 */
static void two_streams(void)
{
    CUgraph graph;
    open_device(0);
    CUstream first = new_stream(CU_STREAM_NON_BLOCKING),
             second = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent out = new_event(), back = new_event();
    CUdeviceptr memory = ints_on_device(100, 0);
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuMemsetD32Async(memory, 1, 100, first));
    OK(cuEventRecord(out, first));
    OK(cuStreamWaitEvent(second, out, 0));
    OK(launch_add(memory, memory, 100, second));
    OK(cuEventRecord(back, second));
    OK(cuStreamWaitEvent(first, back, 0));
    OK(launch_add(memory, memory, 100, first));
    OK(cuStreamEndCapture(first, &graph));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuEventQuery(back));
    CUgraphExec exec = instantiate(graph);
    OK(cuGraphLaunch(exec, second));
    OK(cuStreamSynchronize(second));
    SAME(int_at(memory), 4);
    OK(cuGraphExecDestroy(exec));
}

static void not_joined(void)
{
    CUgraph graph;
    open_device(0);
    CUstream first = new_stream(CU_STREAM_NON_BLOCKING),
             second = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = new_event();
    CUdeviceptr memory = ints_on_device(100, 0);
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuMemsetD32Async(memory, 1, 100, second));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(first, &graph));
    OK(cuStreamSynchronize(second));
}

static void ended_elsewhere(void)
{
    CUgraph graph;
    open_device(0);
    CUstream first = new_stream(CU_STREAM_NON_BLOCKING),
             second = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = new_event();
    GIVES(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(first, &graph));
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(second, &graph));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(first, &graph));
}

static void what_came_before(void)
{
    CUgraph graph;
    open_device(0);
    CUstream first = new_stream(CU_STREAM_NON_BLOCKING),
             second = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = new_event();
    OK(cuEventRecord(event, second));
    OK(cuStreamBeginCapture(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(first, event, 0));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(first, &graph));
}

static void waiting_is_forbidden(void)
{
    CUgraph graph;
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr memory = ints_on_device(100, 0);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuMemsetD32Async(memory, 1, 100, stream));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    OK(cuMemsetD32Async(memory, 1, 100, stream));
    OK(cuStreamSynchronize(stream));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
          cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static void legacy_stream_is_forbidden(void)
{
    CUgraph graph;
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_DEFAULT);
    CUdeviceptr memory = ints_on_device(100, 0);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemsetD32Async(memory, 1, 100, NULL));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
    OK(cuMemsetD32Async(memory, 1, 100, NULL));
}

/* To ask whether the legacy stream is captured gives the same error, but spoils nothing. */
static void legacy_stream_may_be_asked(void)
{
    CUgraph graph;
    CUstreamCaptureStatus status;
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_DEFAULT);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
}

static void allocations_are_unsafe(void)
{
    CUgraph graph;
    CUdeviceptr memory;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    SAME(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(cuMemAlloc(&memory, 100));
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&memory, 100));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

static void *ask_event(void *event)
{
    return (void *)(intptr_t)cuEventQuery(event);
}

static CUresult asked_by_another_thread(CUevent event)
{
    pthread_t thread;
    void *code;
    SAME(pthread_create(&thread, NULL, ask_event, event), 0);
    pthread_join(thread, &code);
    return (CUresult)(intptr_t)code;
}

/* A global capture forbids unsafe calls to all threads, a thread-local one to its own thread. */
static void other_threads(void)
{
    CUgraph graph;
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = new_event();
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(asked_by_another_thread(event));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, asked_by_another_thread(event));
    GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

static void events_outside(void)
{
    CUgraph graph;
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING),
             other = new_stream(CU_STREAM_NON_BLOCKING);
    CUevent before = new_event(), after = new_event();
    CUdeviceptr memory = ints_on_device(100, 0);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamWaitEvent(stream, before, CU_EVENT_WAIT_EXTERNAL));
    OK(launch_add(memory, memory, 100, stream));
    OK(cuEventRecordWithFlags(after, stream, CU_EVENT_RECORD_EXTERNAL));
    OK(cuStreamEndCapture(stream, &graph));
    CUgraphExec exec = instantiate(graph);
    OK(cuMemsetD32Async(memory, 3, 100, other));
    OK(cuEventRecord(before, other));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamWaitEvent(other, after, 0));
    OK(launch_add(memory, memory, 100, other));
    OK(cuStreamSynchronize(other));
    SAME(int_at(memory), 12);
    OK(cuGraphExecDestroy(exec));
}

/* Real drivers keep the memory of a graph that has ended for the next one, and its addresses. */
static void memory_of_a_graph(void)
{
    CUgraph graph;
    CUdeviceptr memory;
    size_t free_before, free_after, total;
    open_device(0);
    CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr sum = ints_on_device(100, 0);
    OK(launch_add(sum, sum, 100, stream));
    OK(cuMemGetInfo(&free_before, &total));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&memory, 400, stream));
    OK(cuMemsetD32Async(memory, 2, 100, stream));
    OK(launch_add(sum, memory, 100, stream));
    OK(cuMemFreeAsync(memory, stream));
    OK(cuStreamEndCapture(stream, &graph));
    CUgraphExec exec = instantiate(graph);
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    SAME(int_at(sum), 6);
    OK(cuGraphExecDestroy(exec));
    OK(cuCtxSynchronize());
    if (is_driver_real())
        return;
    OK(cuMemGetInfo(&free_after, &total));
    SAME(free_after, free_before);
    OK(launch_add(sum, memory, 100, stream));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
}

int main(void)
{
    static const test_case_t cases[] = {
        {"one stream", "", one_stream, 0},
        {"two streams", "", two_streams, 0},
        {"two streams, another seed", "seed=77", two_streams, 0},
        {"not joined", "", not_joined, 0},
        {"ended elsewhere", "", ended_elsewhere, 0},
        {"what came before", "", what_came_before, 0},
        {"waiting is forbidden", "", waiting_is_forbidden, 0},
        {"the legacy stream is forbidden", "", legacy_stream_is_forbidden, 0},
        {"the legacy stream may be asked", "", legacy_stream_may_be_asked, 0},
        {"allocations are unsafe", "", allocations_are_unsafe, 0},
        {"other threads", "", other_threads, 0},
        {"events outside", "", events_outside, 0},
        {"memory of a graph", "", memory_of_a_graph, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
