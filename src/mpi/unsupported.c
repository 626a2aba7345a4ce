/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/unsupported.h"

#include "mpi/call.h"
#include "object/errhandler.h"
#include "object/error_code.h"
#include "base/fail.h"

static int fail_for(const char *function)
{
    weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
              "this function is not implemented in this version of Weft");
    return weft_error_of_missing(function);
}

int weft_unsupported(const char *function)
{
    weft_call_t call = weft_call_begin(function);
    return weft_call_end(&call, fail_for(function));
}

int weft_unsupported_anytime(const char *function)
{
    weft_call_t call = weft_call_begin_anytime(function);
    return weft_call_end_anytime(&call, fail_for(function));
}

int weft_unsupported_for(MPI_Errhandler handle, const char *function)
{
    weft_errhandler_t *handler = weft_errhandler_of(handle);
    if (handler == NULL)
        return weft_unsupported_anytime(function);
    weft_call_t call = weft_call_begin_anytime(function);
    return weft_call_end_with(&call, handler, MPI_COMM_NULL, fail_for(function));
}
