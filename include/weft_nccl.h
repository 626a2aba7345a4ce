/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weft_nccl.h: NCCL's calls, for programs that are written for them and run with Weft
 * (docs/nccl.md). A program includes it in place of nccl.h, is compiled by mpicc or with the flags
 * of `mpicc -show`, and started by mpirun. Names and values of types and constants are those that
 * NCCL's documentation has; version 2.22 is what the macros say.
 *
 * The calls are inline functions of this header; the library exports functions named weft_nccl_...
 * only, so that NCCL itself may be loaded into the same process.
 */
#ifndef WEFT_NCCL_H_INCLUDED
#define WEFT_NCCL_H_INCLUDED

#ifdef NCCL_MAJOR
#error "weft_nccl.h takes the place of nccl.h: one file cannot include both"
#endif

#include <limits.h>
#include <stddef.h>

/* With the CUDA runtime cudaStream_t comes from its header; else it is the driver's CUstream. */
#ifdef __has_include
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#define WEFT_NCCL_HAS_RUNTIME 1
#endif
#endif
#ifndef WEFT_NCCL_HAS_RUNTIME
typedef struct CUstream_st *cudaStream_t;
#endif

#define NCCL_MAJOR  2
#define NCCL_MINOR  22
#define NCCL_PATCH  0
#define NCCL_SUFFIX ""

#define NCCL_VERSION(major, minor, patch)                                                          \
    ((major) <= 2 && (minor) <= 8 ? (major)*1000 + (minor)*100 + (patch)                           \
                                  : (major)*10000 + (minor)*100 + (patch))
#define NCCL_VERSION_CODE 22200

#define NCCL_UNIQUE_ID_BYTES  128
#define NCCL_SPLIT_NOCOLOR    (-1)
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_CONFIG_MAGIC     0x77656674u

typedef struct ncclComm *ncclComm_t;
#define NCCL_COMM_NULL NULL

typedef struct ncclUniqueId {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclNumResults = 8
} ncclResult_t;

/* The floats of 8 bits are not held to their greatest number: see MPIX_FLOAT8_E4M3 in mpix.h. */
typedef enum {
    ncclInt8 = 0,
    ncclChar = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclInt = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclHalf = 6,
    ncclFloat32 = 7,
    ncclFloat = 7,
    ncclFloat64 = 8,
    ncclDouble = 8,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11,
    ncclNumTypes = 12
} ncclDataType_t;

