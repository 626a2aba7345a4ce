/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of the program, and what src/stream puts into them in the program's own order.
 *
 *     ... the program's work | CALL | GATE | the program's later work ...
 *                               |      ^
 *                  a host function     the library opens it
 *
 * What is put into a stream that is being captured becomes part of the graph, and happens again
 * each time that the graph is launched. The functions of the table are called with the library's
 * lock held, unless their comment says "without the lock": those may block while the stream is full
 * of work. The host functions that a stream calls do not hold the lock.
 */
#ifndef WEFT_RUNTIME_DEVICE_STREAM_H
#define WEFT_RUNTIME_DEVICE_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A stream of the program, as long as the library uses it. */
typedef struct weft_user_stream weft_user_stream_t;

/** A place where a stream waits. The gates of a stream are opened in the order in which it meets
 * them; a repeated gate shuts itself behind the stream, for the next launch of its graph. */
typedef struct weft_gate {
    atomic_uint *word; /* memory that the device reaches */
    unsigned number;   /* the gate is open when the word has come to it */
    bool is_repeated;
    bool is_kept_by_host;         /* of the back end: a host function waits, not the device */
    struct weft_passage *passage; /* of the back end: if is_repeated and is_kept_by_host */
} weft_gate_t;

typedef struct weft_device_stream_ops {
    /** The stream whose handle the program gave as `bytes` bytes. MPI_ERR_ARG, MPI_ERR_OTHER,
     * MPI_ERR_NO_MEM. Whatever device work needs is allocated here, so that the driver need not be
     * asked for anything while the stream waits at a gate. */
    int (*open)(const void *handle, size_t bytes, weft_user_stream_t **out);
    /** Allowed when its gates are open or will never be met. */
    void (*close)(weft_user_stream_t *stream);
    /** Make the stream's context current in the calling thread, which is the library's own. */
    void (*adopt)(weft_user_stream_t *stream);
    /** The number of the capture that the stream is part of; 0: none. An error: the capture is
     * invalid. */
    int (*capture)(weft_user_stream_t *stream, uint64_t *out);
    /** Make a gate for the stream. It is to be opened once (or once a launch), even if it was never
     * put into the stream. */
    int (*make_gate)(weft_user_stream_t *stream, bool is_repeated, weft_gate_t *out);
    /** Release a repeated gate that no launch will meet. */
    void (*remove_gate)(const weft_gate_t *gate);
    /** Without the lock: have a thread of the driver call `function` when the stream comes there.
     * It must not block, and not call the driver. */
    int (*put_call)(weft_user_stream_t *stream, void (*function)(void *owner), void *owner);
    /** Without the lock, for a stream that is being captured: have a thread of the driver call
     * `function` when the graph and all that was made of it are destroyed and do not run. It must
     * not block, and not call the driver. False: the driver does not offer it. */
    bool (*put_end)(weft_user_stream_t *stream, void (*function)(void *owner), void *owner);
    /** Without the lock: have the stream wait at the gate. */
    int (*put_gate)(weft_user_stream_t *stream, const weft_gate_t *gate);
    void (*open_gate)(const weft_gate_t *gate);
    /** Without the lock: wait for all work in the stream's context, launched graphs included. */
    void (*drain)(weft_user_stream_t *stream);
    /** MPI_SUCCESS as long as the stream's context is sound; otherwise work in the stream may never
     * be done. */
    int (*check)(weft_user_stream_t *stream);
} weft_device_stream_ops_t;

#endif
