/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/context_agree.h"

#include "comm/comm_make.h"
#include "pt2pt/pt2pt.h"
#include "object/group.h"
#include "runtime/progress.h"
#include "runtime/vci.h"
#include "base/config.h"
#include "base/fail.h"
#include "mpix.h"

#include <stdio.h>

/* ---- creations ---- */

/* Of the parent's collective context, where collectives have the tags below. */
enum { GROUP_TAGS = 0x40000000, COUNTED_TAGS = 0x60000000, COUNTED_MASK = 0x1fffffff };

_Static_assert((long)GROUP_TAGS + WEFT_CREATE_TAG < COUNTED_TAGS, "the tags keep apart");
_Static_assert((long)COUNTED_TAGS + COUNTED_MASK <= INT32_MAX, "tags are 32 bits wide");

/* Of seeds. */
enum { COUNTED_CREATION = 0, GROUP_CREATION = 1, NAMED_CREATION = 2 };

weft_creation_t wefti_creation_next(weft_comm_t *parent)
{
    uint32_t number = parent->creations++;
    uint64_t seed = wefti_seed_mix(parent->context, COUNTED_CREATION);
    return (weft_creation_t){.tag = COUNTED_TAGS + (int)(number & COUNTED_MASK),
                             .context = parent->context | 1,
                             .seed = wefti_seed_mix(seed, number),
                             .number = number};
}

void wefti_creation_choose_vci(weft_creation_t *creation, const weft_group_t *group)
{
    if (weft_world.vcis == 1)
        return;
    for (int rank = 0; rank < group->size; rank++) {
        if (weft_process_local_rank(weft_group_process(group, rank)) < 0)
            return;
    }
    creation->vci = 1 + (int)(creation->number % (uint32_t)(weft_world.vcis - 1));
    atomic_store_explicit(&weft_vcis_used, true, memory_order_relaxed);
}

static int parent_rank(const weft_members_t *members, int rank)
{
    return members->rank_in_parent == NULL ? rank : members->rank_in_parent(members->map, rank);
}

/* How often a group has used a tag is known to its members alone, so each of them remembers where
 * to begin: behind all places that were agreed on before. So a context is not used again soon, not
 * by another group with the same seed either. Members that begin at different places need a second
 * round; that happens after one of them has shared an entry with another seed. */
static uint32_t next_places[64];

int wefti_tag_of_group(int tag)
{
    return GROUP_TAGS + (tag == WEFT_CREATE_TAG ? tag : tag % WEFT_CREATE_TAG);
}

/* The first and the last member and how many they are tell most groups apart. */
static weft_creation_t creation_of_members(const weft_members_t *members, uint64_t seed)
{
    seed = wefti_seed_mix(seed, (uint64_t)members->size);
    seed = wefti_seed_mix(seed, (uint64_t)parent_rank(members, 0));
    seed = wefti_seed_mix(seed, (uint64_t)parent_rank(members, members->size - 1));
    size_t entry = seed % (sizeof(next_places) / sizeof(*next_places));
    return (weft_creation_t){
        .seed = seed, .number = (uint32_t)seed, .next_place = &next_places[entry]};
}

weft_creation_t wefti_creation_of(const weft_members_t *members, int tag)
{
    uint64_t seed = wefti_seed_mix(members->parent->context, GROUP_CREATION);
    weft_creation_t creation = creation_of_members(members, wefti_seed_mix(seed, (uint64_t)tag));
    creation.tag = wefti_tag_of_group(tag);
    creation.context = members->parent->context | 1;
    return creation;
}

static int rank_in_job(const void *map, int rank)
{
    return weft_process_rank(weft_group_process(map, rank));
}

weft_members_t wefti_members_of_job(const weft_group_t *group)
{
    return (weft_members_t){.parent = &weft_comm_job,
                            .rank = group->rank,
                            .size = group->size,
                            .rank_in_parent = rank_in_job,
                            .map = group};
}

/* Where another communicator has the same context, its own creations have tags from GROUP_TAGS on
 * too: the names of 59 bits keep these apart, as they do each other. All members count, since those
 * that are left after a failure may try again with the same name. */
weft_creation_t wefti_creation_named(const weft_members_t *members, weft_group_t *group,
                                     uint64_t name)
{
    for (int rank = 0; rank < members->size; rank++)
        name = wefti_seed_mix(name, (uint64_t)parent_rank(members, rank));
    uint64_t seed = wefti_seed_mix(members->parent->context, NAMED_CREATION);
    weft_creation_t creation = creation_of_members(members, wefti_seed_mix(seed, name));
    creation.tag = GROUP_TAGS + (int)(name % WEFT_CREATE_TAG);
    creation.context = (uint32_t)(name >> 32) | 1;
    creation.watched.group = group;
    return creation;
}

/* ---- messages ---- */

static void note_failure(weft_agreement_t *agreement, int error)
{
    if (agreement->error != MPI_SUCCESS)
        return;
    agreement->error = error;
    snprintf(agreement->why, sizeof(agreement->why), "%s", weft_fail_text());
}

