/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is not the host's, as the layers above see it. What kind of device there is, is known
 * to the back end alone (src/cuda), whose table is weft_device; without one no memory is a
 * device's.
 *
 *   is it one?      weft_is_device(buf), then `look` for all about it
 *   work            goes into a queue of the device: copies, packing, reductions, in order
 *   is it over?     a event behind the work: calls back in progress, or weft_queue_wait()
 *   little          `bar_find` gives an address by which the processor copies itself
 *   memory          slots of pinned host memory, scratch on the device: pooled, to be given back
 *   other ranks     of this host: `share` describes a buffer in 128 bytes, a peer's `map` makes an
 *                   address of it
 *
 * Nothing here blocks but what says so, nothing creates a context that the program did not
 * create, and the program's current context is the same after each call. What is on its way in
 * queues of the program must be over when a buffer is given to MPI (as MPI 5.0 has it: the data are
 * there), and our work is over when a request is complete. All functions are called with the
 * library's lock held; those that return int return an error class, with a text of weft_fail that
 * names the driver's call, its error and the buffer.
 */
#ifndef WEFT_RUNTIME_DEVICE_H
#define WEFT_RUNTIME_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_elements;    /* of datatype/pack.h */
struct weft_rank_report; /* of runtime/rank_report.h */
struct weft_op;          /* of datatype/op.h */
struct weft_type;        /* of datatype/type.h */

/* ---- what memory is ---- */

typedef enum weft_memory_kind {
    WEFT_MEMORY_HOST,
    WEFT_MEMORY_PINNED,  /* the host's, and known to the device: copies need no detour */
    WEFT_MEMORY_MANAGED, /* goes to and fro by itself: left to the device, not touched by us */
    WEFT_MEMORY_DEVICE,  /* the host must not touch it */
} weft_memory_kind_t;

/** A device as this process uses it, in one context of the program's. Lives until MPI ends. */
typedef struct weft_device weft_device_t;

/** One allocation. */
typedef struct weft_memory {
    weft_memory_kind_t kind;
    weft_device_t *device; /* where work on it is done; NULL: host memory */
    uintptr_t base;        /* where the allocation begins */
    size_t bytes;          /* its size; of host memory: 0, not known */
    uint64_t id;           /* of the allocation, never used again in this process */
} weft_memory_t;

/** What a caller knows of a buffer already; to be handed down so that it is asked once a call. */
typedef enum weft_where {
    WEFT_WHERE_UNKNOWN,
    WEFT_WHERE_HOST, /* or pinned */
    WEFT_WHERE_DEVICE,
} weft_where_t;

/* ---- work ---- */

/** An ordered queue of work on one device. Different stream classes of a device go on side by
 * side. */
typedef struct weft_queue weft_queue_t;

typedef enum weft_stream_class {
    WEFT_STREAM_QUICK, /* short work that somebody waits for */
    WEFT_STREAM_DOWN,  /* large copies to the host */
    WEFT_STREAM_UP,    /* large copies from the host */
    WEFT_STREAM_BULK,  /* large copies and reductions on the device */
    /* kernels that wait for other ranks: nothing else may stand behind them */
    WEFT_STREAM_EXCHANGE,
    WEFT_STREAM_CLASSES
} weft_stream_class_t;

/** A place in a queue: reached when all work before it is over. The caller's memory, from
 *  `record` until `done` was called or `is_reached` is set. */
typedef struct weft_event weft_event_t;
struct weft_event {
    /** Called once, in progress; `error` is MPI_SUCCESS, or a class with a text of weft_fail: then
     * what the work wrote is undefined. It may free the event and queue more. NULL: nobody. */
    void (*done)(weft_event_t *event, int error);
    void *owner;
    /* of the back end */
    bool is_reached;
    int error;
    const char *why; /* the text of the error; until the queue fails again */
    uint32_t number;
    void *driver_event;
    weft_event_t *next;
};

/** A piece of a batch of copies. */
typedef struct weft_piece {
    void *to;
    const void *from;
    size_t bytes;
} weft_piece_t;

/** Each of out[outs] = in[0] op in[1] op ..., `count` elements laid out as in the user's memory,
 * from the left. All are memory that the queue's device reaches: its own, mapped, or pinned. An out
 * may be any of the sources; nothing else overlaps. The arrays may be changed at once. */
typedef struct weft_reduction {
    const struct weft_op *op;
    const struct weft_type *type;
    size_t count;
    const void *const *in;
    int sources; /* at least 1 */
    void *const *out;
    int outs; /* at least 1 */
} weft_reduction_t;

