/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/call.h"

#include "mpi/start.h"
#include "base/fail.h"

#include <stdio.h>

void weft_call_outside(const char *name)
{
    char text[160];
    snprintf(text, sizeof(text), "%s: called %s", name,
             weft_world.stage == WEFT_BEFORE_INIT ? "before MPI_Init" : "after MPI_Finalize");
    weft_abort_job(1, text);
}

int weft_call_failed(const weft_call_t *call, int error)
{
    /* The handler is the user's code, which may call MPI. */
    weft_unlock();
    int result = weft_error_raise(call->comm, error, call->name);
    weft_fail_clear();
    return result;
}