/* Values from ncclNumOps on are made by ncclRedOpCreatePreMulSum. */
typedef enum {
    ncclSum = 0,
    ncclProd = 1,
    ncclMax = 2,
    ncclMin = 3,
    ncclAvg = 4,
    ncclNumOps = 5,
    ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

/* Begins as NCCL_CONFIG_INITIALIZER; a program then sets members. */
typedef struct ncclConfig_v22200 {
    size_t size;      /* sizeof(ncclConfig_t) */
    unsigned magic;   /* NCCL_CONFIG_MAGIC */
    unsigned version; /* NCCL_VERSION_CODE */
    int blocking;
    int cgaClusterSize;
    int minCTAs;
    int maxCTAs;
    const char *netName;
    int splitShare;
} ncclConfig_t;

#define NCCL_CONFIG_INITIALIZER                                                                    \
    {                                                                                              \
        sizeof(ncclConfig_t), NCCL_CONFIG_MAGIC, NCCL_VERSION_CODE, NCCL_CONFIG_UNDEF_INT,         \
            NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT, NCCL_CONFIG_UNDEF_INT,                   \
            NCCL_CONFIG_UNDEF_PTR, NCCL_CONFIG_UNDEF_INT                                           \
    }

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what the library exports ---- */

ncclResult_t weft_nccl_get_version(int *version);
const char *weft_nccl_error_string(ncclResult_t result);
const char *weft_nccl_last_error(ncclComm_t comm);
ncclResult_t weft_nccl_get_unique_id(ncclUniqueId *id);
ncclResult_t weft_nccl_comm_init_rank(ncclComm_t *comm, int nranks, const ncclUniqueId *id,
                                      int rank, const ncclConfig_t *config);
ncclResult_t weft_nccl_comm_init_all(ncclComm_t *comm, int ndev, const int *devlist);
ncclResult_t weft_nccl_comm_split(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
                                  const ncclConfig_t *config);
ncclResult_t weft_nccl_comm_finalize(ncclComm_t comm);
ncclResult_t weft_nccl_comm_destroy(ncclComm_t comm);
ncclResult_t weft_nccl_comm_abort(ncclComm_t comm);
ncclResult_t weft_nccl_comm_async_error(ncclComm_t comm, ncclResult_t *error);
ncclResult_t weft_nccl_comm_count(ncclComm_t comm, int *count);
ncclResult_t weft_nccl_comm_device(ncclComm_t comm, int *device);
ncclResult_t weft_nccl_comm_rank(ncclComm_t comm, int *rank);
ncclResult_t weft_nccl_comm_register(ncclComm_t comm, void *buff, size_t size, void **handle);
ncclResult_t weft_nccl_comm_deregister(ncclComm_t comm, void *handle);
ncclResult_t weft_nccl_mem_alloc(void **ptr, size_t size);
ncclResult_t weft_nccl_mem_free(void *ptr);
ncclResult_t weft_nccl_op_create(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                 ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t weft_nccl_op_destroy(ncclRedOp_t op, ncclComm_t comm);
ncclResult_t weft_nccl_group_start(void);
ncclResult_t weft_nccl_group_end(void);
ncclResult_t weft_nccl_all_reduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                                  ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_broadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
                                 int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_bcast(void *buff, size_t count, ncclDataType_t type, int root,
                             ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_reduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                              ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_all_gather(const void *send, void *recv, size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_reduce_scatter(const void *send, void *recv, size_t count,
                                      ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                      cudaStream_t stream);
ncclResult_t weft_nccl_all_to_all(const void *send, void *recv, size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_gather(const void *send, void *recv, size_t count, ncclDataType_t type,
                              int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_scatter(const void *send, void *recv, size_t count, ncclDataType_t type,
                               int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_send(const void *send, size_t count, ncclDataType_t type, int peer,
                            ncclComm_t comm, cudaStream_t stream);
ncclResult_t weft_nccl_recv(void *recv, size_t count, ncclDataType_t type, int peer,
                            ncclComm_t comm, cudaStream_t stream);

/* ---- NCCL's names ---- */

static __inline__ ncclResult_t ncclGetVersion(int *version)
{
    return weft_nccl_get_version(version);
}

static __inline__ const char *ncclGetErrorString(ncclResult_t result)
{
    return weft_nccl_error_string(result);
}

static __inline__ const char *ncclGetLastError(ncclComm_t comm)
{
    return weft_nccl_last_error(comm);
}

static __inline__ ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    return weft_nccl_get_unique_id(uniqueId);
}

static __inline__ ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId,
                                                int rank)
{
    return weft_nccl_comm_init_rank(comm, nranks, &commId, rank, NULL);
}

static __inline__ ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks,
                                                      ncclUniqueId commId, int rank,
                                                      ncclConfig_t *config)
{
    return weft_nccl_comm_init_rank(comm, nranks, &commId, rank, config);
}

static __inline__ ncclResult_t ncclCommInitAll(ncclComm_t *comm, int ndev, const int *devlist)
{
    return weft_nccl_comm_init_all(comm, ndev, devlist);
}

static __inline__ ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                                             ncclComm_t *newcomm, ncclConfig_t *config)
{
    return weft_nccl_comm_split(comm, color, key, newcomm, config);
}

static __inline__ ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    return weft_nccl_comm_finalize(comm);
}

static __inline__ ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    return weft_nccl_comm_destroy(comm);
}

static __inline__ ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    return weft_nccl_comm_abort(comm);
}

static __inline__ ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
{
    return weft_nccl_comm_async_error(comm, asyncError);
}

