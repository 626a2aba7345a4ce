/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the methods by kernels that wait for each other (ll.c, multicast.c) have in common. Every
 * rank launches a kernel of its own, and the kernels work through memory that all of them reach. A
 * communicator gets that memory in stages, one at each meeting:
 *
 *   NEW --> the method's own stages --> the last one: the method can do calls
 *    '------------------'--> NEVER: this rank has given up
 *
 * A rank may bring memory of another device to each call. So it has such a state for each device
 * whose memory it has brought to the communicator.
 */
#ifndef WEFT_DEVCOLL_KERNEL_METHOD_H
#define WEFT_DEVCOLL_KERNEL_METHOD_H

#include "devcoll/task_private.h"

typedef enum weft_kernel_stage {
    WEFT_STAGE_NEW,
    WEFT_STAGE_NEVER,
    WEFT_STAGE_OWN, /* the first of the method's own stages, which ascend */
} weft_kernel_stage_t;

typedef struct weft_kernel_state weft_kernel_state_t;

/** A method by kernels. */
typedef struct weft_kernel_kind {
    weft_method_index_t method;
    const char *what;   /* the method in words, for the log */
    size_t state_bytes; /* the size of its state, whose first member is a weft_kernel_state_t */
    int most;           /* how many of its states may have memory at a time in a process */
    int tries_most;     /* after this many refusals by the driver the rank gives up */
    /* The memory may go as soon as this rank has given up, as no other rank depends on it. */
    bool closes_early;

    /** Release the memory. Returns true if another state may take its place. */
    bool (*close)(weft_kernel_state_t *state);

    /** The two words by which the host and the kernel of this meeting signal each other
     * (kernel_watch.h). */
    uint32_t *(*watch)(const weft_kernel_state_t *state, const weft_meeting_t *meeting);

    /** Put this rank's kernel into a queue. When it fails, no kernel runs. */
    int (*launch)(const weft_kernel_state_t *state, const weft_task_t *task,
                  weft_queue_t **queue_out);

    int count; /* states that have memory */
} weft_kernel_kind_t;

/** What a communicator keeps for such a method and a device. */
struct weft_kernel_state {
    weft_kernel_kind_t *kind;
    int stage; /* a weft_kernel_stage_t, or one of the method's own */
    int tries;
    weft_device_t *device;      /* the device of this rank that its calls use */
    weft_kernel_state_t *older; /* of the same method, for another device of this rank */
    bool has_memory;
    bool is_cleared_first; /* the memory may only be used once `cleared` is reached */
    bool is_abandoned;     /* the communicator was freed before the memory was cleared */
    bool is_unsafe;        /* a kernel may still use the memory */
    weft_event_t cleared;
};

/** The methods of this kind that this rank has given up for the device of the task's exports. */
unsigned wefti_kernel_given_up(const weft_task_t *task);

/** Entries of weft_device_method_t that are the same for all of these methods. */
bool wefti_kernel_possible(const weft_task_t *task, weft_method_index_t method);
void wefti_kernel_begin(weft_task_t *task);
void wefti_kernel_cancel(weft_task_t *task);
void wefti_kernel_end(weft_task_t *task, int err);
void wefti_kernel_release(void *state);

/** Begin to write an offer. Returns NULL if this call cannot be done by the method; the offer is
 * then complete. Otherwise returns the state for the device of the exports, which is made at the
 * first call; the caller sets the offer's stage. */
weft_kernel_state_t *wefti_kernel_offer(weft_task_t *task, weft_kernel_kind_t *kind,
                                        weft_offer_t *offer);

/** The last step of an offer: reserve this rank's devices for the kernel of this task. Only one
 * task of a rank may have them: kernels of two collectives would wait for each other where ranks
 * launch them in different orders. Returns false if another task has them. */
bool wefti_kernel_hold(const weft_task_t *task);

/** Release the devices when the meeting has chosen another method or was not held. */
void wefti_kernel_let_go(const weft_task_t *task);

/** The state for the device of the task's exports, if the method may do a later call; NULL if there
 * is none, or this rank has given up. */
weft_kernel_state_t *wefti_kernel_state(const weft_task_t *task, weft_method_index_t method);

/** Are all members ready for the same call? */
bool wefti_kernel_agrees(const weft_task_t *task, weft_method_index_t method);

/** May one more state have memory? */
bool wefti_kernel_has_room(const weft_kernel_state_t *state);

/** Note that the state has memory. */
void wefti_kernel_got_memory(weft_kernel_state_t *state);

/** The event that the driver reaches when the memory is cleared. */
weft_event_t *wefti_kernel_cleared_event(weft_kernel_state_t *state);

/** Note that the driver has refused. After `tries_most` times this rank gives up. */
void wefti_kernel_refused(weft_kernel_state_t *state, const char *why);

/** This rank gives up the method for this communicator; a log line gives the reason. */
void wefti_kernel_give_up(weft_kernel_state_t *state, const char *why);

#endif
