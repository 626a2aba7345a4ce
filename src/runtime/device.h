/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is not the host's, as the layers above see it. Only the back end (src/cuda) knows
 * what kind of device there is; weft_device is its table. Without a back end all memory is the
 * host's.
 *
 *   is it a device's?   weft_is_device(buf) says so, then `look` tells all about the memory
 *   work                goes into a queue of the device: copies, packing, reductions, in order
 *   completion          an event behind the work calls back in progress, or weft_queue_wait() waits
 *   few bytes           `bar_find` gives an address through which the processor copies them itself
 *   memory              slots of pinned host memory and scratch on the device come from pools, and
 *                       are given back
 *   ranks of the host   `share` describes a buffer in 128 bytes, a peer's `map` makes an address
 *                       of it
 *
 * A function blocks only if its comment says so, none creates a context that the program did not
 * create, and the program's current context is the same after each call. The program's own work on
 * a buffer must be over when it gives the buffer to MPI (MPI 5.0 expects the data to be there), and
 * the library's work is over when a request is complete. All functions are called with the
 * library's lock held; those that return int return an error class, with a text of weft_fail that
 * names the driver's call, its error and the buffer.
 */
#ifndef WEFT_RUNTIME_DEVICE_H
#define WEFT_RUNTIME_DEVICE_H

#include "base/own_symbol.h"

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
    WEFT_MEMORY_PINNED,  /* the host's, registered with the driver: copies need no staging */
    WEFT_MEMORY_MANAGED, /* the driver migrates it: the device works on it, the host does not */
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

/** What a caller knows of a buffer already; handed down so that the driver is asked once a call. */
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
    WEFT_STREAM_QUICK, /* short work that a rank waits for */
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
     * what the work wrote is undefined. It may free the event and queue more. NULL: no call. */
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

/** Each of out[outs] = in[0] op in[1] op ..., evaluated from the left, for `count` elements laid
 * out as in the user's memory. All of it is memory that the queue's device reaches: its own,
 * mapped, or pinned. An out may be one of the sources; nothing else overlaps. The caller may change
 * the arrays as soon as the call has returned. */
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

/** Device memory as the processor reaches it; valid until the next call of `bar_find` or `look`. */
typedef struct weft_bar {
    void *at;
    unsigned long handle; /* these two are the back end's */
    bool must_read_back;
} weft_bar_t;

/* ---- between kernels ---- */

enum {
    WEFT_EXCHANGE_MOST_MEMBERS = 32,
    WEFT_WATCH_BYTES = 64,
    /* A kernel ends by itself after so many times WEFT_DEVICE_WAIT_MAX, where nobody ends it. */
    WEFT_KERNEL_WAITS = 20,
};

