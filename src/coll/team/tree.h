/* SPDX-License-Identifier: BSD-3-Clause */
/* The position of members in a k-nomial tree (knomial.c), for algorithms that use its edges in
 * their own way. */
#ifndef WEFT_COLL_TEAM_TREE_H
#define WEFT_COLL_TEAM_TREE_H

#include "coll/team/teams.h"

#include <stdint.h>

typedef struct weft_tree {
    int size, radix;
    /* the place value of the member's lowest nonzero digit; for the root beyond the team's size */
    int64_t stride;
    int index, parent;
} weft_tree_t;

weft_tree_t weft_tree_of(const weft_team_t *team, int radix);

/** The number of children at a stride below the member's own: they are at index + stride, index + 2
 * stride, and so on. */
int weft_tree_children(const weft_tree_t *tree, int64_t stride);

#endif
