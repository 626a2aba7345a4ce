/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every operation of weft_nccl.h, with all types and reductions, in place and not: the results have
 * the bits of those of MPI's calls on host memory. Values are small whole numbers, so that the
 * order of a sum does not matter; averages are divided here. Arguments: the stream (default or
 * own), and counts.
 */
#include "nccl_comm.h"

#include <math.h>
#include <mpix.h>
#include <stdint.h>

enum { TYPES = ncclNumTypes, SCALAR = 3 };

typedef struct type {
    MPI_Datatype mpi;
    size_t bytes;
    int mantissa, bias; /* of floats of 16 and 8 bits */
    int is_float, is_signed;
} type_t;

static const type_t *type_of(ncclDataType_t type)
{
    static type_t types[TYPES];
    types[ncclInt8] = (type_t){MPI_INT8_T, 1, 0, 0, 0, 1};
    types[ncclUint8] = (type_t){MPI_UINT8_T, 1, 0, 0, 0, 0};
    types[ncclInt32] = (type_t){MPI_INT32_T, 4, 0, 0, 0, 1};
    types[ncclUint32] = (type_t){MPI_UINT32_T, 4, 0, 0, 0, 0};
    types[ncclInt64] = (type_t){MPI_INT64_T, 8, 0, 0, 0, 1};
    types[ncclUint64] = (type_t){MPI_UINT64_T, 8, 0, 0, 0, 0};
    types[ncclFloat16] = (type_t){MPIX_C_FLOAT16, 2, 10, 15, 1, 1};
    types[ncclFloat32] = (type_t){MPI_FLOAT, 4, 0, 0, 1, 1};
    types[ncclFloat64] = (type_t){MPI_DOUBLE, 8, 0, 0, 1, 1};
    types[ncclBfloat16] = (type_t){MPIX_BFLOAT16, 2, 7, 127, 1, 1};
    types[ncclFloat8e4m3] = (type_t){MPIX_FLOAT8_E4M3, 1, 3, 7, 1, 1};
    types[ncclFloat8e5m2] = (type_t){MPIX_FLOAT8_E5M2, 1, 2, 15, 1, 1};
    return &types[type];
}

/* Computed with as a float, which is rounded in the end. */
static int is_small_float(ncclDataType_t type)
{
    return type_of(type)->mantissa > 0;
}

/* With 2 or 3 bits of a fraction whole numbers are exact up to 8. */
static int has_8_bits(ncclDataType_t type)
{
    return is_small_float(type) && type_of(type)->bytes == 1;
}

/* ---- elements as doubles; small floats are zero or normal ---- */

static unsigned bits_of(const type_t *type, float value)
{
    if (value == 0)
        return 0;
    int exponent = ilogbf(value);
    float scaled = nearbyintf(ldexpf(fabsf(value), type->mantissa - exponent));
    if (scaled == ldexpf(2, type->mantissa)) {
        scaled /= 2;
        exponent++;
    }
    unsigned fraction = (unsigned)scaled - (1u << type->mantissa);
    unsigned sign = (unsigned)(value < 0) << (8 * type->bytes - 1);
    return sign | (unsigned)(exponent + type->bias) << type->mantissa | fraction;
}

static double value_of(const type_t *type, unsigned bits)
{
    unsigned sign = 1u << (8 * type->bytes - 1);
    int exponent = (int)((bits & ~sign) >> type->mantissa);
    double fraction = (bits & ((1u << type->mantissa) - 1)) + (1u << type->mantissa);
    if (exponent == 0)
        return 0;
    return (bits & sign ? -1 : 1) * ldexp(fraction, exponent - type->bias - type->mantissa);
}

static void set(ncclDataType_t type, void *buf, size_t i, double value)
{
    switch (type) {
    case ncclInt8:
        ((int8_t *)buf)[i] = (int8_t)value;
        break;
    case ncclUint8:
        ((uint8_t *)buf)[i] = (uint8_t)value;
        break;
    case ncclInt32:
        ((int32_t *)buf)[i] = (int32_t)value;
        break;
    case ncclUint32:
        ((uint32_t *)buf)[i] = (uint32_t)value;
        break;
    case ncclInt64:
        ((int64_t *)buf)[i] = (int64_t)value;
        break;
    case ncclUint64:
        ((uint64_t *)buf)[i] = (uint64_t)value;
        break;
    case ncclFloat32:
        ((float *)buf)[i] = (float)value;
        break;
    case ncclFloat64:
        ((double *)buf)[i] = value;
        break;
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
        ((uint8_t *)buf)[i] = (uint8_t)bits_of(type_of(type), (float)value);
        break;
    default:
        ((uint16_t *)buf)[i] = (uint16_t)bits_of(type_of(type), (float)value);
    }
}

