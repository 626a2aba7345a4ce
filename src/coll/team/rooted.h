/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two levels with a root: each node has a leader, which is the root on its node, and the lowest
 * rank on others. The blocks of all ranks, as bytes, are in this order:
 *
 *   the root's node, beginning with the root | the next node | ... | the node before the root's
 */
#ifndef WEFT_COLL_TEAM_ROOTED_H
#define WEFT_COLL_TEAM_ROOTED_H

#include "coll/team/cut.h"

typedef struct weft_rooted {
    const weft_shape_t *shape;
    int rank, root, home; /* home: the root's node */
    weft_team_t node;     /* of this rank, turned so that its leader is member 0 */
    weft_team_t leaders;  /* turned so that the root is member 0; only for leaders */
} weft_rooted_t;

weft_rooted_t weft_rooted_of(const weft_shape_t *shape, int rank, int root);

/** The first bytes of the blocks of each node, in that order; [nodes + 1], to be freed. Returns
 * NULL if there is no memory, and notes it in the plan. */
size_t *weft_rooted_firsts(weft_plan_t *plan, const weft_rooted_t *rooted, size_t block);

/** For the root: is that order the same as the order of ranks? */
bool weft_rooted_is_straight(const weft_rooted_t *rooted);

/** For the root: copy the blocks of all ranks between `all`, where they are in that order, and the
 * places that `block` gives. */
typedef struct weft_rooted_blocks {
    const weft_coll_args_t *args;
    weft_data_t (*block)(const weft_coll_args_t *args, int rank);
    weft_place_t all;
    bool is_gather; /* copy from `all` to the blocks */
} weft_rooted_blocks_t;

void weft_rooted_copy(weft_plan_t *plan, const weft_rooted_t *rooted,
                      const weft_rooted_blocks_t *blocks);

#endif
