/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Methods by kernels that wait for each other (ll.c, multicast.c): what they have in common. Every
 * rank launches a kernel of its own, and the kernels work through memory that all of them reach. A
 * communicator comes to that memory in stages, a stage a meeting:
 *
 *   NEW --> the method's own stages --> the last one: calls can be done so
 *    '------------------'--> NEVER: this rank has given up
 */
#ifndef WEFT_DEVCOLL_KERNEL_METHOD_H
#define WEFT_DEVCOLL_KERNEL_METHOD_H

#include "devcoll/task_private.h"

typedef enum weft_kernel_stage {
    WEFT_STAGE_NEW,
    WEFT_STAGE_NEVER,
    WEFT_STAGE_OWN, /* the first of the method's own; they count up */
} weft_kernel_stage_t;

typedef struct weft_kernel_state weft_kernel_state_t;

/** A method by kernels. */
typedef struct weft_kernel_kind {
    weft_method_index_t method;
    const char *what;   /* in words, for the log */
    size_t state_bytes; /* of its state, whose first member is a weft_kernel_state_t */
    int most;           /* communicators of a process that may have memory at a time */
    int tries_most;     /* attempts at stages that the driver refuses */
    bool closes_early; /* the memory may go once this rank has given up: no other rank depends on it
                        */

    /** Release the memory. True: others may have as much in its place. */
    bool (*close)(weft_kernel_state_t *state);

    /** The two words by which the host and the kernel of this meeting speak (kernel_watch.h). */
    uint32_t *(*watch)(const weft_kernel_state_t *state, const weft_meeting_t *meeting);

    /** Put this rank's kernel into a queue. When it fails, no kernel runs. */
    int (*launch)(const weft_kernel_state_t *state, const weft_task_t *task,
                  weft_queue_t **queue_out);

    int count; /* communicators that have memory */
} weft_kernel_kind_t;

/** What a communicator has of such a method. */
struct weft_kernel_state {
    weft_kernel_kind_t *kind;
    int stage; /* weft_kernel_stage_t, or the method's own */
    int tries;
    weft_device_t *device; /* of this rank; NULL: not yet known */
    bool has_memory;
    bool is_cleared_first; /* the memory is in use once `cleared` is reached */
    bool is_abandoned;     /* the communicator has gone before the memory was cleared */
    bool is_unsafe;        /* a kernel may use the memory still */
    weft_event_t cleared;
};

/** Entries of weft_device_method_t, as far as they are the same for all of these methods. */
bool wefti_kernel_possible(const weft_task_t *task, weft_method_index_t method);
void wefti_kernel_begin(weft_task_t *task);
void wefti_kernel_cancel(weft_task_t *task);
void wefti_kernel_end(weft_task_t *task, int err);
void wefti_kernel_release(void *state);

/** Begin to write an offer. NULL: this call does not go so, and the offer says what it has to. Else
 *  the state, made at the first call; the offer's stage is the caller's to set. */
weft_kernel_state_t *wefti_kernel_offer(weft_task_t *task, weft_kernel_kind_t *kind,
                                        weft_offer_t *offer);

/** The last step of an offer: keep this rank's devices free for the kernel of this task. A rank is
 *  ready for one at a time: kernels of two collectives would wait for each other where ranks launch
 *  them in different orders. False: another task has them. */
bool wefti_kernel_hold(const weft_task_t *task);

/** The meeting has come to something else. */
void wefti_kernel_let_go(const weft_task_t *task);

/** The state, if a later call may go so; NULL: none, or this rank has given up. */
weft_kernel_state_t *wefti_kernel_state(const weft_task_t *task, weft_method_index_t method);

/** Are all members ready for the same call? */
bool wefti_kernel_agrees(const weft_task_t *task, weft_method_index_t method);

/** May another communicator have memory? */
bool wefti_kernel_has_room(const weft_kernel_state_t *state);

/** The state has memory from now on. */
void wefti_kernel_got_memory(weft_kernel_state_t *state);

/** The event that the driver is to reach when the memory is cleared. */
weft_event_t *wefti_kernel_clear_mark(weft_kernel_state_t *state);

/** The driver has refused; after some times this rank gives up. */
void wefti_kernel_refused(weft_kernel_state_t *state, const char *why);

/** This rank will not go so in this communicator; a log line says why. */
void wefti_kernel_give_up(weft_kernel_state_t *state, const char *why);

#endif
