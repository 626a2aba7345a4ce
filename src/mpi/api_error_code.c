/* SPDX-License-Identifier: BSD-3-Clause */
/* Error classes, codes and texts (MPI 5.0 sections 9.4 and 9.5). All of them work at any time. */
#include "mpi/api.h"

#include "mpi/check.h"
#include "object/error_code.h"
#include "object/returned_error.h"
#include "base/fail.h"

#include <stdio.h>

static int check_code(int code)
{
    if (weft_error_text(code) != NULL)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG, "errorcode is %d, which is no error code", code);
}

/** Tells to which class an error code belongs (section 9.4). A class is its own class.
 *  @param[out] errorclass  the class
 *  @error MPI_ERR_ARG  errorcode is no error code
 *  @note The codes that Weft's functions return are classes, but for functions that this version
 *      does not have: each has a code of its own, of the class MPI_ERR_UNSUPPORTED_OPERATION.
 *  @see MPI_Error_string */
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

static int give_text(int code, char *string)
{
    int length = weft_returned_error_text(code, string);
    return length > 0 ? length
                      : snprintf(string, MPI_MAX_ERROR_STRING, "%s", weft_error_text(code));
}

/** Gives the text of an error code or class (section 9.3.5).
 *  @param[out] string  room for MPI_MAX_ERROR_STRING letters, which gets the text
 *  @error MPI_ERR_ARG  errorcode is no error code
 *  @note Of a code that the last call to fail in this thread has returned, or has put into a status
 *      together with MPI_ERR_IN_STATUS, the text says which function has failed, for which
 *      argument, its value and what was expected: what MPI_ERRORS_ARE_FATAL would print. Of any
 *      other code it is the sentence of the code's class.
 *  @note An error handler of the program gets this text from the code that it is called with.
 *  @note Where several statuses have one code, the text is that of the first of them, and ends with
 *      how many more there are. Statuses of more than three codes have the sentence of the class.
 *  @note Codes that the program has added have the text that MPI_Add_error_string has given them,
 *      or none.
 *  @see MPI_Error_class, MPI_Add_error_string */
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
        *resultlen = give_text(errorcode, string);
    return weft_call_end_anytime(&call, err);
}

/** Makes a new error class, which MPI itself never raises (section 9.5). MPI_LASTUSEDCODE grows
 *  with it; the class is known to this process only.
 *  @param[out] errorclass  the new class
 *  @error MPI_ERR_NO_MEM  there is no memory for it
 *  @see MPI_Add_error_code, MPI_Add_error_string, MPI_Remove_error_class */
WEFT_API(MPI_Add_error_class);
int PMPI_Add_error_class(int *errorclass)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Add_error_class");
    int err = weft_check_output(errorclass, "errorclass");
    if (err == MPI_SUCCESS)
        err = weft_error_add_class(errorclass);
    return weft_call_end_anytime(&call, err);
}

/** Takes an error class away that MPI_Add_error_class has made (section 9.5). Its codes and its
 *  text must have been taken away before.
 *  @error MPI_ERR_ARG  errorclass is none that this program has added, still has a text, or still
 *      has error codes
 *  @see MPI_Add_error_class, MPI_Remove_error_code, MPI_Remove_error_string */
WEFT_API(MPI_Remove_error_class);
int PMPI_Remove_error_class(int errorclass)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Remove_error_class");
    return weft_call_end_anytime(&call, weft_error_remove_class(errorclass));
}

/** Makes a new error code of a class (section 9.5), one of MPI's or one that the program has added.
 *  @param[out] errorcode  the new code
 *  @error MPI_ERR_ARG  errorclass is no error class
 *  @error MPI_ERR_NO_MEM  there is no memory for it
 *  @see MPI_Add_error_class, MPI_Add_error_string, MPI_Remove_error_code */
WEFT_API(MPI_Add_error_code);
int PMPI_Add_error_code(int errorclass, int *errorcode)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Add_error_code");
    int err = weft_check_output(errorcode, "errorcode");
    if (err == MPI_SUCCESS)
        err = weft_error_add_code(errorclass, errorcode);
    return weft_call_end_anytime(&call, err);
}

/** Takes an error code away that MPI_Add_error_code has made (section 9.5). Its text must have been
 *  taken away before.
 *  @error MPI_ERR_ARG  errorcode is none that this program has added, is a class, or still has a
 *      text
 *  @see MPI_Add_error_code, MPI_Remove_error_string */
WEFT_API(MPI_Remove_error_code);
int PMPI_Remove_error_code(int errorcode)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Remove_error_code");
    return weft_call_end_anytime(&call, weft_error_remove_code(errorcode));
}

/** Gives an error code or class that the program has added a text, or another one (section 9.5).
 *  @param[in] errorcode  a code or class that the program has added
 *  @param[in] string  the text, at most MPI_MAX_ERROR_STRING - 1 letters, which is copied
 *  @error MPI_ERR_ARG  errorcode is none that this program has added
 *  @error MPI_ERR_ARG  string is NULL or too long
 *  @error MPI_ERR_NO_MEM  there is no memory for the copy
 *  @see MPI_Error_string, MPI_Remove_error_string */
WEFT_API(MPI_Add_error_string);
int PMPI_Add_error_string(int errorcode, const char *string)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Add_error_string");
    int err = weft_check_text(string, MPI_MAX_ERROR_STRING - 1, MPI_ERR_ARG, "string");
    if (err == MPI_SUCCESS)
        err = weft_error_add_text(errorcode, string);
    return weft_call_end_anytime(&call, err);
}

/** Takes the text of an error code or class away that MPI_Add_error_string has given it (section
 *  9.5).
 *  @param[in] errorcode  a code or class that the program has added
 *  @error MPI_ERR_ARG  errorcode is none that this program has added, or has no text
 *  @see MPI_Add_error_string */
WEFT_API(MPI_Remove_error_string);
int PMPI_Remove_error_string(int errorcode)
{
    weft_call_t call = weft_call_begin_anytime("MPI_Remove_error_string");
    return weft_call_end_anytime(&call, weft_error_remove_text(errorcode));
}
