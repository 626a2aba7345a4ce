/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thousand graphs with operations, made, launched (or not) and destroyed: each takes words of
 * pinned memory while it exists, and WEFT_DEVICE_PINNED_MAX allows only enough for a few graphs. If
 * destroyed graphs kept any, the words would soon run out.
 */
#include "stream_comm.h"

#include <semaphore.h>

enum { GRAPHS = 1000, COUNT = 20 };

static sem_t graph_is_gone;

static void tell(void *unused)
{
    (void)unused;
    sem_post(&graph_is_gone);
}

/* Add the last object of the graph: those of the library are released before it. */
static void watch(CUgraph graph)
{
    CUuserObject object;
    CU(cuUserObjectCreate(&object, NULL, tell, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    CU(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
}

static CUgraph capture(const stream_comm_t *on, int *in, int *out)
{
    CUgraph graph;
    MPI_Request requests[2];
    int next = (expect_rank + 1) % expect_size,
        previous = (expect_rank + expect_size - 1) % expect_size;
    CU(cuStreamBeginCapture(on->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    EXPECT_ERROR(MPIX_Irecv_enqueue(out, COUNT, MPI_INT, previous, 1, on->comm, &requests[0]),
                 MPI_SUCCESS);
    EXPECT_ERROR(MPIX_Isend_enqueue(in, COUNT, MPI_INT, next, 1, on->comm, &requests[1]),
                 MPI_SUCCESS);
    EXPECT_ERROR(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_ERROR(MPIX_Allreduce_enqueue(MPI_IN_PLACE, out, COUNT, MPI_INT, MPI_SUM, on->comm),
                 MPI_SUCCESS);
    CU(cuStreamEndCapture(on->stream, &graph));
    watch(graph);
    return graph;
}

static void launch(const stream_comm_t *on, CUgraphExec exec, int *in, int *out, int round)
{
    int numbers[COUNT];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = expect_rank + i + round;
    memory_put(in, numbers, sizeof(numbers));
    CU(cuGraphLaunch(exec, on->stream));
    CU(cuStreamSynchronize(on->stream));
    memory_get(numbers, out, sizeof(numbers));
    for (int i = 0; i < COUNT; i++)
        EXPECT(numbers[i], expect_size * (expect_size - 1) / 2 + expect_size * (i + round));
}

static void make_and_destroy(const stream_comm_t *on, int *in, int *out, int round)
{
    CUgraphExec exec;
    CUgraph graph = capture(on, in, out);
    if (round % 3 > 0) {
        CU(cuGraphInstantiate(&exec, graph, 0));
        CU(cuGraphDestroy(graph));
        if (round % 5 == 0)
            launch(on, exec, in, out, round);
        CU(cuGraphExecDestroy(exec));
    } else {
        CU(cuGraphDestroy(graph));
    }
    while (sem_wait(&graph_is_gone) != 0)
        continue;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    sem_init(&graph_is_gone, 0, 0);
    memory_t in = memory_take(DEVICE, COUNT * sizeof(int)),
             out = memory_take(DEVICE, COUNT * sizeof(int));
    stream_comm_t on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    MPI_Comm_set_errhandler(on.comm, MPI_ERRORS_RETURN);
    for (int round = 0; round < GRAPHS && expect_failures == 0; round++)
        make_and_destroy(&on, in.at, out.at, round);
    CUgraph last = capture(&on, in.at, out.at); /* destroyed after the end of MPI */
    stream_comm_free(&on);
    int failed = expect_end();
    CU(cuGraphDestroy(last));
    while (sem_wait(&graph_is_gone) != 0)
        continue;
    CU(cuStreamDestroy(on.stream));
    memory_give(&in);
    memory_give(&out);
    memory_end();
    return failed;
}
