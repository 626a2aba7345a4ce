/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of messages between mpirun and its daemons. */
#ifndef WEFT_LAUNCH_TREE_DAEMON_MESSAGE_H
#define WEFT_LAUNCH_TREE_DAEMON_MESSAGE_H

#include "launch/loop/launch_message.h"

typedef enum wl_message_kind {
    /* from mpirun, down */
    WL_MSG_JOB = 1, /* the plan (plan_message.h) */
    WL_MSG_START,   /* all are ready: start the ranks; u32, u32: are stdout and stderr terminals;
                     * u32: is a host oversubscribed */
    WL_MSG_SIGNAL,  /* u32 number: a signal for all ranks */
    WL_MSG_INPUT,   /* bytes for stdin of the rank with the input; no bytes: its end */
    WL_MSG_TAKEN,   /* u64: credit for output: so many bytes have been written */
    WL_MSG_BREAK,   /* u32 channel: its reader is gone */
    WL_MSG_GONE,    /* u32 rank: it is lost, and the job goes on without it */
    WL_MSG_AGAIN,   /* u32 rank: start it again, which is gone */
    WL_MSG_FINISH,  /* end what is left, and leave */
    /* to mpirun, up */
    WL_MSG_READY,  /* the ranks can be started; u32: do they outnumber the cores; text: why
                    * there is no MPS though there should be, else empty; texts NAME=VALUE: facts of
                    * the host, if the plan wants them */
    WL_MSG_FAILED, /* u32 error class, text: the ranks cannot be started */
    WL_MSG_RANK,   /* a wl_rank_event_t */
    WL_MSG_OUTPUT, /* u32 channel, bytes */
    WL_MSG_CLOSED, /* all ranks' output has ended */
    WL_MSG_READ,   /* u64: credit for input: so many bytes have been written */
    WL_MSG_LOST,   /* u32 node, text: this child of mine is gone */
    WL_MSG_DONE,   /* to the parent alone: all daemons below have left, and now this one does */
    /* between daemons */
    WL_MSG_FENCE, /* to the parent: u32 purpose, u32 count, ranks; data: all at and below the sender
                   * have come */
    WL_MSG_FENCE_DONE, /* down: u32 purpose, u32 count, ranks; data of all */
    WL_MSG_GET,        /* u32 rank, u64 number of the request, u64 limit in s, text key */
    WL_MSG_GOT,        /* u64 number, i32 PMIx status, data */
} wl_message_kind_t;

enum { WL_TO_ALL = -1 /* all below the sender */ };

#endif
