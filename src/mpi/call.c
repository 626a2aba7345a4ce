/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/call.h"

#include "mpi/start.h"
#include "base/fail.h"

#include <stdio.h>

void weft_call_outside(const char *name)
{
    char text[160];
    const char *when = weft_world.world_model == WEFT_AFTER_FINALIZE ? "after MPI_Finalize"
                       : weft_world.stage == WEFT_AFTER_FINALIZE
                           ? "after the last session has ended"
                           : "before MPI_Init";
    snprintf(text, sizeof(text), "%s: called %s", name, when);
    weft_abort_job(1, text);
}

/* The handler is the user's code and may call MPI, so the lock has been given up before. */
static int raise_error(const weft_call_t *call, int error)
{
    int result = weft_error_raise(call->comm, error, call->name);
    weft_fail_clear();
    return result;
}

void weft_call_blame(weft_call_t *call, weft_comm_t *comm)
{
    call->comm = comm;
    call->holds_comm = comm != NULL;
    if (comm != NULL)
        weft_comm_retain(comm);
}

int weft_call_failed(const weft_call_t *call, int error)
{
    weft_unlock();
    int result = raise_error(call, error);
    if (call->holds_comm) {
        weft_lock();
        weft_comm_release(call->comm);
        weft_unlock();
    }
    return result;
}

weft_call_t weft_call_begin_anytime(const char *name)
{
    weft_lock_take();
    return (weft_call_t){.name = name};
}

/* Start-up sets it, and may not have come yet. */
static void open_abort(void)
{
    if (weft_world.abort == NULL)
        weft_world.abort = weft_abort_job;
}

int weft_call_end_anytime(const weft_call_t *call, int error)
{
    weft_lock_give();
    if (error == MPI_SUCCESS)
        return MPI_SUCCESS;
    open_abort();
    return raise_error(call, error);
}

static int give_to_handler(const weft_call_t *call, weft_errhandler_t *handler, const void *handle,
                           int error)
{
    open_abort();
    int result = weft_error_handle(handler, handle, error, call->name);
    weft_fail_clear();
    return result;
}

int weft_call_end_with(const weft_call_t *call, weft_errhandler_t *handler, const void *handle,
                       int error)
{
    weft_lock_give();
    if (error == MPI_SUCCESS)
        return MPI_SUCCESS;
    return give_to_handler(call, handler, handle, error);
}

int weft_call_end_for(const weft_call_t *call, weft_errhandler_t *handler, int error)
{
    weft_unlock();
    return error == MPI_SUCCESS ? error : give_to_handler(call, handler, MPI_COMM_NULL, error);
}
