/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_create_group and MPI_Comm_create: communicators of a group whose members alone take
 * part. */
#include "comm/comm_make.h"

#include "comm/context_agree.h"
#include "object/group.h"

/* Of the old and the new communicator. */
typedef struct groups {
    weft_group_t *all, *part;
} groups_of_comm_t;

static int rank_of_member(const void *map, int rank)
{
    const groups_of_comm_t *groups = map;
    return weft_group_rank_of(groups->all, weft_group_process(groups->part, rank));
}

int weft_comm_create_of(weft_comm_t *comm, weft_group_t *group, int tag, weft_comm_t **out)
{
    groups_of_comm_t groups = {comm->group, group};
    weft_members_t members = {.parent = comm,
                              .rank = group->rank,
                              .size = group->size,
                              .rank_in_parent = rank_of_member,
                              .map = &groups};
    weft_creation_t creation = wefti_creation_of(&members, tag);
    return wefti_comm_make(&members, &creation, group, MPI_SUCCESS, out);
}
