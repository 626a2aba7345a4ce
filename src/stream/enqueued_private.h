/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record of an enqueued operation.
 *
 *   enqueued -> waiting (in the stream) -> arrived -> under way -> over -> pool
 *                  ^                                                |
 *                  +----------------- captured: the next launch ----+
 *
 * References: the library's, until it is over (captured ones: until the graph is gone, see
 * captured.c, or MPI ends), and that of the program, if it has the request.
 */
#ifndef WEFT_STREAM_ENQUEUED_PRIVATE_H
#define WEFT_STREAM_ENQUEUED_PRIVATE_H

#include "stream/stream.h"
#include "coll/coll.h"
#include "pt2pt/pt2pt.h"
#include "object/request.h"

#include <stdatomic.h>

typedef struct enqueued enqueued_t;
typedef struct weft_ticket weft_ticket_t;

/* What the kinds of operations differ in. */
typedef struct enqueued_ops {
    /* Begin it, without blocking; wefti_enqueued_over() comes when it is over, unless this fails.
     */
    int (*begin)(enqueued_t *record);
    /* One of those is over whose `waiter` it is. */
    void (*target_is_over)(enqueued_t *record);
    /* Give back what it holds. */
    void (*drop)(enqueued_t *record);
} enqueued_ops_t;

struct enqueued {
    /* first: what the program gets of operations that the stream does not await */
    weft_request_t request;
    const enqueued_ops_t *ops;
    const char *name; /* of the MPI function */
    weft_stream_t *stream;
    uint64_t capture; /* that it is part of; 0: none */
    weft_gate_t gate;
    bool has_gate;
    bool has_status;       /* that an error can be told by */
    bool is_given_up;      /* the stream will not come to it */
    bool has_no_graph;     /* captured, and the graph is gone */
    weft_ticket_t *ticket; /* captured: what the graph holds of it; NULL: it will not be known when
                              the graph goes */
    atomic_uint arrivals;  /* of the stream that are not dealt with */
    enqueued_t *next_arrived; /* in the stack of those, or in the list of those that failed */
    enqueued_t *waiter;       /* that was begun and waits for this one */
    weft_request_t *running;
    weft_link_t link; /* in stream->waiting, or among the captured ones */
    MPI_Status *status;
    union {
        weft_send_args_t send;
        weft_recv_args_t recv;
        struct {
            weft_coll_t coll;
            weft_coll_args_t args;
            MPI_Count *counts; /* a copy of what args points to */
        } coll;
        struct {
            int count, missing;
            enqueued_t **targets; /* [count], NULL: there is none */
            MPI_Status *statuses;
        } wait;
    } of;
};

/** A record with the library's reference, in no stream yet. `ops` and `of` are the caller's to set.
 * NULL, with a text: no memory. */
enqueued_t *wefti_enqueued_create(const char *name, weft_comm_t *comm, weft_stream_t *stream);
void wefti_enqueued_release(enqueued_t *record);

/** Whether a request is one of a record. */
bool wefti_is_enqueued(const weft_request_t *request);

/** The capture that a stream is part of; 0: none. MPI_ERR_OTHER. */
int wefti_capture_of(weft_stream_t *stream, uint64_t *out);

/** Settle its place in the stream; the lock is given up meanwhile. On failure the record is
 * released. */
int wefti_enqueued_put(enqueued_t *record, bool has_gate);

/** The stream has come to it. */
void wefti_enqueued_begin(enqueued_t *record);

/** What it waited for is over; `error` with the text of weft_fail. */
void wefti_enqueued_over(enqueued_t *record, int error);

/** The last step: its gate opens. */
void wefti_enqueued_finish(enqueued_t *record);

/** It is not going to happen: the stream is broken. */
void wefti_enqueued_give_up(enqueued_t *record, int error);

/** No stream comes to a captured record any more: it goes, when what has begun of it is over. */
void wefti_enqueued_graph_gone(enqueued_t *record);

/* ---- captured.c ---- */

/** What a graph is to hold of a record; NULL: no memory. Then it was handed over (or not: release).
 */
weft_ticket_t *wefti_ticket_create(enqueued_t *record);
void wefti_ticket_release(enqueued_t *record);
/** The record goes first. */
void wefti_ticket_void(enqueued_t *record);
/** The graph is gone: called by a thread of the driver's, without the lock, even after MPI has
 * ended. */
void wefti_ticket_return(void *ticket);
/** Release the records whose tickets came back. */
void wefti_tickets_collect(void);

/** Is anything enqueued, or under way? */
bool wefti_enqueued_is_idle(void);
/** Set whenever wefti_enqueued_is_idle() becomes true. */
extern bool wefti_all_is_over;

/** At the end of MPI, nothing being under way: release what is kept ... */
void wefti_enqueued_end(void);
/** ... and the memory of all. */
void wefti_enqueued_close(void);

#endif
