/* SPDX-License-Identifier: BSD-3-Clause */
/* The rounds of recursive multiplying: a number of members, written as a product of small
 * factors. */
#ifndef WEFT_COLL_TEAM_DIGITS_H
#define WEFT_COLL_TEAM_DIGITS_H

enum { WEFT_DIGITS_MAX = 32 };

typedef struct weft_digits {
    int rounds, factor[WEFT_DIGITS_MAX]; /* 2 to radix each */
    int speakers;                        /* their product */
    int pairs; /* the members beyond it; they and their partners take two more rounds */
} weft_digits_t;

/** The largest such product that is at most `size`; radix >= 2. */
weft_digits_t weft_digits_of(int size, int radix);

/** ceil(log_radix size): the rounds of a tree. */
int weft_digits_rounds(int size, int radix);

#endif
