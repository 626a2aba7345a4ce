/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arguments of kernels: each kernel takes one of these structures by value. They are plain C,
 * the same on host and device. Addresses are those of global memory as the device sees it: its own,
 * mapped memory of a peer, or pinned host memory. kernel_calls.h fills the structures in.
 */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ARGS_H
#define WEFT_CUDA_KERNELS_KERNEL_ARGS_H

#include <stdint.h>

enum {
    WEFT_KERNEL_THREADS = 512,  /* at most in a block; their number is a multiple of a team's */
    WEFT_TEAM_THREADS = 32,     /* consecutive threads that copy a piece together */
    WEFT_VECTOR_BYTES = 16,     /* the widest access */
    WEFT_REDUCE_ADDRESSES = 32, /* sources, and as many destinations, in the arguments */
    WEFT_COPY_ENTRIES = 64,     /* in the arguments */
    WEFT_SHAPE_LEVELS = 4,      /* those of a layout, and the elements of the buffer */
    WEFT_EXCHANGE_MEMBERS = 32, /* ranks that exchange data */
    WEFT_UNIT_BYTES = 16,       /* data that a thread sends at a time */
    WEFT_UNIT_LINES_BYTES = 32, /* in an inbox, with flags */
    WEFT_MULTICAST_BLOCKS = 32, /* at most, of a kernel */
    WEFT_MULTICAST_AREA = 512 * 1024, /* bytes of multicast memory for each block */
    WEFT_MULTICAST_LINE = WEFT_EXCHANGE_MEMBERS * 8,
    WEFT_MULTICAST_SLOT = (WEFT_MULTICAST_AREA - WEFT_MULTICAST_LINE) / 2, /* bytes */
};

/**
 * Reduce: every destination gets source[0] op source[1] op ..., element by element, from the left.
 * A destination may be one of the sources; nothing else overlaps.
 *
 *   |<- head ->|<- vectors * 16 bytes ->|<- tail ->|     the same at all addresses
 */
typedef struct weft_reduce_args {
    uint64_t count;   /* elements in all */
    uint64_t head;    /* elements before the first vector */
    uint64_t vectors; /* 0 when the addresses differ modulo 16 */
    uint32_t sources, destinations;
    uint32_t rounds; /* after each operation, as the processor does; only 16-bit floats care */
    uint32_t address_bits; /* all addresses modulo 16, combined by OR */
    /* Addresses that are too many for the arrays below lie in memory: those of the sources, then
     * those of the destinations. NULL when the arrays hold them. */
    void *const *list;
    const void *source[WEFT_REDUCE_ADDRESSES];
    void *destination[WEFT_REDUCE_ADDRESSES];
} weft_reduce_args_t;

/**
 * A batch of copies, seen as one stream of bytes: entry i has the bytes from its `start` to the
 * next one's. Teams take equal shares of the stream, whatever the entries' lengths. Nothing
 * overlaps.
 */
typedef struct weft_copy_entry {
    void *to;
    const void *from;
    uint64_t start;
} weft_copy_entry_t;

typedef struct weft_copy_args {
    uint64_t bytes; /* of all entries */
    uint64_t share; /* bytes that a team copies at a time */
    uint64_t entries;
    /* memory with the entries when they are too many for `entry`; else NULL */
    const weft_copy_entry_t *list;
    weft_copy_entry_t entry[WEFT_COPY_ENTRIES];
} weft_copy_args_t;

/**
 * Exchange: each rank launches this on its device; the kernels push blocks into each other's
 * inboxes and wait for what arrives in their own. An inbox has a row for each sender. A block is
 * stored in units of 16 bytes. A unit is two lines, each written by one store, with the number of
 * this exchange (the flag) beside the data:
 *
 *   | word 0 | flag | word 1 | flag |   | word 2 | flag | word 3 | flag |
 *
 * A word has arrived when its flag has. So no fence is needed, and no word that reports the end of
 * the block. In an allreduce of two shots the results go into rows of their own, `results` bytes
 * after the others.
 */
