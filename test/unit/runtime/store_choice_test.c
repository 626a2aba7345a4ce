/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer finds the better way to store on cores that are near, far, or move; what it costs to
 * look for it is bounded. The costs are those of a Zen 4, in ns per KiB. */
#include "base/config.h"
#include "runtime/store_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A pair of cores: what a packet costs that is stored in one way. Past the caches it is the same
 * for all. */
typedef weft_store_cost_t (*pair_fn_t)(weft_store_t way, int since_turn);

static const weft_store_cost_t past_the_caches = {50, 52};

static weft_store_cost_t far_pair(weft_store_t way, int since_turn)
{
    (void)since_turn;
    return way == WEFT_STORE_CACHED ? (weft_store_cost_t){60, 380} : past_the_caches;
}

/* The first cached stores after others fetch their lines from memory. */
static weft_store_cost_t near_pair(weft_store_t way, int since_turn)
{
    if (way == WEFT_STORE_NONTEMPORAL)
        return past_the_caches;
    return since_turn < 64 ? (weft_store_cost_t){140, 24} : (weft_store_cost_t){26, 24};
}

/* Neither way is much better. */
static weft_store_cost_t even_pair(weft_store_t way, int since_turn)
{
    (void)since_turn;
    return way == WEFT_STORE_CACHED ? (weft_store_cost_t){55, 60} : past_the_caches;
}

static weft_store_choice_t choice;
static int since_turn;

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
    weft_store_open(&choice);
    since_turn = 1000;
    return 0;
}

/* Sends packets; returns how many went the other way than `expected`. */
static int send(int packets, pair_fn_t pair, weft_store_t expected)
{
    int others = 0;
    for (int i = 0; i < packets; i++) {
        weft_store_t way = choice.way;
        others += way != expected;
        if (weft_store_is_sample(&choice))
            weft_store_note(&choice, pair(way, since_turn));
        since_turn = choice.way == way ? since_turn + 1 : 0;
    }
    return others;
}

static void far_readers_get_data_past_the_caches(void **state)
{
    (void)state;
    assert_in_range(send(100, far_pair, WEFT_STORE_NONTEMPORAL), 1, 40);
    assert_in_range(send(100000, far_pair, WEFT_STORE_NONTEMPORAL), 1, 100000 / 500);
    assert_int_equal(choice.way, WEFT_STORE_NONTEMPORAL);
}

static void near_readers_get_cached_data(void **state)
{
    (void)state;
    assert_int_equal(send(100000, near_pair, WEFT_STORE_CACHED), 0);
}

static void cores_may_move(void **state)
{
    (void)state;
    send(10000, far_pair, WEFT_STORE_NONTEMPORAL);
    for (int i = 0; i < 4; i++) {
        assert_in_range(send(70000, near_pair, WEFT_STORE_CACHED), 1, 66000);
        assert_in_range(send(1000, near_pair, WEFT_STORE_CACHED), 0, 0);
        assert_in_range(send(1000, far_pair, WEFT_STORE_NONTEMPORAL), 1, 300);
    }
}

static void an_even_pair_is_left_alone(void **state)
{
    (void)state;
    assert_in_range(send(100000, even_pair, WEFT_STORE_CACHED), 1, 100000 / 500);
    assert_int_equal(choice.way, WEFT_STORE_CACHED);
}

/* A sample that another process disturbs is one of four. */
static weft_store_cost_t disturbed_pair(weft_store_t way, int turn)
{
    static int n;
    weft_store_cost_t cost = near_pair(way, turn);
    if (++n % 2 == 0)
        cost.read += 5000;
    return cost;
}

static void disturbances_change_nothing(void **state)
{
    (void)state;
    assert_int_equal(send(100000, disturbed_pair, WEFT_STORE_CACHED), 0);
}

static void a_way_may_be_fixed(void **state)
{
    (void)state;
    weft_config.STORES = "nontemporal";
    weft_store_open(&choice);
    assert_int_equal(send(100000, near_pair, WEFT_STORE_NONTEMPORAL), 0);
    weft_config.STORES = "cached";
    weft_store_open(&choice);
    assert_int_equal(send(100000, far_pair, WEFT_STORE_CACHED), 0);
    weft_copy_nontemporal = NULL;
    weft_config.STORES = "auto";
    weft_store_open(&choice);
    assert_int_equal(send(100000, far_pair, WEFT_STORE_CACHED), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(far_readers_get_data_past_the_caches, open_choice),
        cmocka_unit_test_setup(near_readers_get_cached_data, open_choice),
        cmocka_unit_test_setup(cores_may_move, open_choice),
        cmocka_unit_test_setup(an_even_pair_is_left_alone, open_choice),
        cmocka_unit_test_setup(disturbances_change_nothing, open_choice),
        cmocka_unit_test_setup(a_way_may_be_fixed, open_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
