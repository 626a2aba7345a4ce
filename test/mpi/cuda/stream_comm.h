/* SPDX-License-Identifier: BSD-3-Clause */
/* A CUDA stream, a communicator that belongs to it, and work in the stream that fills and saves
 * memory. */
#ifndef TEST_MPI_CUDA_STREAM_COMM_H
#define TEST_MPI_CUDA_STREAM_COMM_H

#include "device_memory.h"
#include "expect.h"

#include <mpix.h>
#include <stdbool.h>

typedef struct stream_comm {
    CUstream stream;
    MPIX_Stream mpix;
    MPI_Comm comm;
} stream_comm_t;

static inline MPIX_Stream mpix_stream(CUstream stream)
{
    MPI_Info info;
    MPIX_Stream mpix;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    MPIX_Info_set_hex(info, "value", &stream, sizeof(stream));
    MPIX_Stream_create(info, &mpix);
    MPI_Info_free(&info);
    return mpix;
}

static inline stream_comm_t stream_comm_make(unsigned flags)
{
    stream_comm_t made;
    CU(cuStreamCreate(&made.stream, flags));
    made.mpix = mpix_stream(made.stream);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, made.mpix, &made.comm);
    return made;
}

/* Operations may still be in the stream at this time. */
static inline void stream_comm_free(stream_comm_t *made)
{
    MPI_Comm_free(&made->comm);
    MPIX_Stream_free(&made->mpix);
}

/* The work of a host function; it is not freed before the stream has been waited for. */
typedef struct host_work {
    int *to;
    const int *from; /* NULL: fill with `value` */
    int value, count;
    struct host_work *next;
} host_work_t;

static host_work_t *host_works;

static void do_host_work(void *data)
{
    const host_work_t *work = data;
    for (int i = 0; i < work->count; i++)
        work->to[i] = work->from == NULL ? work->value : work->from[i];
}

static inline void put_host_work(CUstream stream, host_work_t work)
{
    host_work_t *kept = malloc(sizeof(*kept));
    *kept = work;
    kept->next = host_works;
    host_works = kept;
    CU(cuLaunchHostFunc(stream, do_host_work, kept));
}

static inline void free_host_works(void)
{
    for (host_work_t *next; host_works != NULL; host_works = next) {
        next = host_works->next;
        free(host_works);
    }
}

/* In the stream's order: buf[count] = value. */
static inline void stream_fill(CUstream stream, memory_kind_t kind, int *buf, int value, int count)
{
    if (kind == HOST)
        put_host_work(stream, (host_work_t){.to = buf, .value = value, .count = count});
    else
        CU(cuMemsetD32Async((CUdeviceptr)buf, (unsigned)value, (size_t)count, stream));
}

/* In the stream's order: to[count] = buf[count]; `to` is pinned. */
static inline void stream_save(CUstream stream, memory_kind_t kind, int *to, const int *buf,
                               int count)
{
    if (kind == HOST)
        put_host_work(stream, (host_work_t){.to = to, .from = buf, .count = count});
    else
        CU(cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)buf, (size_t)count * sizeof(int), stream));
}

#endif
