/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator of the members that live, by two agreements on the old one: the first tells who
 * has failed, and each member makes its part of the communicator, with a context that all compute
 * alike; the second tells whether all could. If a member had taken that context already, or if
 * another one has failed meanwhile, all begin again.
 */
#include "comm/comm_make.h"

#include "comm/context_vote.h"
#include "comm/inter_make.h"
#include "ft/consensus.h"
#include "pt2pt/pt2pt.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/pool.h"
#include "mpix.h"

#include <string.h>

/* The flags of the second agreement. */
enum { CONTEXT_IS_FREE = 1, IS_MADE = 2 };

typedef struct shrink {
    weft_request_t request; /* first */
    uint32_t round;         /* of two agreements */
    weft_comm_t *made;      /* NULL: this member could not make it */
    uint8_t *failed;        /* [set_bytes] by the first agreement */
    weft_comm_taker_t taker;
} shrink_t;

static weft_pool_t shrinks = WEFT_POOL(shrink_t);

static void shrink_release(weft_request_t *request)
{
    shrink_t *shrink = (shrink_t *)request;
    weft_free(shrink->failed);
    weft_comm_release(request->comm);
    weft_pool_give(&shrinks, shrink);
}

static const weft_request_ops_t shrink_ops = {
    .name = "shrink", .release = shrink_release, .cancel = weft_request_cannot_cancel};

static size_t set_bytes_of(weft_comm_t *comm)
{
    return weft_member_set_bytes(weft_comm_whole(comm)->size);
}

/* The processes of `group` that live; `first`: the rank of its first member in the whole. */
static int survivors_of(const shrink_t *shrink, weft_group_t *group, int first, weft_group_t **out)
{
    int count = 0;
    weft_decision_t decision = {.failed = shrink->failed};
    int *processes = weft_alloc_array((size_t)group->size + 1, sizeof(*processes));
    if (processes == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %d ranks", group->size);
    for (int rank = 0; rank < group->size; rank++) {
        if (!weft_decision_has_failed(&decision, first + rank))
            processes[count++] = weft_group_process(group, rank);
    }
    return weft_group_derive(group, processes, count, out);
}

static int make_intra(shrink_t *shrink)
{
    weft_group_t *group;
    weft_comm_t *comm = shrink->request.comm;
    int err = survivors_of(shrink, comm->group, 0, &group);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_comm_create(group, WEFT_NO_CONTEXT, comm, &shrink->made);
    weft_group_release(group);
    return err;
}

static int make_inter(shrink_t *shrink)
{
    weft_comm_t *comm = shrink->request.comm;
    weft_group_t *groups[3] = {NULL};
    weft_group_t *from[3] = {comm->group, comm->peers, comm->both->group};
    int own_first = weft_comm_comes_first(comm) ? 0 : comm->peers->size;
    int firsts[3] = {own_first, weft_comm_remote_in_union(comm, 0), 0};
    int err = MPI_SUCCESS;
    for (int i = 0; err == MPI_SUCCESS && i < 3; i++)
        err = survivors_of(shrink, from[i], firsts[i], &groups[i]);
    weft_inter_parts_t parts = {groups[0], groups[1], groups[2], comm};
    if (err == MPI_SUCCESS)
        err = wefti_inter_create(&parts, &shrink->made);
    for (int i = 0; i < 3; i++) {
        if (groups[i] != NULL)
            weft_group_release(groups[i]);
    }
    return err;
}

static uint32_t context_of(const shrink_t *shrink)
{
    const weft_comm_t *comm = shrink->request.comm;
    uint64_t seed = wefti_seed_mix(comm->context, UINT64_C(0x736872696e6b) + shrink->round);
    for (size_t i = 0; i < set_bytes_of(shrink->request.comm); i++)
        seed = wefti_seed_mix(seed, shrink->failed[i]);
    return wefti_context_at(seed, 0);
}

/* The flags for the second agreement; the text of an error stays with the request. */
static int make_part(shrink_t *shrink)
{
    weft_comm_t *comm = shrink->request.comm;
    uint32_t context = context_of(shrink);
    if (weft_context_set_has(&weft_contexts, context))
        return IS_MADE;
    int err = comm->both != NULL ? make_inter(shrink) : make_intra(shrink);
    if (err == MPI_SUCCESS)
        err = weft_context_set_add(&weft_contexts, context);
    if (err == MPI_SUCCESS) {
        shrink->made->context = weft_comm_whole(shrink->made)->context = context;
        return CONTEXT_IS_FREE | IS_MADE;
    }
    weft_request_note_error(&shrink->request, err);
    return CONTEXT_IS_FREE;
}

static void drop_part(shrink_t *shrink)
{
    if (shrink->made != NULL)
        weft_comm_release(shrink->made);
    shrink->made = NULL;
}

static void end_shrink(shrink_t *shrink, int err)
{
    if (err != MPI_SUCCESS) {
        drop_part(shrink);
        weft_request_note_error(&shrink->request, err);
    } else {
        shrink->taker.take(shrink->made, shrink->taker.owner);
    }
    weft_request_complete(&shrink->request);
}

static void begin_round(shrink_t *shrink);

static void part_is_judged(const weft_decision_t *decision, void *owner)
{
    shrink_t *shrink = owner;
    size_t bytes = set_bytes_of(shrink->request.comm);
    bool is_same = memcmp(decision->failed, shrink->failed, bytes) == 0;
    if ((decision->flag & IS_MADE) == 0) {
        end_shrink(shrink, weft_fail(MPI_ERR_OTHER, "another rank could not make its part of the "
                                                    "communicator"));
    } else if (is_same && (decision->flag & CONTEXT_IS_FREE) != 0) {
        end_shrink(shrink, MPI_SUCCESS);
    } else {
        drop_part(shrink);
        begin_round(shrink);
    }
}

static void failed_are_known(const weft_decision_t *decision, void *owner)
{
    shrink_t *shrink = owner;
    memcpy(shrink->failed, decision->failed, set_bytes_of(shrink->request.comm));
    int err = weft_consensus_begin(shrink->request.comm, make_part(shrink), part_is_judged, shrink);
    if (err != MPI_SUCCESS)
        end_shrink(shrink, err);
}

static void begin_round(shrink_t *shrink)
{
    shrink->round++;
    int err = weft_consensus_begin(shrink->request.comm, ~0, failed_are_known, shrink);
    if (err != MPI_SUCCESS)
        end_shrink(shrink, err);
}

int weft_comm_shrink_begin(weft_comm_t *comm, const weft_comm_taker_t *taker, weft_request_t **out)
{
    shrink_t *shrink = weft_pool_take(&shrinks);
    if (shrink == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    weft_request_init(&shrink->request, &shrink_ops, comm);
    weft_comm_retain(comm);
    shrink->round = 0;
    shrink->made = NULL;
    shrink->taker = *taker;
    shrink->failed = weft_alloc_zeroed(1, set_bytes_of(comm));
    if (shrink->failed == NULL) {
        weft_request_release(&shrink->request);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    }
    *out = &shrink->request;
    begin_round(shrink);
    return MPI_SUCCESS;
}

void weft_comm_shrinks_close(void)
{
    weft_pool_close(&shrinks);
}