/** Bytes [offset, offset + bytes) of the packed form of `elements` (device memory), and where they
 * are or go: device memory, mapped or pinned. */
typedef struct weft_packing {
    const struct weft_elements *elements;
    size_t offset, bytes;
    void *packed;
} weft_packing_t;

/** Device memory as the processor reaches it, until the next call of `bar_find` or `look`. */
typedef struct weft_bar {
    void *at;
    unsigned long handle; /* these two are the back end's */
    bool must_read_back;
} weft_bar_t;

/* ---- between kernels ---- */

enum { WEFT_EXCHANGE_MOST_MEMBERS = 16, WEFT_WATCH_BYTES = 64 };

/** Where the kernels of other ranks put what they have for this one's. */
typedef struct weft_inbox {
    void *memory;    /* on the device, which others map */
    uint32_t *watch; /* WEFT_WATCH_BYTES of pinned memory, all zeros at first: pairs of words for
                        weft_exchange_t */
} weft_inbox_t;

/** One member of an exchange, as this rank sees it. A row for n bytes of data takes 2n, in
 * multiples of 32. */
typedef struct weft_exchange_peer {
    char *outbox;      /* this rank's row in that member's inbox, mapped */
    const char *inbox; /* that member's row in this rank's */
    /* out_bytes for that member; of this rank itself: its own operand, or block */
    const char *from;
    char *to; /* in_bytes from that member; of this rank itself: its result */
    size_t out_bytes, in_bytes;
} weft_exchange_peer_t;

/**
 * Members whose kernels run at the same time, each on a device of its own, send each other blocks.
 * With an operation each combines what it is sent, and its own, in the order of members. All launch
 * theirs, or those who do wait until they are called off.
 */
typedef struct weft_exchange {
    const struct weft_op *op; /* NULL: blocks go as they are */
    const struct weft_type *type;
    int members, member;
    /* of this exchange, not 0: all alike, and unlike those before it in the same rows */
    uint32_t flag;
    uint32_t results; /* not 0: what this rank combines goes to all, into rows so many bytes after
                         the others */
    size_t most;      /* bytes of the longest block of all members */
    uint32_t *watch;  /* [2]: set [0] to the flag to end the kernel early; [1] is the flag if it has
                         ended so, or  has waited for WEFT_DEVICE_WAIT_MAX */
    weft_exchange_peer_t peer[WEFT_EXCHANGE_MOST_MEMBERS];
} weft_exchange_t;

/* ---- by multicast ---- */

/** An object of multicast memory as the other ranks of the host join it. Plain data. */
typedef struct weft_multicast_share {
    int32_t pid, fd;
    uint64_t bytes;   /* of each device's part */
    uint64_t granule; /* that its addresses are a multiple of */
} weft_multicast_share_t;

/** What a rank has of such an object; the back end's memory. */
typedef struct weft_multicast {
    weft_multicast_share_t share;
    uint32_t *watch; /* as of an inbox; NULL: no memory is bound yet */
} weft_multicast_t;

/** An allreduce by kernels of all members, which run at the same time, as those of an exchange. */
typedef struct weft_multicast_call {
    const struct weft_op *op;
    const struct weft_type *type;
    const weft_multicast_t *multicast;
    int members, member;
    uint32_t flag; /* of this call, not 0: all alike, and greater than those before it in the same
                      object */
    size_t bytes;  /* of elements laid out as in the user's memory */
    const void *from; /* this rank's operand */
    void *to;         /* the result; may be the operand */
    uint32_t *watch;  /* [2] as of an exchange */
} weft_multicast_call_t;

/* ---- between processes ---- */

/** A buffer in device memory as another process of the host can map it. Plain data, for a packet.
 */
typedef struct weft_share {
    uint8_t uuid[16];         /* of the device */
    uint64_t base, bytes, id; /* of the allocation: weft_memory_t of its owner */
    uint64_t address;         /* of the data, in the owner's memory */
    uint32_t owner;           /* rank in the job */
    int32_t pid, fd;          /* for handles that are file descriptors */
    uint32_t kind;            /* of handle; the back end's */
    uint8_t handle[64];
} weft_share_t;

_Static_assert(sizeof(weft_share_t) == 128, "a share is two cache lines");

/** A peer's buffer, mapped. */
typedef struct weft_mapping {
    void *address; /* of the data, for work in queues of `device` only */
    weft_device_t *device;
    void *entry; /* of the back end */
} weft_mapping_t;

/* ---- the table of the back end ---- */

