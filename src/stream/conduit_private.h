/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that are kernels in the streams of the ranks, where they wait for each other: no host
 * function, no gate and no thread takes part. A communicator has a conduit for them if all of its
 * ranks are on one host, each with a device that reaches those of all others, and that it shares
 * with no other rank or through MPS. It is made together with the communicator:
 *
 *   inbox    | head | rows of exchanges 1, 3 ... | rows of 2, 4 ... |  (cuda/kernels/kernel_args.h)
 *   rows     blocks of member 0 | of 1 | ... | results of member 0 | of 1 | ... |
 *   stage    packed data of a piece on the device, for each side
 *   bounce   the same in pinned memory, for buffers of the host
 *
 * A call goes through it in pieces, each by a kernel of its own, in the order of the stream.
 */
#ifndef WEFT_STREAM_CONDUIT_PRIVATE_H
#define WEFT_STREAM_CONDUIT_PRIVATE_H

#include "stream/stream_private.h"
#include "coll/coll.h"
#include "datatype/pack.h"
#include "runtime/device.h"

enum {
    CONDUIT_MEMBERS = WEFT_EXCHANGE_MOST_MEMBERS,
    CONDUIT_INBOX = 4 << 20,
    CONDUIT_PART = (CONDUIT_INBOX - WEFT_CONDUIT_HEAD) / 2 / 64 * 64,
    CONDUIT_STAGE = WEFT_PINNED_SLOT, /* at least a quarter of a part */
    CONDUIT_UNIT = 16,
};

typedef enum conduit_side_index { CONDUIT_GIVES, CONDUIT_GETS, CONDUIT_SIDES } conduit_side_index_t;

typedef struct conduit {
    weft_comm_t *comm; /* NULL: it was freed, and the conduit goes when its kernels have ended */
    weft_device_t *device;
    int members, member, crowd; /* of weft_exchange_t */
    int processes[CONDUIT_MEMBERS];
    weft_inbox_t inbox;
    weft_conduit_watch_t *watch;
    weft_share_t share;
    weft_mapping_t peers[CONDUIT_MEMBERS];
    char *stage[CONDUIT_SIDES], *bounce[CONDUIT_SIDES];
    size_t block_most; /* bytes of a block that fits a row */
    uint32_t number;   /* of the last launch outside of graphs */
    int graphs;        /* captured operations whose graph is still there */
    /* what was seen of it when it was last looked at */
    uint32_t begun;
    int stopped; /* a process */
    int64_t looked_ns, stopped_ns;
    /* why this rank has called its kernels off; MPI_SUCCESS: it has not */
    int off_error;
    int lost; /* the process that has failed */
    bool has_told;
    bool has_room;
    weft_link_t link; /* in wefti_conduits */
} conduit_t;

extern weft_list_t wefti_conduits;

/** Bytes of a member's row: half of a part is for blocks, the other half for results. */
static inline size_t wefti_conduit_row(int members)
{
    return (size_t)CONDUIT_PART / 2 / (size_t)members / 64 * 64;
}

/** Make the conduit of a communicator whose stream is `stream` (NULL: it has none), if all members
 * can. Collective. *out NULL: there is none. An error is that of the agreement. */
int wefti_conduit_create(weft_comm_t *comm, weft_stream_t *stream, conduit_t **out);

/** Free a conduit that no kernel uses; `has_device`: the device's memory is still there. */
void wefti_conduit_destroy(conduit_t *conduit, bool has_device);

/* ---- conduit_watch.c ---- */

/** Has an exchange ended without a result? */
static inline bool wefti_conduit_has_failed(const conduit_t *conduit)
{
    return conduit->watch->vain != 0 || conduit->off_error != MPI_SUCCESS;
}

/** May a kernel be waiting in it that was launched by itself? */
bool wefti_conduit_is_busy(const conduit_t *conduit);
/** The same, or may a kernel of a graph wait, now or later? */
bool wefti_conduit_may_wait(const conduit_t *conduit);

/** The error class of a failed conduit, with a text. */
int wefti_conduit_error(conduit_t *conduit);

/** A launch has failed: end what the others have launched. */
void wefti_conduit_break(conduit_t *conduit);

/** Wait until few launches are in the conduit's stream. */
void wefti_conduit_await_room(conduit_t *conduit);

/** Look at all conduits: call off what waits in vain, report failures, and free what is not needed
 * any more. Returns whether a kernel is waiting, and has been for some time. */
bool wefti_conduits_look(void);

/* ---- conduit_call.c ---- */

/** One block, that goes to a member or comes from it. */
typedef struct conduit_block {
    weft_elements_t data;
    size_t bytes; /* packed; where an operation is applied, with gaps */
} conduit_block_t;

typedef enum conduit_place {
    CONDUIT_DIRECT, /* kernels work in the buffer */
    CONDUIT_STAGED,
    CONDUIT_BOUNCED,
} conduit_place_t;

/** One side of a call. */
typedef struct conduit_side {
    conduit_block_t block[CONDUIT_MEMBERS];
    bool is_each; /* the blocks are different memory; else those that have data are the same one */
    conduit_place_t place;
    weft_packer_t packer;
} conduit_side_t;

typedef struct conduit_call {
    weft_coll_t coll;
    weft_op_t *op; /* NULL: blocks go as they are */
    weft_type_t *type;
    bool has_gaps; /* an operation is applied to elements with gaps */
    size_t most;   /* bytes of the longest block of all members */
    size_t piece;  /* of a block that go at a time */
    conduit_side_t side[CONDUIT_SIDES];
} conduit_call_t;

/** Describe a call, if it is one for the conduit; the answer is the same on all members. */
bool wefti_conduit_call(const conduit_t *conduit, weft_coll_t coll, const weft_coll_args_t *args,
                        conduit_call_t *out);

/** The part of a block in the piece that begins at byte `at` of all blocks. */
static inline size_t wefti_conduit_part(const conduit_call_t *call, size_t bytes, size_t at)
{
    size_t left = bytes > at ? bytes - at : 0;
    return left < call->piece ? left : call->piece;
}

/** The exchange of a piece. */
void wefti_conduit_exchange(const conduit_t *conduit, const conduit_call_t *call, size_t at,
                            weft_exchange_t *out);

/** Where the kernel finds block `index` of a side, or puts it. */
char *wefti_conduit_place(const conduit_t *conduit, const conduit_call_t *call,
                          conduit_side_index_t side, int index, size_t at);

/* ---- conduit_keep.c ---- */

typedef struct conduit_keep conduit_keep_t;

/** What must stay as long as a call, or the graph that it is part of: types, the communicator, and
 * the descriptions for host functions. NULL, with a text: no memory. */
conduit_keep_t *wefti_conduit_keep(conduit_t *conduit, const conduit_call_t *call,
                                   const weft_coll_args_t *args, bool is_captured);

/** Without the lock: put into the stream what comes before the kernel of a piece, or behind it. */
int wefti_conduit_put_data(conduit_keep_t *keep, weft_stream_t *stream, size_t at, bool is_before);

/** Without the lock: have it released when the stream comes here, or when the graph is gone. */
int wefti_conduit_put_end(conduit_keep_t *keep, weft_stream_t *stream);

/** At the end of MPI. */
void wefti_conduit_keeps_end(void);

#endif