int wefti_error_elsewhere(void)
{
    return weft_config.RECOVERY ? MPIX_ERR_PROC_FAILED : MPI_ERR_OTHER;
}

static void agreement_advance(weft_agreement_t *agreement);

static void forget_heard(weft_agreement_t *agreement, const weft_request_t *request)
{
    for (int i = 0; i == 0 || i < agreement->child_count; i++) {
        if (agreement->heard[i] == request)
            agreement->heard[i] = NULL;
    }
}

static void agreement_message_is_over(weft_request_t *request, void *owner)
{
    weft_agreement_t *agreement = owner;
    int err = weft_request_result(request);
    if (err != MPI_SUCCESS)
        note_failure(agreement, err);
    forget_heard(agreement, request);
    weft_request_release(request);
    agreement->pending--;
    agreement_advance(agreement);
}

static void watch_message(weft_agreement_t *agreement, int err, weft_request_t *request)
{
    if (err != MPI_SUCCESS) {
        note_failure(agreement, err);
        return;
    }
    if (request == &weft_request_done)
        return;
    agreement->pending++;
    weft_request_watch(request, agreement_message_is_over, agreement);
}

/* A vote that does not come counts as failed. index: 0, or a child's */
static void hear_vote(weft_agreement_t *agreement, int index, int rank, weft_vote_t *vote)
{
    *vote = wefti_vote_failed();
    if (agreement->is_stopped)
        return;
    weft_recv_args_t args = {.buf = vote,
                             .count = sizeof(*vote),
                             .type = weft_type_of(MPI_BYTE),
                             .comm = agreement->parent,
                             .context = agreement->context,
                             .source = rank,
                             .tag = agreement->tag,
                             .where = WEFT_WHERE_HOST};
    weft_request_t *request = NULL;
    int err = weft_recv_begin(&args, &request);
    if (err == MPI_SUCCESS && request != &weft_request_done)
        agreement->heard[index] = request;
    watch_message(agreement, err, request);
}

static void tell_vote(weft_agreement_t *agreement, int rank, const weft_vote_t *vote)
{
    weft_send_args_t args = {.buf = vote,
                             .count = sizeof(*vote),
                             .type = weft_type_of(MPI_BYTE),
                             .comm = agreement->parent,
                             .context = agreement->context,
                             .dest = rank,
                             .tag = agreement->tag,
                             .mode = WEFT_SEND_STANDARD,
                             .where = WEFT_WHERE_HOST};
    weft_request_t *request = NULL;
    int err = weft_send_begin(&args, &request);
    watch_message(agreement, err, request);
}

/* ---- a round: gather, report, tell, conclude ---- */

static void report_votes(weft_agreement_t *agreement);
static void tell_result(weft_agreement_t *agreement);
static void conclude_round(weft_agreement_t *agreement);

static void gather_votes(weft_agreement_t *agreement)
{
    agreement->next = report_votes;
    for (int i = 0; i < agreement->child_count; i++)
        hear_vote(agreement, i, agreement->children[i], &agreement->votes[i]);
}

static void report_votes(weft_agreement_t *agreement)
{
    weft_vote_t sum = agreement->mine;
    for (int i = 0; i < agreement->child_count; i++)
        sum = wefti_vote_join(sum, agreement->votes[i]);
    agreement->next = tell_result;
    agreement->result = sum;
    if (agreement->above == MPI_PROC_NULL)
        return;
    agreement->told = sum;
    hear_vote(agreement, 0, agreement->above, &agreement->result);
    tell_vote(agreement, agreement->above, &agreement->told);
}

static void tell_result(weft_agreement_t *agreement)
{
    agreement->next = conclude_round;
    for (int i = 0; i < agreement->child_count; i++)
        tell_vote(agreement, agreement->children[i], &agreement->result);
}

/* A member that has failed votes so in each round, because the others wait for its vote. */
static void begin_round(weft_agreement_t *agreement, uint32_t from)
{
    agreement->next = gather_votes;
    agreement->mine = wefti_vote_failed();
    if (agreement->error == MPI_SUCCESS)
        agreement->mine = wefti_proposal_make(&weft_contexts, &agreement->proposal, from);
    if (agreement->error == MPI_SUCCESS && wefti_vote_has_failed(agreement->mine))
        note_failure(agreement, MPI_ERR_NO_MEM);
}

static void conclude_round(weft_agreement_t *agreement)
{
    weft_vote_t result = agreement->result;
    bool has_failed = wefti_vote_has_failed(result);
    if (!has_failed && !wefti_vote_is_agreed(result)) {
        begin_round(agreement, result.highest);
        return;
    }
    agreement->next = NULL;
    if (has_failed && agreement->error == MPI_SUCCESS)
        note_failure(agreement, weft_fail(wefti_error_elsewhere(),
                                          "another member of the new communicator has failed to "
                                          "make it"));
    if (agreement->error != MPI_SUCCESS)
        wefti_proposal_withdraw(&weft_contexts, &agreement->proposal);
    else if (agreement->next_place != NULL && *agreement->next_place <= result.highest)
        *agreement->next_place = result.highest + 1;
}

