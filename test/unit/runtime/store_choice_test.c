/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer finds the better way to store on cores that are near, far, or move; what it costs to
 * look for it is bounded. The costs are those of a Zen 4, in ns per KiB. */
#include "base/config.h"
#include "runtime/store_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    BYTES = 16384,
    LAP = 16, /* packets, after which all lines are as the way leaves them */
    ALL = 1 << WEFT_STORE_CACHED | 1 << WEFT_STORE_DIRTY | 1 << WEFT_STORE_NONTEMPORAL,
};

/* A pair of cores: what a packet costs that is stored in one way, and what in the lap after a turn,
 * while the way finds lines as another one has left them; `first` NULL: the same. Past the caches
 * it is the same for all. */
typedef struct pair {
    weft_store_cost_t cost[WEFT_STORES];
    const weft_store_cost_t *first;
} pair_t;

static const weft_store_cost_t first_near[WEFT_STORES] = {{20, 25}, {110, 31}, {50, 52}};

static const pair_t far_pair = {{{60, 380}, {80, 90}, {50, 52}}, NULL};
static const pair_t near_pair = {{{110, 25}, {26, 31}, {50, 52}}, first_near}; /* a small ring */
static const pair_t near_large_pair = {{{26, 24}, {40, 35}, {50, 52}}, NULL};  /* a large one */
static const pair_t even_pair = {{{55, 60}, {60, 60}, {50, 52}}, NULL}; /* no way is much better */

static weft_store_choice_t choice;
static int since_turn;
static size_t since_note;
static int disturbed_every; /* sample; 0: none */

static void copy_nothing(void *to, const void *from, size_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
}

static int open_choice(void **state)
{
    (void)state;
    weft_copy_nontemporal = copy_nothing;
    weft_config.STORES = "auto";
    weft_store_open(&choice, ALL, LAP * BYTES);
    since_turn = 1000;
    since_note = 0;
    disturbed_every = 0;
    return 0;
}

static weft_store_cost_t cost_of(const pair_t *pair, weft_store_t way)
{
    static int samples;
    bool is_first = pair->first != NULL && since_turn < LAP;
    weft_store_cost_t cost = is_first ? pair->first[way] : pair->cost[way];
    if (disturbed_every > 0 && ++samples % disturbed_every == 0)
        cost.read += 5000;
    return cost;
}

/* Sends packets; returns how many went another way than `expected`. */
static int send(int packets, const pair_t *pair, weft_store_t expected)
{
    int others = 0;
    for (int i = 0; i < packets; i++) {
        weft_store_t way = choice.way;
        others += way != expected;
        since_note += BYTES;
        if (weft_store_is_sample(&choice)) {
            weft_store_note(&choice, cost_of(pair, way), since_note);
            since_note = 0;
        }
        since_turn = choice.way == way ? since_turn + 1 : 0;
    }
    return others;
}

/* After a few laps most packets go the best way, and later nearly all. */
static void keeps_to(const pair_t *pair, weft_store_t best)
{
    send(10 * LAP, pair, best);
    assert_in_range(send(40 * LAP, pair, best), 0, 40 * LAP / 4);
    assert_in_range(send(10000 * LAP, pair, best), 0, 10000 * LAP / 100);
}

static void far_readers_get_data_past_the_caches(void **state)
{
    (void)state;
    keeps_to(&far_pair, WEFT_STORE_NONTEMPORAL);
}

/* That takes no lap, and no try of other ways before. Later tries, which cost four times as much,
 * are rare. */
static void far_readers_are_seen_at_once(void **state)
{
    (void)state;
    weft_store_set_touched(&choice);
    assert_in_range(send(4 * LAP, &far_pair, WEFT_STORE_NONTEMPORAL), 1, LAP / 2);
    assert_in_range(send(60 * LAP, &far_pair, WEFT_STORE_NONTEMPORAL), 0, 4 * LAP);
    assert_in_range(send(600 * LAP, &far_pair, WEFT_STORE_NONTEMPORAL), 1, 9 * LAP);
}

