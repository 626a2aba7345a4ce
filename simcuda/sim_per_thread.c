/* SPDX-License-Identifier: BSD-3-Clause */
/* The forms of calls in programs that are compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM: the
 * same, but the stream NULL is the thread's own. */
#include "sim_stream.h"

#define EXPORTED __attribute__((visibility("default")))

#define FORM(name, suffix, parameters, arguments)                                                  \
    EXPORTED CUresult name##suffix parameters;                                                     \
    CUresult name##suffix parameters                                                               \
    {                                                                                              \
        sim_null_is_mine(true);                                                                    \
        CUresult result = name arguments;                                                          \
        sim_null_is_mine(false);                                                                   \
        return result;                                                                             \
    }

/* clang-format off */
FORM(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
FORM(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes))
FORM(cuMemcpyDtoH_v2, _ptds, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes))
FORM(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
FORM(cuMemcpyPeer, _ptds,
     (CUdeviceptr to, CUcontext at, CUdeviceptr from, CUcontext there, size_t bytes),
     (to, at, from, there, bytes))
FORM(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy))
FORM(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy))
FORM(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *copy), (copy))
FORM(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *copy), (copy))
FORM(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, size_t count), (to, value, count))
FORM(cuMemsetD2D8_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
     (to, pitch, value, width, height))
FORM(cuMemsetD8Async, _ptsz,
     (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
     (to, value, count, stream))
FORM(cuMemsetD2D8Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
      CUstream stream),
     (to, pitch, value, width, height, stream))
FORM(cuMemsetD16_v2, _ptds,
     (CUdeviceptr to, unsigned short value, size_t count),
     (to, value, count))
FORM(cuMemsetD2D16_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
     (to, pitch, value, width, height))
FORM(cuMemsetD16Async, _ptsz,
     (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
     (to, value, count, stream))
FORM(cuMemsetD2D16Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
      CUstream stream),
     (to, pitch, value, width, height, stream))
FORM(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned value, size_t count), (to, value, count))
FORM(cuMemsetD2D32_v2, _ptds,
     (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height),
     (to, pitch, value, width, height))
FORM(cuMemsetD32Async, _ptsz,
     (CUdeviceptr to, unsigned value, size_t count, CUstream stream),
     (to, value, count, stream))
FORM(cuMemsetD2D32Async, _ptsz,
     (CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream),
     (to, pitch, value, width, height, stream))
FORM(cuMemcpyAsync, _ptsz,
     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
     (to, from, bytes, stream))
FORM(cuMemcpyHtoDAsync_v2, _ptsz,
     (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
     (to, from, bytes, stream))
FORM(cuMemcpyDtoHAsync_v2, _ptsz,
     (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
     (to, from, bytes, stream))
FORM(cuMemcpyDtoDAsync_v2, _ptsz,
     (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
     (to, from, bytes, stream))
FORM(cuMemcpyPeerAsync, _ptsz,
     (CUdeviceptr to, CUcontext at, CUdeviceptr from, CUcontext there, size_t bytes,
      CUstream stream),
     (to, at, from, there, bytes, stream))
FORM(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream))
FORM(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream))
FORM(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream), (copy, stream))
FORM(cuMemAllocAsync, _ptsz,
     (CUdeviceptr *out, size_t bytes, CUstream stream),
     (out, bytes, stream))
FORM(cuMemAllocFromPoolAsync, _ptsz,
     (CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream stream),
     (out, bytes, pool, stream))
FORM(cuMemFreeAsync, _ptsz, (CUdeviceptr memory, CUstream stream), (memory, stream))
FORM(cuMemPrefetchAsync_v2, _ptsz,
     (CUdeviceptr at, size_t bytes, CUmemLocation location, unsigned flags, CUstream stream),
     (at, bytes, location, flags, stream))
FORM(cuStreamGetPriority, _ptsz, (CUstream stream, int *out), (stream, out))
FORM(cuStreamGetFlags, _ptsz, (CUstream stream, unsigned *out), (stream, out))
FORM(cuStreamGetId, _ptsz, (CUstream stream, unsigned long long *out), (stream, out))
FORM(cuStreamGetCtx, _ptsz, (CUstream stream, CUcontext *out), (stream, out))
FORM(cuStreamGetDevice, _ptsz, (CUstream stream, CUdevice *out), (stream, out))
FORM(cuStreamIsCapturing, _ptsz, (CUstream stream, CUstreamCaptureStatus *out), (stream, out))
FORM(cuStreamEndCapture, _ptsz, (CUstream stream, CUgraph *out), (stream, out))
FORM(cuStreamBeginCapture_v2, _ptsz, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
FORM(cuStreamWaitEvent, _ptsz,
     (CUstream stream, CUevent event, unsigned flags),
     (stream, event, flags))
FORM(cuStreamAddCallback, _ptsz,
     (CUstream stream, CUstreamCallback callback, void *data, unsigned flags),
     (stream, callback, data, flags))
FORM(cuStreamQuery, _ptsz, (CUstream stream), (stream))
FORM(cuStreamSynchronize, _ptsz, (CUstream stream), (stream))
FORM(cuStreamWriteValue32_v2, _ptsz,
     (CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags),
     (stream, at, value, flags))
FORM(cuStreamWaitValue32_v2, _ptsz,
     (CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned flags),
     (stream, at, value, flags))
FORM(cuStreamWriteValue64_v2, _ptsz,
     (CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned flags),
     (stream, at, value, flags))
FORM(cuStreamWaitValue64_v2, _ptsz,
     (CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned flags),
     (stream, at, value, flags))
FORM(cuStreamBatchMemOp_v2, _ptsz,
     (CUstream stream, unsigned count, CUstreamBatchMemOpParams *ops, unsigned flags),
     (stream, count, ops, flags))
FORM(cuEventRecord, _ptsz, (CUevent event, CUstream stream), (event, stream))
FORM(cuEventRecordWithFlags, _ptsz,
     (CUevent event, CUstream stream, unsigned flags),
     (event, stream, flags))
FORM(cuLaunchKernel, _ptsz,
     (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
      unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra),
     (function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))
FORM(cuLaunchKernelEx, _ptsz,
     (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra),
     (config, function, parameters, extra))
FORM(cuLaunchHostFunc, _ptsz,
     (CUstream stream, CUhostFn function, void *data),
     (stream, function, data))
FORM(cuGraphLaunch, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream))
FORM(cuGraphUpload, _ptsz, (CUgraphExec exec, CUstream stream), (exec, stream))
/* clang-format on */
