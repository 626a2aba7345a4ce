/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sections of a plan on device memory: the ranks of a node do a section by the method "direct"
 * (direct_work.h) if all of them come with device memory, else by the section's own steps. Messages
 * between nodes are the same in both cases.
 */
#ifndef WEFT_DEVCOLL_SECTION_TASK_H
#define WEFT_DEVCOLL_SECTION_TASK_H

#include "coll/section.h"

#include <stdbool.h>
#include <stdint.h>

/** The run that the section belongs to. */
typedef struct weft_section_run {
    weft_comm_t *comm;
    weft_op_t *op;
    char *const *buffers; /* indexed by weft_buffer_t */
    int tag;              /* the tag of the rank's messages to itself */
    uint32_t number;      /* the number of the meeting */
} weft_section_run_t;

/** Begin to do a section by the method "direct". The caller owns the request; plan and buffers stay
 * until it is complete. Returns false if that cannot be done this time: others will not come, or
 * this rank's memory cannot be exported. */
bool wefti_section_task_begin(const weft_section_call_t *call, const weft_section_run_t *run,
                              weft_request_t **out);

/** Asked of a complete request. True: the section was done, or has failed for all (the request has
 * the error). False: each rank goes on with the section's steps. */
bool wefti_section_task_is_settled(const weft_request_t *request);

#endif
