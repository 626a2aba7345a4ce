/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The streams that calls name: a weft_stream_t for each, shared by all communicators, since the
 * number of operations that wait in a stream is bounded by it. A program may destroy a stream and
 * get another one under the same handle, on another device: what is kept is then dropped.
 */
#include "nccl/nccl_private.h"

#include "runtime/device.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>

typedef struct kept_stream {
    cudaStream_t handle;
    weft_stream_t *stream;
    struct kept_stream *next;
} kept_stream_t;

static kept_stream_t *kept;

static const weft_device_t *device_of(const weft_stream_t *stream)
{
    return weft_device->streams->device(stream->users);
}

static kept_stream_t *find_kept(cudaStream_t handle, const weft_device_t *device)
{
    kept_stream_t *entry = kept;
    while (entry != NULL && (entry->handle != handle || device_of(entry->stream) != device))
        entry = entry->next;
    return entry;
}

static int keep_stream(cudaStream_t handle, weft_stream_t **out)
{
    kept_stream_t *entry = weft_alloc(sizeof(*entry));
    if (entry == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a stream");
    int err = weft_stream_create(&handle, sizeof(handle), &entry->stream);
    if (err != MPI_SUCCESS) {
        weft_free(entry);
        return err;
    }
    kept_stream_t *older = find_kept(handle, device_of(entry->stream));
    if (older != NULL) {
        weft_stream_free(entry->stream);
        weft_free(entry);
        *out = older->stream;
        return MPI_SUCCESS;
    }
    entry->handle = handle;
    entry->next = kept;
    kept = entry;
    *out = entry->stream;
    return MPI_SUCCESS;
}

int wefti_nccl_home_stream(weft_stream_t **out)
{
    char why[NCCL_WHY_BYTES];
    if (weft_device == NULL)
        return weft_fail(MPI_ERR_OTHER, "the use of devices is switched off (WEFT_DEVICE=no)");
    int err = keep_stream(NULL, out);
    if (err == MPI_SUCCESS)
        return MPI_SUCCESS;
    snprintf(why, sizeof(why), "%s", weft_fail_text());
    return weft_fail(err,
                     "this thread needs a current CUDA context, which cudaSetDevice and "
                     "cudaFree(0) give it: %s",
                     why);
}

/* NULL is the default stream of the communicator's device, whatever context is current. */
int wefti_nccl_stream_of(const struct ncclComm *comm, cudaStream_t handle, weft_stream_t **out)
{
    if (handle == NULL) {
        *out = comm->home;
        return MPI_SUCCESS;
    }
    if (handle == (cudaStream_t)2)
        return weft_fail(MPI_ERR_ARG, "stream is cudaStreamPerThread, which is another stream in "
                                      "each thread: expected is one made by cudaStreamCreate");
    if (!weft_device->streams->is_beside(comm->home->users, &handle))
        return weft_fail(MPI_ERR_ARG,
                         "stream is %p, but must be a stream of the device that was current when "
                         "the communicator was made",
                         (void *)handle);
    kept_stream_t *entry = find_kept(handle, device_of(comm->home));
    if (entry == NULL)
        return keep_stream(handle, out);
    *out = entry->stream;
    return MPI_SUCCESS;
}

void wefti_nccl_streams_release(void)
{
    for (kept_stream_t *next; kept != NULL; kept = next) {
        next = kept->next;
        weft_stream_free(kept->stream);
        weft_free(kept);
    }
}
