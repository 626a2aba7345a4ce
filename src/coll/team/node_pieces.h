/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pieces of pieces.h, done by all ranks of a node together: each is a section of the plan
 * (coll/section.h). `node` is weft_team_node(), perhaps turned.
 */
#ifndef WEFT_COLL_TEAM_NODE_PIECES_H
#define WEFT_COLL_TEAM_NODE_PIECES_H

#include "coll/team/cut.h"

void weft_node_bcast(weft_plan_t *plan, const weft_team_t *node, weft_data_t data, int radix);

void weft_node_reduce(weft_plan_t *plan, const weft_team_t *node, weft_place_t from, weft_data_t to,
                      int radix);

void weft_node_gather(weft_plan_t *plan, const weft_team_t *node, weft_data_t own,
                      const weft_cut_t *cut, int radix);

void weft_node_scatter(weft_plan_t *plan, const weft_team_t *node, weft_data_t own,
                       const weft_cut_t *cut, int radix);

void weft_node_reduce_scatter(weft_plan_t *plan, const weft_team_t *node, weft_place_t from,
                              const weft_cut_t *cut);

void weft_node_allgather(weft_plan_t *plan, const weft_team_t *node, const weft_cut_t *cut);

/* Sections that an algorithm writes itself. */

/** The data that this member gives and gets in a section. Parts of `cut` are numbered by member; a
 * member beyond the last part has none. */
typedef struct weft_node_parts {
    weft_coll_t coll;
    int root;
    const weft_data_t *one; /* for or from this member; NULL: nothing */
    const weft_cut_t *cut;  /* for or from all members; NULL: nothing */
    int left_out;           /* the part of `cut` that is already where it belongs; -1: none */
} weft_node_parts_t;

/** Begin the section; weft_section_end() must follow. */
void weft_node_begin(weft_plan_t *plan, const weft_team_t *node, const weft_node_parts_t *parts);

#endif
