/* SPDX-License-Identifier: BSD-3-Clause */
/* Where members are in a k-nomial tree (knomial.c), for what goes along its edges in its own way.
 */
#ifndef WEFT_COLL_TEAM_TREE_H
#define WEFT_COLL_TEAM_TREE_H

#include "coll/team/teams.h"

#include <stdint.h>

typedef struct weft_tree {
    int size, radix;
    int64_t stride; /* our lowest digit that is not zero is there; beyond the team for the root */
    int index, parent;
} weft_tree_t;

weft_tree_t weft_tree_of(const weft_team_t *team, int radix);

/** The children one level down, for a stride below the member's: at index + stride, index + 2
 * stride, and so on. */
int weft_tree_children(const weft_tree_t *tree, int64_t stride);

#endif