typedef struct weft_exchange_side {
    void *outbox;      /* this rank's row in that member's inbox */
    const void *inbox; /* that member's row in this rank's */
    const void *from;  /* the data for that member; for this rank itself its operand or block */
    void *to;          /* where that member's data go; for this rank itself its result */
    uint64_t out_bytes, in_bytes;
} weft_exchange_side_t;

/**
 * A conduit: inboxes for exchanges that follow each other in the order of streams. A graph launches
 * the same exchange many times, so it is the device that counts them, and the count gives the flag.
 * Each inbox begins with such a head, zeros at first, and has two parts, for odd and for
 * even flags:
 *
 *   inbox   | head | rows of exchanges 1, 3, 5 ... | rows of 2, 4, 6 ... |
 *
 * A block without data is sent as one unit, so that each member hears from all others in every
 * exchange. That is why two parts are enough: when a member writes into a part again, it has heard
 * in the exchange between from all others, which then had ended the one before.
 *
 * A flag comes back after 2^32 - 2 exchanges. A line that was not written in all that time, and is
 * then expected in just this exchange, would be taken too early.
 */
typedef struct weft_conduit_head {
    uint32_t ended;  /* the flag of the last exchange that has ended */
    uint32_t blocks; /* of the present exchange that have ended */
    /* Not 0: an exchange has ended without a result, here or at another member, which has set this.
     * No later one is done. */
    uint32_t broken;
    uint32_t unused;
} weft_conduit_head_t;

/* Even, so that odd and even flags take turns for ever. */
#define WEFT_CONDUIT_LAST_FLAG 0xfffffffeu

/* The words of `watch`, in pinned memory that is aligned to 8 bytes. */
enum {
    WEFT_WATCH_OFF,   /* the host has called off the exchange of this flag */
    WEFT_WATCH_VAIN,  /* the exchange of this flag has ended without a result */
    WEFT_WATCH_BEGUN, /* of a conduit: the exchange of this flag has begun ... */
    WEFT_WATCH_ENDED, /* ... and ended, and so has every one up to number */
    WEFT_WATCH_NUMBER,
};

typedef struct weft_exchange_args {
    uint32_t members, member;
    uint32_t flag;     /* not 0, and different from all earlier exchanges in these inboxes */
    uint32_t results;  /* 0: only this rank needs what it combines */
    uint32_t rounds;   /* as above */
    uint32_t number;   /* for WEFT_WATCH_NUMBER; 0: a graph launches this exchange */
    uint64_t limit_ns; /* how long a thread waits at most; 0: without end */
    uint32_t *watch;
    /* NULL: there is no conduit. Else `flag` is not used, and rows are those of odd flags. */
    weft_conduit_head_t *conduit;
    uint64_t even; /* the rows of even flags lie so many bytes behind */
    uint64_t head; /* an outbox lies so many bytes behind the head of its inbox */
    weft_exchange_side_t side[WEFT_EXCHANGE_MEMBERS];
} weft_exchange_args_t;

/**
 * Collectives through multicast memory: an object in which each member's device has as much memory
 * of its own. A load at the object's address gives what lies at that place in the memory of all
 * members, reduced, and a store goes to all of them. Each block has an area in the object, with a
 * word for the progress of each member, and two slots for pieces of the data:
 *
 *   area   | word of member 0 | of 1 | ... | slot of pieces 0, 2, 4 ... | of pieces 1, 3, 5 ... |
 *
 * All members launch equally many blocks. The data of a collective are one portion or several, and
 * a piece holds as many bytes of each portion. What a member gives and gets shows the collective:
 *
 *                    portions             `from`                `to`
 *   allreduce        the operand          of all members        of all members
 *   reduce           the operand          of all members        of the root
 *   reduce-scatter   a block for each     of all members        of the member whose block it is
 *   broadcast        the data             of the root           of all others
 *   allgather        a block of each      of the member whose   of all members (in place: of all
 *                                         block it is           others)
 */
typedef struct weft_multicast_portion {
    const void *from; /* NULL: this member does not give it */
    void *to;         /* NULL: this member does not get it */
    uint64_t bytes;
    /* Where all members have bound the memory of `from` or `to` to an object: its address there,
     * alike on all members, and a multiple of 16. NULL: not bound. Of moved data `from_all` is not
     * used, and of what is for one member `to_all` is not. */
    const void *from_all;
    void *to_all;
} weft_multicast_portion_t;