static double get(ncclDataType_t type, const void *buf, size_t i)
{
    switch (type) {
    case ncclInt8:
        return ((const int8_t *)buf)[i];
    case ncclUint8:
        return ((const uint8_t *)buf)[i];
    case ncclInt32:
        return ((const int32_t *)buf)[i];
    case ncclUint32:
        return ((const uint32_t *)buf)[i];
    case ncclInt64:
        return (double)((const int64_t *)buf)[i];
    case ncclUint64:
        return (double)((const uint64_t *)buf)[i];
    case ncclFloat32:
        return ((const float *)buf)[i];
    case ncclFloat64:
        return ((const double *)buf)[i];
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
        return value_of(type_of(type), ((const uint8_t *)buf)[i]);
    default:
        return value_of(type_of(type), ((const uint16_t *)buf)[i]);
    }
}

/* ---- buffers ---- */

/* Each has room for a block of `count` elements of each rank. */
static struct {
    char *in, *out;            /* on the device */
    char *sent, *wanted, *got; /* on the host */
    size_t bytes;
} at;
static nccl_comm_t comm;
static ncclDataType_t type;
static size_t count, block; /* elements, and bytes, of a block */
static memory_t in, out, scalar;

static void fill(ncclRedOp_t op)
{
    const type_t *its = type_of(type);
    for (size_t i = 0; i < count * (size_t)comm.size; i++) {
        int value = (int)((size_t)comm.rank * 3 + i * 7) % 5;
        if (op == ncclProd)
            value = value % (has_8_bits(type) ? 2 : 3) + 1;
        else if (has_8_bits(type))
            value = value % 3 - 1;
        else if (its->is_signed)
            value -= 3;
        set(type, at.sent, i, value);
    }
    memset(at.wanted, 0x55, at.bytes);
    memory_put(at.in, at.sent, at.bytes);
    memory_put(at.out, at.wanted, at.bytes);
}

/* `bytes` bytes from `offset` on, after the stream has done its work. */
static void check(const void *device, size_t bytes, const char *what, int line)
{
    char text[128];
    CU(cuStreamSynchronize(comm.stream));
    memory_get(at.got, device, bytes);
    snprintf(text, sizeof(text), "%s, type %d, %zu elements: bytes are wrong", what, (int)type,
             count);
    expect_equal(memcmp(at.got, at.wanted, bytes) != 0, 0, text, __FILE__, line);
}

/* ---- reductions ---- */

static MPI_Op mpi_op(ncclRedOp_t op)
{
    return op == ncclProd ? MPI_PROD : op == ncclMax ? MPI_MAX : op == ncclMin ? MPI_MIN : MPI_SUM;
}

static void divide(ncclRedOp_t op, size_t elements)
{
    for (size_t i = 0; op == ncclAvg && i < elements; i++) {
        double quotient = get(type, at.wanted, i) / comm.size;
        if (is_small_float(type) || type == ncclFloat32)
            quotient = (float)get(type, at.wanted, i) / (float)comm.size;
        set(type, at.wanted, i, type_of(type)->is_float ? quotient : trunc(quotient));
    }
}

static void check_all_reduce(ncclRedOp_t op, int in_place)
{
    fill(op);
    MPI_Allreduce(at.sent, at.wanted, (int)count, type_of(type)->mpi, mpi_op(op), comm.mpi);
    divide(op, count);
    void *to = in_place ? at.in : at.out;
    NCCL(ncclAllReduce(at.in, to, count, type, op, comm.nccl, comm.stream));
    check(to, block, "all-reduce", __LINE__);
}

static void check_reduce(ncclRedOp_t op, int in_place)
{
    int root = (int)(count + (size_t)op) % comm.size;
    fill(op);
    void *to = in_place ? at.in : at.out;
    memcpy(at.wanted, in_place ? at.sent : at.wanted, block); /* what others keep */
    MPI_Reduce(at.sent, at.wanted, (int)count, type_of(type)->mpi, mpi_op(op), root, comm.mpi);
    if (comm.rank == root)
        divide(op, count);
    NCCL(ncclReduce(at.in, to, count, type, op, root, comm.nccl, comm.stream));
    check(to, block, "reduce", __LINE__);
}

