/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Intercomm_create and MPI_Intercomm_merge (MPI 5.0 section 7.6.2). The leaders tell each other
 * their groups, and then their own groups. All members of both groups agree on one context; their
 * messages for that go by their ranks in the job, since they may have no other communicator in
 * common.
 */
#include "comm/comm_make.h"

#include "comm/inter_make.h"
#include "coll/coll.h"
#include "object/group_set.h"
#include "pt2pt/pt2pt.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>

/* ---- the groups ---- */

/* Members are told by their ranks in MPI_COMM_WORLD. */
static int *ranks_in_world(const weft_group_t *group)
{
    int *ranks = weft_alloc_array((size_t)group->size, sizeof(int));
    for (int i = 0; ranks != NULL && i < group->size; i++)
        ranks[i] = weft_process_rank(weft_group_process(group, i));
    return ranks;
}

/* The ranks become processes, in place. */
static int group_of_ranks(int *ranks, int size, weft_group_t **out)
{
    for (int i = 0; i < size; i++)
        ranks[i] = weft_process_find(WEFT_OWN_JOB, ranks[i]);
    return weft_group_create(ranks, size, out);
}

static int fail_no_memory(int size)
{
    return weft_fail(MPI_ERR_NO_MEM, "no memory for a remote group of %d", size);
}

/* ---- between the leaders ---- */

/* Swaps bytes with the other leader. */
static int swap_bytes(const weft_leader_t *leader, const void *out, size_t out_bytes, void *in,
                      size_t in_bytes)
{
    weft_comm_t *peer = leader->peer;
    weft_send_args_t send = {.buf = out,
                             .count = out_bytes,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = peer,
                             .context = peer->context | 1,
                             .dest = leader->remote_leader,
                             .tag = wefti_tag_of_group(leader->tag),
                             .where = WEFT_WHERE_HOST};
    weft_recv_args_t recv = {.buf = in,
                             .count = in_bytes,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = peer,
                             .context = peer->context | 1,
                             .source = leader->remote_leader,
                             .tag = send.tag,
                             .where = WEFT_WHERE_HOST};
    return weft_sendrecv(&send, &recv, false, NULL);
}

/* *ranks_out is from weft_alloc. */
static int swap_groups(const weft_group_t *own, const weft_leader_t *leader, int *size_out,
                       int **ranks_out)
{
    int *ranks = ranks_in_world(own), *theirs = NULL;
    int err = ranks == NULL ? fail_no_memory(own->size) : MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        err = swap_bytes(leader, &own->size, sizeof(int), size_out, sizeof(int));
    if (err == MPI_SUCCESS && (theirs = weft_alloc_array((size_t)*size_out, sizeof(int))) == NULL)
        err = fail_no_memory(*size_out);
    if (err == MPI_SUCCESS)
        err = swap_bytes(leader, ranks, sizeof(int) * (size_t)own->size, theirs,
                         sizeof(int) * (size_t)*size_out);
    weft_free(ranks);
    if (err != MPI_SUCCESS)
        weft_free(theirs);
    else
        *ranks_out = theirs;
    return err;
}

/* ---- within a group ---- */

static int tell_group(weft_comm_t *comm, int root, int *numbers, int count)
{
    weft_coll_args_t args = {.comm = comm,
                             .root = root,
                             .send_buf = numbers,
                             .send_count = (size_t)count,
                             .send_type = weft_type_of(MPI_INT)};
    return weft_coll_run(WEFT_BCAST, &args);
}

/* `ranks` is the leader's, and is taken over; NULL at all others. */
static int learn_ranks(weft_comm_t *local, int leader_rank, int size, int *ranks,
                       weft_group_t **out)
{
    if (ranks == NULL)
        ranks = weft_alloc_array((size_t)size, sizeof(int));
    int err = ranks == NULL ? fail_no_memory(size) : tell_group(local, leader_rank, ranks, size);
    if (err == MPI_SUCCESS)
        return group_of_ranks(ranks, size, out);
    weft_free(ranks);
    return err;
}

