/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups made of groups (MPI 5.0 section 7.3.2). The caller gets one reference to the result, which
 * may be one of the operands. Errors: MPI_ERR_NO_MEM, and those named below. Costs O(n log n) for n
 * members.
 */
#ifndef WEFT_OBJECT_GROUP_SET_H
#define WEFT_OBJECT_GROUP_SET_H

#include "object/group.h"

/** MPI_IDENT, MPI_SIMILAR (another order) or MPI_UNEQUAL. */
int weft_group_compare(weft_group_t *one, weft_group_t *two);

/** The members of `one`, then those of `two` that are not in it. */
int weft_group_union(weft_group_t *one, weft_group_t *two, weft_group_t **out);
/** The members of `one` that are in `two`. */
int weft_group_intersection(weft_group_t *one, weft_group_t *two, weft_group_t **out);
/** The members of `one` that are not in `two`. */
int weft_group_difference(weft_group_t *one, weft_group_t *two, weft_group_t **out);

/** The members ranks[count], in that order, or all others in the group's order. MPI_ERR_ARG for a
 *  negative count, MPI_ERR_RANK when a rank is out of range or occurs twice. */
int weft_group_include(weft_group_t *group, int count, const int ranks[], weft_group_t **out);
int weft_group_exclude(weft_group_t *group, int count, const int ranks[], weft_group_t **out);

/** The same with (first, last, stride) triplets. Also MPI_ERR_ARG for a stride that is 0 or leads
 * away from `last`. */
int weft_group_include_ranges(weft_group_t *group, int count, int ranges[][3], weft_group_t **out);
int weft_group_exclude_ranges(weft_group_t *group, int count, int ranges[][3], weft_group_t **out);

#endif