typedef struct weft_multicast_args {
    uint32_t members, member;
    uint32_t flag; /* not 0, and greater than in all earlier launches in this memory */
    /* The bytes of each portion that a block takes at a time: a multiple of 16. */
    uint32_t piece;
    /* 0: the first piece of a block is like all others. Else it has so many bytes for each block up
     * to this one: a multiple of 16, such that the first piece of the last block is no longer than
     * others. */
    uint32_t first;
    /* The bytes of a portion's place in a slot: a multiple of 16. Those of all portions fill a slot
     * at most. It holds a piece, or one unit where the portions are bound so that no more goes
     * through slots. */
    uint32_t row;
    uint32_t portions;
    uint32_t scatters; /* of a reduction: a portion is for one member; else for all */
    uint64_t bytes;    /* of the longest portion */
    uint64_t limit_ns; /* as above */
    uint32_t *watch;
    void *own; /* this rank's memory, all zeros before the first launch */
    void *all; /* the object with the areas */
    /* In an allreduce, and at the root of a reduce, `to` may be `from`; else nothing overlaps. */
    weft_multicast_portion_t portion[WEFT_EXCHANGE_MEMBERS];
} weft_multicast_args_t;

/**
 * Scale: to[i] = from[i] * factor, or from[i] / factor. `to` may be `from`; else they do not
 * overlap. `head` and `vectors` are those of a reduction.
 */
typedef struct weft_scale_args {
    uint64_t count, head, vectors;
    const void *from;
    void *to;
    const void *factor_at; /* an element; NULL: the factor is `factor` */
    uint64_t factor;       /* its bits, in the type to compute with */
    uint32_t type;         /* a weft_scaled_t */
    uint32_t divides;
} weft_scale_args_t;

/** Division by a value known in advance: n / value = n * magic / 2^(64 + shift) for n < 2^63. */
typedef struct weft_divisor {
    uint64_t value;
    uint64_t magic; /* 0: value is 1 */
    uint64_t shift;
} weft_divisor_t;

/** Items of `item` packed bytes each, `stride` bytes apart in memory. */
typedef struct weft_shape_level {
    weft_divisor_t item;
    int64_t stride;
} weft_shape_level_t;

/**
 * Where the bytes of a packed stream lie in typed memory: a layout of datatype/layout.h, for a
 * device. A list lies `list` bytes into the shape's image. It has the entries of layout.h, except
 * for parts:
 *
 *   LEAF_BLOCKS   int64_t offset of each block
 *   LEAF_RUNS     weft_shape_run_t
 *   LEAF_PARTS    weft_shape_part_t
 */
typedef struct weft_shape_node {
    int64_t offset;
    uint32_t leaf, levels; /* a weft_leaf_t */
    weft_shape_level_t level[WEFT_SHAPE_LEVELS];
    weft_divisor_t block; /* for LEAF_BLOCK and LEAF_BLOCKS: the bytes of one block */
    uint64_t list, list_count;
} weft_shape_node_t;

typedef struct weft_shape_run {
    int64_t offset;
    uint64_t start;
} weft_shape_run_t;

typedef struct weft_shape_part {
    int64_t offset;
    uint64_t start;
    weft_shape_level_t repeated;
    uint64_t node; /* where the repeated node lies, bytes into the image */
} weft_shape_part_t;

/** One side of a move: typed memory, or packed bytes, which are described as one block. */
typedef struct weft_move_side {
    void *base;        /* of the first element; the source is only read */
    const void *image; /* NULL when the root has no list */
    weft_shape_node_t root;
} weft_move_side_t;

/** Bytes [begin, end) of a packed stream move from where they lie on one side to where they lie on
 * the other. */
typedef struct weft_move_args {
    uint64_t begin, end;
    uint64_t share; /* bytes that a team moves at a time; for weft_move_spans */
    weft_move_side_t to, from;
} weft_move_args_t;

#endif
