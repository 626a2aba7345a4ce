/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between mpirun and its daemons, and how their bodies are written and read. Numbers
 * are little-endian; nothing that is read is trusted: a reader that finds less than it wants says
 * so and gives zeros.
 */
#ifndef WEFT_LAUNCH_TREE_DAEMON_MESSAGE_H
#define WEFT_LAUNCH_TREE_DAEMON_MESSAGE_H

#include "launch/loop/byte_queue.h"

#include <stdint.h>

typedef enum wl_message_kind {
    /* from mpirun, down */
    WL_MSG_JOB = 1, /* the plan (plan_message.h) */
    WL_MSG_START,   /* all are ready: start the ranks; u32 is stdout, stderr a terminal; u32 is a
                         host crowded */
    WL_MSG_SIGNAL,  /* u32 number: to all ranks */
    WL_MSG_INPUT,   /* bytes for stdin of rank 0; none: its end */
    WL_MSG_TAKEN,   /* u64: so many bytes of output have been taken */
    WL_MSG_BREAK,   /* u32 channel: nobody reads it */
    WL_MSG_FINISH,  /* end what is left and go */
    /* to mpirun, up */
    WL_MSG_READY,  /* the ranks can be started; u32 do they outnumber the cores */
    WL_MSG_FAILED, /* u32 error class, text: they cannot */
    WL_MSG_RANK,   /* a wl_rank_event_t */
    WL_MSG_OUTPUT, /* u32 channel, bytes */
    WL_MSG_CLOSED, /* all ranks' output has ended */
    WL_MSG_READ,   /* u64: so many bytes of input have been taken */
    WL_MSG_LOST,   /* u32 node, text: a daemon of mine is gone */
    WL_MSG_DONE,   /* to the parent alone: all below me is gone, and so am I */
    /* between daemons */
    WL_MSG_FENCE, /* to the parent: u32 purpose, u32 count, ranks; u32 hosts that have come; data
                   */
    WL_MSG_FENCE_DONE, /* down: u32 purpose, u32 count, ranks; data of all */
    WL_MSG_GET,        /* u32 rank, u64 number of the request, u64 limit in s, text key */
    WL_MSG_GOT,        /* u64 number, i32 PMIx status, data */
} wl_message_kind_t;

enum { WL_TO_ALL = -1 /* all below the sender */ };

typedef struct wl_message {
    int kind, to, from; /* nodes as in host_tree.h */
    const char *body;   /* [bytes] */
    size_t bytes;
} wl_message_t;

/* ---- Taking ---- */

/** What a node does with messages of one kind. */
typedef struct wl_message_rule {
    int kind;
    const char *name;   /* for a complaint */
    size_t least_bytes; /* of the body: what is always there */
    void (*take)(void *owner, const wl_message_t *message);
} wl_message_rule_t;

/** Have the rule for the message's kind take it. A kind without a rule, of a later version, is
 * passed over; a message that is too short is dropped with a warning. rules: [count] */
void wl_message_take(const wl_message_rule_t *rules, int count, void *owner,
                     const wl_message_t *message);

/* ---- Writing ---- */

/** A body under construction. */
typedef struct wl_writer {
    wl_byte_queue_t body;
    bool has_failed; /* no memory */
} wl_writer_t;

void wl_write_u32(wl_writer_t *writer, uint32_t value);
void wl_write_u64(wl_writer_t *writer, uint64_t value);
/** As they are, without their number: for the end of a body. */
void wl_write_bytes(wl_writer_t *writer, const void *data, size_t bytes);
/** NULL becomes a NULL again. */
void wl_write_text(wl_writer_t *writer, const char *text);
void wl_writer_release(wl_writer_t *writer);

/* ---- Reading ---- */

typedef struct wl_reader {
    const char *at;
    size_t left;
    bool has_failed; /* the body is too short, or a number makes no sense */
} wl_reader_t;

wl_reader_t wl_read_begin(const wl_message_t *message);
uint32_t wl_read_u32(wl_reader_t *reader);
uint64_t wl_read_u64(wl_reader_t *reader);
/** A text inside the body, ended by a zero; NULL when NULL was written or after a failure. */
const char *wl_read_text(wl_reader_t *reader);
/** A number of things of at least `item_bytes` bytes each that are still to come; 0 on failure. */
uint32_t wl_read_count(wl_reader_t *reader, size_t item_bytes);

#endif