/** No entry is NULL. An entry that returns int fails with MPI_ERR_NO_MEM (memory of the host or of
 * the device) or MPI_ERR_OTHER, with a text, and leaves nothing behind. An entry that puts work
 * into a queue returns at once, but for copies that involve host memory which is not pinned: these
 * may block until it is read or written (take a pinned slot instead). What the work reads and
 * writes, types and operations included, stays the caller's and stays there until the work is over.
 */
typedef struct weft_device_ops {
    const char *name;         /* "cuda" */
    const char *memory_kinds; /* for the info key mpi_memory_alloc_kinds */

    /* ---- what memory is ---- */
    /** The slow half of weft_is_device(). */
    bool (*is_device)(const void *buf);
    /** All about the memory at `buf`; for the host's as well. Fails where it is a device's, but
     * there is no context to work in. */
    int (*look)(const void *buf, weft_memory_t *out);
    /** The number that the driver has for a device (CUdevice), for other libraries that work with
     * it. */
    int (*number)(const weft_device_t *device);

    /* ---- work ---- */
    /** The queue of a stream_class; lives as long as the device. NULL with a text: the driver
     * refused. */
    weft_queue_t *(*queue)(weft_device_t *device, weft_stream_class_t stream_class);
    /** Any memory to any memory. */
    int (*copy)(weft_queue_t *queue, void *to, const void *from, size_t bytes);
    /** `count` copies that do not overlap, in no order; by one kernel where the pieces are small.
     * The array may be changed at once. */
    int (*copy_many)(weft_queue_t *queue, const weft_piece_t *pieces, size_t count);
    /** Typed device memory to packed bytes, and back. */
    int (*pack)(weft_queue_t *queue, const weft_packing_t *packing);
    int (*unpack)(weft_queue_t *queue, const weft_packing_t *packing);
    /** Has the device a kernel for it? If not the caller reduces on the host. */
    bool (*can_reduce)(weft_device_t *device, const struct weft_op *op,
                       const struct weft_type *type);
    /** What can_reduce allows. */
    int (*reduce)(weft_queue_t *queue, const weft_reduction_t *reduction);
    /** Put a event behind all work so far; the caller has set event->done and event->owner, and the
     * event is the back end's until it is reached. When this fails nothing of the work goes on, and
     * `done` is not called. */
    int (*record)(weft_queue_t *queue, weft_event_t *event);

    /* ---- kernels that wait for those of other ranks ---- */
    /** An inbox of `bytes` bytes, to be closed. It is empty, and can be shared, once `cleared` is
     * reached, whose done and owner are set. false: the device has no kernels, or there is no
     * memory to be had now. */
    bool (*open_inbox)(weft_device_t *device, size_t bytes, weft_event_t *cleared,
                       weft_inbox_t *out);
    /** No kernel may write into it any more. */
    void (*close_inbox)(weft_device_t *device, const weft_inbox_t *inbox);
    /** Into a queue of WEFT_STREAM_EXCHANGE; of a reduction that can_reduce allows. */
    int (*exchange)(weft_queue_t *queue, const weft_exchange_t *exchange);
    /** Can the device have part in multicast memory, and does the switch know this reduction (NULL:
     * any)? */
    bool (*can_multicast)(weft_device_t *device, const struct weft_op *op,
                          const struct weft_type *type);
    /** Make an object for so many devices, to which this one belongs; to be closed. NULL: the
     * driver refuses, or cannot be asked now. */
    weft_multicast_t *(*make_multicast)(weft_device_t *device, int members);
    /** Have this device belong to an object of another rank, for ever; to be closed. NULL: as
     * above. */
    weft_multicast_t *(*join_multicast)(weft_device_t *device, const weft_multicast_share_t *share);
    /** Give it memory of the device; the devices of all members must have joined: the driver blocks
     * until they have. Others may use it once `cleared` is reached, whose done and owner are set.
     * false: as above. */
    bool (*bind_multicast)(weft_multicast_t *multicast, weft_event_t *cleared);
    /** At any step. `is_in_use`: kernels of others may still use its memory, which stays until MPI
     * ends. */
    void (*close_multicast)(weft_multicast_t *multicast, bool is_in_use);
    /** Into a queue of WEFT_STREAM_EXCHANGE; of a reduction that can_multicast allows. */
    int (*multicast)(weft_queue_t *queue, const weft_multicast_call_t *call);

    /* ---- by the processor ---- */
    /** Is it worth asking bar_find, whatever the memory? */
    bool (*bar_suits)(size_t bytes, bool is_write);
    /** Can the processor itself read (or write) `bytes` bytes at `buf`, within `memory`? *out is
     * good until the next call of bar_find or look. false: there are too many, or no way, or it is
     * not worth it yet: take a queue. */
    bool (*bar_find)(const weft_memory_t *memory, const void *buf, size_t bytes, bool is_write,
                     weft_bar_t *out);
    /** Copy out of device memory, without a call of the driver. */
    void (*bar_read)(const weft_bar_t *bar, void *to, size_t bytes);
    /** And into it: it is there for all work that is launched on any device afterwards. */
    void (*bar_write)(const weft_bar_t *bar, const void *from, size_t bytes);

    /* ---- memory of the library ---- */
    /** `bytes` bytes of pinned host memory, at most WEFT_PINNED_SLOT, that all devices reach at the
     * same address. NULL: all slots are in use now, try again after progress. */
    void *(*take_pinned)(weft_device_t *device, size_t bytes);
    void (*give_pinned)(void *slot);
    /** `bytes` bytes on the device, aligned to 256, which peers can map; NULL: there are none to be
     * had. */
    void *(*take_scratch)(weft_device_t *device, size_t bytes);
    /** No work uses it any more. */
    void (*give_scratch)(weft_device_t *device, void *scratch);

    /* ---- between processes ---- */
    /** Describe `bytes` bytes at `buf`, within `memory`, to processes of this host. false: such
     * memory cannot be shared (managed, a pool without handles, ...), which has been noted once. */
    bool (*share)(const weft_memory_t *memory, const void *buf, size_t bytes, weft_share_t *out);
    /** Map a buffer of a peer, or of this process itself, for work on `device` (NULL: on whichever
     * suits), until unmap; the owner keeps the memory as long. Mappings are kept: but for the first
     * one of an allocation (some 1 ms) it costs 100 ns. false: not possible, which has been noted
     * once; or, unless `at_any_price`, not worth it yet: a small allocation that is seen for the
     * first time. */
    bool (*map)(const weft_share_t *share, weft_device_t *device, bool at_any_price,
                weft_mapping_t *out);
    /** Was it found that it can never be mapped? false where it was only not worth it, or this
     * process does not use a device yet. */
    bool (*is_refused)(const weft_share_t *share, weft_device_t *device);
    void (*unmap)(weft_mapping_t *mapping);
    /** The owner, a process, has freed an allocation: its mapping, if any, can go. Until then,
     * or until something else is shared at its place, it stays mapped, and the memory is not to be
     * had. */
    void (*forget)(int owner, uint64_t id);

    /** Fill in, for the report, what is known of the device that this rank works on: the one it has
     * worked on, else that of the current context; what costs speed as notes. */
    void (*describe)(struct weft_rank_report *report);
    const struct weft_device_stream_ops *streams; /* of device_stream.h */
} weft_device_ops_t;

