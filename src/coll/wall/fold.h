/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions of what the members of a wall have posted, always in the order of ranks:
 * ((x0 op x1) op x2) ... */
#ifndef WEFT_COLL_WALL_FOLD_H
#define WEFT_COLL_WALL_FOLD_H

#include "coll/wall/wall.h"

/** Elements of one operand after the other: `count` elements of the reduction's type each, which is
 * predefined and dense. */
typedef struct weft_fold {
    const weft_op_t *op;
    const weft_type_t *type;
    int operands;
    size_t count;
    const char *own; /* this rank's operand, where it lies; NULL: it is taken from its post */
    int dirty;       /* the member whose operand is to be left dirty; -1: none */
    const char *at[WEFT_WALL_MEMBERS_MOST]; /* [operands] */
} weft_fold_t;

/** out = at[0] op at[1] op ...; `out` may be at[0] or at[1]. */
void weft_fold(const weft_fold_t *its, void *out);

/** The same of two operands or more, to two places: what is copied to the second, in this way, is
 * still in the nearest cache, and `copy` may be any at[i]. */
void weft_fold_twice(const weft_fold_t *its, void *out, void *copy, weft_store_t way);

/** The operands of the members up to `its->operands` - 1, from their posts of this number, which
 * are there. Each has `bytes` bytes, and its elements begin `offset` bytes behind the start. False:
 * wall->error. */
bool weft_fold_read(weft_wall_t *wall, weft_fold_t *its, size_t bytes, size_t offset);

/** They have been reduced, and are needed no more. */
void weft_fold_have_read(const weft_wall_t *wall, const weft_fold_t *its);

static inline weft_fold_t weft_fold_of(const weft_coll_args_t *args, int operands, size_t count)
{
    weft_fold_t its;
    its.op = args->op;
    its.type = args->recv_type;
    its.operands = operands;
    its.count = count;
    its.own = NULL;
    its.dirty = -1;
    return its;
}

/** This rank's operand. */
static inline const char *weft_fold_input(const weft_coll_args_t *args)
{
    return args->send_buf == MPI_IN_PLACE ? args->recv_buf : args->send_buf;
}

/** Can this rank's operand be read in the caller's buffer? That is better where it can: what has
 * just been posted may have left the caches of this core (`rep movsb`), and to read it there
 * doubled the time of an allreduce of 64 KiB. In place the result is written over an operand that
 * is not one of the first two before it has been read. */
static inline bool weft_fold_has_input(const weft_coll_args_t *args, int rank)
{
    return args->send_buf != MPI_IN_PLACE || rank < 2;
}

/** How many of `count` elements a post of this wall can have of each of `parts` parts: all, or what
 * fits into whole lines. Divisions take as long as a short collective's data (Cascade Lake). */
static inline size_t weft_wall_elements(const weft_wall_t *wall, const weft_type_t *type, int parts,
                                        size_t count)
{
    if (__builtin_expect(count * type->size * (size_t)parts <= wall->chunk, 1))
        return count;
    size_t line = 64, part = wall->chunk / (size_t)parts / line * line;
    return weft_least(count, part / type->size);
}

#endif