/* A leader that has failed tells its group so, by a size that no group has. */
static int learn_remote(weft_comm_t *local, int leader_rank, const weft_leader_t *leader,
                        int *tag_out, weft_group_t **out)
{
    struct {
        int size, tag;
    } news = {0, leader == NULL ? 0 : leader->tag};
    char why[512] = "";
    int *ranks = NULL, failure = leader == NULL ? MPI_SUCCESS : leader->error;
    if (leader != NULL && failure == MPI_SUCCESS)
        failure = swap_groups(local->group, leader, &news.size, &ranks);
    if (failure != MPI_SUCCESS) {
        snprintf(why, sizeof(why), "%s", weft_fail_text());
        news.size = 0;
    }
    int err = tell_group(local, leader_rank, &news.size, 2);
    if (failure != MPI_SUCCESS)
        return weft_fail(failure, "%s", why);
    if (err == MPI_SUCCESS && news.size == 0)
        return weft_fail(wefti_error_elsewhere(),
                         "local_leader, rank %d, has failed to reach the other group", leader_rank);
    *tag_out = news.tag;
    return err != MPI_SUCCESS ? err : learn_ranks(local, leader_rank, news.size, ranks, out);
}

/* ---- making ---- */

static int check_apart(weft_group_t *own, const weft_group_t *remote)
{
    for (int i = 0; i < remote->size; i++) {
        int process = weft_group_process(remote, i);
        if (weft_group_rank_of(own, process) != MPI_UNDEFINED)
            return weft_fail(MPI_ERR_GROUP,
                             "rank %d of MPI_COMM_WORLD is in both groups, which must have no "
                             "member in common",
                             weft_process_rank(process));
    }
    return MPI_SUCCESS;
}

static int rank_in_world(const void *map, int rank)
{
    return weft_process_rank(weft_group_process(map, rank));
}

/* Both sides put the same group first. */
static int unite(weft_group_t *own, weft_group_t *remote, weft_group_t **out)
{
    bool is_first = rank_in_world(own, 0) < rank_in_world(remote, 0);
    return weft_group_union(is_first ? own : remote, is_first ? remote : own, out);
}

static int make_inter(weft_comm_t *local, weft_group_t *remote, int tag, weft_comm_t **out)
{
    weft_inter_parts_t parts = {.own = local->group, .remote = remote, .model = local};
    int err = check_apart(parts.own, remote);
    if (err == MPI_SUCCESS)
        err = unite(parts.own, remote, &parts.both);
    if (err != MPI_SUCCESS)
        return err;
    weft_members_t members = {.parent = &weft_comm_job,
                              .rank = parts.both->rank,
                              .size = parts.both->size,
                              .rank_in_parent = rank_in_world,
                              .map = parts.both};
    weft_creation_t creation = wefti_creation_of(&members, tag);
    err = wefti_inter_make(&members, &creation, &parts, MPI_SUCCESS, out);
    weft_group_release(parts.both);
    return err;
}

int weft_intercomm_create(weft_comm_t *local, int leader_rank, const weft_leader_t *leader,
                          weft_comm_t **out)
{
    weft_group_t *remote;
    int tag;
    int err = learn_remote(local, leader_rank, leader, &tag, &remote);
    if (err != MPI_SUCCESS)
        return err;
    err = make_inter(local, remote, tag, out);
    weft_group_release(remote);
    return err;
}

/* The union has one order already; the groups keep it unless `high` says otherwise. */
int weft_intercomm_merge(weft_comm_t *inter, bool is_high, weft_comm_t **out)
{
    int err = weft_comm_split(inter->both, 0, is_high, out);
    if (err == MPI_SUCCESS)
        weft_comm_set_errhandler(*out, inter->errhandler);
    return err;
}