enum { WEFT_PINNED_SLOT = 512 * 1024 };

/** The back end; NULL: there is none, no memory is a device's. */
extern const weft_device_ops_t *weft_device;

/** Points to a word that is 0 as long as there can be no memory but the host's: the back end sees
 * to that. The fast half of weft_is_device(). */
extern const uintptr_t *weft_device_news __attribute__((visibility("hidden")));

/** Set the two; for the back end. And its opposite: all memory is the host's again. */
void weft_device_open(const weft_device_ops_t *ops, const uintptr_t *news);
void weft_device_close(void);

/** Is it device or managed memory? `buf` is the address of the first byte of data (not MPI_BOTTOM).
 * 1 ns where no device is in use, else 3 for the stack, the heap and the program's own variables,
 * and a question to the driver for what lies elsewhere: ask once per buffer and MPI call. */
static inline bool weft_is_device(const void *buf)
{
    return __builtin_expect(*weft_device_news != 0, 0) && weft_device->is_device(buf);
}

/** Wait, with progress, until all work so far in the queue is over. Blocks. The error of the work,
 * with a text. */
int weft_queue_wait(weft_queue_t *queue);

/** What `share` would say of memory of the process itself, rank `rank`, for which all memory will
 * do. */
static inline void weft_device_share_own(const weft_memory_t *memory, const void *buf, int rank,
                                         weft_share_t *out)
{
    *out = (weft_share_t){.base = memory->base,
                          .bytes = memory->bytes,
                          .id = memory->id,
                          .address = (uint64_t)(uintptr_t)buf,
                          .owner = (uint32_t)rank};
}

/** Set by the layer above: called when the back end sees that an allocation which it has shared was
 * freed, so that others hear of it. */
extern void (*weft_device_freed)(uint64_t id);

#endif
