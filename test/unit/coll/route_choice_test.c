/* SPDX-License-Identifier: BSD-3-Clause */
/* The faster route is found when a try is worth it, kept, and found again when it changes. */
#include "coll/wall/route_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BYTES = 1 << 20, LAG = 16, MANY = 20000, FEW = 200 };

static weft_route_choice_t choice;
static weft_route_t routes[LAG]; /* of the next calls, which have been agreed on */
static int next;

static int open_choice(void **state)
{
    (void)state;
    weft_route_open(&choice, WEFT_ROUTE_WALL, WEFT_ROUTE_TRY_NS);
    for (int i = 0; i < LAG; i++)
        routes[i] = choice.route;
    next = 0;
    return 0;
}

/* Calls that take `wall_ns` or `messages_ns`; a change holds some calls later. How many were
 * messages. */
static int run(int calls, int64_t wall_ns, int64_t messages_ns)
{
    int messages = 0;
    for (int i = 0; i < calls; i++, next++) {
        weft_route_t route = routes[next % LAG];
        bool is_message = route == WEFT_ROUTE_OTHER;
        if (weft_route_begin(&choice))
            weft_route_note(&choice, route, is_message ? messages_ns : wall_ns, BYTES);
        routes[next % LAG] = choice.route;
        messages += is_message;
    }
    return messages;
}

static void a_given_route_comes_first(void **state)
{
    (void)state;
    assert_int_equal(choice.route, WEFT_ROUTE_WALL);
    assert_int_equal(run(8, 100000, 50000), 0);
    weft_route_open(&choice, WEFT_ROUTE_OTHER, WEFT_ROUTE_TRY_NS);
    for (int i = 0; i < LAG; i++)
        routes[i] = choice.route;
    assert_int_equal(run(8, 50000, 100000), 8);
    assert_in_range(run(MANY, 50000, 100000), LAG, MANY / 20);
}

/* Of calls that take a microsecond or two. */
static void a_cheap_try_comes_soon(void **state)
{
    (void)state;
    assert_int_equal(run(FEW, 2000, 1000), 0);
    weft_route_open(&choice, WEFT_ROUTE_WALL, 0);
    assert_in_range(run(FEW, 2000, 1000), FEW / 2, FEW - 8);
    weft_route_open(&choice, WEFT_ROUTE_WALL, 0);
    assert_in_range(run(FEW, 1000, 2000), LAG / 2, FEW / 4);
}

static void the_faster_one_is_kept(void **state)
{
    assert_in_range(run(MANY, 100000, 50000), MANY - MANY / 20, MANY - 8);
    open_choice(state);
    assert_in_range(run(MANY, 50000, 100000), LAG, MANY / 20);
}

/* A try may cost 2 ms: first four times as much has to have been spent. */
static void short_calls_wait(void **state)
{
    assert_int_equal(run(1400, 5000, 1000), 0);
    assert_in_range(run(4 * FEW, 5000, 1000), 1, 4 * FEW);
    open_choice(state);
    assert_in_range(run(240, 100000, 10000), 1, 240);
}

static void a_change_is_noticed(void **state)
{
    (void)state;
    run(MANY, 100000, 50000);
    run(MANY, 50000, 100000);
    assert_in_range(run(MANY, 50000, 100000), 0, MANY / 20);
}

/* Neither does a disturbed call end a route, nor a call that takes long begin a try. */
static void disturbed_calls_do_not_count(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(run(1, 10000000, 1000), 0);
        assert_int_equal(run(4, 1000, 1000), 0);
    }
}

static void tries_become_rare(void **state)
{
    (void)state;
    run(MANY, 50000, 100000);
    int before = run(MANY, 50000, 100000), after;
    run(4 * MANY, 50000, 100000);
    after = run(MANY, 50000, 100000);
    assert_in_range(after, 0, before);
    assert_in_range(run(4 * MANY, 50000, 100000), LAG, MANY / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_given_route_comes_first, open_choice),
        cmocka_unit_test_setup(a_cheap_try_comes_soon, open_choice),
        cmocka_unit_test_setup(the_faster_one_is_kept, open_choice),
        cmocka_unit_test_setup(short_calls_wait, open_choice),
        cmocka_unit_test_setup(a_change_is_noticed, open_choice),
        cmocka_unit_test_setup(disturbed_calls_do_not_count, open_choice),
        cmocka_unit_test_setup(tries_become_rare, open_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
