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

typedef enum weft_message_kind {
    /* from mpirun, down */
    WEFT_MSG_JOB = 1, /* the plan (plan_message.h) */
    WEFT_MSG_START,   /* all are ready: start the ranks; u32 is stdout, stderr a terminal; u32 is a
                         host crowded */
    WEFT_MSG_SIGNAL,  /* u32 number: to all ranks */
    WEFT_MSG_INPUT,   /* bytes for stdin of rank 0; none: its end */
    WEFT_MSG_TAKEN,   /* u64: so many bytes of output have been taken */
    WEFT_MSG_BREAK,   /* u32 channel: nobody reads it */
    WEFT_MSG_FINISH,  /* end what is left and go */
    /* to mpirun, up */
    WEFT_MSG_READY,  /* the ranks can be started; u32 do they outnumber the cores */
    WEFT_MSG_FAILED, /* u32 error class, text: they cannot */
    WEFT_MSG_RANK,   /* a weft_rank_event_t */
    WEFT_MSG_OUTPUT, /* u32 channel, bytes */
    WEFT_MSG_CLOSED, /* all ranks' output has ended */
    WEFT_MSG_READ,   /* u64: so many bytes of input have been taken */
    WEFT_MSG_LOST,   /* u32 node, text: a daemon of mine is gone */
    WEFT_MSG_DONE,   /* to the parent alone: all below me is gone, and so am I */
    /* between daemons */
    WEFT_MSG_FENCE, /* to the parent: u32 purpose, u32 count, ranks; u32 hosts that have come; data
                     */
    WEFT_MSG_FENCE_DONE, /* down: u32 purpose, u32 count, ranks; data of all */
    WEFT_MSG_FETCH,      /* u32 rank, u64 number of the request, u64 limit in s, text key */
    WEFT_MSG_FETCHED,    /* u64 number, i32 PMIx status, data */
} weft_message_kind_t;

enum { WEFT_TO_ALL = -1 /* all below the sender */ };

typedef struct weft_message {
    int kind, to, from; /* nodes as in host_tree.h */
    const char *body;   /* [bytes] */
    size_t bytes;
} weft_message_t;

/* ---- Taking ---- */

/** What a node does with messages of one kind. */
typedef struct wl_message_rule {
    int kind;
    const char *name;   /* for a complaint */
    size_t least_bytes; /* of the body: what is always there */
    void (*take)(void *owner, const weft_message_t *message);
} wl_message_rule_t;

/** Have the rule for the message's kind take it. A kind without a rule, of a later version, is
 * passed over; a message that is too short is dropped with a warning. rules: [count] */
void wl_message_take(const wl_message_rule_t *rules, int count, void *owner,
                     const weft_message_t *message);

/* ---- Writing ---- */

/** A body under construction. */
typedef struct weft_writer {
    weft_byte_queue_t body;
    bool has_failed; /* no memory */
} weft_writer_t;

void weft_write_u32(weft_writer_t *writer, uint32_t value);
void weft_write_u64(weft_writer_t *writer, uint64_t value);
/** As they are, without their number: for the end of a body. */
void weft_write_bytes(weft_writer_t *writer, const void *data, size_t bytes);
/** NULL becomes a NULL again. */
void weft_write_text(weft_writer_t *writer, const char *text);
void weft_writer_release(weft_writer_t *writer);

/* ---- Reading ---- */

typedef struct weft_reader {
    const char *at;
    size_t left;
    bool has_failed; /* the body is too short, or a number makes no sense */
} weft_reader_t;

weft_reader_t weft_read_begin(const weft_message_t *message);
uint32_t weft_read_u32(weft_reader_t *reader);
uint64_t weft_read_u64(weft_reader_t *reader);
/** A text inside the body, ended by a zero; NULL when NULL was written or after a failure. */
const char *weft_read_text(weft_reader_t *reader);
/** A number of things of at least `item_bytes` bytes each that are still to come; 0 on failure. */
uint32_t weft_read_count(weft_reader_t *reader, size_t item_bytes);

#endif