/* So does a writer that has to take lines back, as in a small ring. */
static void far_writers_are_seen_at_once(void **state)
{
    static const pair_t reused_pair = {{{430, 50}, {440, 50}, {37, 56}}, NULL};
    (void)state;
    weft_store_set_touched(&choice);
    assert_in_range(send(4 * LAP, &reused_pair, WEFT_STORE_NONTEMPORAL), 1, LAP / 2);
}

/* Each call of the collectives has 64 laps of data, and is measured: tries have as many. */
static void tries_of_long_data_are_rare(void **state)
{
    enum { CALLS = 4000, LAPS = 64 };
    int others = 0;
    (void)state;
    for (int call = 0; call < CALLS; call++) {
        others += choice.way != WEFT_STORE_NONTEMPORAL;
        weft_store_note(&choice, far_pair.cost[choice.way], LAPS * LAP * BYTES);
    }
    assert_in_range(others, 1, CALLS / 20);
}

static void near_readers_leave_a_small_ring_dirty(void **state)
{
    (void)state;
    keeps_to(&near_pair, WEFT_STORE_DIRTY);
}

/* Where that is preferred no other way is tried between near cores, not even when the clock says
 * that cached data cost less. Cores that move are found out. */
static void dirty_lines_may_be_preferred(void **state)
{
    static const pair_t hidden_pair = {{{20, 25}, {30, 40}, {5, 6}}, NULL};
    (void)state;
    weft_store_prefer_dirty(&choice);
    send(10 * LAP, &hidden_pair, WEFT_STORE_DIRTY);
    assert_int_equal(send(100000, &hidden_pair, WEFT_STORE_DIRTY), 0);
    assert_true(weft_store_is_near(&choice));
    for (int i = 0; i < 4; i++) {
        send(1000, &far_pair, WEFT_STORE_NONTEMPORAL);
        assert_int_equal(choice.way, WEFT_STORE_NONTEMPORAL);
        assert_false(weft_store_is_near(&choice));
        send(20000, &near_pair, WEFT_STORE_DIRTY);
        assert_int_equal(choice.way, WEFT_STORE_DIRTY);
        assert_int_equal(send(20000, &near_pair, WEFT_STORE_DIRTY), 0);
    }
}

static void near_readers_get_cached_data_of_a_large_ring(void **state)
{
    (void)state;
    assert_int_equal(send(100000, &near_large_pair, WEFT_STORE_CACHED), 0);
}

/* Short packets cost more in a large ring, too, but no way is better there. */
static void without_need_nothing_else_is_tried(void **state)
{
    static const pair_t short_packets = {{{90, 60}, {100, 80}, {150, 150}}, NULL};
    (void)state;
    assert_true(send(100000, &short_packets, WEFT_STORE_CACHED) > 0);
    weft_store_open(&choice, ALL, LAP * BYTES);
    weft_store_expect_cached(&choice);
    assert_int_equal(send(100000, &short_packets, WEFT_STORE_CACHED), 0);
    weft_store_open(&choice, ALL, LAP * BYTES);
    weft_store_expect_cached(&choice);
    keeps_to(&far_pair, WEFT_STORE_NONTEMPORAL);
}

/* It is not known at first, and it is told whichever way is the best. */
static void near_cores_are_told(void **state)
{
    (void)state;
    assert_false(weft_store_is_near(&choice));
    send(1000, &near_pair, WEFT_STORE_DIRTY);
    assert_int_equal(choice.way, WEFT_STORE_DIRTY);
    assert_true(weft_store_is_near(&choice));
    for (int i = 0; i < 4; i++) {
        send(10000, &far_pair, WEFT_STORE_NONTEMPORAL);
        assert_false(weft_store_is_near(&choice));
        send(20000, &near_pair, WEFT_STORE_DIRTY);
        assert_true(weft_store_is_near(&choice));
    }
}

