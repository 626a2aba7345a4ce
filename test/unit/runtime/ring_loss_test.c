/* SPDX-License-Identifier: BSD-3-Clause */
/* A slow ring costs what it takes more than a good one, a fast ring a tenth, and disturbances
 * nothing. */
#include "runtime/ring_loss.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BYTES = 16384, SLOW_NS = 4096, FAST_NS = 512, DISTURBED_NS = 100000, COST_NS = 60 };

static weft_ring_loss_t loss;
static bool is_cached;

static int clear(void **state)
{
    (void)state;
    loss = (weft_ring_loss_t){0};
    is_cached = true;
    return 0;
}

/* What is lost by so many packets; every `nth` sample is disturbed. */
static int64_t lost_by(int packets, size_t bytes, int64_t ns, int nth)
{
    int64_t lost = 0;
    int samples = 0;
    for (int i = 0; i < packets; i++) {
        if (!weft_ring_loss_is_sample(&loss, bytes))
            continue;
        bool is_disturbed = nth > 0 && ++samples % nth == 0;
        lost += weft_ring_loss_of_sample(&loss, bytes, COST_NS + (is_disturbed ? DISTURBED_NS : ns),
                                         is_cached);
    }
    return lost;
}

/* 16 KiB at 24 bytes a ns take 683 ns; reading is held against 32 bytes a ns. */
static void a_slow_ring_costs_the_difference(void **state)
{
    (void)state;
    assert_in_range(lost_by(1280, BYTES, SLOW_NS, 0), 1280 * 3400, 1280 * 3430);
    assert_false(loss.is_fast);
    assert_int_equal(weft_ring_loss_of_read(BYTES, SLOW_NS), 3584);
    assert_int_equal(weft_ring_loss_of_read(BYTES, FAST_NS), 0);
}

static void a_fast_ring_costs_a_tenth(void **state)
{
    (void)state;
    assert_in_range(lost_by(1280, BYTES, FAST_NS, 0), 1280 * 50, 1280 * 53);
    assert_true(loss.is_fast);
}

/* With a large ring the data could be cached. */
static void a_ring_that_is_fast_otherwise_costs_a_sixth(void **state)
{
    (void)state;
    is_cached = false;
    assert_in_range(lost_by(1280, BYTES, FAST_NS, 0), 1280 * 82, 1280 * 87);
    assert_true(loss.is_fast);
    assert_in_range(lost_by(1280, BYTES / 4, FAST_NS / 4, 0), 1280 * 12, 1280 * 14);
}

/* Packets that are as well off in a small ring do not ask for a large one. */
static void short_packets_may_cost_nothing(void **state)
{
    (void)state;
    loss.from = BYTES;
    assert_int_equal(lost_by(12800, BYTES - 1, SLOW_NS, 0), 0);
    assert_in_range(lost_by(1280, BYTES, SLOW_NS, 0), 1280 * 3400, 1280 * 3430);
}

static void disturbances_cost_nothing(void **state)
{
    (void)state;
    int64_t lost = lost_by(1280, BYTES, FAST_NS, 0);
    clear(state);
    assert_int_equal(lost_by(1280, BYTES, FAST_NS, 2), lost);
    clear(state);
    assert_in_range(lost_by(1280, BYTES, DISTURBED_NS, 0), 1280 * 90000, 1280 * 100000);
}

static void few_and_short_packets_cost_nothing(void **state)
{
    (void)state;
    assert_int_equal(lost_by(127, BYTES, DISTURBED_NS, 0), 0);
    assert_int_equal(lost_by(100000, WEFT_LONG_PACKET - 1, DISTURBED_NS, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_slow_ring_costs_the_difference, clear),
        cmocka_unit_test_setup(a_fast_ring_costs_a_tenth, clear),
        cmocka_unit_test_setup(a_ring_that_is_fast_otherwise_costs_a_sixth, clear),
        cmocka_unit_test_setup(short_packets_may_cost_nothing, clear),
        cmocka_unit_test_setup(disturbances_cost_nothing, clear),
        cmocka_unit_test_setup(few_and_short_packets_cost_nothing, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