static void check_reduce_scatter(ncclRedOp_t op, int in_place)
{
    fill(op);
    MPI_Reduce_scatter_block(at.sent, at.wanted, (int)count, type_of(type)->mpi, mpi_op(op),
                             comm.mpi);
    divide(op, count);
    char *to = in_place ? at.in + (size_t)comm.rank * block : at.out;
    NCCL(ncclReduceScatter(at.in, to, count, type, op, comm.nccl, comm.stream));
    check(to, block, "reduce-scatter", __LINE__);
    memcpy(at.wanted, at.sent, at.bytes);
    if (in_place && comm.rank > 0)
        check(at.in, (size_t)comm.rank * block, "what a reduce-scatter leaves alone", __LINE__);
}

static void check_reductions(ncclRedOp_t op)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        check_all_reduce(op, in_place);
        check_reduce(op, in_place);
        check_reduce_scatter(op, in_place);
    }
}

/* ---- sums of scaled operands ---- */

static int own_factor(void)
{
    return has_8_bits(type) ? comm.rank % 2 + 1 : comm.rank + 2;
}

/* The device's scalar changes behind the call. */
static ncclRedOp_t make_scaling(int on_device)
{
    ncclRedOp_t op;
    char element[8], other[8];
    set(type, element, 0, own_factor());
    set(type, other, 0, 77);
    memory_put(scalar.at, element, sizeof(element));
    if (on_device)
        NCCL(ncclRedOpCreatePreMulSum(&op, scalar.at, type, ncclScalarDevice, comm.nccl));
    else
        NCCL(ncclRedOpCreatePreMulSum(&op, element, type, ncclScalarHostImmediate, comm.nccl));
    memcpy(element, other, sizeof(element));
    return op;
}

static void scale_sent(void)
{
    for (size_t i = 0; i < count * (size_t)comm.size; i++)
        set(type, at.sent, i, get(type, at.sent, i) * own_factor());
}

static void check_scaled(int on_device, int in_place)
{
    ncclRedOp_t op = make_scaling(on_device);
    MPI_Datatype datatype = type_of(type)->mpi;
    fill(op);
    scale_sent();
    MPI_Allreduce(at.sent, at.wanted, (int)count, datatype, MPI_SUM, comm.mpi);
    char *to = in_place ? at.in : at.out;
    NCCL(ncclAllReduce(at.in, to, count, type, op, comm.nccl, comm.stream));
    check(to, block, "all-reduce with a scalar", __LINE__);
    fill(op);
    scale_sent();
    MPI_Reduce(at.sent, at.wanted, (int)count, datatype, MPI_SUM, 0, comm.mpi);
    NCCL(ncclReduce(at.in, at.out, count, type, op, 0, comm.nccl, comm.stream));
    if (comm.rank == 0)
        check(at.out, block, "reduce with a scalar", __LINE__);
    CU(cuStreamSynchronize(comm.stream));
    fill(op);
    scale_sent();
    MPI_Reduce_scatter_block(at.sent, at.wanted, (int)count, datatype, MPI_SUM, comm.mpi);
    to = in_place ? at.in + (size_t)comm.rank * block : at.out;
    NCCL(ncclReduceScatter(at.in, to, count, type, op, comm.nccl, comm.stream));
    check(to, block, "reduce-scatter with a scalar", __LINE__);
    NCCL(ncclRedOpDestroy(op, comm.nccl));
}

/* ---- moves ---- */

static void check_broadcasts(void)
{
    int root = (int)count % comm.size;
    for (int in_place = 0; in_place < 3; in_place++) {
        fill(ncclSum);
        memcpy(at.wanted, at.sent, block);
        MPI_Bcast(at.wanted, (int)block, MPI_BYTE, root, comm.mpi);
        char *to = in_place ? at.in : at.out;
        if (in_place == 2)
            NCCL(ncclBcast(at.in, count, type, root, comm.nccl, comm.stream));
        else
            NCCL(ncclBroadcast(comm.rank == root ? at.in : NULL, to, count, type, root, comm.nccl,
                               comm.stream));
        check(to, block, "broadcast", __LINE__);
    }
}

static void check_gathers(int in_place)
{
    int root = (int)count % comm.size;
    char *own = in_place ? at.out + (size_t)comm.rank * block : at.in;
    fill(ncclSum);
    memory_put(own, at.sent, block);
    MPI_Allgather(at.sent, (int)block, MPI_BYTE, at.wanted, (int)block, MPI_BYTE, comm.mpi);
    NCCL(ncclAllGather(own, at.out, count, type, comm.nccl, comm.stream));
    check(at.out, at.bytes, "all-gather", __LINE__);
    memset(at.got, 0x11, at.bytes);
    memory_put(at.out, at.got, at.bytes);
    memory_put(own, at.sent, block);
    NCCL(ncclGather(own, at.out, count, type, root, comm.nccl, comm.stream));
    if (comm.rank == root)
        check(at.out, at.bytes, "gather", __LINE__);
    CU(cuStreamSynchronize(comm.stream));
}

