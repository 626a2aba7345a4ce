/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of agreement, without messages: one process acts for the members of several
 * creations. */
#include "comm/context_vote.h"

#include "runtime/vci.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { PROCESSES = 6, CREATIONS = 8, SEEDS = 1 << 18, ROUNDS_MAX = 100 };

static weft_context_set_t sets[PROCESSES];

/* A creation: the processes that are members, their proposals, and the outcome. */
typedef struct played {
    bool is_member[PROCESSES];
    weft_proposal_t proposals[PROCESSES];
    weft_vote_t vote; /* the vote of the members that have voted in this round */
    uint32_t from;
    int voted, members, rounds;
} played_t;

static played_t play(uint64_t seed, unsigned members)
{
    played_t played = {.vote = {UINT32_MAX, 0}};
    for (int i = 0; i < PROCESSES; i++) {
        played.is_member[i] = (members >> i & 1) != 0;
        played.members += played.is_member[i];
        played.proposals[i] = (weft_proposal_t){.seed = seed, .context = WEFT_NO_CONTEXT};
    }
    return played;
}

/* One member votes; the last one ends the round. Returns true if all have agreed. */
static bool vote(played_t *played, int process)
{
    weft_vote_t mine =
        wefti_proposal_make(&sets[process], &played->proposals[process], played->from);
    assert_false(wefti_vote_has_failed(mine));
    played->vote = wefti_vote_join(played->vote, mine);
    if (++played->voted < played->members)
        return false;
    weft_vote_t result = played->vote;
    played->voted = 0;
    played->rounds++;
    played->from = result.highest;
    played->vote = (weft_vote_t){UINT32_MAX, 0};
    return wefti_vote_is_agreed(result);
}

static int vote_all(played_t *played)
{
    bool is_agreed = false;
    for (int round = 0; !is_agreed && round < ROUNDS_MAX; round++) {
        for (int i = 0; i < PROCESSES; i++)
            is_agreed = played->is_member[i] && vote(played, i);
    }
    assert_true(is_agreed);
    return played->rounds;
}

static void check_equal(const played_t *played)
{
    uint32_t context = WEFT_NO_CONTEXT;
    for (int i = 0; i < PROCESSES; i++) {
        if (!played->is_member[i])
            continue;
        if (context == WEFT_NO_CONTEXT)
            context = played->proposals[i].context;
        assert_int_equal(played->proposals[i].context, context);
        assert_int_equal(context & 1, 0);
        assert_true(weft_context_set_has(&sets[i], context));
    }
}

static void end_play(played_t *played)
{
    for (int i = 0; i < PROCESSES; i++)
        wefti_proposal_withdraw(&sets[i], &played->proposals[i]);
}

static int clear_sets(void **state)
{
    (void)state;
    for (int i = 0; i < PROCESSES; i++) {
        assert_int_equal(sets[i].count, 0);
        weft_context_set_clear(&sets[i]);
    }
    return 0;
}

static void agrees_in_one_round(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        played_t played = play(seed, 0x3f);
        assert_int_equal(vote_all(&played), 1);
        check_equal(&played);
        end_play(&played);
    }
}

/* Each process has some of the first contexts of the sequence in use, each process other ones. */
static void passes_over_what_is_taken(void **state)
{
    enum { TAKEN = 20 };
    const uint64_t seed = 42;
    (void)state;
    for (uint32_t place = 0; place < TAKEN; place++)
        (void)weft_context_set_add(&sets[place % PROCESSES], wefti_context_at(seed, place));
    played_t played = play(seed, 0x3f);
    vote_all(&played);
    check_equal(&played);
    assert_int_equal(played.proposals[0].place, TAKEN);
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(sets[i].count, TAKEN / PROCESSES + (i < TAKEN % PROCESSES) + 1);
    end_play(&played);
    for (uint32_t place = 0; place < TAKEN; place++)
        weft_context_set_remove(&sets[place % PROCESSES], wefti_context_at(seed, place));
}

static void one_fails_all(void **state)
{
    (void)state;
    weft_vote_t vote_of_one = {5, 5};
    weft_vote_t sum = wefti_vote_join(vote_of_one, wefti_vote_failed());
    assert_true(wefti_vote_has_failed(wefti_vote_join(sum, vote_of_one)));
    assert_false(wefti_vote_has_failed(vote_of_one));
    assert_false(wefti_vote_is_agreed(wefti_vote_join(vote_of_one, (weft_vote_t){6, 6})));
    weft_proposal_t proposal = {.seed = 1, .context = WEFT_NO_CONTEXT};
    sum = wefti_proposal_make(&sets[0], &proposal, WEFTI_PLACE_FAILED);
    assert_true(wefti_vote_has_failed(sum));
    assert_int_equal(proposal.context, WEFT_NO_CONTEXT);
}

