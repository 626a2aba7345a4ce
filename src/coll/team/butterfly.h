/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of recursive multiplying (butterfly.c), for algorithms that exchange within them in
 * their own way. */
#ifndef WEFT_COLL_TEAM_BUTTERFLY_H
#define WEFT_COLL_TEAM_BUTTERFLY_H

#include "coll/team/cut.h"
#include "coll/team/digits.h"

/** The position of a member. */
typedef struct weft_butterfly {
    const weft_team_t *team;
    weft_digits_t digits;
    bool is_paired, is_speaker; /* only the speaker of a pair takes part in the rounds */
    int self;                   /* number among the speakers */
} weft_butterfly_t;

/** The group of a member in one round. */
typedef struct weft_butterfly_group {
    const weft_team_t *team;
    int pairs;
    int size, stride;
    int first, digit; /* the speaker with digit 0; this member's digit */
} weft_butterfly_group_t;

weft_butterfly_t weft_butterfly_of(const weft_team_t *team, int radix);
weft_butterfly_group_t weft_butterfly_group(const weft_butterfly_t *butterfly, int round);

/** The member of the team that has this digit in the group. */
int weft_butterfly_member(const weft_butterfly_group_t *group, int digit);

/** For members of a pair: the member that is not the speaker sends its operand, and the speaker
 * reduces the two to `to`. */
void weft_butterfly_join(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                         weft_data_t to);

/** The speaker sends the result back to the other member. */
void weft_butterfly_part(weft_plan_t *plan, const weft_team_t *team, weft_data_t to);

#endif
