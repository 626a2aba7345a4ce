/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A training step as a captured graph: gradients come to the device, are averaged in buckets by one
 * group of all-reduces, and the parameters are updated, by a host function in place of a kernel.
 * The graph is launched for many steps; afterwards the parameters of all ranks have the bits that
 * the same steps give with MPI on the host.
 */
#include "end_capture.h"
#include "nccl_comm.h"

enum { BUCKETS = 3, STEPS = 8, PARAMETERS = 1000 };

static const size_t bucket_of[BUCKETS + 1] = {0, 100, 617, PARAMETERS};
static const size_t bytes = PARAMETERS * sizeof(float);

static nccl_comm_t all;
static memory_t gradients, averages, parameters;
static struct {
    float *gradients, *averages, *parameters;
} pinned;
static float model[PARAMETERS], mean[PARAMETERS], got[PARAMETERS];

static float gradient(int step, size_t i)
{
    return (float)((all.rank + 1) * (int)(i % 31) - step * 3) / 4;
}

static void descend(float *weights, const float *slopes)
{
    for (size_t i = 0; i < PARAMETERS; i++)
        weights[i] -= 0.0625f * slopes[i];
}

static void update(void *unused)
{
    (void)unused;
    descend(pinned.parameters, pinned.averages);
}

static void average_buckets(void)
{
    float *from = gradients.at, *to = averages.at;
    NCCL(ncclGroupStart());
    for (int i = BUCKETS - 1; i >= 0; i--)
        NCCL(ncclAllReduce(from + bucket_of[i], to + bucket_of[i], bucket_of[i + 1] - bucket_of[i],
                           ncclFloat, ncclAvg, all.nccl, all.stream));
    NCCL(ncclGroupEnd());
}

static CUgraphExec capture_step(void)
{
    CU(cuStreamBeginCapture(all.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU(cuMemcpyAsync((CUdeviceptr)gradients.at, (CUdeviceptr)pinned.gradients, bytes, all.stream));
    average_buckets();
    CU(cuMemcpyAsync((CUdeviceptr)pinned.averages, (CUdeviceptr)averages.at, bytes, all.stream));
    CU(cuLaunchHostFunc(all.stream, update, NULL));
    CU(cuMemcpyAsync((CUdeviceptr)parameters.at, (CUdeviceptr)pinned.parameters, bytes,
                     all.stream));
    return end_capture(all.stream);
}

static void step_on_host(void)
{
    MPI_Allreduce(pinned.gradients, mean, PARAMETERS, MPI_FLOAT, MPI_SUM, all.mpi);
    for (size_t i = 0; i < PARAMETERS; i++)
        mean[i] /= (float)all.size;
    descend(model, mean);
}

static void train(CUgraphExec step_graph)
{
    for (int step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < PARAMETERS; i++)
            pinned.gradients[i] = gradient(step, i);
        CU(cuGraphLaunch(step_graph, all.stream));
        step_on_host();
        CU(cuStreamSynchronize(all.stream));
        memory_get(got, parameters.at, bytes);
        EXPECT(memcmp(got, model, bytes), 0);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    all = nccl_comm_of(MPI_COMM_WORLD, nccl_stream());
    gradients = memory_take(DEVICE, bytes);
    averages = memory_take(DEVICE, bytes);
    parameters = memory_take(DEVICE, bytes);
    float **hosts[] = {&pinned.gradients, &pinned.averages, &pinned.parameters};
    for (int i = 0; i < 3; i++)
        CU(cuMemHostAlloc((void **)hosts[i], bytes, 0));
    for (size_t i = 0; i < PARAMETERS; i++)
        model[i] = pinned.parameters[i] = (float)i;
    CUgraphExec step_graph = capture_step();
    train(step_graph);
    CU(cuGraphExecDestroy(step_graph));
    nccl_expect_no_error(&all);
    NCCL(ncclCommDestroy(all.nccl));
    for (int i = 0; i < 3; i++)
        CU(cuMemFreeHost(*hosts[i]));
    memory_give(&gradients);
    memory_give(&averages);
    memory_give(&parameters);
    CU(cuStreamDestroy(all.stream));
    return expect_end();
}
