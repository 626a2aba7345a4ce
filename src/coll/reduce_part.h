/* SPDX-License-Identifier: BSD-3-Clause */
/* The first half of the two-shot reductions: each rank reduces its part of the vector. */
#ifndef WEFT_COLL_REDUCE_PART_H
#define WEFT_COLL_REDUCE_PART_H

#include "coll/plan.h"

/**
 * Append the steps that leave, on each rank, its part (weft_part) of the reduced vector: every rank
 * sends each other rank its part of the operand and applies the operation in the order of ranks, so
 * that the bits do not depend on timing.
 *
 * args     recv_count elements of recv_type (the operand is weft_operand); op
 * out      where the whole result vector is to lie, NULL: nowhere
 * returns  where this rank's part lies: within *out, or in scratch
 */
weft_place_t weft_plan_reduce_part(weft_plan_t *plan, const weft_coll_args_t *args,
                                   const weft_place_t *out);

#endif