/* A message that is there already calls agreement_message_is_over() at once, from within a step of
 * the round: then the loop outside goes on. */
static void agreement_advance(weft_agreement_t *agreement)
{
    if (agreement->is_advancing)
        return;
    agreement->is_advancing = true;
    while (agreement->next != NULL && agreement->pending == 0)
        agreement->next(agreement);
    agreement->is_advancing = false;
    if (agreement->next != NULL)
        return;
    agreement->is_over = true;
    weft_progress_notify();
    if (agreement->on_over != NULL)
        agreement->on_over(agreement, agreement->owner);
}

/* It tells its own votes all the same, since others may wait for them. */
static void agreement_stop(int error, void *owner)
{
    weft_agreement_t *agreement = owner;
    note_failure(agreement, error);
    agreement->is_stopped = true;
    for (int i = 0; i == 0 || i < agreement->child_count; i++) {
        weft_request_t *request = agreement->heard[i];
        if (request != NULL)
            request->ops->cancel(request);
    }
}

/* ---- from begin to end ---- */

/* The rank above is this one without its lowest digit that is not 0; the ranks below have one more
 * such digit, lower than that. */
static void find_neighbours(weft_agreement_t *agreement, const weft_members_t *members)
{
    int64_t rank = members->rank, size = members->size, weight = 1;
    while (weight < size && rank / weight % WEFTI_TREE_BASE == 0)
        weight *= WEFTI_TREE_BASE;
    agreement->above = MPI_PROC_NULL;
    if (rank != 0)
        agreement->above =
            parent_rank(members, (int)(rank - rank / weight % WEFTI_TREE_BASE * weight));
    agreement->child_count = 0;
    for (weight /= WEFTI_TREE_BASE; weight > 0; weight /= WEFTI_TREE_BASE) {
        for (int64_t i = 1; i < WEFTI_TREE_BASE && rank + i * weight < size; i++)
            agreement->children[agreement->child_count++] =
                parent_rank(members, (int)(rank + i * weight));
    }
}

void wefti_agreement_begin(weft_agreement_t *agreement, const weft_members_t *members,
                           const weft_creation_t *creation, int error)
{
    agreement->parent = members->parent;
    agreement->tag = creation->tag;
    agreement->context = creation->context;
    agreement->pending = 0;
    agreement->proposal =
        (weft_proposal_t){.seed = creation->seed, .context = WEFT_NO_CONTEXT, .vci = creation->vci};
    agreement->next_place = creation->next_place;
    agreement->is_advancing = agreement->is_over = agreement->is_stopped = false;
    agreement->error = MPI_SUCCESS;
    if (error != MPI_SUCCESS)
        note_failure(agreement, error);
    find_neighbours(agreement, members);
    for (int i = 0; i == 0 || i < agreement->child_count; i++)
        agreement->heard[i] = NULL;
    begin_round(agreement, creation->next_place == NULL ? 0 : *creation->next_place);
    agreement_advance(agreement);
}

int wefti_agreement_result(const weft_agreement_t *agreement, uint32_t *context_out)
{
    if (agreement->error != MPI_SUCCESS)
        return weft_fail(agreement->error, "%s", agreement->why);
    *context_out = agreement->proposal.context;
    return MPI_SUCCESS;
}

int wefti_agree(const weft_members_t *members, const weft_creation_t *creation, int error,
                uint32_t *context_out)
{
    weft_agreement_t agreement;
    agreement.on_over = NULL;
    wefti_agreement_begin(&agreement, members, creation, error);
    wefti_creation_watch_t watch = {
        .watched = creation->watched, .on_trouble = agreement_stop, .owner = &agreement};
    bool is_watched = creation->watched.group != NULL && !agreement.is_over;
    if (is_watched)
        wefti_creation_watch_begin(&watch);
    weft_progress_until(&agreement.is_over);
    if (is_watched)
        wefti_creation_watch_end(&watch);
    return wefti_agreement_result(&agreement, context_out);
}

int wefti_comm_make(const weft_members_t *members, const weft_creation_t *creation,
                    weft_group_t *group, int error, weft_comm_t **out)
{
    weft_comm_t *comm = NULL;
    weft_creation_t own = *creation;
    uint32_t context;
    if (error == MPI_SUCCESS)
        error = weft_comm_create(group, WEFT_NO_CONTEXT, members->parent, &comm);
    if (error == MPI_SUCCESS)
        wefti_creation_choose_vci(&own, group);
    error = wefti_agree(members, &own, error, &context);
    if (error == MPI_SUCCESS) {
        comm->context = context;
        *out = comm;
    } else if (comm != NULL) {
        weft_comm_release(comm);
    }
    return error;
}