static void check_scatters(int in_place)
{
    int root = (int)count % comm.size;
    char *to = in_place && comm.rank == root ? at.in + (size_t)root * block : at.out;
    fill(ncclSum);
    MPI_Scatter(at.sent, (int)block, MPI_BYTE, at.wanted, (int)block, MPI_BYTE, root, comm.mpi);
    NCCL(ncclScatter(comm.rank == root ? at.in : NULL, to, count, type, root, comm.nccl,
                     comm.stream));
    check(to, block, "scatter", __LINE__);
}

static void check_all_to_all(void)
{
    fill(ncclSum);
    MPI_Alltoall(at.sent, (int)block, MPI_BYTE, at.wanted, (int)block, MPI_BYTE, comm.mpi);
    NCCL(ncclAlltoAll(at.in, at.out, count, type, comm.nccl, comm.stream));
    check(at.out, at.bytes, "all-to-all", __LINE__);
}

/* Around the ring: the even ranks send first. Alone, a call waits for its partner. */
static void check_messages(void)
{
    int next = (comm.rank + 1) % comm.size, previous = (comm.rank + comm.size - 1) % comm.size;
    fill(ncclSum);
    MPI_Sendrecv(at.sent, (int)block, MPI_BYTE, next, 0, at.wanted, (int)block, MPI_BYTE, previous,
                 0, comm.mpi, MPI_STATUS_IGNORE);
    if (comm.size == 1 || comm.size % 2 == 1) {
        NCCL(ncclGroupStart());
        NCCL(ncclSend(at.in, count, type, next, comm.nccl, comm.stream));
        NCCL(ncclRecv(at.out, count, type, previous, comm.nccl, comm.stream));
        NCCL(ncclGroupEnd());
    } else if (comm.rank % 2 == 0) {
        NCCL(ncclSend(at.in, count, type, next, comm.nccl, comm.stream));
        NCCL(ncclRecv(at.out, count, type, previous, comm.nccl, comm.stream));
    } else {
        NCCL(ncclRecv(at.out, count, type, previous, comm.nccl, comm.stream));
        NCCL(ncclSend(at.in, count, type, next, comm.nccl, comm.stream));
    }
    check(at.out, block, "messages", __LINE__);
}

/* ---- all of it ---- */

static void check_type(void)
{
    for (int op = ncclSum; op < ncclNumOps; op++)
        check_reductions((ncclRedOp_t)op);
    for (int way = 0; way < 4; way++)
        check_scaled(way & 1, way >> 1);
    check_broadcasts();
    for (int in_place = 0; in_place < 2; in_place++) {
        check_gathers(in_place);
        check_scatters(in_place);
    }
    check_all_to_all();
    check_messages();
    nccl_expect_no_error(&comm);
}

static void check_types(void)
{
    for (int i = 0; i < TYPES; i++) {
        type = (ncclDataType_t)i;
        block = count * type_of(type)->bytes;
        at.bytes = block * (size_t)comm.size;
        in = memory_take(DEVICE, at.bytes + 8);
        out = memory_take(DEVICE, at.bytes + 8);
        scalar = memory_take(DEVICE, 8);
        at.in = in.at;
        at.out = out.at;
        at.sent = malloc(at.bytes);
        at.wanted = malloc(at.bytes);
        at.got = malloc(at.bytes);
        check_type();
        free(at.sent);
        free(at.wanted);
        free(at.got);
        memory_give(&in);
        memory_give(&out);
        memory_give(&scalar);
    }
}

/* Of all ranks, and of all but the first in the opposite order. */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    CUstream stream = strcmp(argv[1], "own") == 0 ? nccl_stream() : NULL;
    for (int part = 0; part < 2; part++) {
        MPI_Comm mpi;
        MPI_Comm_split(MPI_COMM_WORLD, part == 0 || expect_rank > 0, part == 0 ? 0 : -expect_rank,
                       &mpi);
        comm = nccl_comm_of(mpi, stream);
        for (int i = 2; i < argc; i++) {
            count = (size_t)atoi(argv[i]);
            check_types();
        }
        NCCL(ncclCommFinalize(comm.nccl));
        NCCL(ncclCommDestroy(comm.nccl));
        MPI_Comm_free(&mpi);
    }
    if (stream != NULL)
        CU(cuStreamDestroy(stream));
    return expect_end();
}
