/* SPDX-License-Identifier: BSD-3-Clause */
/* Error classes, codes and texts (MPI 5.0 sections 9.4 and 9.5). All of them work at any time. */
#include "mpi/api.h"

#include "mpi/check.h"
#include "object/error_code.h"
#include "base/fail.h"

#include <stdio.h>

static int check_code(int code)
{
    if (weft_error_text(code) != NULL)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG, "errorcode is %d, which is no error code", code);
}

WEFT_API(MPI_Error_class);
int PMPI_Error_class(int errorcode, int *errorclass)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Error_class");
    int err = weft_check_output(errorclass, "errorclass");
    if (err == MPI_SUCCESS)
        err = check_code(errorcode);
    if (err == MPI_SUCCESS)
        *errorclass = weft_error_class(errorcode);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Error_string);
int PMPI_Error_string(int errorcode, char *string, int *resultlen)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Error_string");
    int err = weft_check_output(string, "string");
    if (err == MPI_SUCCESS)
        err = weft_check_output(resultlen, "resultlen");
    if (err == MPI_SUCCESS)
        err = check_code(errorcode);
    if (err == MPI_SUCCESS)
        *resultlen = snprintf(string, MPI_MAX_ERROR_STRING, "%s", weft_error_text(errorcode));
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Add_error_class);
int PMPI_Add_error_class(int *errorclass)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Add_error_class");
    int err = weft_check_output(errorclass, "errorclass");
    if (err == MPI_SUCCESS)
        err = weft_error_add_class(errorclass);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Remove_error_class);
int PMPI_Remove_error_class(int errorclass)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Remove_error_class");
    return weft_call_end_anytime(&call, weft_error_remove_class(errorclass));
}

WEFT_API(MPI_Add_error_code);
int PMPI_Add_error_code(int errorclass, int *errorcode)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Add_error_code");
    int err = weft_check_output(errorcode, "errorcode");
    if (err == MPI_SUCCESS)
        err = weft_error_add_code(errorclass, errorcode);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Remove_error_code);
int PMPI_Remove_error_code(int errorcode)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Remove_error_code");
    return weft_call_end_anytime(&call, weft_error_remove_code(errorcode));
}

WEFT_API(MPI_Add_error_string);
int PMPI_Add_error_string(int errorcode, const char *string)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Add_error_string");
    int err = weft_check_text(string, MPI_MAX_ERROR_STRING - 1, MPI_ERR_ARG, "string");
    if (err == MPI_SUCCESS)
        err = weft_error_add_text(errorcode, string);
    return weft_call_end_anytime(&call, err);
}

WEFT_API(MPI_Remove_error_string);
int PMPI_Remove_error_string(int errorcode)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Remove_error_string");
    return weft_call_end_anytime(&call, weft_error_remove_text(errorcode));
}
