/* SPDX-License-Identifier: BSD-3-Clause */
#include "nccl/nccl_private.h"

#include "datatype/small_float.h"
#include "base/fail.h"
#include "mpi.h"
#include "mpix.h"

#include <string.h>

/* ---- types ---- */

static MPI_Datatype datatype_of(ncclDataType_t type)
{
    switch (type) {
    case ncclInt8:
        return MPI_INT8_T;
    case ncclUint8:
        return MPI_UINT8_T;
    case ncclInt32:
        return MPI_INT32_T;
    case ncclUint32:
        return MPI_UINT32_T;
    case ncclInt64:
        return MPI_INT64_T;
    case ncclUint64:
        return MPI_UINT64_T;
    case ncclFloat16:
        return MPIX_C_FLOAT16;
    case ncclFloat32:
        return MPI_FLOAT;
    case ncclFloat64:
        return MPI_DOUBLE;
    case ncclBfloat16:
        return MPIX_BFLOAT16;
    case ncclFloat8e4m3:
        return MPIX_FLOAT8_E4M3;
    case ncclFloat8e5m2:
        return MPIX_FLOAT8_E5M2;
    default:
        return MPI_DATATYPE_NULL;
    }
}

int wefti_nccl_check_type(ncclDataType_t type, weft_type_t **out)
{
    MPI_Datatype datatype = datatype_of(type);
    if (datatype == MPI_DATATYPE_NULL)
        return weft_fail(MPI_ERR_TYPE, "datatype is %d, but must be from 0 to %d", (int)type,
                         ncclNumTypes - 1);
    *out = weft_type_of(datatype);
    return MPI_SUCCESS;
}

/* ---- factors ---- */

static uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static uint64_t bits_of_float(float value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(value));
    return bits;
}

/* The factor is an element, and its sign is kept where it becomes wider. */
uint64_t wefti_nccl_factor_of(ncclDataType_t type, const void *element)
{
    union {
        int8_t i8;
        uint8_t u8;
        int32_t i32;
        uint32_t u32;
        uint64_t u64;
        uint16_t half;
        float f32;
        double f64;
    } item;
    weft_type_t *its = weft_type_of(datatype_of(type));
    memcpy(&item, element, its->size);
    switch (type) {
    case ncclInt8:
        return (uint64_t)(int64_t)item.i8;
    case ncclUint8:
        return item.u8;
    case ncclInt32:
        return (uint64_t)(int64_t)item.i32;
    case ncclUint32:
        return item.u32;
    case ncclFloat16:
        return bits_of_float(weft_float_of_F16(item.half));
    case ncclBfloat16:
        return bits_of_float(weft_float_of_BF16(item.half));
    case ncclFloat8e4m3:
        return bits_of_float(weft_float_of_E4M3(item.u8));
    case ncclFloat8e5m2:
        return bits_of_float(weft_float_of_E5M2(item.u8));
    case ncclFloat32:
        return bits_of_float(item.f32);
    case ncclFloat64:
        return bits_of_double(item.f64);
    default:
        return item.u64;
    }
}

static uint64_t divisor_of(ncclDataType_t type, int size)
{
    switch (type) {
    case ncclFloat16:
    case ncclBfloat16:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
    case ncclFloat32:
        return bits_of_float((float)size);
    case ncclFloat64:
        return bits_of_double((double)size);
    default:
        return (uint64_t)size;
    }
}

/* ---- operations ---- */

static int find_own_op(const struct ncclComm *comm, ncclRedOp_t op, ncclDataType_t type,
                       nccl_reduction_t *out)
{
    int64_t index = (int64_t)op - ncclNumOps;
    if (index < 0 || index >= comm->op_count || !comm->ops[index].is_used)
        return weft_fail(MPI_ERR_OP,
                         "op is %d, but must be from 0 to %d, or an operation that "
                         "ncclRedOpCreatePreMulSum has made on this communicator and that was not "
                         "destroyed",
                         (int)op, ncclNumOps - 1);
    const nccl_own_op_t *own = &comm->ops[index];
    if (own->type != type)
        return weft_fail(MPI_ERR_OP,
                         "op was made for elements of type %d, but datatype is %d: expected is "
                         "the same",
                         (int)own->type, (int)type);
    *out = (nccl_reduction_t){.op = weft_op_of(MPI_SUM),
                              .scales_first = true,
                              .factor_at = own->factor_at,
                              .factor = own->factor};
    return MPI_SUCCESS;
}

int wefti_nccl_find_op(const struct ncclComm *comm, ncclRedOp_t op, ncclDataType_t type,
                       nccl_reduction_t *out)
{
    static const MPI_Op ops[] = {[ncclSum] = MPI_SUM,
                                 [ncclProd] = MPI_PROD,
                                 [ncclMax] = MPI_MAX,
                                 [ncclMin] = MPI_MIN,
                                 [ncclAvg] = MPI_SUM};
    if ((unsigned)op >= ncclNumOps)
        return find_own_op(comm, op, type, out);
    *out = (nccl_reduction_t){.op = weft_op_of(ops[op])};
    if (op == ncclAvg && comm->mpi->size > 1) {
        out->divides_last = true;
        out->factor = divisor_of(type, comm->mpi->size);
    }
    return MPI_SUCCESS;
}
