/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of recursive multiplying (butterfly.c), for what exchanges within them in its own way.
 */
#ifndef WEFT_COLL_TEAM_BUTTERFLY_H
#define WEFT_COLL_TEAM_BUTTERFLY_H

#include "coll/team/cut.h"
#include "coll/team/digits.h"

/** Where a member stands. */
typedef struct weft_butterfly {
    const weft_team_t *team;
    weft_digits_t digits;
    bool is_paired, is_speaker; /* the other of a pair takes no part in the rounds */
    int self;                   /* number among the speakers */
} weft_butterfly_t;

/** The group of a member in one round. */
typedef struct weft_butterfly_group {
    const weft_team_t *team;
    int pairs;
    int size, stride;
    int first, digit; /* the speaker with digit 0; our digit */
} weft_butterfly_group_t;

weft_butterfly_t weft_butterfly_of(const weft_team_t *team, int radix);
weft_butterfly_group_t weft_butterfly_group(const weft_butterfly_t *butterfly, int round);

/** The member of the team with a digit of the group. */
int weft_butterfly_member(const weft_butterfly_group_t *group, int digit);

/** For members of a pair: the one that does not speak hands its operand over, the speaker puts the
 *  two together in `to`. */
void weft_butterfly_join(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                         weft_data_t to);

/** And the result goes back. */
void weft_butterfly_part(weft_plan_t *plan, const weft_team_t *team, weft_data_t to);

#endif
