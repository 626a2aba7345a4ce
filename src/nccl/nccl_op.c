/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations that a program makes, and the memory that it takes by ncclMemAlloc. */
#include "nccl/nccl_private.h"

#include "runtime/device.h"
#include "runtime/lock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

/* ---- operations ---- */

static int take_op(ncclComm_t comm, nccl_own_op_t **out)
{
    for (int i = 0; i < comm->op_count; i++) {
        if (!comm->ops[i].is_used) {
            *out = &comm->ops[i];
            return MPI_SUCCESS;
        }
    }
    nccl_own_op_t *ops = weft_realloc(comm->ops, ((size_t)comm->op_count + 1) * sizeof(*ops));
    if (ops == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for an operation");
    comm->ops = ops;
    *out = &ops[comm->op_count++];
    return MPI_SUCCESS;
}

static int check_device_scalar(const void *scalar)
{
    weft_memory_t memory;
    int err = weft_device->look(scalar, &memory);
    if (err == MPI_SUCCESS && memory.kind == WEFT_MEMORY_HOST)
        err = weft_fail(MPI_ERR_BUFFER,
                        "scalar is %p, which is memory of the host, but with ncclScalarDevice must "
                        "be memory that the device reaches",
                        scalar);
    return err;
}

static int check_scalar(const void *scalar, ncclScalarResidence_t residence)
{
    if (residence != ncclScalarDevice && residence != ncclScalarHostImmediate)
        return weft_fail(MPI_ERR_ARG,
                         "residence is %d, but must be ncclScalarDevice (%d) or "
                         "ncclScalarHostImmediate (%d)",
                         (int)residence, ncclScalarDevice, ncclScalarHostImmediate);
    if (scalar == NULL)
        return weft_fail(MPI_ERR_ARG, "scalar is NULL, but must point to an element");
    return residence == ncclScalarDevice ? check_device_scalar(scalar) : MPI_SUCCESS;
}

static int make_op(nccl_own_op_t *own, const void *scalar, ncclDataType_t type,
                   ncclScalarResidence_t residence)
{
    *own = (nccl_own_op_t){.is_used = true, .type = type};
    if (residence == ncclScalarDevice)
        own->factor_at = scalar;
    else
        own->factor = wefti_nccl_factor_of(type, scalar);
    return MPI_SUCCESS;
}

ncclResult_t weft_nccl_op_create(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
                                 ncclScalarResidence_t residence, ncclComm_t comm)
{
    weft_type_t *datatype;
    nccl_own_op_t *own = NULL;
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_usable(comm);
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_output(op, "op");
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_type(type, &datatype);
    if (err == MPI_SUCCESS)
        err = check_scalar(scalar, residence);
    if (err == MPI_SUCCESS)
        err = take_op(comm, &own);
    if (err == MPI_SUCCESS)
        err = make_op(own, scalar, type, residence);
    if (err == MPI_SUCCESS)
        *op = (ncclRedOp_t)(ncclNumOps + (own - comm->ops));
    return wefti_nccl_end("ncclRedOpCreatePreMulSum", begun, err);
}

ncclResult_t weft_nccl_op_destroy(ncclRedOp_t op, ncclComm_t comm)
{
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_usable(comm);
    if (err != MPI_SUCCESS)
        return wefti_nccl_end("ncclRedOpDestroy", begun, err);
    int64_t index = (int64_t)op - ncclNumOps;
    if (index >= 0 && index < comm->op_count && comm->ops[index].is_used)
        comm->ops[index].is_used = false;
    else
        err = weft_fail(MPI_ERR_OP,
                        "op is %d, but must be one that ncclRedOpCreatePreMulSum has made on this "
                        "communicator",
                        (int)op);
    return wefti_nccl_end("ncclRedOpDestroy", begun, err);
}

/* ---- memory ---- */

ncclResult_t weft_nccl_mem_alloc(void **ptr, size_t size)
{
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS)
        err = wefti_nccl_check_output(ptr, "ptr");
    if (err == MPI_SUCCESS && weft_device == NULL)
        err = weft_fail(MPI_ERR_OTHER, "the use of devices is switched off (WEFT_DEVICE=no)");
    if (err == MPI_SUCCESS) {
        weft_unlock();
        err = weft_device->streams->take_memory(size, ptr);
        weft_lock();
    }
    return wefti_nccl_end("ncclMemAlloc", begun, err);
}

ncclResult_t weft_nccl_mem_free(void *ptr)
{
    int begun = wefti_nccl_begin(), err = begun;
    if (err == MPI_SUCCESS && ptr != NULL && weft_device != NULL) {
        weft_unlock();
        err = weft_device->streams->give_memory(ptr);
        weft_lock();
    }
    return wefti_nccl_end("ncclMemFree", begun, err);
}
