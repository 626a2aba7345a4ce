/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of every function of a collective: the user's arguments as one structure, and one way
 * from there into coll, blocking or not.
 *
 *     return weft_coll_enter(&(weft_coll_call_t){.coll = WEFT_GATHER, .name = "MPI_Gather", ...},
 *                            settle_gather);
 *
 * Only the blocking functions are written by hand; coll_forms.awk writes the nonblocking and the
 * persistent ones after their pattern.
 *
 * A `settle` function checks the arguments and fills in those of coll, except those that are not
 * significant on this rank, which may have any value (MPI 5.0 section 6.2).
 */
#ifndef WEFT_MPI_COLL_CALL_H
#define WEFT_MPI_COLL_CALL_H

#include "mpi/call.h"
#include "mpi/check.h"
#include "stream/enqueue.h"
#include "coll/coll.h"
#include "base/config.h"

/* Always inlined: the compiler then knows that most of a weft_coll_call_t is 0, and writes none of
 * it to memory. That ends where a function that is not inlined gets its address, so such a function
 * gets that of a copy. */
#define WEFT_COLL_INLINE inline __attribute__((always_inline))

/* How the data of one side are laid out. */
typedef enum weft_coll_layout {
    WEFT_LAYOUT_BLOCK,  /* count elements of type, or that many for each rank */
    WEFT_LAYOUT_SLICES, /* counts[rank] elements of type at displs[rank] */
    WEFT_LAYOUT_PIECES, /* counts[rank] elements of types[rank] at displs[rank] bytes */
} weft_coll_layout_t;

/** One side of a collective, as the user gave it. */
typedef struct weft_coll_side {
    const void *buf;
    weft_coll_layout_t layout;
    MPI_Count count;
    MPI_Datatype type;
    weft_counts_t counts, displs;
    const MPI_Datatype *types;
} weft_coll_side_t;

typedef enum weft_coll_form {
    WEFT_BLOCKING,
    WEFT_NONBLOCKING,
    WEFT_PERSISTENT,
    WEFT_ENQUEUED,       /* in the order of the communicator's stream, which waits */
    WEFT_ENQUEUED_BEGUN, /* or does not */
} weft_coll_form_t;

typedef struct weft_coll_call {
    weft_coll_t coll;
    const char *name;
    MPI_Comm comm;
    int root;
    weft_coll_side_t send, recv; /* in a reduction send has only the buffer */
    MPI_Op op;
    weft_coll_form_t form;
    MPI_Info info;        /* of a persistent call */
    MPI_Request *request; /* of a call that returns before the collective is over */
} weft_coll_call_t;

static inline void weft_counts_set(weft_counts_t *counts, weft_counts_t value)
{
    counts->at = value.at;
    counts->wide = value.wide;
}

/* Copies are made member by member: to copy the whole would need the whole in memory. */
static WEFT_COLL_INLINE void weft_side_copy(weft_coll_side_t *to, const weft_coll_side_t *from)
{
    to->buf = from->buf;
    to->layout = from->layout;
    to->count = from->count;
    to->type = from->type;
    weft_counts_set(&to->counts, from->counts);
    weft_counts_set(&to->displs, from->displs);
    to->types = from->types;
}

static WEFT_COLL_INLINE void weft_coll_copy(weft_coll_call_t *to, const weft_coll_call_t *from)
{
    to->coll = from->coll;
    to->name = from->name;
    to->comm = from->comm;
    to->root = from->root;
    weft_side_copy(&to->send, &from->send);
    weft_side_copy(&to->recv, &from->recv);
    to->op = from->op;
    to->form = from->form;
    to->info = from->info;
    to->request = from->request;
}

/** What the standard calls the arguments of a side; for messages. */
typedef struct weft_side_names {
    const char *buf, *count, *type, *counts, *displs, *types;
} weft_side_names_t;

extern const weft_side_names_t weft_send_names, weft_recv_names;
extern const weft_side_names_t weft_bcast_names;
/** Where both sides have arrays. */
extern const weft_side_names_t weft_alltoall_send_names, weft_alltoall_recv_names;

static inline weft_coll_side_t weft_block(const void *buf, MPI_Count count, MPI_Datatype type)
{
    return (weft_coll_side_t){.buf = buf, .count = count, .type = type};
}

