/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/store_choice.h"

#include "base/config.h"

#include <string.h>

enum {
    SAMPLES = 4,     /* of a round, and of a try: the fastest counts, as others were disturbed */
    APART_FIRST = 2, /* packets between samples of the first round, */
    APART = 32,      /* and of later ones */
    SLOW = 100,      /* ns per KiB of both copies: faster ones are left as they are */
    GAP_FIRST = 256, /* packets between tries; twice as many after each, up to */
    GAP_MOST = 65536,
};

/* The other way has to take so much less, or the two take turns. */
static const float worth = 0.8F;

void weft_store_open(weft_store_choice_t *choice)
{
    const char *ways = weft_config.STORES;
    *choice = (weft_store_choice_t){.left = APART_FIRST, .apart = APART_FIRST, .gap = GAP_FIRST};
    choice->is_fixed = weft_copy_nontemporal == NULL || strcmp(ways, "auto") != 0;
    if (choice->is_fixed)
        choice->left = 0; /* so none is measured for a long time */
    if (weft_copy_nontemporal != NULL && strcmp(ways, "nontemporal") == 0)
        choice->way = WEFT_STORE_NONTEMPORAL;
}

static weft_store_t other_than(weft_store_t way)
{
    return way == WEFT_STORE_CACHED ? WEFT_STORE_NONTEMPORAL : WEFT_STORE_CACHED;
}

static float sum(weft_store_cost_t cost)
{
    return cost.write + cost.read;
}

static void turn(weft_store_choice_t *choice)
{
    choice->known = choice->least;
    choice->way = other_than(choice->way);
    choice->samples = 0;
}

static void begin_try(weft_store_choice_t *choice)
{
    turn(choice);
    choice->is_try = true;
    choice->left = 1;
}

/* Is the way that was tried the better one? */
static bool is_better(const weft_store_choice_t *choice)
{
    return choice->way == WEFT_STORE_NONTEMPORAL ? sum(choice->least) < worth * sum(choice->known)
                                                 : choice->least.read < worth * choice->known.read;
}

/* Cached stores after others are on trial: if they turn out to be slow, the next try comes at
 * once. */
static void end_try(weft_store_choice_t *choice)
{
    bool is_taken = is_better(choice);
    choice->is_try = false;
    if (!is_taken)
        turn(choice);
    if ((!is_taken || choice->way == WEFT_STORE_NONTEMPORAL) && choice->gap < GAP_MOST)
        choice->gap *= 2;
    bool is_on_trial = is_taken && choice->way == WEFT_STORE_CACHED;
    choice->next_try = choice->packets + (is_on_trial ? 0 : choice->gap);
    choice->samples = 0;
}

void weft_store_restart(weft_store_choice_t *choice)
{
    if (choice->is_try)
        turn(choice);
    choice->is_try = false;
    choice->samples = 0;
    choice->next_try = choice->packets + choice->gap;
}

static void end_round(weft_store_choice_t *choice)
{
    bool is_slow = choice->way == WEFT_STORE_NONTEMPORAL || sum(choice->least) > SLOW;
    choice->samples = 0;
    choice->apart = APART;
    choice->left = APART;
    if (is_slow && (int32_t)(choice->packets - choice->next_try) >= 0)
        begin_try(choice);
}

bool weft_store_is_keen(const weft_store_choice_t *choice)
{
    return !choice->is_fixed && (choice->is_try || choice->apart == APART_FIRST);
}

void weft_store_note(weft_store_choice_t *choice, weft_store_cost_t cost)
{
    choice->packets += choice->is_try ? 1 : choice->apart;
    if (choice->is_fixed)
        return;
    choice->left = choice->is_try ? 1 : choice->apart;
    if (choice->samples == 0 || sum(cost) < sum(choice->least))
        choice->least = cost;
    if (++choice->samples < SAMPLES)
        return;
    if (choice->is_try)
        end_try(choice);
    else
        end_round(choice);
}
