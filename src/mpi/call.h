/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of every MPI function: the test that MPI is running, the lock, the error handler.
 *
 *     weft_call_t call = weft_call_begin("MPI_Comm_size");
 *     weft_comm_t *comm;
 *     int err = weft_check_comm(&call, handle, &comm);
 *     ...
 *     return weft_call_end(&call, err);
 */
#ifndef WEFT_MPI_CALL_H
#define WEFT_MPI_CALL_H

#include "object/comm.h"
#include "runtime/lock.h"
#include "runtime/world.h"

typedef struct weft_call {
    const char *name;  /* without _c, as messages name the function */
    weft_comm_t *comm; /* whose error handler gets errors; NULL: MPI_COMM_SELF's */
    bool holds_comm;   /* the call has a reference */
} weft_call_t;

/** MPI is not running: print so and end the process (MPI 5.0 section 11.2). */
void weft_call_outside(const char *name) __attribute__((cold, noreturn));

/** Errors go to the handler of `comm` (may be NULL). The user may have freed `comm`, so the call
 * keeps it alive. To be called for the first error, before the request or message that refers to
 * `comm` is released. */
void weft_call_blame(weft_call_t *call, weft_comm_t *comm) __attribute__((cold));

/** Unlock and run the error handler; returns what the MPI function returns. */
int weft_call_failed(const weft_call_t *call, int error) __attribute__((cold));

/** As weft_call_begin and weft_call_end, for functions that work before MPI_Init and after
 *  MPI_Finalize too (MPI 5.0 section 11.4.1), from any thread, at any thread level. */
weft_call_t weft_call_begin_anytime(const char *name);
int weft_call_end_anytime(const weft_call_t *call, int error);
/** As weft_call_end_anytime(), for calls whose errors go to a given handler, which is passed
 * `handle`. */
int weft_call_end_with(const weft_call_t *call, weft_errhandler_t *handler, const void *handle,
                       int error);

/** As weft_call_end(), for calls that have the error handler of a new communicator among their
 * arguments. */
int weft_call_end_for(const weft_call_t *call, weft_errhandler_t *handler, int error);

static inline weft_call_t weft_call_begin(const char *name)
{
    if (__builtin_expect(weft_world.stage != WEFT_RUNNING, 0))
        weft_call_outside(name);
    weft_lock();
    return (weft_call_t){.name = name};
}

static inline int weft_call_end(const weft_call_t *call, int error)
{
    if (__builtin_expect(error != MPI_SUCCESS, 0))
        return weft_call_failed(call, error);
    weft_unlock();
    return MPI_SUCCESS;
}

#endif
