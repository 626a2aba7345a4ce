/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/unsupported.h"

#include "mpi/call.h"
#include "base/fail.h"

int weft_unsupported(const char *function)
{
    weft_call_t call = weft_call_begin(function);
    return weft_call_end(&call,
                         weft_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                                   "this function is not implemented in this version of Weft"));
}
