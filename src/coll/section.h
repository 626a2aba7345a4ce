/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections of a plan: steps by which the ranks of one node do something among themselves that is a
 * collective of its own (reduce to a leader, broadcast what it received, ...). A description of
 * that collective is kept beside the steps, so that an executor may do it in another way: with
 * device memory all members bring their memory to a meeting and one of them does it by a kernel
 * (devcoll). A step of kind WEFT_STEP_SECTION stands in front of the section's steps; on host
 * memory it does nothing.
 *
 *   steps      | reduce on the node | leaders among themselves | bcast on the node  |
 *   sections   |<------- 0 -------->|                          |<------- 1 -------->|
 *
 * All ranks of a node write the same sections in the same order, and the messages of a section stay
 * on the node. So the ranks of a node may do each section in any way, as long as all choose the
 * same one.
 */
#ifndef WEFT_COLL_SECTION_H
#define WEFT_COLL_SECTION_H

#include "coll/plan.h"

/** What a section does, for one member. A side without data has no regions. */
typedef struct weft_section_call {
    weft_coll_t coll; /* bcast, gather, scatter, allgather, reduce or reduce_scatter */
    int members, member, root;
    int radix;  /* the radix of the tree whose order of operands is taken; 0: from the left */
    bool waits; /* it writes where steps before it may still read */
    /* As in the collective there is one region, or one for each member. Those of a side lie in one
     * buffer. */
    int gives_count, gets_count;
    const weft_data_t *gives, *gets;
} weft_section_call_t;

typedef struct weft_plan_section {
    /* the step behind the section's last one; its first one follows the WEFT_STEP_SECTION */
    size_t end;
    weft_section_call_t call;
    weft_data_t data[]; /* [gives_count + gets_count] */
} weft_plan_section_t;

/** Begin a section: it consists of the steps that are appended until weft_section_end(). *call is
 * copied, and the plan retains its types. Nothing is done where there is only one member. */
void weft_section_begin(weft_plan_t *plan, const weft_section_call_t *call);
void weft_section_end(weft_plan_t *plan);

/** The number of meetings that the sections of a plan need. Meetings are numbered in this order:
 * those of the plan's own sections, then section by section those of its parts, so that parts which
 * run side by side do not wait for each other's meetings. */
uint32_t weft_plan_meetings(const weft_plan_t *plan);

/** The number of the meeting of section 0 of a part, counted from the plan's first meeting; those
 * of its other sections follow at distances of part_count. */
static inline uint32_t weft_part_meeting(const weft_plan_t *plan, int part)
{
    return (uint32_t)(plan->section_count + part);
}

void weft_sections_release(weft_plan_t *plan);

#endif
