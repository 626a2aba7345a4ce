/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between mpirun and its daemons, and how their bodies are written and read. Numbers
 * are little-endian. What is read is not trusted: a reader that finds less than it wants returns
 * zeros, and remembers that it has failed.
 */
#ifndef WEFT_LAUNCH_TREE_DAEMON_MESSAGE_H
#define WEFT_LAUNCH_TREE_DAEMON_MESSAGE_H

#include "launch/loop/byte_queue.h"

#include <stdint.h>

typedef enum wl_message_kind {
    /* from mpirun, down */
    WL_MSG_JOB = 1, /* the plan (plan_message.h) */
    WL_MSG_START,   /* all are ready: start the ranks; u32, u32: are stdout and stderr terminals;
                     * u32: is a host oversubscribed */
    WL_MSG_SIGNAL,  /* u32 number: a signal for all ranks */
    WL_MSG_INPUT,   /* bytes for stdin of the rank with the input; no bytes: its end */
    WL_MSG_TAKEN,   /* u64: credit for output: so many bytes have been written */
    WL_MSG_BREAK,   /* u32 channel: its reader is gone */
    WL_MSG_FINISH,  /* end what is left, and leave */
    /* to mpirun, up */
    WL_MSG_READY,  /* the ranks can be started; u32: do they outnumber the cores */
    WL_MSG_FAILED, /* u32 error class, text: the ranks cannot be started */
    WL_MSG_RANK,   /* a wl_rank_event_t */
    WL_MSG_OUTPUT, /* u32 channel, bytes */
    WL_MSG_CLOSED, /* all ranks' output has ended */
    WL_MSG_READ,   /* u64: credit for input: so many bytes have been written */
    WL_MSG_LOST,   /* u32 node, text: this child of mine is gone */
    WL_MSG_DONE,   /* to the parent alone: all daemons below have left, and now this one does */
    /* between daemons */
    WL_MSG_FENCE, /* to the parent: u32 purpose, u32 count, ranks; u32 number of hosts that have
                   * come; data */
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
    const char *name;   /* for a warning */
    size_t least_bytes; /* of the body */
    void (*take)(void *owner, const wl_message_t *message);
} wl_message_rule_t;

/**
 * Call the rule for the message's kind. A kind without a rule comes from a later version and is
 * ignored; a message that is too short is dropped with a warning.
 * rules  [count]
 */
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
/** Append bytes without their number, at the end of a body. */
void wl_write_bytes(wl_writer_t *writer, const void *data, size_t bytes);
/** A NULL is read as NULL again. */
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
/** Read a number of items of at least `item_bytes` bytes each that follow; 0 on failure. */
uint32_t wl_read_count(wl_reader_t *reader, size_t item_bytes);

#endif