static void cores_may_move(void **state)
{
    (void)state;
    send(10000, &far_pair, WEFT_STORE_NONTEMPORAL);
    for (int i = 0; i < 4; i++) {
        send(20000, &near_pair, WEFT_STORE_DIRTY);
        assert_int_equal(choice.way, WEFT_STORE_DIRTY);
        send(1000, &far_pair, WEFT_STORE_NONTEMPORAL);
        assert_int_equal(choice.way, WEFT_STORE_NONTEMPORAL);
        send(20000, &near_large_pair, WEFT_STORE_CACHED);
        assert_int_equal(choice.way, WEFT_STORE_CACHED);
        send(1000, &far_pair, WEFT_STORE_NONTEMPORAL);
        assert_int_equal(choice.way, WEFT_STORE_NONTEMPORAL);
    }
}

static void an_even_pair_is_left_alone(void **state)
{
    (void)state;
    keeps_to(&even_pair, WEFT_STORE_CACHED);
}

/* A sample that another process disturbs is one of four. */
static void disturbances_change_nothing(void **state)
{
    (void)state;
    disturbed_every = 2;
    keeps_to(&near_pair, WEFT_STORE_DIRTY);
}

static void a_way_may_be_fixed(void **state)
{
    (void)state;
    weft_config.STORES = "nontemporal";
    weft_store_open(&choice, ALL, LAP * BYTES);
    assert_int_equal(send(100000, &near_pair, WEFT_STORE_NONTEMPORAL), 0);
    weft_config.STORES = "cached";
    weft_store_open(&choice, ALL, LAP * BYTES);
    assert_int_equal(send(100000, &far_pair, WEFT_STORE_CACHED), 0);
    weft_config.STORES = "dirty";
    weft_store_open(&choice, ALL, LAP * BYTES);
    assert_int_equal(send(100000, &far_pair, WEFT_STORE_DIRTY), 0);
}

/* Memory with many readers is not left dirty, and not all processors have other stores. */
static void a_way_may_be_lacking(void **state)
{
    (void)state;
    weft_config.STORES = "dirty";
    weft_store_open(&choice, 1 << WEFT_STORE_CACHED | 1 << WEFT_STORE_NONTEMPORAL, LAP * BYTES);
    assert_int_equal(send(100000, &near_pair, WEFT_STORE_CACHED), 0);
    weft_copy_nontemporal = NULL;
    weft_config.STORES = "nontemporal";
    weft_store_open(&choice, ALL, LAP * BYTES);
    assert_int_equal(send(100000, &far_pair, WEFT_STORE_CACHED), 0);
    weft_config.STORES = "auto";
    weft_store_open(&choice, 1 << WEFT_STORE_CACHED | 1 << WEFT_STORE_NONTEMPORAL, LAP * BYTES);
    assert_int_equal(send(100000, &far_pair, WEFT_STORE_CACHED), 0);
    weft_store_open(&choice, ALL, LAP * BYTES);
    keeps_to(&far_pair, WEFT_STORE_DIRTY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(far_readers_get_data_past_the_caches, open_choice),
        cmocka_unit_test_setup(far_readers_are_seen_at_once, open_choice),
        cmocka_unit_test_setup(far_writers_are_seen_at_once, open_choice),
        cmocka_unit_test_setup(tries_of_long_data_are_rare, open_choice),
        cmocka_unit_test_setup(near_readers_leave_a_small_ring_dirty, open_choice),
        cmocka_unit_test_setup(dirty_lines_may_be_preferred, open_choice),
        cmocka_unit_test_setup(near_readers_get_cached_data_of_a_large_ring, open_choice),
        cmocka_unit_test_setup(without_need_nothing_else_is_tried, open_choice),
        cmocka_unit_test_setup(near_cores_are_told, open_choice),
        cmocka_unit_test_setup(cores_may_move, open_choice),
        cmocka_unit_test_setup(an_even_pair_is_left_alone, open_choice),
        cmocka_unit_test_setup(disturbances_change_nothing, open_choice),
        cmocka_unit_test_setup(a_way_may_be_fixed, open_choice),
        cmocka_unit_test_setup(a_way_may_be_lacking, open_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
