/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often a wait yields, beside a process that computes and beside ranks that wait. The test has
 * its own clock, which stands still except during yields: these take as long as the test says.
 */
#include "runtime/contention.h"

#include "runtime/lock.h"
#include "runtime/progress.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/log.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

/* A slice of the scheduler, a turn of another rank, and a yield that finds nobody else. */
enum { SLICE_NS = 3000000, TURN_NS = 2000, BRIEF_NS = 500, WAITS = 20000 };

static int64_t now_ns, yield_ns;
static int yields;
static bool flag;

int clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    *out = (struct timespec){.tv_sec = now_ns / 1000000000, .tv_nsec = now_ns % 1000000000};
    return 0;
}

int sched_yield(void)
{
    yields++;
    now_ns += yield_ns;
    return 0;
}

/* Reports that something has come when the wait is about to sleep, so that it does not. */
static int poll_before_sleep(bool everything)
{
    if (everything)
        flag = true;
    return 0;
}

/* Returns how often `waits` waits yield. */
static int yields_of(int waits, int64_t each_ns)
{
    yield_ns = each_ns;
    yields = 0;
    for (int i = 0; i < waits; i++) {
        flag = false;
        weft_progress_until(&flag);
    }
    return yields;
}

static int yields_of_tests(int tests)
{
    yields = 0;
    for (int i = 0; i < tests; i++)
        weft_progress_test();
    return yields;
}

static void open_progress(bool is_oversubscribed)
{
    weft_world.is_oversubscribed = is_oversubscribed;
    weft_progress_open(NULL);
}

static void a_wait_yields_where_nobody_computes(void **unused)
{
    (void)unused;
    open_progress(false);
    assert_in_range(yields_of(100, BRIEF_NS), 100 * 100, 100 * 1000);
    open_progress(true);
    assert_in_range(yields_of(100, BRIEF_NS), 100 * 100, 1000 * 100);
}

static void a_wait_that_takes_the_core_from_other_ranks_sleeps_soon(void **unused)
{
    (void)unused;
    open_progress(true);
    assert_in_range(yields_of(100, TURN_NS), 8 * 100, 32 * 100);
}

/* One time slice is lost before the first sleep, and later fewer and fewer, to find out whether
 * yields are still dear. */
static void a_wait_sleeps_at_once_beside_a_process_that_computes(void **unused)
{
    (void)unused;
    open_progress(false);
    assert_int_equal(yields_of(1, SLICE_NS), 1);
    assert_int_equal(yields_of(64, SLICE_NS), 0);
    assert_in_range(yields_of(WAITS, SLICE_NS), 1, WAITS / 2000);
}

/* Sixteen ranks on a core take their turns, which is long but no sign of others. */
static void turns_of_many_ranks_are_not_dear(void **unused)
{
    (void)unused;
    enum { TURNS_NS = 1500000 };
    weft_contention_t few, many;
    wefti_contention_open(&few, 2);
    wefti_contention_open(&many, 16);
    for (int i = 0; i < 10; i++) {
        wefti_contention_note_yield(&few, TURNS_NS, 1);
        wefti_contention_note_yield(&many, TURNS_NS, 1);
    }
    assert_true(wefti_yields_are_dear(&few));
    assert_false(wefti_yields_are_dear(&many));
    wefti_contention_note_yield(&many, SLICE_NS, 1);
    wefti_contention_note_yield(&many, SLICE_NS, 1);
    assert_true(wefti_yields_are_dear(&many));
}

/* Nor are those of the threads of a few ranks; but a slice is one, however many threads wait. */
static void turns_of_many_threads_are_not_dear(void **unused)
{
    (void)unused;
    enum { TURNS_NS = 1500000, MANY = 100 };
    weft_contention_t contention;
    wefti_contention_open(&contention, 4);
    for (int i = 0; i < 10; i++)
        wefti_contention_note_yield(&contention, TURNS_NS, 4);
    assert_false(wefti_yields_are_dear(&contention));
    wefti_contention_note_yield(&contention, TURNS_NS, 3);
    wefti_contention_note_yield(&contention, TURNS_NS, 3);
    assert_true(wefti_yields_are_dear(&contention));
    wefti_contention_open(&contention, 4);
    wefti_contention_note_yield(&contention, SLICE_NS, MANY);
    wefti_contention_note_yield(&contention, SLICE_NS, MANY);
    assert_true(wefti_yields_are_dear(&contention));
}

/* When oversubscribed, one slice may have gone to another scheduler group. */
static void one_slice_is_no_sign_where_cores_are_short(void **unused)
{
    (void)unused;
    open_progress(true);
    yield_ns = SLICE_NS;
    weft_contention_t contention;
    wefti_contention_open(&contention, 2);
    wefti_contention_note_yield(&contention, SLICE_NS, 1);
    wefti_contention_note_yield(&contention, BRIEF_NS, 1);
    wefti_contention_note_yield(&contention, SLICE_NS, 1);
    assert_false(wefti_yields_are_dear(&contention));
    wefti_contention_note_yield(&contention, SLICE_NS, 1);
    assert_true(wefti_yields_are_dear(&contention));
    assert_int_equal(yields_of(1, SLICE_NS), 2);
    assert_int_equal(yields_of(64, SLICE_NS), 0);
}

static void yields_come_back_when_the_process_has_gone(void **unused)
{
    (void)unused;
    open_progress(false);
    yields_of(WAITS, SLICE_NS);
    yields_of(WAITS, BRIEF_NS);
    assert_in_range(yields_of(100, BRIEF_NS), 100 * 100, 100 * 1000);
    yields_of(1, SLICE_NS); /* the belief has shrunk: a new long yield holds for few waits */
    assert_true(yields_of(1000, BRIEF_NS) > 100 * 100);
}

/* A loop of tests yields now and then, also beside a process that computes. */
static void tests_yield_rarely_where_yields_are_dear(void **unused)
{
    (void)unused;
    open_progress(false);
    yields_of(1, SLICE_NS);
    assert_in_range(yields_of_tests(1000 * 1000), 1, 1000 / 16);
}

/* So it does more often where a yield has let another rank or thread run. */
static void tests_yield_often_where_others_run(void **unused)
{
    (void)unused;
    open_progress(false);
    yield_ns = BRIEF_NS;
    assert_in_range(yields_of_tests(100 * 1000), 1, 1000);
    yield_ns = 10 * TURN_NS;
    assert_in_range(yields_of_tests(100 * 1000), 4000, 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_yields_where_nobody_computes),
        cmocka_unit_test(a_wait_that_takes_the_core_from_other_ranks_sleeps_soon),
        cmocka_unit_test(a_wait_sleeps_at_once_beside_a_process_that_computes),
        cmocka_unit_test(one_slice_is_no_sign_where_cores_are_short),
        cmocka_unit_test(turns_of_many_ranks_are_not_dear),
        cmocka_unit_test(turns_of_many_threads_are_not_dear),
        cmocka_unit_test(yields_come_back_when_the_process_has_gone),
        cmocka_unit_test(tests_yield_rarely_where_yields_are_dear),
        cmocka_unit_test(tests_yield_often_where_others_run)};
    weft_config_read();
    weft_log_threshold = -1;
    weft_progress_need(poll_before_sleep);
    weft_lock();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_unlock();
    return failed;
}
