/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/random.h"

#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

int weft_random(void *out, size_t bytes)
{
    if (getrandom(out, bytes, 0) == (ssize_t)bytes)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_OTHER, "the system gives no random numbers: %s", strerror(errno));
}
