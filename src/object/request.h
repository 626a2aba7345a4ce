/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: what all of them share. Point-to-point and collective requests begin with this
 * structure and bring a table of their own functions.
 *
 *   states   inactive (persistent only) -> active -> complete -> released, or inactive again
 *
 * A request belongs to the holder of its handle. A freed active request (MPI_Request_free) belongs
 * to the library and releases itself when it completes.
 */
#ifndef WEFT_OBJECT_REQUEST_H
#define WEFT_OBJECT_REQUEST_H

#include "object/object.h"
#include "object/status.h"
#include "runtime/progress.h"
#include "runtime/progress_thread.h"
#include "base/memory.h"
#include "base/own_symbol.h"
#include "mpi.h"

#include <stdbool.h>

typedef struct weft_request weft_request_t;
typedef struct weft_comm weft_comm_t;

typedef struct weft_request_ops {
    const char *name; /* for messages: "send", "receive", "allreduce" */
    /** Give the request's memory back; it is not active. */
    void (*release)(weft_request_t *request);
    /** Make an inactive persistent request active; an error class. */
    int (*start)(weft_request_t *request);
    /** Try to cancel an active request, which will complete either way. Also called when it is
     * complete: an eager send may still be cancelled, and is incomplete for that time. */
    void (*cancel)(weft_request_t *request);
} weft_request_ops_t;

struct weft_request {
    weft_object_t object;
    const weft_request_ops_t *ops;
    weft_comm_t *comm; /* whose error handler gets errors; NULL: MPI_COMM_SELF's */
    union {
        struct {
            bool is_complete; /* fixed once true, until a persistent request is started again */
            bool is_active;   /* false: persistent and not started */
            bool is_persistent;
            bool is_detached;    /* freed by the user while active */
            bool is_generalised; /* made by the user: object/grequest.h */
            bool is_followed;    /* the progress thread counts it among what is under way */
        };
        uint64_t flags; /* all of them */
    };
    /* Called when it completes; NULL: none. May release the request, if the library owns it. */
    void (*on_complete)(weft_request_t *request, void *owner);
    void *owner;
    char *why;         /* the text of the request's error; NULL: none */
    MPI_Status status; /* valid when complete; MPI_ERROR is the request's own result */
};

/** The `cancel` of what cannot be cancelled, as collectives (section 6.12): does nothing. */
void weft_request_cannot_cancel(weft_request_t *request);

/** Stands for every send that completed before it returned; never active, never released. */
extern WEFT_OWN_SYMBOL weft_request_t weft_request_done;

/** NULL: not a live request (MPI_REQUEST_NULL included). */
static inline weft_request_t *weft_request_of(MPI_Request handle)
{
    weft_request_t *request = (weft_request_t *)handle;
    if (weft_is_predefined(handle) || request->object.kind != WEFT_KIND_REQUEST)
        return NULL;
    return request;
}

static inline MPI_Request weft_request_handle(weft_request_t *request)
{
    return (MPI_Request)request;
}

/** Set up the shared part as active and not complete. */
static inline void weft_request_init(weft_request_t *request, const weft_request_ops_t *ops,
                                     weft_comm_t *comm)
{
    weft_object_init(&request->object, WEFT_KIND_REQUEST);
    request->ops = ops;
    request->comm = comm;
    request->flags = 0;
    request->is_active = true;
    request->on_complete = NULL;
    request->why = NULL;
    weft_status_clear(&request->status);
}

/** Is it active, and nothing else: not complete, persistent, freed, watched or followed? */
static inline bool weft_request_is_simple(const weft_request_t *request)
{
    const weft_request_t simple = {.is_active = true};
    return request->flags == simple.flags && request->on_complete == NULL;
}

/** Note an error, with the text of the last weft_fail(), unless the request has one already. */
void weft_request_note_error(weft_request_t *request, int error) __attribute__((cold));

/** Take over the error of a request that is part of this one, if it has any. */
void weft_request_inherit_error(weft_request_t *request, weft_request_t *part)
    __attribute__((cold));

/** Free the text of an error: before a new start, or when the caller owns the request's memory. */
static inline void weft_request_forget_error(weft_request_t *request)
{
    if (__builtin_expect(request->why != NULL, 0))
        weft_free(request->why);
    request->why = NULL;
}

/** A request that has not begun becomes a persistent one, inactive until it is started. */
static inline void weft_request_make_persistent(weft_request_t *request)
{
    request->is_persistent = true;
    request->is_active = false;
}

/** Make the shared part of an inactive persistent request active again. */
static inline void weft_request_restart(weft_request_t *request)
{
    request->is_active = true;
    request->is_complete = false;
    weft_status_clear(&request->status);
    weft_request_forget_error(request);
}

/** Have on_complete called when the request completes; at once if it is complete already. */
void weft_request_watch(weft_request_t *request,
                        void (*on_complete)(weft_request_t *request, void *owner), void *owner);

/** The program gives up an active request: it is released when it is complete, perhaps now. */
void weft_request_detach(weft_request_t *request);

/** Undo weft_request_watch; does nothing when there was none. */
void weft_request_unwatch(weft_request_t *request);

void weft_request_release_failed(weft_request_t *request) __attribute__((cold));

/** Release a request that is complete or inactive. weft_request_done is left alone. */
static inline void weft_request_release(weft_request_t *request)
{
    if (request == &weft_request_done)
        return;
    request->object.kind = WEFT_FREED;
    if (__builtin_expect(request->why != NULL, 0))
        weft_request_release_failed(request);
    else
        request->ops->release(request);
}

/** For the progress thread, which there is. */
void weft_request_follow_active(weft_request_t *request) __attribute__((cold));

/** The program gets the handle of a request, or has started one: the progress thread, if there is
 * one, goes on with it from now on. */
static inline void weft_request_follow(weft_request_t *request)
{
    if (__builtin_expect(weft_has_progress_thread, 0) && request->is_active)
        weft_request_follow_active(request);
}

/** The progress thread does not count it any more. */
void weft_request_leave(weft_request_t *request) __attribute__((cold));

/** A thread that holds the library's lock may have to ask while another one, in a VCI of
 *  runtime/vci.h, completes it: then status is filled in. */
static inline bool weft_request_is_complete(const weft_request_t *request)
{
    return __atomic_load_n(&request->is_complete, __ATOMIC_ACQUIRE);
}

/** Mark the operation as complete; its status is filled in already. */
static inline void weft_request_complete(weft_request_t *request)
{
    __atomic_store_n(&request->is_complete, true, __ATOMIC_RELEASE);
    if (__builtin_expect(request->is_followed, 0))
        weft_request_leave(request);
    weft_progress_notify();
    if (request->on_complete != NULL)
        request->on_complete(request, request->owner);
    else if (__builtin_expect(request->is_detached, 0))
        weft_request_release(request);
}

/** The same for one that is weft_request_is_simple(), in a VCI of runtime/vci.h, with the lock of
 *  that VCI alone: threads that hold the library's lock may be about to sleep meanwhile. */
static inline void weft_request_complete_by_vci(weft_request_t *request)
{
    __atomic_store_n(&request->is_complete, true, __ATOMIC_RELEASE);
    weft_doorbells_fence();
    weft_progress_alert();
}

/** Rounds of progress until it is complete. */
void weft_request_await(const weft_request_t *request);

/** Wait for one request. What is held back goes out, as in each wait. */
static inline void weft_request_wait(weft_request_t *request)
{
    if (weft_request_is_complete(request))
        weft_progress_let_go();
    else
        weft_request_await(request);
}

#endif
