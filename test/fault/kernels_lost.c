/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that die or stop while the enqueued collectives of all are kernels that wait for each other
 * in the streams (WEFT_RECOVERY):
 *
 *     kernels_lost WHERE VICTIM
 *
 *   before   the victim dies before it enqueues an allreduce that the others enqueue
 *   graph    the same where the others launch a graph
 *   driver   it dies where SIMCUDA says so (kill=)
 *   revoke   it revokes the communicator instead
 *   launch   its launch fails, as SIMCUDA says (fail=)
 *   stopped  it stops, until the others have waited for WEFT_DEVICE_WAIT_MAX
 *
 * The streams of the survivors must go on, and their next call must tell of the failure. Then they
 * reduce together on a communicator of those that are left. Prints nothing when all is well.
 */
#include "cuda/stream_comm.h"
#include "dying.h"

#include <unistd.h>

enum { COUNT = 20000, ROUNDS = 10 };

static const char *where;
static int victim;
static memory_t memory;

static int is_at(const char *point)
{
    return strcmp(where, point) == 0;
}

static int class_of(int err)
{
    int class = MPI_SUCCESS;
    if (err != MPI_SUCCESS)
        MPI_Error_class(err, &class);
    return class;
}

static void reduce_well(const stream_comm_t *on, MPI_Comm comm)
{
    int size, *got = malloc(COUNT * sizeof(int));
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < ROUNDS; round++) {
        CU(cuMemsetD32Async((CUdeviceptr)memory.at, (unsigned)round, COUNT, on->stream));
        int err =
            MPIX_Allreduce_enqueue(MPI_IN_PLACE, memory.at, COUNT, MPI_INT, MPI_SUM, on->comm);
        check(err == MPI_SUCCESS, "an allreduce fails with %d", err);
        CU(cuStreamSynchronize(on->stream));
        CU(cuMemcpyDtoH(got, (CUdeviceptr)memory.at, COUNT * sizeof(int)));
        for (int i = 0; i < COUNT; i++)
            check(got[i] == size * round, "element %d is %d, not %d", i, got[i], size * round);
    }
    free(got);
}

static CUgraphExec capture(const stream_comm_t *on)
{
    CUgraph graph;
    CUgraphExec exec;
    CU(cuStreamBeginCapture(on->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, memory.at, COUNT, MPI_INT, MPI_SUM, on->comm);
    CU(cuStreamEndCapture(on->stream, &graph));
    CU(cuGraphInstantiate(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    return exec;
}

static void fall(const stream_comm_t *on)
{
    if (is_at("before") || is_at("graph"))
        raise(SIGKILL);
    if (is_at("stopped"))
        raise(SIGSTOP);
    if (is_at("revoke"))
        MPIX_Comm_revoke(on->comm);
}

/* Returns the class of the failure. The stream must come to its end. */
static int wait_in_vain(const stream_comm_t *on, CUgraphExec exec)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < ROUNDS && err == MPI_SUCCESS; i++) {
        if (is_at("graph"))
            CU(cuGraphLaunch(exec, on->stream));
        else
            err =
                MPIX_Allreduce_enqueue(MPI_IN_PLACE, memory.at, COUNT, MPI_INT, MPI_SUM, on->comm);
    }
    CU(cuStreamSynchronize(on->stream));
    return class_of(err != MPI_SUCCESS ? err : MPIX_Barrier_enqueue(on->comm));
}

static void play(stream_comm_t *on)
{
    int size, *pids;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pids = malloc((size_t)size * sizeof(int));
    pids[world_rank] = getpid();
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
    reduce_well(on, MPI_COMM_WORLD);
    CUgraphExec exec = capture(on);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == victim)
        fall(on);
    int class = wait_in_vain(on, exec);
    if (is_at("stopped") || is_at("launch"))
        check(class == MPI_ERR_OTHER, "the class of a failure is %d", class);
    else
        check(class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED,
              "the class of a failure is %d", class);
    if (is_at("stopped") && world_rank == (victim + 1) % size)
        kill(pids[victim], SIGCONT);
    CU(cuGraphExecDestroy(exec));
    free(pids);
}

static void go_on(stream_comm_t *old)
{
    MPI_Comm rest;
    stream_comm_t on = *old;
    MPIX_Comm_shrink(MPI_COMM_WORLD, &rest);
    MPIX_Stream_comm_create(rest, on.mpix, &on.comm);
    reduce_well(&on, rest);
    MPI_Comm_free(&on.comm);
    MPI_Comm_free(&rest);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    where = argv[1];
    victim = atoi(argv[2]);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memory_begin(world_rank);
    memory = memory_take(DEVICE, COUNT * sizeof(int));
    stream_comm_t on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    play(&on);
    go_on(&on);
    MPI_Comm_free(&on.comm);
    MPIX_Stream_free(&on.mpix);
    MPI_Finalize();
    return 0;
}
