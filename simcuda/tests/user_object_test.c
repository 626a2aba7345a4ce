/* SPDX-License-Identifier: BSD-3-Clause */
/* User objects: their destructors run when the last reference is released, and not before. */
#include "case.h"

#include <semaphore.h>

/* A form that not every cuda.h declares. */
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                   CUgraph *graph, const CUgraphNode **needs, size_t *count);

/* What a destructor reports. */
typedef struct told {
    sem_t is_over;
    int calls;
    CUresult of_call; /* of a driver call inside the destructor */
} told_t;

static void destroy(void *data)
{
    told_t *told = data;
    int count;
    told->calls++;
    told->of_call = cuDeviceGetCount(&count);
    sem_post(&told->is_over);
}

static CUuserObject new_object(told_t *told, unsigned references)
{
    CUuserObject object;
    *told = (told_t){.calls = 0};
    sem_init(&told->is_over, 0, 0);
    OK(cuUserObjectCreate(&object, told, destroy, references, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return object;
}

static void await(told_t *told)
{
    sem_wait(&told->is_over);
    SAME(told->calls, 1);
    SAME(told->of_call, CUDA_ERROR_NOT_PERMITTED);
}

static void references(void)
{
    told_t told;
    open_device(0);
    CUuserObject object = new_object(&told, 2);
    OK(cuUserObjectRetain(object, 2));
    OK(cuUserObjectRelease(object, 3));
    SAME(told.calls, 0);
    OK(cuUserObjectRelease(object, 1));
    await(&told);
}

/* The simulator finds the use of an object that has ended; a real driver need not. */
static void ended(void)
{
    told_t told;
    open_device(0);
    CUuserObject object = new_object(&told, 1);
    OK(cuUserObjectRelease(object, 1));
    await(&told);
    GIVES(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(object, 1));
}

static void refusals(void)
{
    static told_t told;
    CUuserObject object;
    CUgraph graph;
    open_device(0);
    OK(cuGraphCreate(&graph, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&object, &told, destroy, 1, 0));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuUserObjectCreate(&object, &told, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    object = new_object(&told, 1);
    if (!is_driver_real()) /* driver 580 finds nothing wrong with it */
        GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 1));
}

/* More references move into a graph than there are: the driver does not count those of the
 * program. */
static void moved_more_than_there_are(void)
{
    static told_t told; /* the destructor may run when the process ends */
    CUgraph graph;
    open_device(0);
    OK(cuGraphCreate(&graph, 0));
    CUuserObject object = new_object(&told, 1);
    OK(cuGraphRetainUserObject(graph, object, 2, CU_GRAPH_USER_OBJECT_MOVE));
    SAME(told.calls, 0);
}

/* The reference is moved while the stream is captured; a launch under way holds it, too. */
static void held_by_a_launch(void)
{
    told_t told;
    CUgraph graph;
    CUgraphExec exec;
    CUstream stream;
    CUstreamCaptureStatus status;
    open_device(0);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr memory = ints_on_device(100, 0);
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemsetD32Async(memory, 5, 100, stream));
    OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL));
    OK(cuGraphRetainUserObject(graph, new_object(&told, 1), 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphDestroy(graph));
    SAME(told.calls, 0);
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphExecDestroy(exec));
    await(&told);
    SAME(int_at(memory), 5);
}

/* An update replaces the references of an executable graph by those of the new graph. */
static void replaced_by_an_update(void)
{
    told_t first, second;
    CUgraph graphs[2];
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    open_device(0);
    for (int i = 0; i < 2; i++)
        OK(cuGraphCreate(&graphs[i], 0));
    OK(cuGraphRetainUserObject(graphs[0], new_object(&first, 1), 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphRetainUserObject(graphs[1], new_object(&second, 1), 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(cuGraphInstantiate(&exec, graphs[0], 0));
    OK(cuGraphDestroy(graphs[0]));
    OK(cuGraphExecUpdate(exec, graphs[1], &info));
    await(&first);
    OK(cuGraphDestroy(graphs[1]));
    SAME(second.calls, 0);
    OK(cuGraphExecDestroy(exec));
    await(&second);
}

int main(void)
{
    static const test_case_t cases[] = {
        {"references", "", references, 0},
        {"ended", "late=2", ended, 0},
        {"refusals", "", refusals, 0},
        {"moved more than there are", "", moved_more_than_there_are, 0},
        {"held by a launch", "", held_by_a_launch, 0},
        {"replaced by an update", "", replaced_by_an_update, 0},
        {NULL, NULL, NULL, 0}};
    return run_cases(cases);
}