typedef struct first_context {
    uint32_t context, seed;
} first_context_t;

static int by_context(const void *a, const void *b)
{
    const first_context_t *one = a, *two = b;
    return (one->context > two->context) - (one->context < two->context);
}

/* Two seeds whose sequences begin with the same context. */
static void find_colliding(uint32_t *one, uint32_t *two)
{
    static first_context_t all[SEEDS];
    for (uint32_t seed = 0; seed < SEEDS; seed++)
        all[seed] = (first_context_t){wefti_context_at(seed, 0), seed};
    qsort(all, SEEDS, sizeof(*all), by_context);
    size_t i = 1;
    while (i < SEEDS && all[i].context != all[i - 1].context)
        i++;
    assert_true(i < SEEDS);
    *one = all[i - 1].seed;
    *two = all[i].seed;
}

/* One process always votes for the first creation first, the other process for the second. At each
 * process one creation takes what the other one wants, and both have to try again; but they do not
 * collide again. */
static void does_not_go_on_in_lockstep(void **state)
{
    uint32_t one, two;
    (void)state;
    find_colliding(&one, &two);
    played_t first = play(one, 3), second = play(two, 3);
    bool is_first_over = false, is_second_over = false;
    for (int round = 0; round < ROUNDS_MAX && !(is_first_over && is_second_over); round++) {
        if (!is_first_over)
            (void)vote(&first, 0);
        if (!is_second_over)
            is_second_over = vote(&second, 0);
        if (!is_second_over)
            is_second_over = vote(&second, 1);
        if (!is_first_over)
            is_first_over = vote(&first, 1);
    }
    assert_true(is_first_over && is_second_over);
    assert_int_equal(first.rounds, 2);
    check_equal(&first);
    check_equal(&second);
    assert_int_not_equal(first.proposals[0].context, second.proposals[0].context);
    end_play(&first);
    end_play(&second);
}

/* Creations with overlapping members are under way at the same time, and their votes come in any
 * order. */
static void agrees_at_once(void **state)
{
    unsigned random = 7;
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        played_t played[CREATIONS];
        int next[CREATIONS] = {0}, left = CREATIONS;
        for (int i = 0; i < CREATIONS; i++) {
            random = random * 1664525u + 1013904223u;
            /* Every other pair has the same seed. */
            played[i] =
                play(seed * CREATIONS + (unsigned)i / 2 * 2 + (i % 4 < 2), 1 + (random >> 8) % 63);
        }
        for (int step = 0; left > 0 && step < 1000000; step++) {
            random = random * 1664525u + 1013904223u;
            int i = (int)((random >> 8) % CREATIONS);
            if (next[i] == PROCESSES)
                continue;
            int process = next[i]++;
            bool is_agreed = played[i].is_member[process] && vote(&played[i], process);
            left -= is_agreed;
            if (!is_agreed && next[i] == PROCESSES)
                next[i] = 0;
            else if (is_agreed)
                next[i] = PROCESSES;
        }
        assert_int_equal(left, 0);
        for (int i = 0; i < CREATIONS; i++)
            check_equal(&played[i]);
        for (int i = 0; i < CREATIONS; i++)
            end_play(&played[i]);
    }
}

/* Successive creations use the whole range of the contexts of VCI 0, with all its bits. */
static void spreads_contexts(void **state)
{
    enum { NUMBERS = 100000, PARTS = 64 };
    int parts[PARTS] = {0}, odd_halves = 0;
    (void)state;
    for (uint64_t number = 0; number < NUMBERS; number++) {
        uint32_t context = wefti_context_at(wefti_seed_mix(7, number), 0);
        assert_int_equal(weft_vci_of(context), 0);
        parts[context >> (WEFT_VCI_SHIFT - 6)]++;
        odd_halves += (int)(context >> 1 & 1);
    }
    for (int i = 0; i < PARTS; i++)
        assert_in_range(parts[i], NUMBERS / PARTS * 8 / 10, NUMBERS / PARTS * 12 / 10);
    assert_in_range(odd_halves, NUMBERS * 48 / 100, NUMBERS * 52 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(agrees_in_one_round, clear_sets),
        cmocka_unit_test_teardown(passes_over_what_is_taken, clear_sets),
        cmocka_unit_test_teardown(one_fails_all, clear_sets),
        cmocka_unit_test_teardown(does_not_go_on_in_lockstep, clear_sets),
        cmocka_unit_test_teardown(agrees_at_once, clear_sets),
        cmocka_unit_test(spreads_contexts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
