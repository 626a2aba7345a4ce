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

struct weft_exchange; /* of runtime/device.h */
struct weft_packing;
struct weft_type;                         /* of datatype/type.h */
typedef struct weft_device weft_device_t; /* of runtime/device.h */

/** to[i] = from[i] * factor, or from[i] / factor, for `count` elements of a predefined type, in
 * memory that the device reaches. Integers wrap around, and are divided towards zero; 16-bit floats
 * are raised to 32 bits and rounded once. `to` may be `from`; else they do not overlap. */
typedef struct weft_scaling {
    const struct weft_type *type;
    bool is_division;
    size_t count;
    const void *from;
    void *to;
    const void *factor_at; /* an element, which the device reads; NULL: the factor is `factor` */
    /* its bits: those of an int64_t or uint64_t for integers, of a double for doubles, in the first
     * four bytes those of a float for other floats */
    uint64_t factor;
} weft_scaling_t;

/** What the back end has prepared to pack elements of a type by a kernel; NULL in it: nothing. */
typedef struct weft_packer {
    const void *shape, *image;
} weft_packer_t;

/** Set by src/stream: may a kernel in a stream of the program be waiting for those of other ranks?
 * NULL: there are none. */
extern bool (*weft_kernels_may_wait)(void);

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

    /* ---- work of the library in the stream itself; all of it can be captured ---- */
    weft_device_t *(*device)(const weft_user_stream_t *stream);
    /** Is another stream, whose handle is as for `open`, one of the same context? */
    bool (*is_beside)(const weft_user_stream_t *stream, const void *handle);
    /** Without the lock: a copy between any memory. */
    int (*put_copy)(weft_user_stream_t *stream, void *to, const void *from, size_t bytes);
    /** Has the stream's device a kernel to scale such elements? */
    bool (*can_scale)(const weft_user_stream_t *stream, const struct weft_type *type);
    /** Without the lock: what can_scale allows. */
    int (*put_scaling)(weft_user_stream_t *stream, const weft_scaling_t *scaling);
    /** WEFT_WATCH_BYTES of memory, all zeros, that kernels in the stream and the host reach. The
     * host may read it even when the stream's context is gone. NULL: there is none. */
    uint32_t *(*take_watch)(const weft_user_stream_t *stream);
    void (*give_watch)(uint32_t *watch);
    /** Without the lock: the kernel of an exchange in a conduit; of a reduction that can_reduce of
     * weft_device allows. */
    int (*put_exchange)(weft_user_stream_t *stream, const struct weft_exchange *exchange);
    /** Prepare to pack elements of a type that the caller keeps. */
    weft_packer_t (*find_packer)(const weft_user_stream_t *stream, struct weft_type *type);
    /** Without the lock: pack or unpack. If the packer is empty, that is done block by block, in
     * memory of any kind. */
    int (*put_packing)(weft_user_stream_t *stream, const struct weft_packing *packing,
                       weft_packer_t packer, bool is_packing);
    /** Without the lock: have *mark, which is NULL at first, stand for all work so far in the
     * stream; it is used again only in streams of the same context. */
    int (*put_mark)(weft_user_stream_t *stream, void **mark);
    /** Without the lock: have later work in the stream wait for what the mark stands for. */
    int (*follow)(weft_user_stream_t *stream, void *mark);
    /** Without the lock, as the driver may wait for all work of the context: memory for the
     * program, of the current context's device, which peers can map ... */
    int (*take_memory)(size_t bytes, void **out);
    /** ... and back. */
    int (*give_memory)(void *memory);
    /** NULL is allowed. */
    void (*drop_mark)(weft_user_stream_t *stream, void *mark);
} weft_device_stream_ops_t;

#endif
