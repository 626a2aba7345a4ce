/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/store_choice.h"

#include "runtime/world.h"
#include "base/config.h"
#include "base/cpu.h"

#include <string.h>

enum {
    SAMPLES = 4,        /* of a round, and of a try: the fastest counts, as others were disturbed */
    APART_FIRST = 2,    /* packets between samples of the first round, */
    APART_SETTLING = 4, /* before those of a try, */
    APART = 32,         /* and of later rounds */
    SLOW = 64,          /* ns per KiB of both copies: faster ones are left as they are; */
    SLOW_CACHED = 400,  /* the same where cached is expected: between far cores it takes 500, */
    FAR_READ = 150,     /* ns per KiB of one of the two alone, more than near ones ever take; */
    FAR_WRITE = 200,
    FAR_SAMPLES = 2, /* so many samples of that in a row show it */
    GAP_FIRST = 8,   /* laps between tries; twice as many after each, */
    GAP_SHARE = 32,  /* and more where this part of the time would not be enough for it, up to */
    GAP_MOST = 512,
};

/* Another way has to take so much less, or the two take turns. */
static const float worth = 0.8F;

/* If so much more is taken than in the round before, the cores have moved. */
static const float is_unlike = 2;

static const char *const names[WEFT_STORES] = {"cached", "dirty", "nontemporal"};

static unsigned bit(weft_store_t way)
{
    return 1u << way;
}

void weft_store_open(weft_store_choice_t *choice, unsigned ways, size_t lap)
{
    bool is_choice = (ways & ~bit(WEFT_STORE_CACHED)) != 0;
    if (weft_copy_nontemporal == NULL)
        ways &= ~bit(WEFT_STORE_NONTEMPORAL);
    *choice = (weft_store_choice_t){.way = WEFT_STORE_CACHED,
                                    .ways = ways,
                                    .untried = ways & ~bit(WEFT_STORE_CACHED),
                                    .lap = lap,
                                    .settling = lap, /* its pages are touched */
                                    .left = APART_FIRST,
                                    .apart = APART_FIRST,
                                    .gap = GAP_FIRST * lap};
    if (strcmp(weft_config.STORES, "auto") == 0 && is_choice)
        return; /* with one way alone, too: whether the cores are near is learnt all the same */
    choice->left = 0; /* so none is measured for a long time */
    choice->ways = 0;
    for (int way = 0; way < WEFT_STORES; way++) {
        if ((ways & bit(way)) != 0 && strcmp(weft_config.STORES, names[way]) == 0)
            choice->way = way;
    }
}

bool weft_store_is_read_dirty(void)
{
    return strcmp(weft_config.STORES, names[WEFT_STORE_DIRTY]) == 0 ||
           (strcmp(weft_config.STORES, "auto") == 0 && weft_cpu_gets_dirty_sooner());
}

bool weft_store_suits_small_rings(void)
{
    return weft_simd_is_intel_avx512();
}

/* The first processors with AVX-512 fetch lines from other cores' caches as fast as from memory: on
 * a Cascade Lake they take 80 to 300 ns per KiB in any ring. */
bool weft_store_begins_large(void)
{
    return weft_world_has_one_pair() && !weft_simd_is_first_avx512();
}

void weft_store_expect_cached(weft_store_choice_t *choice)
{
    choice->expects_cached = true;
}

void weft_store_prefer_dirty(weft_store_choice_t *choice)
{
    choice->prefers_dirty = (choice->ways & bit(WEFT_STORE_DIRTY)) != 0;
}

static void turn_to(weft_store_choice_t *choice, weft_store_t way)
{
    choice->way = way;
    choice->samples = 0;
    choice->settling = choice->lap;
}

static void begin_try(weft_store_choice_t *choice, weft_store_t way)
{
    choice->tried = way;
    choice->untried &= ~bit(way);
    choice->held = choice->way;
    choice->is_try = true;
    choice->try_began = choice->bytes;
    turn_to(choice, way);
}

bool weft_store_is_between_far(const weft_store_choice_t *choice)
{
    return choice->cached > SLOW_CACHED;
}

static void try_next(weft_store_choice_t *choice)
{
    unsigned some = choice->untried != 0 ? choice->untried : choice->ways & ~bit(choice->way);
    weft_store_t way = choice->tried;
    do
        way = (way + 1) % WEFT_STORES;
    while ((some & bit(way)) == 0);
    bool is_known =
        weft_store_is_between_far(choice) && (choice->untried & bit(WEFT_STORE_NONTEMPORAL)) != 0;
    begin_try(choice, is_known ? WEFT_STORE_NONTEMPORAL : way);
}

/* After a try that was in vain. Of memory that is small beside the data a try takes many laps. */
static size_t gap_after(const weft_store_choice_t *choice)
{
    size_t tried = choice->bytes - choice->try_began, twice = 2 * choice->gap;
    size_t lap = tried / 2 > choice->lap ? tried / 2 : choice->lap, most = GAP_MOST * lap;
    float more = choice->least / choice->usual - 1;
    float laps = more < GAP_MOST ? 2 * GAP_SHARE * more : GAP_MOST;
    size_t gap = laps > GAP_FIRST ? (size_t)(laps * (float)lap) : GAP_FIRST * lap;
    gap = gap > twice ? gap : twice;
    return gap < most ? gap : most;
}

