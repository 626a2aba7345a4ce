/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Weft needs of CUDA's driver, in declarations of its own: the library is built without CUDA's
 * headers, and finds the functions at run time (driver.h). test/unit/cuda/driver_api_test.c
 * compares this with cuda.h where that is installed.
 */
#ifndef WEFT_CUDA_DRIVER_API_H
#define WEFT_CUDA_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

typedef int weft_cu_result_t; /* WEFT_CU_SUCCESS is 0 */
typedef uint64_t weft_cu_address_t;
typedef uint64_t weft_cu_allocation_t;
typedef int weft_cu_device_t;
typedef struct CUctx_st *weft_cu_context_t;
typedef struct CUstream_st *weft_cu_stream_t;
typedef struct CUevent_st *weft_cu_event_t;
typedef struct CUmod_st *weft_cu_module_t;
typedef struct CUfunc_st *weft_cu_function_t;
typedef struct CUmemPoolHandle_st *weft_cu_pool_t;
typedef struct CUuserObject_st *weft_cu_user_object_t;

enum {
    WEFT_CU_SUCCESS = 0,
    WEFT_CU_INVALID_VALUE = 1,
    WEFT_CU_OUT_OF_MEMORY = 2,
    WEFT_CU_NOT_INITIALIZED = 3,
    WEFT_CU_DEINITIALIZED = 4,
    WEFT_CU_STUB_LIBRARY = 34,
    WEFT_CU_NO_DEVICE = 100,
    WEFT_CU_INVALID_CONTEXT = 201,
    WEFT_CU_ALREADY_MAPPED = 208,
    WEFT_CU_NOT_READY = 600,
    WEFT_CU_PEER_ACCESS_ALREADY_ENABLED = 704,
    WEFT_CU_CONTEXT_IS_DESTROYED = 709,
    WEFT_CU_DRIVER_MISMATCH = 803,
    WEFT_CU_COMPAT_NOT_SUPPORTED = 804,
};

/* Attributes of pointers, and their types. */
enum {
    WEFT_CU_POINTER_CONTEXT = 1,       /* weft_cu_context_t */
    WEFT_CU_POINTER_MEMORY_TYPE = 2,   /* unsigned: one of those below; 0: unknown to the driver */
    WEFT_CU_POINTER_SYNC_MEMOPS = 6,   /* unsigned */
    WEFT_CU_POINTER_BUFFER_ID = 7,     /* unsigned long long */
    WEFT_CU_POINTER_IS_MANAGED = 8,    /* int, though the driver may write a bool */
    WEFT_CU_POINTER_ORDINAL = 9,       /* int */
    WEFT_CU_POINTER_IS_LEGACY = 10,    /* int: cuIpcGetMemHandle takes it */
    WEFT_CU_POINTER_RANGE_START = 11,  /* weft_cu_address_t */
    WEFT_CU_POINTER_RANGE_SIZE = 12,   /* size_t */
    WEFT_CU_POINTER_HANDLE_TYPES = 14, /* uint64_t */
    WEFT_CU_POINTER_POOL = 17,         /* weft_cu_pool_t */
};

/* This handle stands for a different stream in each thread. */
#define WEFT_CU_STREAM_LEGACY     ((weft_cu_stream_t)1)
#define WEFT_CU_STREAM_PER_THREAD ((weft_cu_stream_t)2)

enum { WEFT_CU_MEMORY_HOST = 1, WEFT_CU_MEMORY_DEVICE = 2, WEFT_CU_MEMORY_UNIFIED = 4 };

enum {
    WEFT_CU_STREAM_NON_BLOCKING = 1,
    WEFT_CU_EVENT_DISABLE_TIMING = 2,
    WEFT_CU_HOST_PORTABLE = 1,
    WEFT_CU_HOST_DEVICEMAP = 2,
    WEFT_CU_IPC_LAZY_PEER_ACCESS = 1,
    WEFT_CU_CAPTURE_RELAXED = 2,
    WEFT_CU_NOT_CAPTURED = 0, /* one of the answers of cuStreamGetCaptureInfo */
    WEFT_CU_SPOILT_CAPTURE = 2,
    WEFT_CU_WAIT_GEQ = 0, /* compares cyclically */
    WEFT_CU_WAIT_EQ = 1,
    WEFT_CU_OBJECT_NO_DESTRUCTOR_SYNC = 1,
    WEFT_CU_OBJECT_MOVE = 1, /* the graph takes over the caller's references */
    WEFT_CU_HANDLE_POSIX_FD = 1,
    WEFT_CU_HANDLE_FABRIC = 8,
    WEFT_CU_LOCATION_DEVICE = 1,
    WEFT_CU_ACCESS_READWRITE = 3,
    WEFT_CU_ALLOCATION_PINNED = 1,
    WEFT_CU_MULTICAST_MINIMUM = 0,
    WEFT_CU_MULTICAST_RECOMMENDED = 1,
};

