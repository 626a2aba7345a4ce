/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Pack and MPI_Unpack (MPI 5.0, section 5.2), and their forms for data that other
 * implementations read or wrote (section 5.3). A packed message has no header. */
#include "mpi/api.h"
#include "mpi/call.h"
#include "mpi/check.h"
#include "pt2pt/device_copy.h"
#include "datatype/external32.h"
#include "runtime/device.h"
#include "base/fail.h"
#include "base/memory.h"

#include <limits.h>
#include <string.h>

/* The typed side and the packed side of all four functions. */
typedef struct packing {
    void *typed;
    MPI_Count count;
    MPI_Datatype datatype;
    void *packed;
    MPI_Count size; /* of the packed buffer */
    MPI_Count *position;
    MPI_Comm comm;
    const char *datarep; /* of the forms that have no communicator */
    bool is_external;
    const char *typed_name, *packed_name, *count_name, *size_name;
} packing_t;

static int check_pack_room(const packing_t *packing, const weft_type_t *type, MPI_Count *bytes_out)
{
    MPI_Count bytes, end;
    size_t element_bytes = packing->is_external ? weft_external_size(type) : type->size;
    if (*packing->position < 0)
        return weft_fail(MPI_ERR_ARG, "position is %lld, but must be at least 0",
                         (long long)*packing->position);
    if (__builtin_mul_overflow(packing->count, (MPI_Count)element_bytes, &bytes) ||
        __builtin_add_overflow(*packing->position, bytes, &end) || end > packing->size)
        return weft_fail(MPI_ERR_TRUNCATE,
                         "%s is %lld, but %lld elements of %zu bytes from position %lld exceed it",
                         packing->size_name, (long long)packing->size, (long long)packing->count,
                         element_bytes, (long long)*packing->position);
    if (weft_is_odd_buffer(packing->packed) && bytes > 0)
        return weft_bad_buffer(packing->packed, packing->packed_name);
    *bytes_out = bytes;
    return MPI_SUCCESS;
}

static int check_datarep(const char *datarep)
{
    if (datarep == NULL)
        return weft_fail(MPI_ERR_ARG, "datarep is NULL, but must be \"external32\"");
    if (strcmp(datarep, "external32") != 0)
        return weft_fail(MPI_ERR_ARG, "datarep is \"%s\", but must be \"external32\"", datarep);
    return MPI_SUCCESS;
}

static int check_packing(weft_call_t *call, const packing_t *packing, weft_type_t **type,
                         MPI_Count *bytes_out)
{
    weft_comm_t *comm;
    int err = packing->is_external ? check_datarep(packing->datarep)
                                   : weft_check_comm(call, packing->comm, &comm);
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

/** Copies elements to a place in a buffer of bytes, without gaps, from where they can be sent as
 *  MPI_PACKED (section 5.2). Several calls, each with the position that the last one has left, put
 *  different elements one behind the other.
 *  @param[in] incount  how many elements are packed
 *  @param[in,out] position  where in outbuf the data go, in bytes from its beginning; afterwards
 *      the byte behind them. Left alone if there is an error
 *  @param[in] comm  the communicator in which the data will be sent
 *  @error MPI_ERR_TRUNCATE  the data do not fit between position and the end of outbuf
 *  @error MPI_ERR_ARG  *position is negative
 *  @note The packed data are the bytes of the elements, with no header. Either buffer may be in
 *      device memory.
 *  @see MPI_Unpack, MPI_Pack_size */
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

/** Copies elements out of a buffer of bytes that MPI_Pack has filled, or that was received as
 *  MPI_PACKED (section 5.2).
 *  @param[in,out] position  where in inbuf the data are, in bytes from its beginning; afterwards
 *      the byte behind them. Left alone if there is an error
 *  @param[in] comm  the communicator in which the data were received
 *  @error MPI_ERR_TRUNCATE  there are fewer data between position and the end of inbuf
 *  @error MPI_ERR_ARG  *position is negative
 *  @note Either buffer may be in device memory.
 *  @see MPI_Pack */
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

/** How many bytes MPI_Pack needs for a number of elements (section 5.2).
 *  @param[in] incount  how many elements are packed
 *  @param[in] comm  the communicator in which the data will be sent
 *  @param[out] size  bytes; MPI_UNDEFINED if size cannot hold them
 *  @note This is not only a bound, but the exact number. */
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

/* ---- external32 ---- */

/* The two sides of a conversion. `packed` and `native` are host memory, and in the end freed, where
 * the user's buffers are not. */
typedef struct external_sides {
    weft_elements_t typed, native, user_packed;
    char *packed, *native_memory, *packed_memory;
} external_sides_t;

static bool is_on_device(const void *buf, MPI_Aint displacement)
{
    return weft_is_device((const void *)((uintptr_t)buf + (uintptr_t)displacement));
}

static int open_sides(const packing_t *packing, const weft_type_t *type, MPI_Count bytes,
                      external_sides_t *out)
{
    char *packed = (char *)packing->packed + *packing->position;
    size_t native_bytes = (size_t)packing->count * type->size;
    *out = (external_sides_t){.typed = {packing->typed, (size_t)packing->count, type},
                              .user_packed = {packed, (size_t)bytes, byte_type()},
                              .packed = packed};
    out->native = out->typed;
    if (bytes > 0 && is_on_device(packing->typed, type->true_lb)) {
        out->native_memory = weft_alloc(native_bytes);
        if (out->native_memory == NULL)
            return weft_fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of device data",
                             native_bytes);
        out->native = (weft_elements_t){out->native_memory, native_bytes, byte_type()};
    }
    if (bytes > 0 && is_on_device(packed, 0)) {
        out->packed = out->packed_memory = weft_alloc((size_t)bytes);
        if (out->packed == NULL)
            return weft_fail(MPI_ERR_NO_MEM, "no memory for %lld bytes of device data",
                             (long long)bytes);
    }
    return MPI_SUCCESS;
}

