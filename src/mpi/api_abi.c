/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of the binary interface (MPI 5.0 section 20.5). All of them work at any time. */
#include "mpi/api.h"

#include "mpi/check.h"
#include "datatype/type.h"
#include "object/info.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- C ---- */

static int set_size(weft_info_t *info, const char *key, size_t bytes)
{
    char text[24];
    snprintf(text, sizeof(text), "%zu", bytes);
    return weft_info_set(info, key, text);
}

/** The sizes of integer types in the library's binary interface, as a new info object
 *  (section 20.5). The keys `mpi_aint_size`, `mpi_count_size` and `mpi_offset_size` give bytes as
 *  decimal numbers. May be called at any time.
 *  @see MPI_Abi_get_version */
WEFT_API(MPI_Abi_get_info);
int PMPI_Abi_get_info(MPI_Info *handle)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Abi_get_info");
    weft_info_t *info = NULL;
    int err = weft_check_output(handle, "info");
    if (err == MPI_SUCCESS)
        err = weft_info_create(&info);
    if (err == MPI_SUCCESS)
        err = set_size(info, "mpi_aint_size", sizeof(MPI_Aint));
    if (err == MPI_SUCCESS)
        err = set_size(info, "mpi_count_size", sizeof(MPI_Count));
    if (err == MPI_SUCCESS)
        err = set_size(info, "mpi_offset_size", sizeof(MPI_Offset));
    if (err == MPI_SUCCESS)
        *handle = weft_info_handle(info);
    else
        weft_info_release(info);
    return weft_call_end_anytime(&call, err);
}

/* ---- Fortran: set once by a Fortran binding, never by Weft itself ---- */

static weft_info_t *fortran_info;

/* The sizes of Fortran types that the predefined datatypes have. */
static const struct {
    const char *key;
    MPI_Datatype type;
} fortran_sizes[] = {
    {"mpi_logical_size", MPI_LOGICAL},
    {"mpi_integer_size", MPI_INTEGER},
    {"mpi_real_size", MPI_REAL},
    {"mpi_double_precision_size", MPI_DOUBLE_PRECISION},
};

static int check_fortran_size(const weft_info_t *info, const char *key, MPI_Datatype type)
{
    const char *value = weft_info_get(info, key);
    size_t bytes = weft_type_of(type)->size;
    if (value == NULL || strtoull(value, NULL, 10) == bytes)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ABI, "%s is \"%s\", but this library has datatypes for %zu", key,
                     value, bytes);
}

static int check_fortran_info(MPI_Info handle, weft_info_t **out)
{
    int err = weft_check_info(handle, out);
    if (err == MPI_SUCCESS && *out == NULL)
        err = weft_fail(MPI_ERR_INFO, "info is MPI_INFO_NULL");
    if (err == MPI_SUCCESS && fortran_info != NULL)
        err = weft_fail(MPI_ERR_ABI, "the facts of Fortran have been set before");
    for (size_t i = 0; err == MPI_SUCCESS && i < sizeof(fortran_sizes) / sizeof(fortran_sizes[0]);
         i++)
        err = check_fortran_size(*out, fortran_sizes[i].key, fortran_sizes[i].type);
    return err;
}

/** Tells the library what Fortran's types are like, once for a process (section 20.5). A Fortran
 *  binding calls it; a program has no need to. May be called at any time.
 *  @param[in] info  copied; any keys, of which `mpi_logical_size`, `mpi_integer_size`,
 *      `mpi_real_size` and `mpi_double_precision_size` are bytes as decimal numbers
 *  @error MPI_ERR_INFO  info is MPI_INFO_NULL or no info object
 *  @error MPI_ERR_ABI  it was called before, or a size is not that of the library's own
 *      MPI_LOGICAL, MPI_INTEGER, MPI_REAL or MPI_DOUBLE_PRECISION
 *  @see MPI_Abi_get_fortran_info */
WEFT_API(MPI_Abi_set_fortran_info);
int PMPI_Abi_set_fortran_info(MPI_Info handle)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Abi_set_fortran_info");
    weft_info_t *info;
    int err = check_fortran_info(handle, &info);
    if (err == MPI_SUCCESS)
        err = weft_info_dup(info, &fortran_info);
    return weft_call_end_anytime(&call, err);
}

