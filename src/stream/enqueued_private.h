/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record of an enqueued operation.
 *
 *   enqueued -> waiting (in the stream) -> arrived -> under way -> over -> pool
 *                  ^                                                |
 *                  +----------------- captured: the next launch ----+
 *
 * References: the library holds one until the operation is over (for a captured operation until the
 * graph is gone, see captured.c, or MPI ends); the program holds one if it has the request.
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

/* The functions in which the kinds of operations differ. */
typedef struct enqueued_ops {
    /* Begin the operation without blocking. If this succeeds, wefti_enqueued_over() is called when
     * it is over. */
    int (*begin)(enqueued_t *record);
    /* A record whose `waiter` is this one is over. */
    void (*target_is_over)(enqueued_t *record);
    /* Release what the record holds. */
    void (*drop)(enqueued_t *record);
} enqueued_ops_t;

struct enqueued {
    /* First: this is what the program gets for operations that the stream does not wait for. */
    weft_request_t request;
    const enqueued_ops_t *ops;
    const char *name; /* of the MPI function */
    weft_stream_t *stream;
    uint64_t capture; /* the capture that it belongs to; 0: none */
    weft_gate_t gate;
    bool has_gate;
    bool has_status;   /* the program gave a status, which can report an error */
    bool is_given_up;  /* the stream will not reach it */
    bool has_no_graph; /* captured, and the graph is gone */
    /* Captured: what the graph holds for the record. NULL: the library will not learn that the
     * graph is gone. */
    weft_ticket_t *ticket;
    /* how often the stream has reached it without the thread having dealt with that */
    atomic_uint arrivals;
    enqueued_t *next_arrived; /* in the stack of arrived records, or in the list of failed ones */
    enqueued_t *waiter;       /* an operation that was begun and waits for this one */
    weft_request_t *running;
    weft_link_t link; /* in stream->waiting, or in the list of captured records */
    MPI_Status *status;
    union {
        weft_send_args_t send;
        weft_recv_args_t recv;
        struct {
            weft_coll_t coll;
            weft_coll_args_t args;
            MPI_Count *counts; /* a copy of the array in args */
        } coll;
        struct {
            int count, missing;
            enqueued_t **targets; /* [count]; NULL entries have no target */
            MPI_Status *statuses;
        } wait;
    } of;
};

/** Create a record that is in no stream yet; the library holds its one reference. The caller sets
 * `ops` and `of`. Returns NULL, with a text, if there is no memory. */
enqueued_t *wefti_enqueued_create(const char *name, weft_comm_t *comm, weft_stream_t *stream);
void wefti_enqueued_release(enqueued_t *record);

/** Does the request belong to a record? */
bool wefti_is_enqueued(const weft_request_t *request);

/** The capture that a stream is part of; 0 if none. Returns MPI_SUCCESS or MPI_ERR_OTHER. */
int wefti_capture_of(weft_stream_t *stream, uint64_t *out);

/** Put the record into its stream; the lock is released meanwhile. On failure the record is
 * released. */
int wefti_enqueued_put(enqueued_t *record, bool has_gate);

/** The stream has reached the record: begin its operation. */
void wefti_enqueued_begin(enqueued_t *record);

/** What the record waited for is over; an `error` comes with the text of weft_fail. */
void wefti_enqueued_over(enqueued_t *record, int error);

/** Finish the record: its gate opens. */
void wefti_enqueued_finish(enqueued_t *record);

/** Give up an operation that the stream, which is broken, will not reach. */
void wefti_enqueued_give_up(enqueued_t *record, int error);

/** No stream will reach this captured record again: release it when the operations begun for it are
 * over. */
void wefti_enqueued_graph_gone(enqueued_t *record);

/* ---- captured.c ---- */

/** Create what a graph holds for `owner`; NULL if there is no memory. It must be handed to the
 * driver, or freed. When it has come back `has_returned` is called with the lock, and the ticket is
 * gone. */
weft_ticket_t *wefti_ticket_create(void (*has_returned)(void *owner), void *owner);
void wefti_ticket_free(weft_ticket_t *ticket);
/** The owner goes before its ticket, which may be NULL. */
void wefti_ticket_void(weft_ticket_t *ticket);
/** The graph is gone, or the stream has come to the ticket. Called by a thread of the driver,
 * without the lock, even after MPI has ended. */
void wefti_ticket_return(void *ticket);
/** Have the owners of tickets that have come back learn of it. */
void wefti_tickets_collect(void);

/** Must the thread look whether streams still work, for operations that they have not reached and
 * that others wait for, not the streams? Not while a stream is at a gate: then a call of the driver
 * might wait for one that waits for that stream. */
bool wefti_enqueued_may_be_lost(void);

/** Is anything enqueued, or under way? */
bool wefti_enqueued_is_idle(void);
/** Set whenever wefti_enqueued_is_idle() becomes true. */
extern bool wefti_all_is_over;

/** At the end of MPI, when nothing is under way: release the records that are kept ... */
void wefti_enqueued_end(void);
/** ... and free the memory of all records. */
void wefti_enqueued_close(void);

#endif
