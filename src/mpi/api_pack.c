/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Pack and MPI_Unpack (MPI 5.0, section 5.2). A packed message has no header. */
#include "mpi/api.h"
#include "mpi/call.h"
#include "mpi/check.h"
#include "pt2pt/device_copy.h"
#include "base/fail.h"

#include <limits.h>

/* The typed side and the packed side of both functions. */
typedef struct packing {
    void *typed;
    MPI_Count count;
    MPI_Datatype datatype;
    void *packed;
    MPI_Count size; /* of the packed buffer */
    MPI_Count *position;
    MPI_Comm comm;
    const char *typed_name, *packed_name, *count_name, *size_name;
} packing_t;

static int check_pack_room(const packing_t *packing, const weft_type_t *type, MPI_Count *bytes_out)
{
    MPI_Count bytes, end;
    if (*packing->position < 0)
        return weft_fail(MPI_ERR_ARG, "position is %lld, but must be at least 0",
                         (long long)*packing->position);
    if (__builtin_mul_overflow(packing->count, (MPI_Count)type->size, &bytes) ||
        __builtin_add_overflow(*packing->position, bytes, &end) || end > packing->size)
        return weft_fail(MPI_ERR_TRUNCATE,
                         "%s is %lld, but %lld elements of %zu bytes from position %lld exceed it",
                         packing->size_name, (long long)packing->size, (long long)packing->count,
                         type->size, (long long)*packing->position);
    if (weft_is_odd_buffer(packing->packed) && bytes > 0)
        return weft_bad_buffer(packing->packed, packing->packed_name);
    *bytes_out = bytes;
    return MPI_SUCCESS;
}

static int check_packing(weft_call_t *call, const packing_t *packing, weft_type_t **type,
                         MPI_Count *bytes_out)
{
    weft_comm_t *comm;
    int err = weft_check_comm(call, packing->comm, &comm);
    if (err == MPI_SUCCESS)
        err = weft_check_committed_type(packing->datatype, "datatype", type);
    if (err == MPI_SUCCESS)
        err = weft_check_count(packing->count, packing->count_name);
    if (err == MPI_SUCCESS)
        err = weft_check_count(packing->size, packing->size_name);
    if (err == MPI_SUCCESS)
        err = weft_check_buffer(packing->typed, packing->count, *type, packing->typed_name);
    if (err == MPI_SUCCESS)
        err = weft_check_output(packing->position, "position");
    return err == MPI_SUCCESS ? check_pack_room(packing, *type, bytes_out) : err;
}

static const weft_type_t *byte_type(void)
{
    return weft_type_of(MPI_BYTE);
}

WEFT_API(MPI_Pack_c);
int PMPI_Pack_c(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
                MPI_Count outsize, MPI_Count *position, MPI_Comm comm)
{
    weft_call_t call = weft_call_begin("MPI_Pack");
    packing_t packing = {.typed = (void *)inbuf,
                         .count = incount,
                         .datatype = datatype,
                         .packed = outbuf,
                         .size = outsize,
                         .position = position,
                         .comm = comm,
                         .typed_name = "inbuf",
                         .packed_name = "outbuf",
                         .count_name = "incount",
                         .size_name = "outsize"};
    weft_type_t *type = NULL;
    MPI_Count bytes;
    int err = check_packing(&call, &packing, &type, &bytes);
    if (err == MPI_SUCCESS) {
        weft_elements_t typed = {(void *)inbuf, (size_t)incount, type};
        weft_elements_t packed = {(char *)outbuf + *position, (size_t)bytes, byte_type()};
        err = weft_copy_anywhere(&typed, &packed);
    }
    if (err == MPI_SUCCESS)
        *position += bytes;
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Pack);
int PMPI_Pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize,
              int *position, MPI_Comm comm)
{
    MPI_Count wide = position == NULL ? 0 : *position;
    int err = PMPI_Pack_c(inbuf, incount, datatype, outbuf, outsize,
                          position == NULL ? NULL : &wide, comm);
    if (err == MPI_SUCCESS)
        *position = (int)wide; /* at most outsize */
    return err;
}

WEFT_API(MPI_Unpack_c);
int PMPI_Unpack_c(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                  MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm)
{
    weft_call_t call = weft_call_begin("MPI_Unpack");
    packing_t packing = {.typed = outbuf,
                         .count = outcount,
                         .datatype = datatype,
                         .packed = (void *)inbuf,
                         .size = insize,
                         .position = position,
                         .comm = comm,
                         .typed_name = "outbuf",
                         .packed_name = "inbuf",
                         .count_name = "outcount",
                         .size_name = "insize"};
    weft_type_t *type = NULL;
    MPI_Count bytes;
    int err = check_packing(&call, &packing, &type, &bytes);
    if (err == MPI_SUCCESS) {
        weft_elements_t packed = {(char *)inbuf + *position, (size_t)bytes, byte_type()};
        weft_elements_t typed = {outbuf, (size_t)outcount, type};
        err = weft_copy_anywhere(&packed, &typed);
    }
    if (err == MPI_SUCCESS)
        *position += bytes;
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Unpack);
int PMPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount,
                MPI_Datatype datatype, MPI_Comm comm)
{
    MPI_Count wide = position == NULL ? 0 : *position;
    int err = PMPI_Unpack_c(inbuf, insize, position == NULL ? NULL : &wide, outbuf, outcount,
                            datatype, comm);
    if (err == MPI_SUCCESS)
        *position = (int)wide; /* at most insize */
    return err;
}

WEFT_API(MPI_Pack_size_c);
int PMPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
    weft_call_t call = weft_call_begin("MPI_Pack_size");
    weft_comm_t *checked;
    weft_type_t *type = NULL;
    int err = weft_check_comm(&call, comm, &checked);
    if (err == MPI_SUCCESS)
        err = weft_check_committed_type(datatype, "datatype", &type);
    if (err == MPI_SUCCESS)
        err = weft_check_count(incount, "incount");
    if (err == MPI_SUCCESS)
        err = weft_check_output(size, "size");
    if (err == MPI_SUCCESS && __builtin_mul_overflow(incount, (MPI_Count)type->size, size))
        *size = MPI_UNDEFINED;
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Pack_size);
int PMPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    MPI_Count wide;
    int err = PMPI_Pack_size_c(incount, datatype, comm, size == NULL ? NULL : &wide);
    if (err == MPI_SUCCESS && size != NULL)
        *size = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
    return err;
}
