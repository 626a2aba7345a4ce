/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a capture, for the tests of graphs. */
#ifndef TEST_MPI_CUDA_END_CAPTURE_H
#define TEST_MPI_CUDA_END_CAPTURE_H

#include "device_memory.h"

/* What was captured in the stream, ready to be launched. */
static inline CUgraphExec end_capture(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiate(&exec, graph, 0));
    CU(cuGraphDestroy(graph));
    return exec;
}

#endif
