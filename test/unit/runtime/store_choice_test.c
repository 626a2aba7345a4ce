/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer finds the better way to store on cores that are near, far, or move; what it costs to
 * look for it is bounded. The costs are those of a Zen 4, in ns per KiB. */
#include "base/config.h"
#include "runtime/store_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A pair of cores: what a packet costs that is stored in one way, after so many packets of that
 * way. Past the caches it is the same for all. */
typedef weft_store_cost_t (*pair_fn_t)(weft_store_t way, int since_turn);

enum {
    BYTES = 16384,
    LAP = 16, /* packets, after which all lines are as the way leaves them */
    ALL = 1 << WEFT_STORE_CACHED | 1 << WEFT_STORE_CLAIMED | 1 << WEFT_STORE_NONTEMPORAL,
};

static const weft_store_cost_t past_the_caches = {50, 52};

static weft_store_cost_t far_pair(weft_store_t way, int since_turn)
{
    (void)since_turn;
    switch (way) {
    case WEFT_STORE_CACHED:
        return (weft_store_cost_t){60, 380};
    case WEFT_STORE_CLAIMED:
        return (weft_store_cost_t){80, 90};
    default:
        return past_the_caches;
    }
}

/* In a small ring. Until a lap is over, each way finds lines as another one has left them. */
static weft_store_cost_t near_pair(weft_store_t way, int since_turn)
{
    bool has_settled = since_turn >= LAP;
    switch (way) {
    case WEFT_STORE_CACHED:
        return (weft_store_cost_t){has_settled ? 110 : 20, 25};
    case WEFT_STORE_CLAIMED:
        return (weft_store_cost_t){has_settled ? 26 : 110, 31};
    default:
        return past_the_caches;
    }
}

/* In a large ring. */
static weft_store_cost_t near_large_pair(weft_store_t way, int since_turn)
{
    (void)since_turn;
    switch (way) {
    case WEFT_STORE_CACHED:
        return (weft_store_cost_t){26, 24};
    case WEFT_STORE_CLAIMED:
        return (weft_store_cost_t){40, 35};
    default:
        return past_the_caches;
    }
}

/* No way is much better. */
static weft_store_cost_t even_pair(weft_store_t way, int since_turn)
{
    (void)since_turn;
    switch (way) {
    case WEFT_STORE_CACHED:
        return (weft_store_cost_t){55, 60};
    case WEFT_STORE_CLAIMED:
        return (weft_store_cost_t){60, 60};
    default:
        return past_the_caches;
    }
}

static weft_store_choice_t choice;
static int since_turn;
static size_t since_note;

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
    return 0;
}

/* Sends packets; returns how many went another way than `expected`. */
static int send(int packets, pair_fn_t pair, weft_store_t expected)
{
    int others = 0;
    for (int i = 0; i < packets; i++) {
        weft_store_t way = choice.way;
        others += way != expected;
        since_note += BYTES;
        if (weft_store_is_sample(&choice)) {
            weft_store_note(&choice, pair(way, since_turn), since_note);
            since_note = 0;
        }
        since_turn = choice.way == way ? since_turn + 1 : 0;
    }
    return others;
}

/* After a few laps most packets go the best way, and later nearly all. */
static void keeps_to(pair_fn_t pair, weft_store_t best)
{
    send(10 * LAP, pair, best);
    assert_in_range(send(40 * LAP, pair, best), 0, 40 * LAP / 4);
    assert_in_range(send(10000 * LAP, pair, best), 0, 10000 * LAP / 100);
}

static void far_readers_get_data_past_the_caches(void **state)
{
    (void)state;
    keeps_to(far_pair, WEFT_STORE_NONTEMPORAL);
}

static void near_readers_claim_lines_of_a_small_ring(void **state)
{
    (void)state;
    keeps_to(near_pair, WEFT_STORE_CLAIMED);
}

static void near_readers_get_cached_data_of_a_large_ring(void **state)
{
    (void)state;
    assert_int_equal(send(100000, near_large_pair, WEFT_STORE_CACHED), 0);
}

static void cores_may_move(void **state)
{
    (void)state;
    send(10000, far_pair, WEFT_STORE_NONTEMPORAL);
    for (int i = 0; i < 4; i++) {
        send(20000, near_pair, WEFT_STORE_CLAIMED);
        assert_int_equal(choice.way, WEFT_STORE_CLAIMED);
        send(1000, far_pair, WEFT_STORE_NONTEMPORAL);
        assert_int_equal(choice.way, WEFT_STORE_NONTEMPORAL);
        send(20000, near_large_pair, WEFT_STORE_CACHED);
        assert_int_equal(choice.way, WEFT_STORE_CACHED);
        send(1000, far_pair, WEFT_STORE_NONTEMPORAL);
        assert_int_equal(choice.way, WEFT_STORE_NONTEMPORAL);
    }
}

static void an_even_pair_is_left_alone(void **state)
{
    (void)state;
    keeps_to(even_pair, WEFT_STORE_CACHED);
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
    keeps_to(disturbed_pair, WEFT_STORE_CLAIMED);
}

static void a_way_may_be_fixed(void **state)
{
    (void)state;
    weft_config.STORES = "nontemporal";
    weft_store_open(&choice, ALL, LAP * BYTES);
    assert_int_equal(send(100000, near_pair, WEFT_STORE_NONTEMPORAL), 0);
    weft_config.STORES = "cached";
    weft_store_open(&choice, ALL, LAP * BYTES);
    assert_int_equal(send(100000, far_pair, WEFT_STORE_CACHED), 0);
    weft_config.STORES = "claimed";
    weft_store_open(&choice, ALL, LAP * BYTES);
    assert_int_equal(send(100000, far_pair, WEFT_STORE_CLAIMED), 0);
}

/* Memory with many readers has no claims, and not all processors have other stores. */
static void a_way_may_be_lacking(void **state)
{
    (void)state;
    weft_config.STORES = "claimed";
    weft_store_open(&choice, 1 << WEFT_STORE_CACHED | 1 << WEFT_STORE_NONTEMPORAL, LAP * BYTES);
    assert_int_equal(send(100000, near_pair, WEFT_STORE_CACHED), 0);
    weft_copy_nontemporal = NULL;
    weft_config.STORES = "nontemporal";
    weft_store_open(&choice, ALL, LAP * BYTES);
    assert_int_equal(send(100000, far_pair, WEFT_STORE_CACHED), 0);
    weft_config.STORES = "auto";
    weft_store_open(&choice, 1 << WEFT_STORE_CACHED | 1 << WEFT_STORE_NONTEMPORAL, LAP * BYTES);
    assert_int_equal(send(100000, far_pair, WEFT_STORE_CACHED), 0);
    weft_store_open(&choice, ALL, LAP * BYTES);
    keeps_to(far_pair, WEFT_STORE_CLAIMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(far_readers_get_data_past_the_caches, open_choice),
        cmocka_unit_test_setup(near_readers_claim_lines_of_a_small_ring, open_choice),
        cmocka_unit_test_setup(near_readers_get_cached_data_of_a_large_ring, open_choice),
        cmocka_unit_test_setup(cores_may_move, open_choice),
        cmocka_unit_test_setup(an_even_pair_is_left_alone, open_choice),
        cmocka_unit_test_setup(disturbances_change_nothing, open_choice),
        cmocka_unit_test_setup(a_way_may_be_fixed, open_choice),
        cmocka_unit_test_setup(a_way_may_be_lacking, open_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
