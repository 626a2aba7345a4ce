/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks move from where many are to where at least two fewer are, and to nowhere else. */
#include "runtime/spread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { RANKS = 7, CPUS = 3 };

static weft_cpus_t masks(int first, int end)
{
    weft_cpus_t cpus = {{0}};
    for (int cpu = first; cpu < end; cpu++)
        weft_cpus_put(&cpus, cpu);
    return cpus;
}

static void balanced_ranks_stay(void **state)
{
    (void)state;
    const int processors[] = {0, 1, 0, 1, 0};
    weft_cpus_t both = masks(0, 2);
    assert_int_equal(weft_spread_target(&both, processors, 5, 0), -1);
    assert_int_equal(weft_spread_target(&both, processors, 5, 1), -1);
    assert_int_equal(weft_spread_target(&both, processors, 4, 0), -1);
}

static void the_emptiest_is_taken(void **state)
{
    (void)state;
    const int processors[] = {0, 0, 0, 70, 70, 0};
    weft_cpus_t all = masks(0, 2);
    weft_cpus_put(&all, 70);
    assert_int_equal(weft_spread_target(&all, processors, 6, 0), 1);
    assert_int_equal(weft_spread_target(&all, processors, 6, 70), 1);
}

static void only_allowed_ones_are_taken(void **state)
{
    (void)state;
    const int processors[] = {0, 0, 0, 0};
    weft_cpus_t own = masks(0, 1), far = masks(4, 5);
    assert_int_equal(weft_spread_target(&own, processors, 4, 0), -1);
    assert_int_equal(weft_spread_target(&far, processors, 4, 0), 4);
}

static void unknown_ranks_do_not_count(void **state)
{
    (void)state;
    const int processors[] = {0, -1, -1, -1};
    weft_cpus_t both = masks(0, 2);
    assert_int_equal(weft_spread_target(&both, processors, 4, 0), -1);
}

/* Ranks 0 and 1 are awake on processor 0, the others sleep on processor 1, or are not known. */
static void a_core_of_sleepers_is_taken(void **state)
{
    (void)state;
    weft_cpus_t both = masks(0, 2);
    assert_int_equal(weft_spread_choice(&both, (int[]){1, 1, -2, -2}, 4, 0), 1);
    assert_int_equal(weft_spread_choice(&both, (int[]){1, 1, -2, 0}, 4, 0), 1);
    assert_int_equal(weft_spread_choice(&both, (int[]){1, 1, -2, 2}, 4, 0), -1);
    assert_int_equal(weft_spread_choice(&both, (int[]){1, -1, -2, 2}, 4, 0), -1);
    assert_int_equal(weft_spread_choice(&both, (int[]){1, -1, -2, -2}, 4, 0), -1);
}

/* A sleeper counts where it slept. */
static void sleepers_are_spread_too(void **state)
{
    (void)state;
    weft_cpus_t both = masks(0, 2);
    assert_int_equal(weft_spread_choice(&both, (int[]){1, -1, -1, 2}, 4, 0), 1);
    assert_int_equal(weft_spread_choice(&both, (int[]){1, 1, 1, -2, -2, 2}, 6, 0), -1);
}

static atomic_int shown[4] = {1, 1, 2, 2};

static atomic_int *shown_by(int rank)
{
    return &shown[rank];
}

/* Ranks 2 and 3 end, and so processor 1 is free for one of the others. */
static void who_has_ended_needs_no_core(void **state)
{
    (void)state;
    weft_cpus_t both = masks(0, 2);
    int all[4];
    for (int rank = 2; rank < 4; rank++) {
        weft_spread_place = (weft_spread_place_t){.ranks = 4, .rank = rank, .processor = shown_by};
        weft_spread_leave();
    }
    weft_spread_place = (weft_spread_place_t){0};
    for (int i = 0; i < 4; i++)
        all[i] = atomic_load(&shown[i]);
    assert_int_equal(weft_spread_choice(&both, all, 4, 0), 1);
}

/* While more ranks may run than processes do, a long yield is theirs. */
static void ranks_alone_are_not_held(void **state)
{
    (void)state;
    atomic_ullong moved_ns = 5;
    weft_spread_place =
        (weft_spread_place_t){.ranks = 1 << 30, .processor = shown_by, .moved_ns = &moved_ns};
    weft_spread_hold(1000);
    assert_int_equal(atomic_load(&moved_ns), 5);
    weft_spread_place = (weft_spread_place_t){0};
}

/* From wherever they start, one move after the other. */
static void moves_come_to_an_end(void **state)
{
    (void)state;
    weft_cpus_t all = masks(0, CPUS);
    for (int start = 0; start < CPUS * CPUS * CPUS; start++) {
        int processors[RANKS], counts[CPUS] = {0}, moves = 0;
        for (int i = 0; i < RANKS; i++)
            processors[i] = i % 3 == 0 ? start % CPUS : i % 3 == 1 ? start / 3 % CPUS : start / 9;
        for (int i = 0, stays = 0; stays < RANKS; i = (i + 1) % RANKS) {
            int target = weft_spread_target(&all, processors, RANKS, processors[i]);
            stays = target < 0 ? stays + 1 : 0;
            if (target >= 0)
                processors[i] = target;
            assert_in_range(moves += target >= 0, 0, RANKS);
        }
        for (int i = 0; i < RANKS; i++)
            counts[processors[i]]++;
        for (int cpu = 0; cpu < CPUS; cpu++)
            assert_in_range(counts[cpu], RANKS / CPUS, RANKS / CPUS + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balanced_ranks_stay),         cmocka_unit_test(the_emptiest_is_taken),
        cmocka_unit_test(only_allowed_ones_are_taken), cmocka_unit_test(unknown_ranks_do_not_count),
        cmocka_unit_test(a_core_of_sleepers_is_taken), cmocka_unit_test(sleepers_are_spread_too),
        cmocka_unit_test(who_has_ended_needs_no_core), cmocka_unit_test(ranks_alone_are_not_held),
        cmocka_unit_test(moves_come_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