/** Where the kernels of other ranks write data for the kernel of this rank. */
typedef struct weft_inbox {
    void *memory;    /* on the device; other ranks map it */
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

enum { WEFT_CONDUIT_HEAD = 64 }; /* bytes at the beginning of an inbox */

/** The words by which the host and the exchanges of a conduit signal each other. */
typedef struct weft_conduit_watch {
    _Atomic uint32_t off;  /* the host sets it to the flag of an exchange that is to end early */
    _Atomic uint32_t vain; /* the flag of one that has ended early, or not begun after such a one */
    _Atomic uint32_t begun;  /* the flags of the latest exchange that has begun ... */
    _Atomic uint32_t ended;  /* ... and of the latest that has ended */
    _Atomic uint32_t number; /* of the latest one outside of graphs that has ended */
} weft_conduit_watch_t;

/** Where in an inbox a member learns that the exchanges of a conduit have failed: not 0. */
enum { WEFT_CONDUIT_BROKEN = 8 };

/**
 * Members whose kernels run at the same time, each on a device of its own, send each other blocks.
 * With an operation each member combines the blocks that it gets and its own, in the order of
 * members. If a member does not launch its kernel, those of the others wait until they are ended
 * through `watch`.
 */
typedef struct weft_exchange {
    const struct weft_op *op; /* NULL: blocks go as they are */
    const struct weft_type *type;
    int members, member;
    /* marks this exchange, not 0: the same for all members, and unlike those of earlier exchanges
     * in the same rows */
    uint32_t flag;
    uint32_t results; /* not 0: what this rank combines goes to all members, into rows that lie so
                         many bytes behind those for the blocks */
    size_t most;      /* bytes of the longest block of all members */
    int crowd; /* so many members, at most, share a device, on which all their kernels must fit */
    uint32_t *watch; /* [2]: set [0] to the flag to end the kernel early; [1] is the flag if it has
                         ended early, or has waited for too long */
    /* NULL, or this rank's inbox, in which exchanges follow each other in the order of a stream (a
     * conduit): the device counts them, and the count is the flag. They have no time limit, and
     * `watch` is a weft_conduit_watch_t. */
    void *conduit;
    size_t even;     /* rows of every second exchange lie so many bytes further on */
    size_t head;     /* how far this rank's rows are from the beginning of others' inboxes */
    uint32_t number; /* of this launch, ascending; 0: it becomes part of a graph */
    weft_exchange_peer_t peer[WEFT_EXCHANGE_MOST_MEMBERS];
} weft_exchange_t;

/* ---- by multicast ---- */

/** What the other ranks of the host need to join an object of multicast memory. Plain data. */
typedef struct weft_multicast_share {
    uint64_t ticket;         /* of the object's file descriptor (runtime/fd_mail.h) */
    uint64_t bytes;          /* of each device's part */
    uint32_t owner, granule; /* a rank in the job; addresses are multiples of the granule */
} weft_multicast_share_t;

/** A rank's part of such an object; the memory belongs to the back end. */
typedef struct weft_multicast {
    weft_multicast_share_t share;
    uint32_t *watch; /* as of an inbox; NULL: no memory is bound yet, or a buffer of the program */
    void *at;        /* of a buffer: where the bound memory begins, for from_all and to_all below */
    bool is_gone;    /* the program has freed the buffer: this can only be closed */
} weft_multicast_t;

/** A part of the data of such a call, of elements laid out as in the user's memory. */
typedef struct weft_portion {
    const void *from; /* NULL: this member does not give it */
    void *to;         /* NULL: this member does not get it; may be `from` in an allreduce */
    size_t bytes;     /* the same on all members */
    /* Where they lie in an object to which all members have bound these buffers, at multiples of
     * 16; NULL: not bound. What is moved uses `to_all` only, what is reduced for one member
     * `from_all` only. */
    const void *from_all;
    void *to_all;
} weft_portion_t;

/** A collective by kernels of all members, which run at the same time, as those of an exchange. One
 * member gives a portion that is moved; all give one that is reduced. */
typedef struct weft_multicast_call {
    const struct weft_op *op; /* NULL: data are only moved */
    const struct weft_type *type;
    const weft_multicast_t *multicast;
    int members, member;
    uint32_t flag;   /* marks this call, not 0: the same for all members, and greater than those of
                     earlier calls with the same object */
    uint32_t *watch; /* [2] as of an exchange */
    /* Of a reduction: each portion has one member that gets it. Else there is one portion, and all
     * members get it. */
    bool scatters;
    int portions;
    weft_portion_t portion[WEFT_EXCHANGE_MOST_MEMBERS];
} weft_multicast_call_t;

/* ---- between processes ---- */

/** A buffer in device memory as another process of the host can map it. Plain data, for a packet.
 */
typedef struct weft_share {
    uint8_t uuid[16];         /* of the device */
    uint64_t base, bytes, id; /* of the allocation: weft_memory_t of its owner */
    uint64_t address;         /* of the data, in the owner's memory */
    uint64_t ticket;          /* for handles that are file descriptors (runtime/fd_mail.h) */
    uint32_t owner;           /* rank in the job */
    uint16_t kind;            /* of handle; the back end's */
    uint16_t is_brief;        /* the data are a large part of the device: see unshare */
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
 * into a queue returns at once, except that a copy from or to host memory that is not pinned may
 * block until the memory is read or written (a pinned slot avoids that). The caller keeps what the
 * work reads and writes, types and operations included, until the work is over. */
typedef struct weft_device_ops {
    const char *name;         /* "cuda" */
    const char *memory_kinds; /* for the info key mpi_memory_alloc_kinds */

    /* ---- what memory is ---- */
    /** Can there be device memory in this process some day? false: this host has no driver. */
    bool (*may_come)(void);
    /** The slow half of weft_is_device(). */
    bool (*is_device)(const void *buf);
    /** Tell all about the memory at `buf`, also if it is the host's. Fails where the memory is a
     * device's, but there is no context to work in. */
    int (*look)(const void *buf, weft_memory_t *out);
    /** The number that the driver has for a device (CUdevice), for other libraries that work with
     * it. */
    int (*number)(const weft_device_t *device);
    /** Do this rank's kernels take turns with those of another rank of this host on the device, as
     * far as is known? (Those of clients of one MPS run beside each other.) */
    bool (*is_shared)(const weft_device_t *device);

    /* ---- work ---- */
    /** The queue of a stream_class; lives as long as the device. NULL with a text: the driver
     * refused. */
    weft_queue_t *(*queue)(weft_device_t *device, weft_stream_class_t stream_class);
    /** Any memory to any memory. */
    int (*copy)(weft_queue_t *queue, void *to, const void *from, size_t bytes);
    /** `count` copies that do not overlap, in no order; by one kernel where the pieces are small,
     * or not very large and local: then all memory is the queue's device's own. The caller may
     * change the array as soon as the call has returned. */
    int (*copy_many)(weft_queue_t *queue, const weft_piece_t *pieces, size_t count, bool are_local);
    /** Typed device memory to packed bytes, and back. */
    int (*pack)(weft_queue_t *queue, const weft_packing_t *packing);
    int (*unpack)(weft_queue_t *queue, const weft_packing_t *packing);
    /** Has the device a kernel for it? If not the caller reduces on the host. */
    bool (*can_reduce)(weft_device_t *device, const struct weft_op *op,
                       const struct weft_type *type);
    /** What can_reduce allows. */
    int (*reduce)(weft_queue_t *queue, const weft_reduction_t *reduction);
    /** Put an event behind all work so far; the caller has set event->done and event->owner, and
     * the event is the back end's until it is reached. When this fails none of the work goes on,
     * and `done` is not called. */
    int (*record)(weft_queue_t *queue, weft_event_t *event);

    /* ---- kernels that wait for those of other ranks ---- */
    /** Make an inbox of `bytes` bytes; the caller closes it. It is empty, and can be shared, once
     * `cleared` is reached, whose done and owner the caller has set. false: the device has no
     * kernels, or no memory is available at the moment. */
    bool (*open_inbox)(weft_device_t *device, size_t bytes, weft_event_t *cleared,
                       weft_inbox_t *out);
    /** Close an inbox into which no kernel can write any more. */
    void (*close_inbox)(weft_device_t *device, const weft_inbox_t *inbox);
    /** Into a queue of WEFT_STREAM_EXCHANGE; of a reduction that can_reduce allows. */
    int (*exchange)(weft_queue_t *queue, const weft_exchange_t *exchange);
    /** Can the device take part in multicast memory, and can the switch do this reduction (NULL:
     * any)? */
    bool (*can_multicast)(weft_device_t *device, const struct weft_op *op,
                          const struct weft_type *type);
    /** Make an object for so many devices, this one among them; the caller closes it. It is for
     * buffers of the program, of so many bytes from the beginning of their first granule on; 0: for
     * memory of the library. NULL: the driver refuses, or cannot be asked at the moment. */
    weft_multicast_t *(*make_multicast)(weft_device_t *device, int members, size_t bytes);
    /** Have this device join an object of another rank, which it cannot leave again; the caller
     * closes it. NULL: as above, or its owner has been asked for a descriptor
     * (weft_fd_is_awaited): try again. */
    weft_multicast_t *(*join_multicast)(weft_device_t *device, const weft_multicast_share_t *share);
    /** Give the object memory of the device. The devices of all members must have joined: the
     * driver blocks until they have. Other members may use the memory once `cleared` is reached,
     * whose done and owner the caller has set. false: as above. */
    bool (*bind_multicast)(weft_multicast_t *multicast, weft_event_t *cleared);
    /** Can objects for buffers be made and buffers be bound at the moment? Not while a stream may
     * wait for this rank. */
    bool (*may_bind)(void);
    /** Can memory of the program on this device, of which this process has made a share, be bound
     * to an object: is it of a kind that the driver takes, in one piece with all granules that the
     * `bytes` bytes lie in, and no large part of the device? *place_out is where they begin in a
     * granule. */
    bool (*can_bind)(weft_device_t *device, const weft_share_t *share, size_t bytes,
                     uint32_t *place_out);
    /** The same as bind_multicast with such a buffer. Its memory stays in use until the object is
     * closed, or this process finds that the program has freed it. */
    bool (*bind_buffer)(weft_multicast_t *multicast, const weft_share_t *share, size_t bytes);
    /** Allowed after any of the steps above. `is_in_use`: kernels of other members may still use
     * the memory, which then stays until MPI ends. */
    void (*close_multicast)(weft_multicast_t *multicast, bool is_in_use);
    /** Into a queue of WEFT_STREAM_EXCHANGE; of a reduction that can_multicast allows. */
    int (*multicast)(weft_queue_t *queue, const weft_multicast_call_t *call);

    /* ---- by the processor ---- */
    /** Is it worth asking bar_find for so many bytes, whatever the memory? */
    bool (*bar_suits)(size_t bytes, bool is_write);
    /** Can the processor itself read (or write) `bytes` bytes at `buf`, within `memory`? *out is
     * valid until the next call of bar_find or look. false: they are too many, or there is no way,
     * or it is not worth it yet: use a queue. */
    bool (*bar_find)(const weft_memory_t *memory, const void *buf, size_t bytes, bool is_write,
                     weft_bar_t *out);
    /** Copy out of device memory, without a call of the driver. */
    void (*bar_read)(const weft_bar_t *bar, void *to, size_t bytes);
    /** Copy into device memory: all work that is launched afterwards, on any device, sees it. */
    void (*bar_write)(const weft_bar_t *bar, const void *from, size_t bytes);

    /* ---- memory of the library ---- */
    /** `bytes` bytes of pinned host memory, at most WEFT_PINNED_SLOT, that all devices reach at the
     * same address. NULL: all slots are in use at the moment, try again after progress. */
    void *(*take_pinned)(weft_device_t *device, size_t bytes);
    void (*give_pinned)(void *slot);
    /** Have the device reach memory that this process shares with others, at the same address, as
     * it reaches a pinned slot; until MPI ends. The first call for some memory takes milliseconds.
     * false: the driver refuses, which has been noted once, or cannot be asked at the moment, or
     * there is too much of such memory, or it belongs to another device of this process. */
    bool (*pin_shared)(weft_device_t *device, void *memory, size_t bytes);
    /** `bytes` bytes on the device, aligned to 256, which peers can map; NULL: none are free. */
    void *(*take_scratch)(weft_device_t *device, size_t bytes);
    /** Give it back when no work uses it. */
    void (*give_scratch)(weft_device_t *device, void *scratch);

    /* ---- between processes ---- */
    /** Describe `bytes` bytes at `buf`, which begin within `memory`, to processes of this host.
     * false: such memory cannot be shared (managed, a pool without handles, ...), which has been
     * noted once. */
    bool (*share)(const weft_memory_t *memory, const void *buf, size_t bytes, weft_share_t *out);
    /** Nobody will map the share again. Called once for each share that was made, as soon as the
     * program may free the memory: memory that is mapped elsewhere, or has a descriptor, is not
     * free for others when the program frees it. Peers unmap a brief share when its use ends. */
    void (*unshare)(const weft_share_t *share);
    /** Send the descriptors that mapping takes to a rank of the job, before it hears of the share:
     * it need not ask for them then. */
    void (*push)(const weft_share_t *share, int rank);
    /** Map a buffer of a peer, or of this process itself, for work on `device` (NULL: on any that
     * suits), until unmap; the owner must keep the memory until then. Mappings are cached: the
     * first one of an allocation costs some 1 ms, later ones 100 ns. false: not possible, which has
     * been noted once; or its owner has been asked for descriptors (is_awaited), so try
     * again; or, unless `at_any_price`, not worth it yet: a small allocation that is seen for the
     * first time. */
    bool (*map)(const weft_share_t *share, weft_device_t *device, bool at_any_price,
                weft_mapping_t *out);
    /** Has it been found that it can never be mapped? false if it was only not worth it, or if this
     * process does not use a device yet. */
    bool (*is_refused)(const weft_share_t *share, weft_device_t *device);
    /** Has its owner been asked for descriptors, and not answered yet? */
    bool (*is_awaited)(const weft_share_t *share);
    /** Descriptors that its owner sends are not needed any more: they would keep the memory from
     * the owner's program. */
    void (*give_up)(const weft_share_t *share);
    void (*unmap)(weft_mapping_t *mapping);
    /** `owner`, a process, has freed an allocation: its mapping, if any, can go. Until then, or
     * until something else is shared at its address, it stays mapped, and its memory is not free
     * for others. */
    void (*forget)(int owner, uint64_t id);

    /** Fill in the report what is known of the device that this rank works on: the one it has
     * worked on, else that of the current context. What costs speed becomes a warning. */
    void (*describe)(struct weft_rank_report *report);
    const struct weft_device_stream_ops *streams; /* of device_stream.h */
} weft_device_ops_t;

enum { WEFT_PINNED_SLOT = 512 * 1024 };

/** The back end; NULL: there is none, no memory is a device's. */
extern const weft_device_ops_t *weft_device;

/** Points to a word that the back end keeps 0 as long as there can be no memory but the host's. The
 * fast half of weft_is_device(). */
extern WEFT_OWN_SYMBOL const uintptr_t *weft_device_news;

static inline bool weft_device_may_come(void)
{
    return weft_device != NULL && weft_device->may_come();
}

/** Called by the back end to set these two. */
void weft_device_open(const weft_device_ops_t *ops, const uintptr_t *news);
/** After this all memory is the host's again. */
void weft_device_close(void);

/** Is it device or managed memory? `buf` is the address of the first byte of data (not MPI_BOTTOM).
 * It costs 1 ns where no device is in use, else 3 ns for the stack, the heap and the program's own
 * variables, and a call of the driver for other memory: ask once per buffer and MPI call. */
static inline bool weft_is_device(const void *buf)
{
    return __builtin_expect(*weft_device_news != 0, 0) && weft_device->is_device(buf);
}

/** Wait, with progress, until all work so far in the queue is over. Blocks. Returns the error of
 * the work, with a text. */
int weft_queue_wait(weft_queue_t *queue);

/** What `share` would say of memory that only this process, rank `rank`, maps: it works for any
 * memory. */
static inline void weft_device_share_own(const weft_memory_t *memory, const void *buf, int rank,
                                         weft_share_t *out)
{
    *out = (weft_share_t){.base = memory->base,
                          .bytes = memory->bytes,
                          .id = memory->id,
                          .address = (uint64_t)(uintptr_t)buf,
                          .owner = (uint32_t)rank};
}

/** Do `bytes` bytes of data lie within the allocation that the share describes? */
static inline bool weft_share_covers(const weft_share_t *share, uint64_t bytes)
{
    return share->bytes <= UINT64_MAX - share->base && share->address >= share->base &&
           share->address - share->base <= share->bytes &&
           bytes <= share->bytes - (share->address - share->base);
}

/** Set by the layer above: called when the back end sees that an allocation which it has shared was
 * freed, so that the ranks that have mapped it are told. */
extern void (*weft_device_freed)(uint64_t id);

#endif