/* Attributes of devices. */
enum {
    WEFT_CU_DEVICE_MULTIPROCESSORS = 16,
    WEFT_CU_DEVICE_TIME_LIMIT = 17, /* kernels that run for seconds are ended */
    WEFT_CU_DEVICE_IS_INTEGRATED = 18,
    WEFT_CU_DEVICE_MAPS_HOST_MEMORY = 19,
    WEFT_CU_DEVICE_UNIFIED_ADDRESSING = 41,
    WEFT_CU_DEVICE_CAPABILITY_MAJOR = 75,
    WEFT_CU_DEVICE_CAPABILITY_MINOR = 76,
    WEFT_CU_DEVICE_MANAGED_MEMORY = 83,
    WEFT_CU_DEVICE_VMM = 102,
    WEFT_CU_DEVICE_HANDLE_POSIX_FD = 103,
    WEFT_CU_DEVICE_POOLS = 115,
    WEFT_CU_DEVICE_RDMA_ORDERING = 118, /* WEFT_CU_RDMA_ORDER_ALL, or less */
    WEFT_CU_DEVICE_HANDLE_FABRIC = 128,
    WEFT_CU_DEVICE_MULTICAST = 132,
    WEFT_CU_DEVICE_BY_MPS = 133, /* contexts of this process are clients of MPS */
};

/* All devices see in order what others write into this device's memory. */
enum { WEFT_CU_RDMA_ORDER_ALL = 200 };

typedef struct weft_cu_uuid {
    unsigned char bytes[16];
} weft_cu_uuid_t;

typedef struct weft_cu_ipc_handle {
    unsigned char bytes[64];
} weft_cu_ipc_handle_t;

typedef struct weft_cu_location {
    int type, id;
} weft_cu_location_t;

typedef struct weft_cu_access {
    weft_cu_location_t location;
    int flags;
} weft_cu_access_t;

/* Properties of an allocation. */
typedef struct weft_cu_allocation_properties {
    int type, handle_types;
    weft_cu_location_t location;
    void *win32;
    struct {
        unsigned char compression, allows_rdma;
        unsigned short usage;
        unsigned char reserved[4];
    } flags;
} weft_cu_allocation_properties_t;

/* Properties of an object of multicast memory. */
typedef struct weft_cu_multicast {
    unsigned devices;
    size_t bytes;
    unsigned long long handle_types, flags;
} weft_cu_multicast_t;

/* One side of a copy of rows. */
typedef struct weft_cu_rows {
    size_t x_bytes, y;
    int memory_type;
    const void *host;
    weft_cu_address_t device;
    void *array;
    size_t pitch;
} weft_cu_rows_t;

typedef struct weft_cu_copy2d {
    weft_cu_rows_t from, to;
    size_t width_bytes, height;
} weft_cu_copy2d_t;

/*
 * The functions, X(name, exported name, arguments), each in the newest version that old drivers
 * also have. A driver without one of NEEDED cannot be used (all have them since CUDA 11.4). Without
 * one of WANTED the library works in another way.
 */
