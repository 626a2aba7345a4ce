/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan lists the steps of one rank in a collective, over three buffers. An algorithm only writes
 * a plan; coll/engine.c runs it, for the blocking and the nonblocking form alike. A plan names
 * places (buffer and offset), not addresses, so one plan serves every call with the same counts,
 * types and root.
 *
 *   send  out of a place to a peer        reduce  place = place op place
 *   recv  from a peer into a place        copy    place to place, perhaps of different types
 *   part  begin a plan within the plan
 *   section  describes the steps that follow, for executors that can do them in another way
 *
 * In place of steps a plan may name a function that does all of a blocking collective on a wall
 * (coll/wall/wall.h).
 *
 * Steps begin in order. Sends, receives and parts continue while the next steps begin; a step
 * marked `waits` begins only when everything before it is over. Messages between two ranks match in
 * the order in which both plans have them, separately for each part.
 */
#ifndef WEFT_COLL_PLAN_H
#define WEFT_COLL_PLAN_H

#include "coll/coll.h"
#include "coll/team/shape.h"
#include "datatype/type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum weft_buffer {
    WEFT_IN,      /* send_buf; recv_buf where the operation is in place */
    WEFT_OUT,     /* recv_buf */
    WEFT_SCRATCH, /* memory of the run */
    WEFT_BUFFERS
} weft_buffer_t;

/** Where an operand begins. */
typedef struct weft_place {
    weft_buffer_t buffer;
    ptrdiff_t offset; /* bytes from the start of the buffer; may be negative (lower bounds) */
} weft_place_t;

static inline weft_place_t weft_place_at(weft_buffer_t buffer, ptrdiff_t offset)
{
    return (weft_place_t){buffer, offset};
}

/** `count` elements of `type` at a place. */
typedef struct weft_data {
    weft_place_t place;
    size_t count;
    weft_type_t *type;
} weft_data_t;

typedef enum weft_step_kind {
    WEFT_STEP_SEND,
    WEFT_STEP_RECV,
    WEFT_STEP_REDUCE, /* to = from op second */
    WEFT_STEP_COPY,   /* to = from */
    WEFT_STEP_PART,   /* parts[peer] */
    /* sections[peer]; does nothing where the section's steps are run one by one */
    WEFT_STEP_SECTION,
} weft_step_kind_t;

typedef struct weft_step {
    weft_step_kind_t kind;
    bool waits;
    int peer;            /* rank in the communicator */
    weft_data_t from;    /* send, reduce, copy */
    weft_place_t second; /* reduce */
    weft_data_t to;      /* recv, reduce, copy */
} weft_step_t;

/** What an algorithm may know besides the arguments of the call. Only is_oversubscribed may differ
 * between the ranks, and it only decides what the ranks of one node do among themselves. */
typedef struct weft_how {
    const weft_shape_t *shape; /* the communicator's */
    int radix;                 /* at least 2 */
    size_t segment_bytes;      /* cut the data into pieces of about this size; 0: do not cut */
    bool is_oversubscribed;    /* ranks of this host outnumber its cores */
} weft_how_t;

enum { WEFT_FEW_STEPS = 8 };

typedef struct weft_wall weft_wall_t;

/** Returns MPI_SUCCESS, or an error with a text. */
/** What determines the plan of a call (plan_cache.h). */
typedef struct weft_plan_key {
    /* the collective, its root, which buffers are MPI_IN_PLACE, and whether there is a wall, in one
     * word that is compared at once */
    uint64_t call;
    size_t send_count, recv_count, bytes; /* bytes: of a call with arrays */
    const weft_type_t *send_type, *recv_type;
    const weft_op_t *op;
} weft_plan_key_t;

typedef int (*weft_on_wall_t)(weft_wall_t *wall, const weft_coll_args_t *args);

typedef struct weft_plan {
    int references;
    weft_plan_key_t key; /* of the call; of a whole plan */
    weft_step_t *steps;  /* [count]; `few`, or allocated memory */
    size_t count, room;
    struct weft_plan **parts; /* [part_count] */
    int part_count;           /* the same on all ranks */
    struct weft_plan_section *
        *sections;          /* [section_count], in the order of steps: coll/section.h */
    int section_count;      /* the same on all ranks of a node */
    uint32_t meetings;      /* weft_plan_meetings() */
    weft_on_wall_t on_wall; /* in place of steps; NULL: there are steps */
    const struct weft_wall_steps *wall_steps; /* the same, one by one (coll/wall/wall_call.h) */
    size_t scratch_bytes;
    void *spare_scratch; /* kept between runs; NULL while a run has it */
    weft_how_t how;      /* this and the rest are used while the plan is written */
    bool next_waits, is_in_section;
    weft_coll_t coll; /* these two, for tools: set by who writes the whole plan */
    const struct weft_algorithm *algorithm;
    int error;                       /* MPI_ERR_NO_MEM after an allocation has failed */
    weft_step_t few[WEFT_FEW_STEPS]; /* last: not cleared with the rest */
} weft_plan_t;

/** An empty plan with one reference; NULL when there is no memory. */
weft_plan_t *weft_plan_create(const weft_how_t *how);
void weft_plan_free(weft_plan_t *plan);

static inline void weft_plan_release(weft_plan_t *plan)
{
    if (--plan->references == 0)
        weft_plan_free(plan);
}

/* Writing. The plan retains types. Steps without data are left out, on both sides of a message. If
 * there is no memory, that is noted in plan->error. */
void weft_plan_send(weft_plan_t *plan, weft_data_t from, int peer);
void weft_plan_recv(weft_plan_t *plan, weft_data_t to, int peer);
/** Append to = a op b, element by element, where a comes before b in the order of ranks. Count and
 * type of `to` are those of all three places; `to` may be a or b. */
void weft_plan_reduce(weft_plan_t *plan, weft_place_t a, weft_place_t b, weft_data_t to);
/** Append a copy; nothing when both are the same data. */
void weft_plan_copy(weft_plan_t *plan, weft_data_t from, weft_data_t to);
/** Make the next step wait for all before it. */
void weft_plan_wait(weft_plan_t *plan);
/** Section `index` begins with the next step. (weft_section_begin() calls it.) */
void weft_plan_mark_section(weft_plan_t *plan, int index);

/** Room for `count` elements of `type` in the scratch buffer: where element 0 begins. */
weft_place_t weft_plan_scratch(weft_plan_t *plan, size_t count, const weft_type_t *type);

/** Write parts 0 to count - 1, which run side by side. Steps that are appended later run beside the
 * parts, until one waits. A single part is written as steps of the plan itself. A part has no parts
 * of its own. */
typedef void (*weft_part_fn_t)(weft_plan_t *plan, const void *context, int index);
void weft_plan_parts(weft_plan_t *plan, int count, weft_part_fn_t write, const void *context);

/** Messages without data, for synchronisation. */
void weft_plan_signal(weft_plan_t *plan, int peer);
void weft_plan_await(weft_plan_t *plan, int peer);

#endif