static __inline__ ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    return weft_nccl_comm_count(comm, count);
}

static __inline__ ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    return weft_nccl_comm_device(comm, device);
}

static __inline__ ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    return weft_nccl_comm_rank(comm, rank);
}

static __inline__ ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buff, size_t size,
                                                void **handle)
{
    return weft_nccl_comm_register(comm, buff, size, handle);
}

static __inline__ ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
    return weft_nccl_comm_deregister(comm, handle);
}

static __inline__ ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
    return weft_nccl_mem_alloc(ptr, size);
}

static __inline__ ncclResult_t ncclMemFree(void *ptr)
{
    return weft_nccl_mem_free(ptr);
}

static __inline__ ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar,
                                                        ncclDataType_t datatype,
                                                        ncclScalarResidence_t residence,
                                                        ncclComm_t comm)
{
    return weft_nccl_op_create(op, scalar, datatype, residence, comm);
}

static __inline__ ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
    return weft_nccl_op_destroy(op, comm);
}

static __inline__ ncclResult_t ncclGroupStart(void)
{
    return weft_nccl_group_start();
}

static __inline__ ncclResult_t ncclGroupEnd(void)
{
    return weft_nccl_group_end();
}

static __inline__ ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                                             ncclDataType_t datatype, ncclRedOp_t op,
                                             ncclComm_t comm, cudaStream_t stream)
{
    return weft_nccl_all_reduce(sendbuff, recvbuff, count, datatype, op, comm, stream);
}

static __inline__ ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                                             ncclDataType_t datatype, int root, ncclComm_t comm,
                                             cudaStream_t stream)
{
    return weft_nccl_broadcast(sendbuff, recvbuff, count, datatype, root, comm, stream);
}

static __inline__ ncclResult_t ncclBcast(void *buff, size_t count, ncclDataType_t datatype,
                                         int root, ncclComm_t comm, cudaStream_t stream)
{
    return weft_nccl_bcast(buff, count, datatype, root, comm, stream);
}

static __inline__ ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count,
                                          ncclDataType_t datatype, ncclRedOp_t op, int root,
                                          ncclComm_t comm, cudaStream_t stream)
{
    return weft_nccl_reduce(sendbuff, recvbuff, count, datatype, op, root, comm, stream);
}

static __inline__ ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount,
                                             ncclDataType_t datatype, ncclComm_t comm,
                                             cudaStream_t stream)
{
    return weft_nccl_all_gather(sendbuff, recvbuff, sendcount, datatype, comm, stream);
}

static __inline__ ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff,
                                                 size_t recvcount, ncclDataType_t datatype,
                                                 ncclRedOp_t op, ncclComm_t comm,
                                                 cudaStream_t stream)
{
    return weft_nccl_reduce_scatter(sendbuff, recvbuff, recvcount, datatype, op, comm, stream);
}

static __inline__ ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count,
                                            ncclDataType_t datatype, ncclComm_t comm,
                                            cudaStream_t stream)
{
    return weft_nccl_all_to_all(sendbuff, recvbuff, count, datatype, comm, stream);
}

static __inline__ ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count,
                                          ncclDataType_t datatype, int root, ncclComm_t comm,
                                          cudaStream_t stream)
{
    return weft_nccl_gather(sendbuff, recvbuff, count, datatype, root, comm, stream);
}

static __inline__ ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count,
                                           ncclDataType_t datatype, int root, ncclComm_t comm,
                                           cudaStream_t stream)
{
    return weft_nccl_scatter(sendbuff, recvbuff, count, datatype, root, comm, stream);
}

static __inline__ ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype,
                                        int peer, ncclComm_t comm, cudaStream_t stream)
{
    return weft_nccl_send(sendbuff, count, datatype, peer, comm, stream);
}

static __inline__ ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype,
                                        int peer, ncclComm_t comm, cudaStream_t stream)
{
    return weft_nccl_recv(recvbuff, count, datatype, peer, comm, stream);
}

#ifdef __cplusplus
}
#endif

#endif