#define WEFT_CU_NEEDED(X)                                                                          \
    X(cuGetErrorName, cuGetErrorName, (weft_cu_result_t error, const char **out))                  \
    X(cuGetErrorString, cuGetErrorString, (weft_cu_result_t error, const char **out))              \
    X(cuCtxGetCurrent, cuCtxGetCurrent, (weft_cu_context_t * out))                                 \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (weft_cu_context_t context))                          \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (weft_cu_context_t * out))                              \
    X(cuCtxSetCurrent, cuCtxSetCurrent, (weft_cu_context_t context))                               \
    X(cuCtxSynchronize, cuCtxSynchronize, (void))                                                  \
    X(cuCtxGetDevice, cuCtxGetDevice, (weft_cu_device_t * out))                                    \
    X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int *least, int *greatest))       \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, (weft_cu_context_t peer, unsigned flags))      \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *mode))           \
    X(cuDeviceGet, cuDeviceGet, (weft_cu_device_t * out, int ordinal))                             \
    X(cuDeviceGetCount, cuDeviceGetCount, (int *out))                                              \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, (weft_cu_uuid_t * out, weft_cu_device_t device))        \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * out, weft_cu_device_t device))              \
    X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *out, int bytes, weft_cu_device_t device))   \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute,                                                  \
      (int *out, int attribute, weft_cu_device_t device))                                          \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer,                                                \
      (int *out, weft_cu_device_t device, weft_cu_device_t peer))                                  \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState,                                      \
      (weft_cu_device_t device, unsigned *flags, int *is_active))                                  \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                                          \
      (weft_cu_context_t * out, weft_cu_device_t device))                                          \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (weft_cu_device_t device))          \
    X(cuPointerGetAttributes, cuPointerGetAttributes,                                              \
      (unsigned count, int *attributes, void **data, weft_cu_address_t address))                   \
    X(cuPointerSetAttribute, cuPointerSetAttribute,                                                \
      (const void *value, int attribute, weft_cu_address_t address))                               \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority,                                      \
      (weft_cu_stream_t * out, unsigned flags, int priority))                                      \
    X(cuStreamDestroy, cuStreamDestroy_v2, (weft_cu_stream_t stream))                              \
    X(cuStreamGetCtx, cuStreamGetCtx, (weft_cu_stream_t stream, weft_cu_context_t * out))          \
    X(cuStreamQuery, cuStreamQuery, (weft_cu_stream_t stream))                                     \
    X(cuStreamSynchronize, cuStreamSynchronize, (weft_cu_stream_t stream))                         \
    X(cuStreamIsCapturing, cuStreamIsCapturing, (weft_cu_stream_t stream, int *status))            \
    X(cuStreamWaitEvent, cuStreamWaitEvent,                                                        \
      (weft_cu_stream_t stream, weft_cu_event_t event, unsigned flags))                            \
    X(cuEventCreate, cuEventCreate, (weft_cu_event_t * out, unsigned flags))                       \
    X(cuEventRecord, cuEventRecord, (weft_cu_event_t event, weft_cu_stream_t stream))              \
    X(cuEventQuery, cuEventQuery, (weft_cu_event_t event))                                         \
    X(cuEventDestroy, cuEventDestroy_v2, (weft_cu_event_t event))                                  \
    X(cuMemAlloc, cuMemAlloc_v2, (weft_cu_address_t * out, size_t bytes))                          \
    X(cuMemFree, cuMemFree_v2, (weft_cu_address_t address))                                        \
    X(cuMemGetAddressRange, cuMemGetAddressRange_v2,                                               \
      (weft_cu_address_t * base_out, size_t * bytes_out, weft_cu_address_t address))               \
    X(cuMemHostAlloc, cuMemHostAlloc, (void **out, size_t bytes, unsigned flags))                  \
    X(cuMemFreeHost, cuMemFreeHost, (void *memory))                                                \
    X(cuMemcpyAsync, cuMemcpyAsync,                                                                \
      (weft_cu_address_t to, weft_cu_address_t from, size_t bytes, weft_cu_stream_t stream))       \
    X(cuMemsetD32Async, cuMemsetD32Async,                                                          \
      (weft_cu_address_t to, unsigned value, size_t count, weft_cu_stream_t stream))               \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2,                                                         \
      (const weft_cu_copy2d_t *copy, weft_cu_stream_t stream))                                     \
    X(cuIpcGetMemHandle, cuIpcGetMemHandle,                                                        \
      (weft_cu_ipc_handle_t * out, weft_cu_address_t address))                                     \
    X(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2,                                                   \
      (weft_cu_address_t * out, weft_cu_ipc_handle_t handle, unsigned flags))                      \
    X(cuIpcCloseMemHandle, cuIpcCloseMemHandle, (weft_cu_address_t address))                       \
    X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle,                                    \
      (weft_cu_allocation_t * out, void *address))                                                 \
    X(cuMemExportToShareableHandle, cuMemExportToShareableHandle,                                  \
      (void *out, weft_cu_allocation_t allocation, int type, unsigned long long flags))            \
    X(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle,                              \
      (weft_cu_allocation_t * out, void *handle, int type))                                        \
    X(cuMemRelease, cuMemRelease, (weft_cu_allocation_t allocation))                               \
    X(cuMemAddressReserve, cuMemAddressReserve,                                                    \
      (weft_cu_address_t * out, size_t bytes, size_t alignment, weft_cu_address_t hint,            \
       unsigned long long flags))                                                                  \
    X(cuMemAddressFree, cuMemAddressFree, (weft_cu_address_t address, size_t bytes))               \
    X(cuMemMap, cuMemMap,                                                                          \
      (weft_cu_address_t address, size_t bytes, size_t offset, weft_cu_allocation_t allocation,    \
       unsigned long long flags))                                                                  \
    X(cuMemUnmap, cuMemUnmap, (weft_cu_address_t address, size_t bytes))                           \
    X(cuMemSetAccess, cuMemSetAccess,                                                              \
      (weft_cu_address_t address, size_t bytes, const weft_cu_access_t *access, size_t count))     \
    X(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle,                          \
      (void *out, weft_cu_pool_t pool, int type, unsigned long long flags))                        \
    X(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle,                      \
      (weft_cu_pool_t * out, void *handle, int type, unsigned long long flags))                    \
    X(cuMemPoolExportPointer, cuMemPoolExportPointer,                                              \
      (weft_cu_ipc_handle_t * out, weft_cu_address_t address))                                     \
    X(cuMemPoolImportPointer, cuMemPoolImportPointer,                                              \
      (weft_cu_address_t * out, weft_cu_pool_t pool, weft_cu_ipc_handle_t * data))                 \
    X(cuMemPoolSetAccess, cuMemPoolSetAccess,                                                      \
      (weft_cu_pool_t pool, const weft_cu_access_t *access, size_t count))                         \
    X(cuMemPoolDestroy, cuMemPoolDestroy, (weft_cu_pool_t pool))                                   \
    X(cuModuleLoadData, cuModuleLoadData, (weft_cu_module_t * out, const void *image))             \
    X(cuModuleUnload, cuModuleUnload, (weft_cu_module_t module))                                   \
    X(cuModuleGetFunction, cuModuleGetFunction,                                                    \
      (weft_cu_function_t * out, weft_cu_module_t module, const char *name))                       \
    X(cuLaunchHostFunc, cuLaunchHostFunc,                                                          \
      (weft_cu_stream_t stream, void (*function)(void *), void *data))                             \
    X(cuLaunchKernel, cuLaunchKernel,                                                              \
      (weft_cu_function_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,             \
       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,                \
       weft_cu_stream_t stream, void **arguments, void **extra))

