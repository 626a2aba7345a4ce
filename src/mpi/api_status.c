/* SPDX-License-Identifier: BSD-3-Clause */
/* Enquiries about statuses, and setting them (MPI 5.0 sections 3.2.5, 3.9, 13.3). */
#include "mpi/api.h"

#include "mpi/check.h"
#include "object/status.h"
#include "base/fail.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

static int check_status(const void *status)
{
    return status != NULL
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_ARG, "status is MPI_STATUS_IGNORE, but is to be looked at");
}

/* Whole elements in a status; MPI_UNDEFINED when the bytes are no multiple of the type. */
static int count_elements(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *out)
{
    weft_type_t *type;
    int err = check_status(status);
    if (err == MPI_SUCCESS)
        err = weft_check_committed_type(datatype, "datatype", &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "count");
    if (err != MPI_SUCCESS)
        return err;
    uint64_t bytes = weft_status_bytes(status);
    if (type->size == 0)
        *out = bytes == 0 ? 0 : MPI_UNDEFINED;
    else
        *out = bytes % type->size == 0 ? (MPI_Count)(bytes / type->size) : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int count_basic_elements(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *out)
{
    weft_type_t *type;
    int err = check_status(status);
    if (err == MPI_SUCCESS)
        err = weft_check_committed_type(datatype, "datatype", &type);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, "count");
    if (err == MPI_SUCCESS)
        *out = weft_type_elements(type, weft_status_bytes(status));
    return err;
}

typedef int (*count_fn_t)(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *out);

/* MPI_UNDEFINED for a count that does not fit an int (section 3.2.5). */
static int count_as_int(count_fn_t count, const MPI_Status *status, MPI_Datatype datatype, int *out)
{
    MPI_Count wide = 0;
    int err = weft_check_output(out, "count");
    if (err == MPI_SUCCESS)
        err = count(status, datatype, &wide);
    if (err == MPI_SUCCESS)
        *out = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
    return err;
}

WEFT_API(MPI_Get_count_c);
int PMPI_Get_count_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    weft_call_t call = weft_call_begin("MPI_Get_count");
    return weft_call_end(&call, count_elements(status, datatype, count));
}

/** Tells how many elements of a datatype have been received (section 3.2.5).
 *  @param[in] status  of a receive or a probe; not MPI_STATUS_IGNORE
 *  @param[in] datatype  the one of the receive, committed
 *  @param[out] count  the number of whole elements; MPI_UNDEFINED if the last one is not whole, or
 *      an int cannot hold the number; 0 for a message without data
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Get_elements, MPI_Recv, MPI_Probe */
WEFT_API(MPI_Get_count);
int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    weft_call_t call = weft_call_begin("MPI_Get_count");
    return weft_call_end(&call, count_as_int(count_elements, status, datatype, count));
}

WEFT_API(MPI_Get_elements_c);
int PMPI_Get_elements_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    weft_call_t call = weft_call_begin("MPI_Get_elements");
    return weft_call_end(&call, count_basic_elements(status, datatype, count));
}

/** Does the same as MPI_Get_elements_c, under an older name (section 5.1.11).
 *  @copydoc MPI_Get_elements
 *  @see MPI_Get_elements */
WEFT_API(MPI_Get_elements_x);
int PMPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    weft_call_t call = weft_call_begin("MPI_Get_elements_x");
    return weft_call_end(&call, count_basic_elements(status, datatype, count));
}

/** Tells how many basic elements have been received, those of which a derived datatype consists
 *  (section 5.1.11). So it also counts the parts of an element that is not whole.
 *  @param[in] status  of a receive or a probe; not MPI_STATUS_IGNORE
 *  @param[in] datatype  the one of the receive, committed
 *  @param[out] count  the number of basic elements; MPI_UNDEFINED if the message ends inside a
 *      basic element, or an int cannot hold the number
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Get_count */
WEFT_API(MPI_Get_elements);
int PMPI_Get_elements(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    weft_call_t call = weft_call_begin("MPI_Get_elements");
    return weft_call_end(&call, count_as_int(count_basic_elements, status, datatype, count));
}

