/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/local_reduction.h"

#include "pt2pt/device_copy.h"
#include "runtime/device.h"
#include "runtime/lock.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdint.h>

static bool is_on_device(const weft_local_reduction_t *reduction, const void *buf)
{
    uintptr_t first = (uintptr_t)buf + (uintptr_t)reduction->type->true_lb; /* or MPI_BOTTOM */
    return reduction->type->size > 0 && weft_is_device((const void *)first);
}

/* The user's function may call MPI, for example for extents. */
static void reduce_on_host(const weft_local_reduction_t *reduction, const void *in, void *inout)
{
    weft_unlock();
    weft_op_apply(reduction->op, reduction->type, in, inout, reduction->count);
    weft_lock();
}

/* ---- by a kernel ---- */

/* The device on which both vectors lie, if it has a kernel; NULL: there is none. Predefined
 * operations take predefined types, whose data begin where the buffer does. */
static int find_device(const weft_local_reduction_t *reduction, weft_device_t **out)
{
    weft_memory_t in, inout;
    *out = NULL;
    if (!reduction->op->is_predefined)
        return MPI_SUCCESS;
    int err = weft_device->look(reduction->in, &in);
    if (err == MPI_SUCCESS)
        err = weft_device->look(reduction->inout, &inout);
    if (err == MPI_SUCCESS && in.device != NULL && in.device == inout.device &&
        weft_device->can_reduce(in.device, reduction->op, reduction->type))
        *out = in.device;
    return err;
}

static int reduce_on_device(const weft_local_reduction_t *reduction, weft_device_t *device)
{
    const void *sources[] = {reduction->in, reduction->inout};
    void *result = reduction->inout;
    weft_reduction_t call = {.op = reduction->op,
                             .type = reduction->type,
                             .count = reduction->count,
                             .in = sources,
                             .sources = 2,
                             .out = &result,
                             .outs = 1};
    weft_queue_t *queue = weft_device->queue(device, WEFT_STREAM_BULK);
    if (queue == NULL)
        return MPI_ERR_OTHER; /* the text of weft_fail is set */
    int err = weft_device->reduce(queue, &call);
    return err == MPI_SUCCESS ? weft_queue_wait(queue) : err;
}

/* ---- on copies ---- */

/* A vector as the host reaches it. */
typedef struct host_vector {
    void *at;
    void *memory; /* NULL: it lies on the host, and `at` is the user's buffer */
} host_vector_t;

static int open_vector(const weft_local_reduction_t *reduction, const void *buf, host_vector_t *out)
{
    ptrdiff_t low, high;
    *out = (host_vector_t){.at = (void *)buf};
    if (!is_on_device(reduction, buf))
        return MPI_SUCCESS;
    weft_type_room(reduction->type, reduction->count, &low, &high);
    low &= -(ptrdiff_t)64; /* the copy is aligned as memory from the heap is */
    out->memory = weft_alloc((size_t)(high - low));
    if (out->memory == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %td bytes of operands", high - low);
    out->at = (void *)((uintptr_t)out->memory - (uintptr_t)low);
    weft_elements_t user = {(void *)buf, reduction->count, reduction->type};
    weft_elements_t copy = {out->at, reduction->count, reduction->type};
    return weft_copy_anywhere(&user, &copy);
}

static int write_result(const weft_local_reduction_t *reduction, const host_vector_t *inout)
{
    weft_elements_t user = {reduction->inout, reduction->count, reduction->type};
    weft_elements_t copy = {inout->at, reduction->count, reduction->type};
    return inout->memory == NULL ? MPI_SUCCESS : weft_copy_anywhere(&copy, &user);
}

static int reduce_on_copies(const weft_local_reduction_t *reduction)
{
    host_vector_t in, inout = {0};
    int err = open_vector(reduction, reduction->in, &in);
    if (err == MPI_SUCCESS)
        err = open_vector(reduction, reduction->inout, &inout);
    if (err == MPI_SUCCESS) {
        reduce_on_host(reduction, in.at, inout.at);
        err = write_result(reduction, &inout);
    }
    weft_free(in.memory);
    weft_free(inout.memory);
    return err;
}

int weft_reduce_local(const weft_local_reduction_t *reduction)
{
    weft_device_t *device;
    if (!is_on_device(reduction, reduction->in) && !is_on_device(reduction, reduction->inout)) {
        reduce_on_host(reduction, reduction->in, reduction->inout);
        return MPI_SUCCESS;
    }
    int err = find_device(reduction, &device);
    if (err != MPI_SUCCESS)
        return err;
    return device != NULL ? reduce_on_device(reduction, device) : reduce_on_copies(reduction);
}
