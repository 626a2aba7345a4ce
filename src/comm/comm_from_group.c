/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_create_from_group and MPI_Intercomm_create_from_groups: communicators of groups, without
 * a parent. */
#include "comm/comm_make.h"

#include "comm/context_agree.h"
#include "comm/inter_make.h"
#include "object/group.h"
#include "pt2pt/pt2pt.h"
#include "base/fail.h"
#include "base/out_of_memory.h"
#include "mpix.h"

#include <stdio.h>

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0;
    for (; *name != '\0'; name++)
        hash = wefti_seed_mix(hash, (unsigned char)*name);
    return hash;
}

int weft_comm_create_named(weft_group_t *group, const char *name, weft_comm_t **out)
{
    weft_members_t members = wefti_members_of_job(group);
    weft_creation_t creation = wefti_creation_named(&members, group, hash_of(name));
    return wefti_comm_make(&members, &creation, group, MPI_SUCCESS, out);
}

/* ---- two groups ---- */

/* A group's communicator, and what has become of it. */
typedef struct guarded {
    weft_comm_t *comm;
    int error;
    char why[512];
} guarded_t;

static void note_trouble(guarded_t *local, int error)
{
    local->error = error;
    snprintf(local->why, sizeof(local->why), "%s", weft_fail_text());
}

/* Some members may have no communicator, and will not come: the others do not wait for them. */
static void cut_short(int error, void *owner)
{
    guarded_t *local = owner;
    note_trouble(local, error);
    local->comm->is_revoked = true;
    if (weft_pt2pt_revoke(local->comm->context) != MPI_SUCCESS)
        weft_out_of_memory("a revoked communicator", sizeof(uint32_t));
}

static int create_guarded(guarded_t *local, int leader_rank, const weft_leader_t *leader,
                          weft_comm_t **out)
{
    wefti_creation_watch_t watch = {
        .watched.group = local->comm->group, .on_trouble = cut_short, .owner = local};
    wefti_creation_watch_begin(&watch);
    int err = weft_intercomm_create(local->comm, leader_rank, leader, out);
    wefti_creation_watch_end(&watch);
    if (err == MPIX_ERR_REVOKED)
        return weft_fail(local->error, "%s", local->why);
    return err;
}

/* Only the leaders know the other group, so each group needs a communicator to learn of it. A
 * leader that has none tells the other one so. */
int weft_intercomm_create_named(weft_group_t *group, int leader_rank, const char *name,
                                weft_leader_t *leader, weft_comm_t **out)
{
    guarded_t local = {.error = MPI_SUCCESS};
    int err = weft_comm_create_named(group, name, &local.comm);
    if (leader != NULL) {
        leader->peer = &weft_comm_job;
        leader->tag = (int)(hash_of(name) % WEFT_CREATE_TAG);
    }
    if (err != MPI_SUCCESS) {
        note_trouble(&local, err);
        if (leader != NULL)
            wefti_leader_give_up(leader);
        return weft_fail(local.error, "%s", local.why);
    }
    err = create_guarded(&local, leader_rank, leader, out);
    weft_comm_release(local.comm);
    return err;
}
