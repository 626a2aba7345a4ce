/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between the processes of the launcher, and how their bodies are written and read.
 * Numbers are little-endian. What is read is not trusted: a reader that finds less than it wants
 * returns zeros, and remembers that it has failed.
 */
#ifndef WEFT_LAUNCH_LOOP_LAUNCH_MESSAGE_H
#define WEFT_LAUNCH_LOOP_LAUNCH_MESSAGE_H

#include "launch/loop/byte_queue.h"

#include <stdint.h>

typedef struct wl_message {
    int kind, to, from; /* nodes of the host tree; 0 where there is no tree */
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
