/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/comm_make.h"

#include "coll/coll.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdlib.h>

/* What each rank tells all others. */
typedef struct offer {
    int color, key;
    uint32_t context; /* for the new communicator, if this rank leads it */
} offer_t;

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

/* List the ranks of a colour in their order in the new communicator; returns how many. */
static int sort_split_members(const offer_t offers[], int count, int color, member_t members[])
{
    int found = 0;
    for (int rank = 0; rank < count; rank++) {
        if (offers[rank].color == color)
            members[found++] = (member_t){offers[rank].key, rank};
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
    int *world_ranks = weft_alloc_array((size_t)count, sizeof(int));
    if (world_ranks == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %d", count);
    for (int i = 0; i < count; i++)
        world_ranks[i] = weft_comm_world_rank(comm, members[i].rank);
    return weft_group_create(world_ranks, count, out);
}

static int join_split(weft_comm_t *comm, const offer_t offers[], int color, weft_comm_t **out)
{
    member_t *members = weft_alloc_array((size_t)comm->size, sizeof(*members));
    if (members == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to sort %d ranks", comm->size);
    int count = sort_split_members(offers, comm->size, color, members);
    int leader = members[0].rank;
    weft_group_t *group;
    int err = weft_context_check(offers[leader].context);
    if (err == MPI_SUCCESS)
        err = make_group(comm, members, count, &group);
    weft_free(members);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_comm_create(group, offers[leader].context, comm, out);
    weft_group_release(group);
    /* The members use the leader's context: this rank takes its own back, also after a failure. */
    if (leader != comm->rank && offers[comm->rank].context != WEFT_NO_CONTEXT)
        weft_comm_return_context(offers[comm->rank].context);
    return err;
}

static int exchange_colors(weft_comm_t *comm, const offer_t *mine, offer_t offers[])
{
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    weft_coll_args_t args = {.comm = comm,
                             .send_buf = mine,
                             .send_count = sizeof(*mine),
                             .send_type = byte,
                             .recv_buf = offers,
                             .recv_count = sizeof(*mine),
                             .recv_type = byte};
    return weft_coll_run(WEFT_ALLGATHER, &args);
}

int weft_comm_split(weft_comm_t *comm, int color, int key, weft_comm_t **out)
{
    offer_t *offers = weft_alloc_array((size_t)comm->size, sizeof(*offers));
    if (offers == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for what %d ranks say", comm->size);
    bool takes_part = color != MPI_UNDEFINED;
    offer_t mine = {color, key, takes_part ? weft_context_offer() : WEFT_NO_CONTEXT};
    weft_comm_t *made = NULL;
    int err = exchange_colors(comm, &mine, offers);
    if (err == MPI_SUCCESS && takes_part)
        err = join_split(comm, offers, color, &made);
    weft_free(offers);
    if (err == MPI_SUCCESS)
        *out = made;
    return err;
}