/** Tells whether the operation of a status was cancelled (section 3.8.4). If it was, the other
 *  parts of the status mean nothing.
 *  @param[in] status  of a completed request; not MPI_STATUS_IGNORE
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Cancel */
WEFT_API(MPI_Test_cancelled);
int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    weft_call_t call = weft_call_begin("MPI_Test_cancelled");
    int err = check_status(status);
    if (err == MPI_SUCCESS)
        err = weft_check_output(flag, "flag");
    if (err == MPI_SUCCESS)
        *flag = weft_status_is_cancelled(status);
    return weft_call_end(&call, err);
}

/** Writes into a status what MPI_Test_cancelled is to tell, for query_fn of a generalised request
 *  (section 13.3).
 *  @param[in,out] status  not MPI_STATUS_IGNORE; the rest of it stays as it is
 *  @param[in] flag  not 0: the operation was cancelled
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Grequest_start, MPI_Test_cancelled */
WEFT_API(MPI_Status_set_cancelled);
int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    weft_call_t call = weft_call_begin("MPI_Status_set_cancelled");
    int err = check_status(status);
    if (err == MPI_SUCCESS)
        weft_status_set_cancelled(status, flag != 0);
    return weft_call_end(&call, err);
}

/* The bytes of so many basic elements, as if they had been received (section 13.3). */
static int bytes_of_elements(const weft_type_t *type, MPI_Count count, uint64_t *out)
{
    MPI_Count instances = type->elements == 0 ? 0 : count / (MPI_Count)type->elements + 1, bytes;
    if (__builtin_mul_overflow(instances, (MPI_Count)type->size, &bytes))
        return weft_bad_size(instances, type);
    *out = weft_type_element_bytes(type, count);
    return MPI_SUCCESS;
}

static int set_elements(const char *name, MPI_Status *status, MPI_Datatype datatype,
                        MPI_Count count)
{
    weft_call_t call = weft_call_begin(name);
    weft_type_t *type;
    uint64_t bytes = 0;
    int err = check_status(status);
    if (err == MPI_SUCCESS)
        err = weft_check_type(datatype, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_count(count, "count");
    if (err == MPI_SUCCESS)
        err = bytes_of_elements(type, count, &bytes);
    if (err == MPI_SUCCESS)
        weft_status_set_bytes(status, bytes);
    return weft_call_end(&call, err);
}

/** Writes a length into a status, for query_fn of a generalised request (section 13.3).
 *  MPI_Get_elements with this datatype then gives count, and MPI_Get_count what follows from it.
 *  @param[in,out] status  not MPI_STATUS_IGNORE; source, tag and error stay as they are
 *  @param[in] datatype  need not be committed
 *  @param[in] count  a number of basic elements
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Grequest_start, MPI_Get_elements */
WEFT_API(MPI_Status_set_elements_c);
int PMPI_Status_set_elements_c(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return set_elements("MPI_Status_set_elements", status, datatype, count);
}

/** Does the same as MPI_Status_set_elements_c, under an older name (section 13.3).
 *  @copydoc MPI_Status_set_elements
 *  @see MPI_Status_set_elements */
WEFT_API(MPI_Status_set_elements_x);
int PMPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return set_elements("MPI_Status_set_elements_x", status, datatype, count);
}

/* ---- the public fields: MPI 4.1 and later ---- */

static int read_field(const char *name, const MPI_Status *status, size_t offset, int *out,
                      const char *out_name)
{
    weft_call_t call = weft_call_begin_anytime(name);
    int err = check_status(status);
    if (err == MPI_SUCCESS)
        err = weft_check_output(out, out_name);
    if (err == MPI_SUCCESS)
        memcpy(out, (const char *)status + offset, sizeof(*out));
    return weft_call_end_anytime(&call, err);
}

