/* SPDX-License-Identifier: BSD-3-Clause */
#include "comm/context_vote.h"

#include "runtime/vci.h"
#include "base/fail.h"
#include "mpi.h"

/* The output function of SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t scramble(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

uint64_t wefti_seed_mix(uint64_t seed, uint64_t more)
{
    return scramble(scramble(seed + 0x9e3779b97f4a7c15u) + more);
}

uint32_t wefti_context_at(uint64_t seed, uint32_t place)
{
    return (uint32_t)(wefti_seed_mix(seed, place) >> 32) & ~(WEFT_VCI_MASK | 1);
}

static uint32_t context_of(const weft_proposal_t *proposal, uint32_t place)
{
    return wefti_context_at(proposal->seed, place) | (uint32_t)proposal->vci << WEFT_VCI_SHIFT;
}

void wefti_proposal_withdraw(weft_context_set_t *set, weft_proposal_t *proposal)
{
    if (proposal->context != WEFT_NO_CONTEXT)
        weft_context_set_remove(set, proposal->context);
    proposal->context = WEFT_NO_CONTEXT;
}

static weft_vote_t fail_without_context(weft_proposal_t *proposal)
{
    weft_fail(MPI_ERR_NO_MEM, "no context is free for a new communicator");
    proposal->context = WEFT_NO_CONTEXT;
    return wefti_vote_failed();
}

weft_vote_t wefti_proposal_make(weft_context_set_t *set, weft_proposal_t *proposal, uint32_t from)
{
    wefti_proposal_withdraw(set, proposal);
    uint32_t place = from;
    while (place < WEFTI_PLACE_FAILED && weft_context_set_has(set, context_of(proposal, place)))
        place++;
    if (place == WEFTI_PLACE_FAILED)
        return fail_without_context(proposal);
    uint32_t context = context_of(proposal, place);
    if (weft_context_set_add(set, context) != MPI_SUCCESS)
        return wefti_vote_failed();
    proposal->place = place;
    proposal->context = context;
    return (weft_vote_t){place, place};
}
