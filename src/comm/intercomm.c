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

/* What a leader tells the other one, and then, with the other one's size, its own group. */
typedef struct news {
    int64_t size;  /* of the group; 0: the leader has failed */
    uint64_t name; /* of the creation: each leader's half, then both together */
} news_t;

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

static int fail_other_leader(const weft_leader_t *leader)
{
    return weft_fail(wefti_error_elsewhere(),
                     "the leader of the other group, rank %d of MPI_COMM_WORLD, has failed to "
                     "bring its group",
                     weft_process_rank(weft_comm_process(leader->peer, leader->remote_leader)));
}

void wefti_leader_give_up(const weft_leader_t *leader)
{
    news_t own = {0}, other;
    if (leader->error == MPI_SUCCESS)
        swap_bytes(leader, &own, sizeof(own), &other, sizeof(other));
}

/* Both leaders make the same name of their halves. */
static uint64_t name_of_halves(uint64_t one, uint64_t two)
{
    return one < two ? wefti_seed_mix(one, two) : wefti_seed_mix(two, one);
}

/* The first swap always takes place, so that no message of it is left. *ranks_out is from
 * weft_alloc. */
static int swap_groups(const weft_group_t *own, uint64_t half, const weft_leader_t *leader,
                       news_t *out, int **ranks_out)
{
    int *ranks = ranks_in_world(own), *others = NULL;
    news_t mine = {.size = ranks == NULL ? 0 : own->size, .name = half}, other;
    int err = swap_bytes(leader, &mine, sizeof(mine), &other, sizeof(other));
    if (err == MPI_SUCCESS && ranks == NULL)
        err = fail_no_memory(own->size);
    if (err == MPI_SUCCESS && other.size == 0)
        err = fail_other_leader(leader);
    if (err == MPI_SUCCESS && (others = weft_alloc_array((size_t)other.size, sizeof(int))) == NULL)
        err = fail_no_memory((int)other.size);
    if (err == MPI_SUCCESS)
        err = swap_bytes(leader, ranks, sizeof(int) * (size_t)own->size, others,
                         sizeof(int) * (size_t)other.size);
    weft_free(ranks);
    if (err != MPI_SUCCESS) {
        weft_free(others);
        return err;
    }
    *out = (news_t){.size = other.size, .name = name_of_halves(half, other.name)};
    *ranks_out = others;
    return MPI_SUCCESS;
}

/* ---- within a group ---- */

static int tell_group(weft_comm_t *comm, int root, void *data, size_t bytes)
{
    weft_coll_args_t args = {.comm = comm,
                             .root = root,
                             .send_buf = data,
                             .send_count = bytes,
                             .send_type = weft_type_of(MPI_BYTE)};
    return weft_coll_run(WEFT_BCAST, &args);
}

/* `ranks` is the leader's, and is taken over; NULL at all others. */
static int learn_ranks(weft_comm_t *local, int leader_rank, int size, int *ranks,
                       weft_group_t **out)
{
    if (ranks == NULL)
        ranks = weft_alloc_array((size_t)size, sizeof(int));
    int err = ranks == NULL ? fail_no_memory(size)
                            : tell_group(local, leader_rank, ranks, (size_t)size * sizeof(int));
    if (err == MPI_SUCCESS)
        return group_of_ranks(ranks, size, out);
    weft_free(ranks);
    return err;
}

/* A number that the leader's group has for no other creation: its communicator, and how many there
 * were in it before. The leader and the tag are in it since other groups may have the same context
 * at other processes. */
static uint64_t half_of_name(weft_comm_t *local, const weft_leader_t *leader)
{
    uint64_t half = wefti_creation_next(local).seed;
    half = wefti_seed_mix(half, (uint64_t)weft_process_rank(weft_processes.self));
    return leader == NULL ? half : wefti_seed_mix(half, (uint64_t)leader->tag);
}

/* A leader that has failed tells its group so, by a size that no group has. */
static int learn_remote(weft_comm_t *local, int leader_rank, const weft_leader_t *leader,
                        uint64_t *name_out, weft_group_t **out)
{
    news_t news = {0};
    char why[512] = "";
    int *ranks = NULL, failure = leader == NULL ? MPI_SUCCESS : leader->error;
    if (failure != MPI_SUCCESS)
        snprintf(why, sizeof(why), "%s", weft_fail_text());
    uint64_t half = half_of_name(local, leader);
    if (leader != NULL && failure == MPI_SUCCESS) {
        failure = swap_groups(local->group, half, leader, &news, &ranks);
        snprintf(why, sizeof(why), "%s", weft_fail_text());
    }
    int err = tell_group(local, leader_rank, &news, sizeof(news));
    if (failure != MPI_SUCCESS)
        return weft_fail(failure, "%s", why);
    if (err == MPI_SUCCESS && news.size == 0)
        return weft_fail(wefti_error_elsewhere(),
                         "local_leader, rank %d, has failed to reach the other group", leader_rank);
    if (err != MPI_SUCCESS) {
        weft_free(ranks);
        return err;
    }
    *name_out = news.name;
    return learn_ranks(local, leader_rank, (int)news.size, ranks, out);
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

/* Both sides put the same group first. */
static int unite(weft_group_t *own, weft_group_t *remote, weft_group_t **out)
{
    int first = weft_process_rank(weft_group_process(own, 0));
    bool is_first = first < weft_process_rank(weft_group_process(remote, 0));
    return weft_group_union(is_first ? own : remote, is_first ? remote : own, out);
}

/* The members of the other group may know of none of the communicators here: who revokes one of
 * these frees its own side. */
static int make_inter(weft_comm_t *local, const weft_leader_t *leader, uint64_t name,
                      weft_group_t *remote, weft_comm_t **out)
{
    weft_inter_parts_t parts = {.own = local->group, .remote = remote, .model = local};
    int err = check_apart(parts.own, remote);
    if (err == MPI_SUCCESS)
        err = unite(parts.own, remote, &parts.both);
    if (err != MPI_SUCCESS)
        return err;
    weft_members_t members = wefti_members_of_job(parts.both);
    weft_creation_t creation = wefti_creation_named(&members, parts.both, name);
    creation.watched.comms[0] = local;
    creation.watched.comms[1] = leader == NULL ? NULL : leader->peer;
    err = wefti_inter_make(&members, &creation, &parts, MPI_SUCCESS, out);
    weft_group_release(parts.both);
    return err;
}

int weft_intercomm_create(weft_comm_t *local, int leader_rank, const weft_leader_t *leader,
                          weft_comm_t **out)
{
    weft_group_t *remote;
    uint64_t name;
    int err = learn_remote(local, leader_rank, leader, &name, &remote);
    if (err != MPI_SUCCESS)
        return err;
    err = make_inter(local, leader, name, remote, out);
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
