/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short collectives on a wall of many members, by groups of members that are near each other: those
 * under one L3 cache, or, where that is not known, neighbours in the order of ranks. With one level
 * each member reads a line of each other one; on a host of 64 that is 63 lines, in groups of 8 at
 * most 14 for a leader and one for the others:
 *
 *   post 1   each member its operand            read by the leader of its group
 *   post 2   each leader all of its group       read by the other leaders
 *   post 3   each leader the result             read by its group
 *
 * Operands are reduced in the order of ranks by every leader, so the bits are those of one level.
 * Which of the two is faster the first member finds out in the run (route_choice.h), by what its
 * calls take; nothing but time depends on it.
 */
#ifndef WEFT_COLL_WALL_WALL_GROUPS_H
#define WEFT_COLL_WALL_WALL_GROUPS_H

#include "coll/wall/wall.h"

/** With fewer members it is not worth it to ask hwloc for their parts of the machine. */
enum { WEFT_GROUPED_LEAST = 16, WEFT_GROUP_KINDS = 3 };

typedef struct weft_grouped_member {
    int leader, index; /* its operand lies so many behind the start of its leader's post */
    int led;           /* of a leader: the members of its group */
} weft_grouped_member_t;

struct weft_wall_groups {
    int count;         /* of groups */
    int size, largest; /* members of this member's group, and of the largest */
    int others;        /* leaders without this one */
    int *members;      /* [size]: of this group, the leader first */
    int *leaders;      /* [count], then the same without this member, [others] */
    weft_route_choice_t kinds[WEFT_GROUP_KINDS]; /* the first member's */
    weft_grouped_member_t of[];                  /* [members of the wall] */
};

/** The number of the part of the machine that decides this member's group; -1: none is known. It
 * takes some milliseconds where ranks are bound, and is asked of large communicators alone. */
int weft_wall_own_part(int members);

/**
 * Groups by parts[members]: the parts, unless one is not known, there is only one, or one has a
 * single member; else about as many groups as each has members.
 * returns  NULL: no memory; to be given to weft_free()
 */
weft_wall_groups_t *weft_wall_groups_make(const int *parts, int members, int rank);

/** Plans of barriers and allreduces, always by groups, or by what is learnt. Allreduces of more
 * bytes than a post can have of a group's operands have one level. */
void weft_grouped_barrier(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_grouped_allreduce(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_learnt_barrier(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_learnt_allreduce(weft_plan_t *plan, const weft_coll_args_t *args);

#endif
