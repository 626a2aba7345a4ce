/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Teams: the ranks that take part in a piece of a collective, in an order of their own. What is
 * written for a team (pieces.h) serves the whole communicator, the ranks of a node and one rank of
 * each node alike. A team is a value of a few words, whatever its size.
 */
#ifndef WEFT_COLL_TEAM_TEAMS_H
#define WEFT_COLL_TEAM_TEAMS_H

#include "coll/team/shape.h"

enum { WEFT_LAST_LANE = -1 }; /* the last rank of every node */

typedef struct weft_team {
    int size, index; /* this rank is member `index` */
    /* The team is a list of ranks: entry i is first + i * stride, members[i], or rank `lane` of
     * node i. */
    int first, stride;
    const int *members;
    const weft_shape_t *lane_of; /* NULL: the list is not by lane */
    int lane;
    int turn;        /* member i is entry i + turn of the list, counted around its end */
    int stand_in_at; /* the entry of the list that stand_in replaces; -1: none */
    int stand_in;
} weft_team_t;

/** All ranks of a communicator, in order. */
weft_team_t weft_team_all(int size, int rank);

/** The ranks that share the node of `rank`, in order. The team points into the shape. */
weft_team_t weft_team_node(const weft_shape_t *shape, int rank);

/** Rank `lane` of every node, by node; lane < shape->least, or WEFT_LAST_LANE. `rank` is the member
 * on its node, or not a member: then the team may only be asked for its ranks. The team points to
 * the shape. */
weft_team_t weft_team_lane(const weft_shape_t *shape, int lane, int rank);

/** For a team made by weft_team_lane(): `rank` replaces the member of its node. */
weft_team_t weft_team_with(weft_team_t team, int rank);

/** The same team, turned so that member `root` of it is member 0. */
weft_team_t weft_team_turned(weft_team_t team, int root);

/** The rank in the communicator of a member. */
int weft_team_rank(const weft_team_t *team, int index);

/** The index `distance` members from this one, counted around the end; `distance` is between -size
 * and size. */
static inline int weft_team_at(const weft_team_t *team, int distance)
{
    int at = team->index + distance;
    return at < 0 ? at + team->size : at >= team->size ? at - team->size : at;
}

#endif
