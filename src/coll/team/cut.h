/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts: a run of elements, cut into parts that follow each other, one for each member of a team. */
#ifndef WEFT_COLL_TEAM_CUT_H
#define WEFT_COLL_TEAM_CUT_H

#include "coll/algorithm.h"
#include "coll/plan.h"
#include "coll/team/teams.h"

typedef struct weft_cut {
    weft_place_t at; /* part 0 begins here */
    weft_type_t *type;
    int parts;
    size_t count; /* elements of all parts */
    /* [parts + 1] first elements, valid while the plan is written; NULL: parts of nearly the same
     * size (weft_part) */
    const size_t *firsts;
    /* each of this many parts at the front consists of two of the parts described above */
    int doubled;
} weft_cut_t;

/** `data` in nearly equal parts. */
static inline weft_cut_t weft_cut(weft_data_t data, int parts)
{
    return (weft_cut_t){data.place, data.type, parts, data.count, NULL, 0};
}

/** The same cut, for a run that lies elsewhere. */
static inline weft_cut_t weft_cut_at(const weft_cut_t *cut, weft_place_t at)
{
    weft_cut_t moved = *cut;
    moved.at = at;
    return moved;
}

/** The first element of a part; index `parts` gives the end of the run. */
size_t weft_cut_first(const weft_cut_t *cut, int index);

/** Parts first to end - 1. */
weft_data_t weft_cut_range(const weft_cut_t *cut, int first, int end);

static inline weft_data_t weft_cut_part(const weft_cut_t *cut, int index)
{
    return weft_cut_range(cut, index, index + 1);
}

static inline weft_data_t weft_cut_all(const weft_cut_t *cut)
{
    return weft_cut_range(cut, 0, cut->parts);
}

/** `count` parts of a circle, beginning with `first`, which may be negative. They are one or two
 * runs. */
typedef struct weft_arc {
    int first, count;
} weft_arc_t;

void weft_team_send_arc(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut,
                        weft_arc_t arc, int to);
void weft_team_recv_arc(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut,
                        weft_arc_t arc, int from);

/** Messages to and from a member of a team. */
static inline void weft_team_send(weft_plan_t *plan, const weft_team_t *team, weft_data_t data,
                                  int to)
{
    weft_plan_send(plan, data, weft_team_rank(team, to));
}

static inline void weft_team_recv(weft_plan_t *plan, const weft_team_t *team, weft_data_t data,
                                  int from)
{
    weft_plan_recv(plan, data, weft_team_rank(team, from));
}

/**
 * Operands in the order in which they are to be applied. All but one lie side by side in scratch
 * memory.
 */
typedef struct weft_operands_in_order {
    weft_place_t slots; /* slot i has the i-th operand without counting `own` */
    weft_place_t own;
    int count, own_at; /* the number of all operands; the position of `own` */
} weft_operands_in_order_t;

/** The slot of operand `index`, which must not be own_at. */
weft_data_t weft_operand_slot(const weft_operands_in_order_t *operands, int index, weft_data_t of);

/** Reduce the operands to `to`, whose count and type are those of each operand, and which may be
 * where `own` lies. The slots are used as scratch. */
void weft_plan_fold(weft_plan_t *plan, const weft_operands_in_order_t *operands, weft_data_t to);

/** Reduce the parts of a cut, which are operands of equal size that lie elsewhere than `to`. Part 0
 * is the operand of rank `turn`; that of rank 0 is taken first. */
void weft_plan_fold_parts(weft_plan_t *plan, const weft_cut_t *cut, int turn, weft_data_t to);

#endif