static inline weft_coll_side_t weft_slices(const void *buf, const int counts[], const int displs[],
                                           MPI_Datatype type)
{
    return (weft_coll_side_t){.buf = buf,
                              .layout = WEFT_LAYOUT_SLICES,
                              .type = type,
                              .counts = weft_counts_int(counts),
                              .displs = weft_counts_int(displs)};
}

static inline weft_coll_side_t weft_slices_c(const void *buf, const MPI_Count counts[],
                                             const MPI_Aint displs[], MPI_Datatype type)
{
    return (weft_coll_side_t){.buf = buf,
                              .layout = WEFT_LAYOUT_SLICES,
                              .type = type,
                              .counts = weft_counts_wide(counts),
                              .displs = weft_counts_aint(displs)};
}

static inline weft_coll_side_t weft_pieces(const void *buf, const int counts[], const int displs[],
                                           const MPI_Datatype types[])
{
    return (weft_coll_side_t){.buf = buf,
                              .layout = WEFT_LAYOUT_PIECES,
                              .counts = weft_counts_int(counts),
                              .displs = weft_counts_int(displs),
                              .types = types};
}

/** Counts of int beside displacements of MPI_Aint, as only MPI_Neighbor_alltoallw has them. */
static inline weft_coll_side_t weft_pieces_aint(const void *buf, const int counts[],
                                                const MPI_Aint displs[], const MPI_Datatype types[])
{
    return (weft_coll_side_t){.buf = buf,
                              .layout = WEFT_LAYOUT_PIECES,
                              .counts = weft_counts_int(counts),
                              .displs = weft_counts_aint(displs),
                              .types = types};
}

static inline weft_coll_side_t weft_pieces_c(const void *buf, const MPI_Count counts[],
                                             const MPI_Aint displs[], const MPI_Datatype types[])
{
    return (weft_coll_side_t){.buf = buf,
                              .layout = WEFT_LAYOUT_PIECES,
                              .counts = weft_counts_wide(counts),
                              .displs = weft_counts_aint(displs),
                              .types = types};
}

/** Both buffers at one address: MPI_ERR_BUFFER. */
int weft_bad_alias(void) __attribute__((cold));

/** A side with arrays of so many entries: none is NULL, and the entries are valid. */
int weft_check_arrays(const weft_coll_side_t *side, const weft_side_names_t *names, int entries);

/** The entries of recvcounts of a reduction; their sum is the number of elements of the operand. */
int weft_check_recvcounts(weft_counts_t counts, int entries, MPI_Count *total_out);

/** The whole of weft_check_own_block(), which see. */
int weft_check_own_sides(const weft_coll_side_t *send, const weft_coll_side_t *recv, int rank);

/** The type of `count` elements that a side sends or receives; `names` are one of those above. */
static inline int weft_check_side_type(MPI_Datatype handle, MPI_Count count,
                                       const weft_side_names_t *names, const char *name,
                                       weft_type_t **out)
{
    if (names == &weft_recv_names || names == &weft_alltoall_recv_names)
        return weft_check_receiving_type(handle, count, name, out);
    return weft_check_committed_type(handle, name, out);
}

/** A buffer that is not MPI_IN_PLACE, and is not NULL if it has data. */
static WEFT_COLL_INLINE int weft_check_place(const void *buf, MPI_Count count,
                                             const weft_type_t *type, const char *name)
{
    if (__builtin_expect(buf == MPI_IN_PLACE, 0))
        return weft_bad_in_place(name);
    return weft_check_buffer(buf, count, type, name);
}

/** One side, of any layout; arrays have `entries` entries. */
static WEFT_COLL_INLINE int weft_check_layout(const weft_coll_side_t *side,
                                              const weft_side_names_t *names, int entries)
{
    if (side->layout != WEFT_LAYOUT_BLOCK) {
        weft_coll_side_t copy;
        weft_side_copy(&copy, side);
        return weft_check_arrays(&copy, names, entries);
    }
    weft_type_t *type = NULL;
    int err = weft_check_count(side->count, names->count);
    if (err == MPI_SUCCESS)
        err = weft_check_side_type(side->type, side->count, names, names->type, &type);
    if (err == MPI_SUCCESS)
        err = weft_check_place(side->buf, side->count, type, names->buf);
    return err;
}

/** One side, of any layout; arrays have an entry for each rank. */
static WEFT_COLL_INLINE int weft_check_side(const weft_coll_side_t *side,
                                            const weft_side_names_t *names, const weft_comm_t *comm)
{
    return weft_check_layout(side, names, comm->size);
}

