/* SPDX-License-Identifier: BSD-3-Clause */
/* Forms of calls that libcuda.so.1 has, but not every cuda.h from 12.8 on declares. */
#ifndef SIMCUDA_SIM_OLDER_H
#define SIMCUDA_SIM_OLDER_H

#include "sim.h"

#pragma GCC visibility push(default)
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attribute_indices,
                               size_t attribute_count, CUstream stream);
CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice ordinal);
CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinities, int count, unsigned flags,
                        CUdevice ordinal);
CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
                               size_t log_bytes);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **needs_out, size_t *count_out);
#pragma GCC visibility pop

#endif
