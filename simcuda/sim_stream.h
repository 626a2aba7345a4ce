/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams, and what is done on them.
 *
 * A sim_work_t says what to do; it never changes, so a graph can do it again and again. Given to a
 * stream it becomes a sim_op_t, one entry of the stream's queue, or, while the stream is captured,
 * a node of a graph. Each stream has a thread, which delays its ops (SIMCUDA's late) until the
 * program waits for them:
 *
 *     stream   op (runs) -> op -> op -> op (last)
 *                            |
 *                            +-- awaits ops of other streams: events, the legacy stream
 *
 * With SIMCUDA's connections streams share queues of the hardware. The ops of a queue begin in the
 * order in which they were given to it, and one that waits for a value holds up those behind it.
 *
 * Functions declared here are called with the lock held unless their comment says otherwise. */
#ifndef SIMCUDA_SIM_STREAM_H
#define SIMCUDA_SIM_STREAM_H

#include "sim.h"

typedef struct sim_work sim_work_t;
typedef struct sim_op sim_op_t;
typedef struct sim_capture sim_capture_t;
struct sim_event; /* sim_event.h */

struct sim_work {
    CUgraphNodeType type; /* its type as a node of a graph */
    unsigned references;
    sim_context_t *context;            /* in which it runs */
    CUresult (*run)(sim_work_t *work); /* runs without the lock; its error is sticky. NULL: no-op */
    void (*drop)(sim_work_t *work);    /* releases what `arguments` hold; NULL: nothing */
    _Alignas(16) char arguments[];
};

struct sim_op {
    unsigned references;
    sim_stream_t *stream; /* while it is queued */
    sim_work_t *work;     /* NULL: a marker */
    sim_op_t **awaits;    /* ops that must be done before it */
    size_t await_count;
    sim_op_t *before; /* of another stream, but of the same hardware queue; NULL: none */
    sim_op_t *next;
    bool is_wanted, is_done;
    bool has_passed; /* it is out of the hardware queue */
    uint64_t late_until_ns, done_ns;
};

struct sim_stream {
    sim_object_t object;
    sim_context_t *context;
    sim_stream_t *next_in_context;
    unsigned flags;
    int priority;
    uint64_t id;
    unsigned queue; /* the hardware queue; no meaning where each stream has its own */
    bool is_legacy, is_per_thread, has_thread, is_destroyed;
    sim_op_t *first, *last; /* last: stays when it is done; NULL: there has been none */
    unsigned held;          /* ops that are not done */
    sim_op_t *early; /* the last one of a synchronous call that returned before it was done */
    pthread_cond_t has_work;
    unsigned asked;             /* times that a query found it busy since it last ended an op */
    sim_capture_t *capture;     /* NULL: not captured */
    struct sim_node **frontier; /* if captured: what its next node depends on */
    size_t frontier_count;
};

/* ---- sim_stream.c ---- */

/** Creates work whose arguments are `bytes` zero bytes; the caller owns one reference. */
sim_work_t *sim_work_create(sim_context_t *context, CUgraphNodeType type, size_t bytes);
void sim_work_release(sim_work_t *work);

/** The stream that a handle names in the current context; returns the sticky error of the stream's
 * context. */
CUresult sim_stream_of(CUstream handle, sim_stream_t **out);
/** Sets whether the stream NULL is CU_STREAM_PER_THREAD to this thread, as in calls whose names end
 * in _ptsz and _ptds. Without the lock. */
void sim_null_is_mine(bool is_mine);
/** The legacy stream of a context. */
sim_stream_t *sim_null_stream(sim_context_t *context);
/** Gives work to a stream, which takes the caller's reference; a captured stream makes a node of
 * it. `wait`: returns the context's error when the work is done; not on a captured stream. */
CUresult sim_submit(sim_stream_t *stream, sim_work_t *work, bool wait);
/** Gives work to a stream that is not captured, as an op that awaits `awaited` (may be NULL); `out`
 * (may be NULL) gets a reference to the op. Releases the lock while it waits for room (SIMCUDA's
 * depth). */
void sim_enqueue(sim_stream_t *stream, sim_work_t *work, sim_op_t *awaited, sim_op_t **out);
/** When work begins that a thread of the driver does next, as SIMCUDA's late will have it; 0 or a
 * past time of sim_now(): at once. `is_idle`: the thread was waiting for work. */
uint64_t sim_late_until(bool is_idle);
/** CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: it is the legacy stream, and a stream that synchronises with
 * it is captured. */
CUresult sim_is_free_of_captures(const sim_stream_t *stream);
/** May a stream that is not captured take work? The same answer, but it also spoils those captures.
 */
CUresult sim_may_enqueue(const sim_stream_t *stream);
sim_op_t *sim_op_retain(sim_op_t *op);
void sim_op_release(sim_op_t *op);
/** Returns when the op is done; releases the lock while it waits. */
void sim_op_wait(sim_op_t *op);
/** A query has found that the op is not done; after a few queries the op is not delayed further. */
void sim_op_asked(sim_op_t *op);
/** Waits for all that is queued in a context; its sticky error. */
CUresult sim_context_drain(sim_context_t *context);
/** What calls do that wait for the work of a context: with `strict` they wait for that of all
 * contexts of its device, and keep other calls out meanwhile. */
void sim_quiesce(sim_context_t *context);
/** The same for calls that wait with strict=1 only. */
void sim_quiesce_device(const sim_device_t *device);
/** What was given to this stream last is of a synchronous call that returns before it is done. */
void sim_returns_early(sim_stream_t *stream);
/** Waits for the work of all such calls in a context, and what was queued before it. */
void sim_await_early(sim_context_t *context);
/** Ends the handle; work that is queued still runs. */
void sim_stream_end(sim_stream_t *stream);

/* ---- sim_capture.c ---- */

/** Makes a node of work on a captured stream. Takes the caller's reference even if it refuses. */
CUresult sim_capture_add(sim_stream_t *stream, sim_work_t *work);
/** Every call that captures can forbid begins with this: spoils all captures that forbid it to this
 * thread, and returns CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED if there are any. */
CUresult sim_unsafe_call(void);
/** Spoils the capture of a stream, after a call that cannot be made on a captured stream; returns
 * CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED. */
CUresult sim_spoil_capture(sim_stream_t *stream);
/** Spoils all captures of streams that synchronise with the legacy stream of a context. */
void sim_spoil_blocking(const sim_context_t *context);
/** cuEventRecord on a captured stream. */
CUresult sim_capture_record(sim_stream_t *stream, struct sim_event *event, unsigned flags);
/** cuStreamWaitEvent of a captured stream or for a captured event. */
CUresult sim_capture_wait(sim_stream_t *stream, struct sim_event *event, unsigned flags);
/** A captured stream is destroyed before its capture ends: spoils the capture. */
void sim_capture_leave(sim_stream_t *stream);
/** A captured event is queried or waited for by the host: spoils the capture. */
CUresult sim_capture_asked(struct sim_event *event);

/* ---- sim_event.c ---- */

void sim_events_end(sim_context_t *context);

/* ---- sim_module.c, sim_launch.c ---- */

void sim_modules_end(sim_context_t *context);
/** Where the simulator accesses what the running kernel touches; ends the kernel if it may not
 * touch it. Without the lock. */
void *sim_kernel_translate(const void *address);
/** The same for multimem accesses: writes where the address lies in the memory of each member,
 * `most` at most; returns how many were written. */
unsigned sim_kernel_multicast(const void *address, void **places_out, unsigned most);

#endif
