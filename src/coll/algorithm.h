/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of an algorithm, of which each collective has a table, and functions by which
 * algorithms read their arguments. */
#ifndef WEFT_COLL_ALGORITHM_H
#define WEFT_COLL_ALGORITHM_H

#include "coll/coll.h"
#include "coll/model.h"
#include "coll/plan.h"

typedef void (*weft_build_fn_t)(weft_plan_t *plan, const weft_coll_args_t *args);

/* What an algorithm requires of a call, beyond what every call has. */
enum {
    WEFT_NEEDS_COMMUTATIVE = 1, /* the operation may be applied in any order */
    WEFT_NEEDS_COUNT = 2,       /* there are at least as many elements as ranks */
    WEFT_NEEDS_ORDER = 4,       /* commutative, or the order of nodes is the order of ranks */
    WEFT_NEEDS_REGULAR = 8,     /* nodes are in blocks or cyclic, with equally many ranks on each */
    WEFT_NEEDS_BLOCKS = 16,     /* the order of nodes is the order of ranks */
    /* it is blocking, there is a wall, and a reduction is predefined, of a dense type */
    WEFT_NEEDS_WALL = 32,
};

/** The flags above that a shape fulfils, for an operation that commutes or does not. */
static inline unsigned weft_shape_fulfils(const weft_shape_t *shape, bool commutes)
{
    return (commutes || shape->is_consecutive ? WEFT_NEEDS_ORDER : 0) |
           (shape->placing != WEFT_ANYHOW ? WEFT_NEEDS_REGULAR : 0) |
           (shape->is_consecutive ? WEFT_NEEDS_BLOCKS : 0);
}

/* The members of weft_how_t that an algorithm uses, and an order of operands. */
enum {
    WEFT_HAS_RADIX = 1,
    WEFT_HAS_SEGMENT = 2,
    /* Of a reduction: every element is ((x0 op x1) op x2) ..., in the order of ranks, which is what
     * WEFT_REPRODUCIBLE asks for. */
    WEFT_HAS_FOLD = 4,
};

typedef struct weft_algorithm {
    const char *name; /* as in tuning.conf */
    weft_build_fn_t build;
    unsigned needs;
    const char *cost; /* in words: its cost for p ranks, N nodes and n bytes */
    /* The estimate for communicators of several nodes; NULL: the model never chooses it there. */
    double (*cost_us)(const weft_model_t *model);
    unsigned has; /* WEFT_HAS_ flags */
} weft_algorithm_t;

/* One table for each collective, ended by a row without a name; indexed by weft_coll_t. */
extern const weft_algorithm_t weft_barrier_algorithms[], weft_bcast_algorithms[],
    weft_gather_algorithms[], weft_gatherv_algorithms[], weft_scatter_algorithms[],
    weft_scatterv_algorithms[], weft_allgather_algorithms[], weft_allgatherv_algorithms[],
    weft_alltoall_algorithms[], weft_alltoallv_algorithms[], weft_alltoallw_algorithms[],
    weft_reduce_algorithms[], weft_allreduce_algorithms[], weft_reduce_scatter_algorithms[],
    weft_reduce_scatter_block_algorithms[], weft_scan_algorithms[], weft_exscan_algorithms[];

static inline bool weft_is_in_place(const weft_coll_args_t *args)
{
    return args->send_buf == MPI_IN_PLACE;
}

/** Element `index` of a buffer of `type`. */
static inline weft_place_t weft_element(weft_buffer_t buffer, MPI_Count index,
                                        const weft_type_t *type)
{
    return weft_place_at(buffer, (ptrdiff_t)(index * type->extent));
}

/** The place `elements` elements behind `place`. */
static inline weft_place_t weft_after(weft_place_t place, MPI_Count elements,
                                      const weft_type_t *type)
{
    place.offset += (ptrdiff_t)(elements * type->extent);
    return place;
}

static inline weft_data_t weft_data(weft_place_t place, size_t count, weft_type_t *type)
{
    return (weft_data_t){place, count, type};
}

/** Block `rank` of send_buf, where each rank has send_count elements. */
static inline weft_data_t weft_send_block(const weft_coll_args_t *args, int rank)
{
    MPI_Count first = (MPI_Count)rank * (MPI_Count)args->send_count;
    return weft_data(weft_element(WEFT_IN, first, args->send_type), args->send_count,
                     args->send_type);
}

static inline weft_data_t weft_recv_block(const weft_coll_args_t *args, int rank)
{
    MPI_Count first = (MPI_Count)rank * (MPI_Count)args->recv_count;
    return weft_data(weft_element(WEFT_OUT, first, args->recv_type), args->recv_count,
                     args->recv_type);
}

/** Block `rank` of send_buf, as send_counts and send_displs describe it. */
static inline weft_data_t weft_send_slice(const weft_coll_args_t *args, int rank)
{
    MPI_Count first = weft_count_at(args->send_displs, (size_t)rank);
    return weft_data(weft_element(WEFT_IN, first, args->send_type),
                     (size_t)weft_count_at(args->send_counts, (size_t)rank), args->send_type);
}

static inline weft_data_t weft_recv_slice(const weft_coll_args_t *args, int rank)
{
    MPI_Count first = weft_count_at(args->recv_displs, (size_t)rank);
    return weft_data(weft_element(WEFT_OUT, first, args->recv_type),
                     (size_t)weft_count_at(args->recv_counts, (size_t)rank), args->recv_type);
}

/* The type of a block without elements may be any, even MPI_DATATYPE_NULL. */
static inline weft_data_t weft_typed_block(weft_buffer_t buffer, MPI_Count bytes, MPI_Count count,
                                           MPI_Datatype type)
{
    return weft_data(weft_place_at(buffer, (ptrdiff_t)bytes), (size_t)count,
                     weft_type_of(count == 0 ? MPI_BYTE : type));
}

/** Block `rank` of send_buf, of a type of its own, at a displacement in bytes. */
static inline weft_data_t weft_send_piece(const weft_coll_args_t *args, int rank)
{
    size_t i = (size_t)rank;
    return weft_typed_block(WEFT_IN, weft_count_at(args->send_displs, i),
                            weft_count_at(args->send_counts, i), args->send_types[i]);
}

static inline weft_data_t weft_recv_piece(const weft_coll_args_t *args, int rank)
{
    size_t i = (size_t)rank;
    return weft_typed_block(WEFT_OUT, weft_count_at(args->recv_displs, i),
                            weft_count_at(args->recv_counts, i), args->recv_types[i]);
}

/** This rank's operand of a reduction: recv_count elements of recv_type. */
static inline weft_place_t weft_own_operand(const weft_coll_args_t *args)
{
    return weft_place_at(weft_is_in_place(args) ? WEFT_OUT : WEFT_IN, 0);
}

/** A whole vector of a reduction at a place: recv_count elements of recv_type. */
static inline weft_data_t weft_vector(const weft_coll_args_t *args, weft_place_t place)
{
    return weft_data(place, args->recv_count, args->recv_type);
}

/** The first element of part `index` when `count` elements are cut into `parts` parts of nearly
 * equal size. */
static inline size_t weft_part(size_t count, int index, int parts)
{
    size_t share = count / (size_t)parts, rest = count % (size_t)parts, i = (size_t)index;
    return share * i + (i < rest ? i : rest);
}

#endif