/** What this rank sends to itself must have the size of what it receives, and another place. */
static WEFT_COLL_INLINE int weft_check_own_block(const weft_coll_call_t *user,
                                                 const weft_comm_t *comm)
{
    weft_coll_side_t send, recv;
    bool has_blocks =
        user->send.layout == WEFT_LAYOUT_BLOCK && user->recv.layout == WEFT_LAYOUT_BLOCK;
    bool is_alike = user->send.count == user->recv.count && user->send.type == user->recv.type;
    if (__builtin_expect(has_blocks && is_alike && user->send.buf != user->recv.buf, 1))
        return MPI_SUCCESS;
    weft_side_copy(&send, &user->send);
    weft_side_copy(&recv, &user->recv);
    return weft_check_own_sides(&send, &recv, comm->rank);
}

/** Fill in coll's arguments, member by member: for an initialiser compilers clear the whole
 * structure first, which costs more than all checks together. */
static WEFT_COLL_INLINE void weft_coll_fill(const weft_coll_call_t *user, weft_comm_t *comm,
                                            weft_coll_args_t *args)
{
    args->comm = comm;
    args->inter = NULL;
    args->root = user->root;
    args->send_buf = user->send.buf;
    args->send_count = (size_t)user->send.count;
    args->send_type = weft_type_of(user->send.type);
    args->recv_buf = (void *)user->recv.buf;
    args->recv_count = (size_t)user->recv.count;
    args->recv_type = weft_type_of(user->recv.type);
    args->op = weft_op_of(user->op);
    weft_counts_set(&args->send_counts, user->send.counts);
    weft_counts_set(&args->send_displs, user->send.displs);
    args->send_types = user->send.types;
    weft_counts_set(&args->recv_counts, user->recv.counts);
    weft_counts_set(&args->recv_displs, user->recv.displs);
    args->recv_types = user->recv.types;
}

/** Begin, enqueue or prepare a collective whose arguments have been checked. */
int weft_coll_request(const weft_coll_call_t *user, const weft_coll_args_t *args);

typedef int (*weft_settle_fn_t)(weft_coll_call_t *user, weft_comm_t *comm, weft_coll_args_t *args);

/** The settle functions of the hand-written functions, for those that coll_forms.awk writes. */
extern const weft_settle_fn_t weft_settle_barrier, weft_settle_bcast, weft_settle_gather,
    weft_settle_scatter, weft_settle_allgather, weft_settle_alltoall, weft_settle_reduce,
    weft_settle_allreduce, weft_settle_exscan, weft_settle_reduce_scatter,
    weft_settle_reduce_scatter_block, weft_settle_neighbor;

static WEFT_COLL_INLINE int weft_coll_perform(const weft_coll_call_t *user,
                                              const weft_coll_args_t *args)
{
    if (user->form == WEFT_BLOCKING)
        return weft_coll_run(user->coll, args);
    if (user->form == WEFT_ENQUEUED)
        return weft_enqueue_coll(user->name, user->coll, args, NULL);
    weft_coll_call_t copy;
    weft_coll_copy(&copy, user);
    return weft_coll_request(&copy, args);
}

/** The same as a settle function for calls on intercommunicators. */
int weft_settle_inter(weft_coll_call_t *user, weft_comm_t *comm, weft_coll_args_t *args);

static WEFT_COLL_INLINE int weft_coll_settle_inter(const weft_coll_call_t *user, weft_comm_t *comm,
                                                   weft_coll_args_t *args)
{
    weft_coll_call_t copy;
    weft_coll_copy(&copy, user);
    return weft_settle_inter(&copy, comm, args);
}

/** Check, fill in, perform. */
static WEFT_COLL_INLINE int weft_coll_enter(weft_coll_call_t *user, weft_settle_fn_t settle)
{
    weft_call_t call = weft_call_begin(user->name);
    weft_comm_t *comm;
    weft_coll_args_t args;
    int err = weft_check_live_comm(&call, user->comm, &comm);
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        err = __builtin_expect(comm->both == NULL, 1) ? settle(user, comm, &args)
                                                      : weft_coll_settle_inter(user, comm, &args);
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        err = weft_coll_perform(user, &args);
    return weft_call_end(&call, err);
}

#endif