#define WEFT_CU_WANTED(X)                                                                          \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor,    \
      (int *out, weft_cu_function_t function, int threads, size_t shared_bytes))                   \
    X(cuFuncLoad, cuFuncLoad, (weft_cu_function_t function))                                       \
    X(cuMemHostRegister, cuMemHostRegister_v2, (void *memory, size_t bytes, unsigned flags))       \
    X(cuMemHostUnregister, cuMemHostUnregister, (void *memory))                                    \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                                     \
      (weft_cu_address_t * out, void *memory, unsigned flags))                                     \
    X(cuDriverGetVersion, cuDriverGetVersion, (int *out))                                          \
    X(cuCtxGetId, cuCtxGetId, (weft_cu_context_t context, unsigned long long *out))                \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2,                                           \
      (weft_cu_stream_t stream, int *status, uint64_t *id, void **graph, const void **needs,       \
       size_t *count))                                                                             \
    X(cuUserObjectCreate, cuUserObjectCreate,                                                      \
      (weft_cu_user_object_t * out, void *owner, void (*destroy)(void *), unsigned references,     \
       unsigned flags))                                                                            \
    X(cuGraphRetainUserObject, cuGraphRetainUserObject,                                            \
      (void *graph, weft_cu_user_object_t object, unsigned references, unsigned flags))            \
    X(cuMemCreate, cuMemCreate,                                                                    \
      (weft_cu_allocation_t * out, size_t bytes,                                                   \
       const weft_cu_allocation_properties_t *properties, unsigned long long flags))               \
    X(cuMulticastCreate, cuMulticastCreate,                                                        \
      (weft_cu_allocation_t * out, const weft_cu_multicast_t *properties))                         \
    X(cuMulticastAddDevice, cuMulticastAddDevice,                                                  \
      (weft_cu_allocation_t object, weft_cu_device_t device))                                      \
    X(cuMulticastBindMem, cuMulticastBindMem,                                                      \
      (weft_cu_allocation_t object, size_t offset, weft_cu_allocation_t memory,                    \
       size_t memory_offset, size_t bytes, unsigned long long flags))                              \
    X(cuMulticastBindAddr, cuMulticastBindAddr,                                                    \
      (weft_cu_allocation_t object, size_t offset, weft_cu_address_t address, size_t bytes,        \
       unsigned long long flags))                                                                  \
    X(cuMulticastUnbind, cuMulticastUnbind,                                                        \
      (weft_cu_allocation_t object, weft_cu_device_t device, size_t offset, size_t bytes))         \
    X(cuMulticastGetGranularity, cuMulticastGetGranularity,                                        \
      (size_t * out, const weft_cu_multicast_t *properties, int which))                            \
    X(cuStreamWaitValue32, cuStreamWaitValue32_v2,                                                 \
      (weft_cu_stream_t stream, weft_cu_address_t address, uint32_t value, unsigned flags))        \
    X(cuStreamWriteValue32, cuStreamWriteValue32_v2,                                               \
      (weft_cu_stream_t stream, weft_cu_address_t address, uint32_t value, unsigned flags))

#endif
