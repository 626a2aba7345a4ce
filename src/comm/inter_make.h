/* SPDX-License-Identifier: BSD-3-Clause */
/* Making an intercommunicator once both groups are known to all members. */
#ifndef WEFT_COMM_INTER_MAKE_H
#define WEFT_COMM_INTER_MAKE_H

#include "comm/comm_make.h"
#include "comm/context_agree.h"

typedef struct weft_inter_parts {
    weft_group_t *own, *remote;
    weft_group_t *both;       /* their members, in the same order at all of them */
    const weft_comm_t *model; /* whose error handler the new ones get */
} weft_inter_parts_t;

/** As wefti_comm_make(), with the members of both groups. */
int wefti_inter_make(const weft_members_t *members, const weft_creation_t *creation,
                     const weft_inter_parts_t *parts, int error, weft_comm_t **out);

/** The intercommunicator and its union, with no context yet. */
int wefti_inter_create(const weft_inter_parts_t *parts, weft_comm_t **out);

/** Tell the other leader that this one's group cannot take part, if this one knows the other. */
void wefti_leader_give_up(const weft_leader_t *leader);

#endif
