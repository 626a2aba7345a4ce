/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of weft_nccl.h share: checks of calls, and a communicator of the ranks of an MPI
 * communicator, with a stream. */
#ifndef TEST_MPI_CUDA_NCCL_COMM_H
#define TEST_MPI_CUDA_NCCL_COMM_H

#include "device_memory.h"
#include "expect.h"

#include <weft_nccl.h>

/* A call that must succeed. */
#define NCCL(call) nccl_check(call, #call, __FILE__, __LINE__)

static inline void nccl_check(ncclResult_t result, const char *call, const char *file, int line)
{
    if (result == ncclSuccess)
        return;
    fprintf(stderr, "%s:%d: rank %d: %s: %d, %s\n", file, line, expect_rank, call, (int)result,
            ncclGetLastError(NULL));
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A call that must fail, with a text that has these words in it. */
#define NCCL_FAILS(call, expected, words) nccl_fails(call, expected, words, #call, __LINE__)

static inline void nccl_fails(ncclResult_t got, ncclResult_t expected, const char *words,
                              const char *call, int line)
{
    const char *text = ncclGetLastError(NULL);
    expect_equal(got, expected, call, __FILE__, line);
    if (strstr(text, words) == NULL && ++expect_failures <= 10)
        fprintf(stderr, "line %d: rank %d: the text of %s is \"%s\", without \"%s\"\n", line,
                expect_rank, call, text, words);
}

typedef struct nccl_comm {
    ncclComm_t nccl;
    MPI_Comm mpi; /* with the same ranks */
    CUstream stream;
    int rank, size;
} nccl_comm_t;

static inline nccl_comm_t nccl_comm_of(MPI_Comm mpi, CUstream stream)
{
    nccl_comm_t made = {.mpi = mpi, .stream = stream};
    ncclUniqueId id;
    MPI_Comm_rank(mpi, &made.rank);
    MPI_Comm_size(mpi, &made.size);
    if (made.rank == 0)
        NCCL(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, mpi);
    NCCL(ncclCommInitRank(&made.nccl, made.size, id, made.rank));
    return made;
}

static inline CUstream nccl_stream(void)
{
    CUstream stream;
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

/* No operation failed after its call. */
static inline void nccl_expect_no_error(const nccl_comm_t *comm)
{
    ncclResult_t error = ncclInternalError;
    NCCL(ncclCommGetAsyncError(comm->nccl, &error));
    EXPECT(error, ncclSuccess);
}

#endif
