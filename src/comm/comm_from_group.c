/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_create_from_group: communicators of a group, without a parent. */
#include "comm/comm_make.h"

#include "comm/context_agree.h"
#include "object/group.h"

/* Ranks of weft_comm_job and indices of processes of the own job are the same numbers. */
static int rank_in_job(const void *map, int rank)
{
    return weft_group_process(map, rank);
}

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0;
    for (; *name != '\0'; name++)
        hash = wefti_seed_mix(hash, (unsigned char)*name);
    return hash;
}

int weft_comm_create_named(weft_group_t *group, const char *name, weft_comm_t **out)
{
    weft_members_t members = {.parent = &weft_comm_job,
                              .rank = group->rank,
                              .size = group->size,
                              .rank_in_parent = rank_in_job,
                              .map = group};
    weft_creation_t creation = wefti_creation_named(&members, hash_of(name));
    return wefti_comm_make(&members, &creation, group, MPI_SUCCESS, out);
}

/* Only the leaders know the other group, so each group needs a communicator to learn of it. */
int weft_intercomm_create_named(weft_group_t *group, int leader_rank, const char *name,
                                weft_leader_t *leader, weft_comm_t **out)
{
    weft_comm_t *local;
    int err = weft_comm_create_named(group, name, &local);
    if (err != MPI_SUCCESS)
        return err;
    if (leader != NULL) {
        leader->peer = &weft_comm_job;
        leader->tag = (int)(hash_of(name) % WEFT_CREATE_TAG);
    }
    err = weft_intercomm_create(local, leader_rank, leader, out);
    weft_comm_release(local);
    return err;
}