static int write_field(const char *name, MPI_Status *status, size_t offset, int value)
{
    weft_call_t call = weft_call_begin_anytime(name);
    int err = check_status(status);
    if (err == MPI_SUCCESS)
        memcpy((char *)status + offset, &value, sizeof(value));
    return weft_call_end_anytime(&call, err);
}

/** Gives the source of a status, which C programs can also read as status->MPI_SOURCE
 *  (section 3.2.5). May be called at any time, before MPI_Init too.
 *  @param[in] status  not MPI_STATUS_IGNORE
 *  @param[out] source  a rank, MPI_ANY_SOURCE (an empty status), or MPI_PROC_NULL
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Status_get_tag, MPI_Status_get_error */
WEFT_API(MPI_Status_get_source);
int PMPI_Status_get_source(const MPI_Status *status, int *source)
{
    return read_field("MPI_Status_get_source", status, offsetof(MPI_Status, MPI_SOURCE), source,
                      "source");
}

/** Sets the source of a status, for query_fn of a generalised request (section 13.3). May be called
 *  at any time.
 *  @param[in,out] status  not MPI_STATUS_IGNORE; the rest of it stays as it is
 *  @param[in] source  any value
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Status_get_source, MPI_Grequest_start */
WEFT_API(MPI_Status_set_source);
int PMPI_Status_set_source(MPI_Status *status, int source)
{
    return write_field("MPI_Status_set_source", status, offsetof(MPI_Status, MPI_SOURCE), source);
}

/** Gives the tag of a status, which C programs can also read as status->MPI_TAG (section 3.2.5).
 *  May be called at any time, before MPI_Init too.
 *  @param[in] status  not MPI_STATUS_IGNORE
 *  @param[out] tag  the tag of the message; MPI_ANY_TAG in an empty status and in that of
 *      MPI_PROC_NULL
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Status_get_source, MPI_Status_get_error */
WEFT_API(MPI_Status_get_tag);
int PMPI_Status_get_tag(const MPI_Status *status, int *tag)
{
    return read_field("MPI_Status_get_tag", status, offsetof(MPI_Status, MPI_TAG), tag, "tag");
}

/** Sets the tag of a status, for query_fn of a generalised request (section 13.3). May be called at
 *  any time.
 *  @param[in,out] status  not MPI_STATUS_IGNORE; the rest of it stays as it is
 *  @param[in] tag  any value
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Status_get_tag, MPI_Grequest_start */
WEFT_API(MPI_Status_set_tag);
int PMPI_Status_set_tag(MPI_Status *status, int tag)
{
    return write_field("MPI_Status_set_tag", status, offsetof(MPI_Status, MPI_TAG), tag);
}

/** Gives the error of a status, which C programs can also read as status->MPI_ERROR
 *  (section 3.2.5). Only calls with an array of statuses set it, and an empty status has
 *  MPI_SUCCESS. May be called at any time, before MPI_Init too.
 *  @param[in] status  not MPI_STATUS_IGNORE
 *  @param[out] error  an error code, or MPI_SUCCESS
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Waitall, MPI_Status_get_source */
WEFT_API(MPI_Status_get_error);
int PMPI_Status_get_error(const MPI_Status *status, int *error)
{
    return read_field("MPI_Status_get_error", status, offsetof(MPI_Status, MPI_ERROR), error,
                      "error");
}

/** Sets the error of a status (section 13.3). May be called at any time.
 *  @param[in,out] status  not MPI_STATUS_IGNORE; the rest of it stays as it is
 *  @param[in] error  any value
 *  @error MPI_ERR_ARG  status is MPI_STATUS_IGNORE
 *  @see MPI_Status_get_error */
WEFT_API(MPI_Status_set_error);
int PMPI_Status_set_error(MPI_Status *status, int error)
{
    return write_field("MPI_Status_set_error", status, offsetof(MPI_Status, MPI_ERROR), error);
}
