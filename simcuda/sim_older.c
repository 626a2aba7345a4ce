/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_older.h"

/* The plain names are the older forms, but cuda.h defines them as the newest form's symbol. */
#undef cuDeviceGetUuid
#undef cuEventElapsedTime
#undef cuGetProcAddress
#undef cuMemcpyBatchAsync
#undef cuStreamGetCaptureInfo

#pragma GCC visibility push(default)
CUresult cuDeviceGetUuid(CUuuid *out, CUdevice ordinal);
CUresult cuEventElapsedTime(float *out_ms, CUevent start, CUevent end);
CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags);
CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *attribute_indices,
                            size_t attribute_count, size_t *failed_out, CUstream stream);
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status_out,
                                cuuint64_t *id_out);
#pragma GCC visibility pop

CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice ordinal)
{
    return cuCtxCreate_v4(out, NULL, flags, ordinal);
}

CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinities, int count, unsigned flags,
                        CUdevice ordinal)
{
    CUctxCreateParams parameters = {.execAffinityParams = affinities,
                                    .numExecAffinityParams = count};
    return cuCtxCreate_v4(out, &parameters, flags, ordinal);
}

CUresult cuDeviceGetUuid(CUuuid *out, CUdevice ordinal)
{
    return cuDeviceGetUuid_v2(out, ordinal);
}

CUresult cuEventElapsedTime(float *out_ms, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(out_ms, start, end);
}

CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(name, out, version, flags, NULL);
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *attribute_indices,
                            size_t attribute_count, size_t *failed_out, CUstream stream)
{
    CUresult result = cuMemcpyBatchAsync_v2(to, from, bytes, count, attributes, attribute_indices,
                                            attribute_count, stream);
    if (result != CUDA_SUCCESS && failed_out != NULL)
        *failed_out = SIZE_MAX; /* no particular copy */
    return result;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
                               size_t log_bytes)
{
    if (error_node != NULL)
        *error_node = NULL;
    if (log != NULL && log_bytes > 0)
        *log = '\0';
    return cuGraphInstantiateWithFlags(out, graph, 0);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status_out,
                                cuuint64_t *id_out)
{
    return cuStreamGetCaptureInfo_v3(stream, status_out, id_out, NULL, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status_out,
                                   cuuint64_t *id_out, CUgraph *graph_out,
                                   const CUgraphNode **needs_out, size_t *count_out)
{
    return cuStreamGetCaptureInfo_v3(stream, status_out, id_out, graph_out, needs_out, NULL,
                                     count_out);
}
