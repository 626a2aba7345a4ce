/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rules by which the members of a new communicator agree on its context. No message is sent
 * here.
 *
 * For each creation there is a sequence of contexts that all members compute alike, from what they
 * all know of the creation (its seed): numbers that look random, out of the whole range of those of
 * its VCI (runtime/vci.h). A member proposes the place of the first one that is free at it, from a
 * given place on, and reserves that context. Its vote is (place, place); votes are joined to
 * (lowest, highest).
 *
 *   lowest == highest   all have proposed the same context, and have reserved it: agreed
 *   otherwise           a new round, from the highest place on
 *   highest == FAILED   a member cannot take part; all fail
 *
 * Rounds come to an end: the member with the highest proposal keeps it, so a round that fails has a
 * higher place than the one before, and a place fails only where its context is taken at a member.
 *
 * Two creations that are made at once by several members cannot push each other on for ever. They
 * meet only in a context that both sequences have (1 in 2^28), and the next ones differ. (Had
 * both walked through neighbouring numbers, each could go on reserving at one member what the other
 * asks for next at another member, as long as they keep in step.)
 */
#ifndef WEFT_COMM_CONTEXT_VOTE_H
#define WEFT_COMM_CONTEXT_VOTE_H

#include "object/context_set.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_vote {
    uint32_t lowest, highest; /* places in the sequence */
} weft_vote_t;

enum { WEFTI_PLACE_FAILED = 0x7fffffff };

/** What one member has proposed last. */
typedef struct weft_proposal {
    uint64_t seed;
    uint32_t place;
    uint32_t context; /* reserved in the set; WEFT_NO_CONTEXT: nothing is */
    int vci;          /* of runtime/vci.h, for the contexts that are proposed */
} weft_proposal_t;

/** A number that depends on both. Seeds are made by it. */
uint64_t wefti_seed_mix(uint64_t seed, uint64_t more);

/** The context at a place of the sequence of `seed`, in VCI 0. */
uint32_t wefti_context_at(uint64_t seed, uint32_t place);

/** Take back what is proposed, if anything. */
void wefti_proposal_withdraw(weft_context_set_t *set, weft_proposal_t *proposal);

/** Propose the first context that is free in `set`, from the place `from` on, instead of what was
 *  proposed before. Without memory the vote is one that has failed, with a text of weft_fail. */
weft_vote_t wefti_proposal_make(weft_context_set_t *set, weft_proposal_t *proposal, uint32_t from);

static inline weft_vote_t wefti_vote_failed(void)
{
    return (weft_vote_t){0, WEFTI_PLACE_FAILED};
}

static inline weft_vote_t wefti_vote_join(weft_vote_t one, weft_vote_t two)
{
    return (weft_vote_t){one.lowest < two.lowest ? one.lowest : two.lowest,
                         one.highest > two.highest ? one.highest : two.highest};
}

static inline bool wefti_vote_has_failed(weft_vote_t vote)
{
    return vote.highest == WEFTI_PLACE_FAILED;
}

/** Neither this nor failed: another round, from `highest` on. */
static inline bool wefti_vote_is_agreed(weft_vote_t vote)
{
    return vote.lowest == vote.highest;
}

#endif