static weft_elements_t staged_packed(const external_sides_t *sides)
{
    return (weft_elements_t){sides->packed_memory, sides->user_packed.count, byte_type()};
}

static void close_sides(const external_sides_t *sides)
{
    weft_free(sides->native_memory);
    weft_free(sides->packed_memory);
}

static int convert_to_external(const external_sides_t *sides)
{
    weft_elements_t staged = staged_packed(sides);
    int err = MPI_SUCCESS;
    if (sides->native_memory != NULL)
        err = weft_copy_anywhere(&sides->typed, &sides->native);
    if (err == MPI_SUCCESS)
        err = weft_external_pack(sides->typed.type, sides->typed.count, &sides->native,
                                 sides->packed);
    if (err == MPI_SUCCESS && sides->packed_memory != NULL)
        err = weft_copy_anywhere(&staged, &sides->user_packed);
    return err;
}

static int convert_from_external(const external_sides_t *sides)
{
    weft_elements_t staged = staged_packed(sides);
    int err = MPI_SUCCESS;
    if (sides->packed_memory != NULL)
        err = weft_copy_anywhere(&sides->user_packed, &staged);
    if (err == MPI_SUCCESS)
        err = weft_external_unpack(sides->typed.type, sides->typed.count, &sides->native,
                                   sides->packed);
    if (err == MPI_SUCCESS && sides->native_memory != NULL)
        err = weft_copy_anywhere(&sides->native, &sides->typed);
    return err;
}

static int run_external(const char *name, const packing_t *packing,
                        int (*convert)(const external_sides_t *sides))
{
    weft_call_t call = weft_call_begin(name);
    weft_type_t *type = NULL;
    MPI_Count bytes;
    external_sides_t sides = {0};
    int err = check_packing(&call, packing, &type, &bytes);
    if (err == MPI_SUCCESS)
        err = open_sides(packing, type, bytes, &sides);
    if (err == MPI_SUCCESS)
        err = convert(&sides);
    close_sides(&sides);
    if (err == MPI_SUCCESS)
        *packing->position += bytes;
    return weft_call_end(&call, err);
}

/** Copies elements to a place in a buffer of bytes as MPI_Pack does, in the form that is the same
 *  on all machines: big-endian, with the sizes of the standard (section 5.3). No communicator is
 *  asked, and the data may also go to another MPI library, or into a file.
 *  @param[in] datarep  "external32"
 *  @param[in] incount  how many elements are packed
 *  @param[in,out] position  where in outbuf the data go, in bytes from its beginning; afterwards
 *      the byte behind them. Left alone if there is an error
 *  @error MPI_ERR_ARG  *position is negative, or datarep is anything but "external32"
 *  @error MPI_ERR_TRUNCATE  the data do not fit between position and the end of outbuf
 *  @note MPI_LONG and MPI_UNSIGNED_LONG have 4 bytes in this form: of a larger integer the least
 *      significant bytes are taken. Either buffer may be in device memory.
 *  @see MPI_Unpack_external, MPI_Pack_external_size */
