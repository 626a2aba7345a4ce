/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections of a plan: steps by which the ranks of one node do something among themselves that is a
 * collective of its own (reduce to a leader, spread what it got, ...). What a section comes to is
 * written down beside its steps, so that an executor may do it otherwise: with device memory all
 * members bring their memory to a meeting and one of them does it by a kernel (devcoll). A step of
 * its own, of kind WEFT_STEP_SECTION, stands in front of the section's steps; on host memory it
 * does nothing.
 *
 *   steps      | reduce on the node | leaders among themselves | spread on the node |
 *   sections   |<------- 0 -------->|                          |<------- 1 -------->|
 *
 * All ranks of a node write the same sections in the same order; the messages of a section stay on
 * the node. So the ranks of a node may do each section as they like, if they do it alike.
 */
#ifndef WEFT_COLL_SECTION_H
#define WEFT_COLL_SECTION_H

#include "coll/plan.h"

/** What a section comes to, for one member. A member without data of a side has no regions there.
 */
typedef struct weft_section_call {
    weft_coll_t coll; /* bcast, gather, scatter, allgather, reduce or reduce_scatter */
    int members, member, root;
    int radix;  /* operands are bracketed as a tree of this radix does; 0: from the left */
    bool waits; /* it writes where steps before it may still read */
    /* As the collective has it: one region, or one a member. Those of a side lie in one buffer. */
    int gives_count, gets_count;
    const weft_data_t *gives, *gets;
} weft_section_call_t;

typedef struct weft_plan_section {
    size_t end; /* the step behind its last one; its first stands behind the WEFT_STEP_SECTION */
    weft_section_call_t call;
    weft_data_t data[]; /* [gives_count + gets_count] */
} weft_plan_section_t;

/** The steps appended until weft_section_end() do this; *call is copied, and its types are retained
 * by the plan. Nothing where there is only one member. */
void weft_section_begin(weft_plan_t *plan, const weft_section_call_t *call);
void weft_section_end(weft_plan_t *plan);

/** How many meetings the sections of a plan need, which are numbered: first those of its own
 * sections, then section by section those of its parts, so that parts which run side by side do not
 * wait for each other's. */
uint32_t weft_plan_meetings(const weft_plan_t *plan);

/** The number of the meeting of section 0 of a part, counted from the plan's first meeting; those
 * of its other sections follow in steps of part_count. */
static inline uint32_t weft_part_meeting(const weft_plan_t *plan, int part)
{
    return (uint32_t)(plan->section_count + part);
}

void weft_sections_release(weft_plan_t *plan);

#endif
