/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/comm_make.h"

#include "comm/comm_split_private.h"
#include "comm/inter_make.h"
#include "coll/coll.h"
#include "object/group.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdlib.h>

typedef struct member {
    int key, rank; /* rank in the old communicator */
} member_t;

static int by_key_and_rank(const void *a, const void *b)
{
    const member_t *one = a, *two = b;
    if (one->key != two->key)
        return one->key < two->key ? -1 : 1;
    return one->rank < two->rank ? -1 : 1;
}

/* Those of ranks `first` to `end` - 1 with a colour, in their order in the new communicator; how
 * many. */
static int sort_split_members(const weft_split_choice_t choices[], int first, int end, int color,
                              member_t members[])
{
    int found = 0;
    for (int rank = first; rank < end; rank++) {
        if (choices[rank].color == color)
            members[found++] = (member_t){choices[rank].key, rank};
    }
    qsort(members, (size_t)found, sizeof(*members), by_key_and_rank);
    return found;
}

static bool is_in_old_order(const member_t members[], int count)
{
    for (int i = 0; i < count; i++) {
        if (members[i].rank != i)
            return false;
    }
    return true;
}

static int make_group(const weft_comm_t *comm, const member_t members[], int count,
                      weft_group_t **out)
{
    if (count == comm->size && is_in_old_order(members, count)) {
        weft_group_retain(comm->group);
        *out = comm->group;
        return MPI_SUCCESS;
    }
    int *processes = weft_alloc_array((size_t)count, sizeof(int));
    if (processes == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %d", count);
    for (int i = 0; i < count; i++)
        processes[i] = weft_comm_process(comm, members[i].rank);
    return weft_group_derive(comm->group, processes, count, out);
}

static int rank_before_split(const void *map, int rank)
{
    const member_t *sorted = map;
    return sorted[rank].rank;
}

static int rank_in_split(const member_t members[], int old_rank)
{
    int rank = 0;
    while (members[rank].rank != old_rank)
        rank++;
    return rank;
}

static int join_split(weft_comm_t *comm, const weft_split_choice_t choices[], member_t sorted[],
                      const weft_creation_t *creation, weft_comm_t **out)
{
    int color = choices[comm->rank].color;
    int count = sort_split_members(choices, 0, comm->size, color, sorted);
    weft_members_t members = {.parent = comm,
                              .rank = rank_in_split(sorted, comm->rank),
                              .size = count,
                              .rank_in_parent = rank_before_split,
                              .map = sorted};
    weft_group_t *group = NULL;
    int err = make_group(comm, sorted, count, &group);
    err = wefti_comm_make(&members, creation, group, err, out);
    if (group != NULL)
        weft_group_release(group);
    return err;
}

/* ---- of an intercommunicator ---- */

/* The members of a part in the union: those of the first group in front. */
typedef struct inter_split {
    weft_comm_t *inter;
    const member_t *sorted;
    int first_count, count;
} inter_split_t;

static int make_split_parts(const inter_split_t *split, weft_inter_parts_t *parts)
{
    const weft_comm_t *both = split->inter->both;
    bool own_is_first = weft_comm_comes_first(split->inter);
    weft_group_t **first = own_is_first ? &parts->own : &parts->remote;
    weft_group_t **second = own_is_first ? &parts->remote : &parts->own;
    int err = make_group(both, split->sorted, split->first_count, first);
    if (err == MPI_SUCCESS)
        err = make_group(both, split->sorted + split->first_count,
                         split->count - split->first_count, second);
    return err == MPI_SUCCESS ? make_group(both, split->sorted, split->count, &parts->both) : err;
}

static void release_group(weft_group_t *group)
{
    if (group != NULL)
        weft_group_release(group);
}

static int make_split_inter(const inter_split_t *split, const weft_creation_t *creation,
                            weft_comm_t **out)
{
    weft_comm_t *both = split->inter->both;
    weft_members_t members = {.parent = both,
                              .rank = rank_in_split(split->sorted, both->rank),
                              .size = split->count,
                              .rank_in_parent = rank_before_split,
                              .map = split->sorted};
    weft_inter_parts_t parts = {.model = split->inter};
    int err = make_split_parts(split, &parts);
    err = wefti_inter_make(&members, creation, &parts, err, out);
    release_group(parts.own);
    release_group(parts.remote);
    release_group(parts.both);
    return err;
}

/* No part where one group has nobody of the colour: all of the other see that, too. */
static int join_split_inter(weft_comm_t *inter, const weft_split_choice_t choices[],
                            member_t sorted[], const weft_creation_t *creation, weft_comm_t **out)
{
    const weft_comm_t *both = inter->both;
    int color = choices[both->rank].color;
    int border = weft_comm_comes_first(inter) ? inter->group->size : inter->size;
    int first = sort_split_members(choices, 0, border, color, sorted);
    int second = sort_split_members(choices, border, both->size, color, sorted + first);
    inter_split_t split = {
        .inter = inter, .sorted = sorted, .first_count = first, .count = first + second};
    return first == 0 || second == 0 ? MPI_SUCCESS : make_split_inter(&split, creation, out);
}

/* ---- both kinds ---- */

int wefti_split_exchange(weft_comm_t *whole, const void *mine, void *all, size_t bytes)
{
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    weft_coll_args_t args = {.comm = whole,
                             .send_buf = mine,
                             .send_count = bytes,
                             .send_type = byte,
                             .recv_buf = all,
                             .recv_count = bytes,
                             .recv_type = byte};
    return weft_coll_run(WEFT_ALLGATHER, &args);
}

/* With memory for what all ranks say. */
static int split_with(weft_comm_t *comm, const weft_split_choice_t *mine,
                      weft_split_choice_t choices[], weft_comm_t **out)
{
    weft_comm_t *whole = weft_comm_whole(comm);
    weft_creation_t creation = wefti_creation_next(whole);
    int err = wefti_split_exchange(whole, mine, choices, sizeof(*mine));
    return err == MPI_SUCCESS ? wefti_split_join(comm, choices, &creation, out) : err;
}

int wefti_split_join(weft_comm_t *comm, const weft_split_choice_t choices[],
                     const weft_creation_t *creation, weft_comm_t **out)
{
    const weft_comm_t *whole = weft_comm_whole(comm);
    if (choices[whole->rank].color == MPI_UNDEFINED)
        return MPI_SUCCESS;
    member_t *sorted = weft_alloc_array((size_t)whole->size, sizeof(*sorted));
    if (sorted == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a part of %d ranks", whole->size);
    int err = weft_comm_is_inter(comm) ? join_split_inter(comm, choices, sorted, creation, out)
                                       : join_split(comm, choices, sorted, creation, out);
    weft_free(sorted);
    return err;
}

int weft_comm_split(weft_comm_t *comm, int color, int key, weft_comm_t **out)
{
    int size = weft_comm_whole(comm)->size;
    weft_split_choice_t mine = {color, key};
    weft_split_choice_t *choices = weft_alloc_array((size_t)size, sizeof(*choices));
    if (choices == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for what %d ranks say", size);
    *out = NULL;
    int err = split_with(comm, &mine, choices, out);
    weft_free(choices);
    return err;
}
