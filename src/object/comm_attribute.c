/* SPDX-License-Identifier: BSD-3-Clause */
/* The predefined attributes of communicators (MPI 5.0 sections 9.1.2, 11.10). Any communicator has
 * them, not only MPI_COMM_WORLD. */
#include "object/attribute.h"

#include "object/error_code.h"
#include "runtime/world.h"

#include <limits.h>
#include <stddef.h>

static int *known(int *value)
{
    return *value < 0 ? NULL : value;
}

bool weft_comm_attribute_predefined(int number, int **out)
{
    static int tag_ub = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL;
    static int wtime_is_global = 1; /* CLOCK_MONOTONIC, of one host */
    switch (number) {
    case MPI_TAG_UB:
        *out = &tag_ub;
        return true;
    case MPI_IO:
        *out = &io;
        return true;
    case MPI_HOST:
        *out = &host;
        return true;
    case MPI_WTIME_IS_GLOBAL:
        wtime_is_global = weft_world.local_size == weft_world.size;
        *out = &wtime_is_global;
        return true;
    case MPI_APPNUM:
        *out = known(&weft_world.appnum);
        return true;
    case MPI_UNIVERSE_SIZE:
        *out = known(&weft_world.universe_size);
        return true;
    case MPI_LASTUSEDCODE:
        *out = &weft_error_last_used;
        return true;
    default:
        return false;
    }
}