static void end_try(weft_store_choice_t *choice)
{
    bool is_better = choice->least < worth * choice->usual;
    bool is_best = weft_store_is_between_far(choice) && choice->way == WEFT_STORE_NONTEMPORAL;
    choice->is_try = false;
    if (is_better) {
        choice->untried = is_best ? 0 : choice->ways & ~bit(choice->way) & ~bit(choice->held);
        choice->usual = choice->least;
        choice->samples = 0;
    } else {
        choice->gap = gap_after(choice);
        turn_to(choice, choice->held);
    }
    choice->next_try = choice->bytes + (choice->untried == 0 ? choice->gap : 0);
}

void weft_store_restart(weft_store_choice_t *choice)
{
    if (choice->is_try)
        turn_to(choice, choice->held);
    choice->is_try = false;
    choice->samples = 0;
    choice->next_try = choice->bytes + choice->gap;
}

static bool is_slow(const weft_store_choice_t *choice)
{
    bool is_expected = choice->expects_cached && choice->way == WEFT_STORE_CACHED;
    return choice->least > (is_expected ? SLOW_CACHED : SLOW);
}

/* Begin again with this way, as if nothing was known of it. */
static void begin_with(weft_store_choice_t *choice, weft_store_t way)
{
    turn_to(choice, way);
    choice->usual = 0;
}

/* Between near cores takes what is preferred there, and begins anew when they have moved. True:
 * nothing else is to be tried. */
static bool settles_on_dirty(weft_store_choice_t *choice, bool have_moved)
{
    bool is_dirty = choice->way == WEFT_STORE_DIRTY;
    bool comes_next = choice->way == WEFT_STORE_CACHED && weft_store_is_near(choice);
    if (!choice->prefers_dirty || (!is_dirty && !comes_next))
        return false;
    if (!is_dirty)
        begin_with(choice, WEFT_STORE_DIRTY);
    else if (have_moved)
        begin_with(choice, WEFT_STORE_CACHED);
    return true;
}

static void end_round(weft_store_choice_t *choice)
{
    bool have_moved = choice->usual != 0 && choice->least > is_unlike * choice->usual;
    if (have_moved) {
        choice->untried = choice->ways & ~bit(choice->way);
        choice->next_try = choice->bytes;
    }
    choice->usual = choice->least;
    choice->samples = 0;
    choice->apart = APART;
    if (settles_on_dirty(choice, have_moved))
        return;
    bool has_others = (choice->ways & ~bit(choice->way)) != 0;
    if (has_others && is_slow(choice) && choice->bytes >= choice->next_try)
        try_next(choice);
}

bool weft_store_is_keen(const weft_store_choice_t *choice)
{
    return choice->ways != 0 &&
           (choice->is_try || choice->settling > 0 || choice->apart == APART_FIRST);
}

bool weft_store_is_near(const weft_store_choice_t *choice)
{
    if (choice->ways == 0)
        return choice->way == WEFT_STORE_CACHED;
    return choice->cached > 0 && choice->cached <= SLOW_CACHED;
}

/* Between far cores cached data are slow from the first lap on, and all of it need not be seen. */
static bool has_seen_far(weft_store_choice_t *choice, weft_store_cost_t cost)
{
    bool is_first = choice->is_touched && choice->usual == 0 && choice->way == WEFT_STORE_CACHED &&
                    (choice->untried & bit(WEFT_STORE_NONTEMPORAL)) != 0;
    bool is_far = cost.read > FAR_READ || cost.write > FAR_WRITE;
    choice->far_samples = is_first && is_far ? choice->far_samples + 1 : 0;
    return choice->far_samples == FAR_SAMPLES;
}

/* Long data are fetched ahead, and take 250 ns per KiB between far cores. So cores that are known
 * to be far are so until cached data are fast. */
static void note_cached(weft_store_choice_t *choice, bool are_far, float cost)
{
    bool is_still_far = are_far && cost > FAR_READ && cost <= SLOW_CACHED;
    choice->cached = is_still_far ? SLOW_CACHED + 1 : cost;
}

/* Is the memory as the way leaves it? Samples before that do not count. */
static bool has_settled(weft_store_choice_t *choice, size_t bytes)
{
    bool has = choice->settling == 0;
    choice->settling -= bytes < choice->settling ? bytes : choice->settling;
    return has;
}

void weft_store_note(weft_store_choice_t *choice, weft_store_cost_t cost, size_t bytes)
{
    float sum = cost.write + cost.read;
    choice->bytes += bytes;
    if (choice->ways == 0)
        return;
    if (has_seen_far(choice, cost)) {
        choice->usual = sum;
        note_cached(choice, true, sum);
        begin_try(choice, WEFT_STORE_NONTEMPORAL);
        choice->left = APART_SETTLING;
        return;
    }
    if (!has_settled(choice, bytes)) {
        choice->left = APART_SETTLING;
        return;
    }
    if (choice->samples == 0 || sum < choice->least)
        choice->least = sum;
    if (++choice->samples == SAMPLES) {
        if (choice->way == WEFT_STORE_CACHED)
            note_cached(choice, weft_store_is_between_far(choice), choice->least);
        if (choice->is_try)
            end_try(choice);
        else
            end_round(choice);
    }
    choice->left = choice->settling > 0 ? APART_SETTLING : choice->is_try ? 1 : choice->apart;
}