WEFT_API(MPI_Pack_external_c);
int PMPI_Pack_external_c(const char datarep[], const void *inbuf, MPI_Count incount,
                         MPI_Datatype datatype, void *outbuf, MPI_Count outsize,
                         MPI_Count *position)
{
    packing_t packing = {.typed = (void *)inbuf,
                         .count = incount,
                         .datatype = datatype,
                         .packed = outbuf,
                         .size = outsize,
                         .position = position,
                         .datarep = datarep,
                         .is_external = true,
                         .typed_name = "inbuf",
                         .packed_name = "outbuf",
                         .count_name = "incount",
                         .size_name = "outsize"};
    return run_external("MPI_Pack_external", &packing, convert_to_external);
}

_Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "a position is either");

WEFT_API(MPI_Pack_external);
int PMPI_Pack_external(const char datarep[], const void *inbuf, int incount, MPI_Datatype datatype,
                       void *outbuf, MPI_Aint outsize, MPI_Aint *position)
{
    return PMPI_Pack_external_c(datarep, inbuf, incount, datatype, outbuf, outsize,
                                (MPI_Count *)position);
}

/** Copies elements out of a buffer of bytes that has the form of MPI_Pack_external (section 5.3).
 *  @param[in] datarep  "external32"
 *  @param[in,out] position  where in inbuf the data are, in bytes from its beginning; afterwards
 *      the byte behind them. Left alone if there is an error
 *  @error MPI_ERR_ARG  *position is negative, or datarep is anything but "external32"
 *  @error MPI_ERR_TRUNCATE  there are fewer data between position and the end of inbuf
 *  @see MPI_Pack_external */
WEFT_API(MPI_Unpack_external_c);
int PMPI_Unpack_external_c(const char datarep[], const void *inbuf, MPI_Count insize,
                           MPI_Count *position, void *outbuf, MPI_Count outcount,
                           MPI_Datatype datatype)
{
    packing_t packing = {.typed = outbuf,
                         .count = outcount,
                         .datatype = datatype,
                         .packed = (void *)inbuf,
                         .size = insize,
                         .position = position,
                         .datarep = datarep,
                         .is_external = true,
                         .typed_name = "outbuf",
                         .packed_name = "inbuf",
                         .count_name = "outcount",
                         .size_name = "insize"};
    return run_external("MPI_Unpack_external", &packing, convert_from_external);
}

WEFT_API(MPI_Unpack_external);
int PMPI_Unpack_external(const char datarep[], const void *inbuf, MPI_Aint insize,
                         MPI_Aint *position, void *outbuf, int outcount, MPI_Datatype datatype)
{
    return PMPI_Unpack_external_c(datarep, inbuf, insize, (MPI_Count *)position, outbuf, outcount,
                                  datatype);
}

/** How many bytes MPI_Pack_external needs for a number of elements, exactly (section 5.3).
 *  @param[in] datarep  "external32"
 *  @param[in] incount  how many elements are packed
 *  @param[out] size  bytes; MPI_UNDEFINED if size cannot hold them
 *  @error MPI_ERR_ARG  datarep is anything but "external32" */
WEFT_API(MPI_Pack_external_size_c);
int PMPI_Pack_external_size_c(const char datarep[], MPI_Count incount, MPI_Datatype datatype,
                              MPI_Count *size)
{
    weft_call_t call = weft_call_begin("MPI_Pack_external_size");
    weft_type_t *type = NULL;
    int err = check_datarep(datarep);
    if (err == MPI_SUCCESS)
        err = weft_check_committed_type(datatype, "datatype", &type);
    if (err == MPI_SUCCESS)
        err = weft_check_count(incount, "incount");
    if (err == MPI_SUCCESS)
        err = weft_check_output(size, "size");
    if (err == MPI_SUCCESS &&
        __builtin_mul_overflow(incount, (MPI_Count)weft_external_size(type), size))
        *size = MPI_UNDEFINED;
    return weft_call_end(&call, err);
}

WEFT_API(MPI_Pack_external_size);
int PMPI_Pack_external_size(const char datarep[], int incount, MPI_Datatype datatype,
                            MPI_Aint *size)
{
    return PMPI_Pack_external_size_c(datarep, incount, datatype, (MPI_Count *)size);
}
