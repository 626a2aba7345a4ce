/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/unsupported.h"

#include "base/fail.h"

#include <mpi.h>

int weft_unsupported(const char *function)
{
    return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "%s is not implemented yet", function);
}