/** What MPI_Abi_set_fortran_info was given, as a new info object (section 20.5). May be called at
 *  any time.
 *  @param[out] info  the caller frees it with MPI_Info_free; MPI_INFO_NULL if nothing was set */
WEFT_API(MPI_Abi_get_fortran_info);
int PMPI_Abi_get_fortran_info(MPI_Info *handle)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Abi_get_fortran_info");
    weft_info_t *copy = NULL;
    int err = weft_check_output(handle, "info");
    if (err == MPI_SUCCESS && fortran_info != NULL)
        err = weft_info_dup(fortran_info, &copy);
    if (err == MPI_SUCCESS)
        *handle = copy == NULL ? MPI_INFO_NULL : weft_info_handle(copy);
    return weft_call_end_anytime(&call, err);
}

enum { LOGICAL_MAX = 16 };

static struct {
    int size; /* bytes of a LOGICAL; 0: not set */
    char is_true[LOGICAL_MAX], is_false[LOGICAL_MAX];
} booleans;

static int check_logical_size(int size)
{
    if (size == 1 || size == 2 || size == 4 || size == 8 || size == 16)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG, "logical_size is %d, but must be 1, 2, 4, 8 or 16", size);
}

/** Tells the library what Fortran's .TRUE. and .FALSE. look like in memory, once for a process
 *  (section 20.5). A Fortran binding calls it; a program has no need to. May be called at any time.
 *  @param[in] logical_size  bytes of a LOGICAL: 1, 2, 4, 8 or 16
 *  @param[in] logical_true  points to a LOGICAL that is .TRUE.
 *  @param[in] logical_false  points to a LOGICAL that is .FALSE.
 *  @error MPI_ERR_ARG  logical_size is another number, or a pointer is NULL
 *  @error MPI_ERR_ABI  it was called before
 *  @see MPI_Abi_get_fortran_booleans */
WEFT_API(MPI_Abi_set_fortran_booleans);
int PMPI_Abi_set_fortran_booleans(int logical_size, void *logical_true, void *logical_false)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Abi_set_fortran_booleans");
    int err = check_logical_size(logical_size);
    if (err == MPI_SUCCESS)
        err = weft_check_input(logical_true, "logical_true");
    if (err == MPI_SUCCESS)
        err = weft_check_input(logical_false, "logical_false");
    if (err == MPI_SUCCESS && booleans.size != 0)
        err = weft_fail(MPI_ERR_ABI, "the booleans of Fortran have been set before");
    if (err == MPI_SUCCESS) {
        booleans.size = logical_size;
        memcpy(booleans.is_true, logical_true, (size_t)logical_size);
        memcpy(booleans.is_false, logical_false, (size_t)logical_size);
    }
    return weft_call_end_anytime(&call, err);
}

/** What MPI_Abi_set_fortran_booleans was given (section 20.5). May be called at any time.
 *  @param[in] logical_size  bytes of a LOGICAL, as they were set: 1, 2, 4, 8 or 16
 *  @param[out] logical_true  room for a LOGICAL; left alone if nothing was set
 *  @param[out] logical_false  room for a LOGICAL; left alone if nothing was set
 *  @param[out] is_set  true if they were set
 *  @error MPI_ERR_ARG  logical_size is another number
 *  @error MPI_ERR_ABI  logical_size is not what was set */
WEFT_API(MPI_Abi_get_fortran_booleans);
int PMPI_Abi_get_fortran_booleans(int logical_size, void *logical_true, void *logical_false,
                                  int *is_set)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Abi_get_fortran_booleans");
    int err = check_logical_size(logical_size);
    if (err == MPI_SUCCESS)
        err = weft_check_output(logical_true, "logical_true");
    if (err == MPI_SUCCESS)
        err = weft_check_output(logical_false, "logical_false");
    if (err == MPI_SUCCESS)
        err = weft_check_output(is_set, "is_set");
    if (err == MPI_SUCCESS && booleans.size != 0 && booleans.size != logical_size)
        err = weft_fail(MPI_ERR_ABI, "logical_size is %d, but %d was set", logical_size,
                        booleans.size);
    if (err != MPI_SUCCESS)
        return weft_call_end_anytime(&call, err);
    *is_set = booleans.size != 0;
    memcpy(logical_true, booleans.is_true, *is_set ? (size_t)logical_size : 0);
    memcpy(logical_false, booleans.is_false, *is_set ? (size_t)logical_size : 0);
    return weft_call_end_anytime(&call, err);
}
