/* SPDX-License-Identifier: BSD-3-Clause */
/* Where cores are short, a wait for one rank spins before it yields, and a wait for several does
 * not. */
#include "runtime/progress.h"

#include "runtime/lock.h"
#include "runtime/world.h"
#include "base/config.h"
#include "mpi.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SPINS = 50 };

static int polls, polls_before_yield;
static bool is_over;

/* In place of libc's. What is awaited comes with the first yield. */
int sched_yield(void)
{
    polls_before_yield = polls;
    is_over = true;
    return 0;
}

static int count_poll(bool everything)
{
    (void)everything;
    polls++;
    return 0;
}

static int open_progress(void **state)
{
    (void)state;
    weft_config.SPIN = SPINS;
    weft_config.YIELDS = 1;
    weft_progress_open(NULL);
    return weft_progress_add(count_poll) == MPI_SUCCESS ? 0 : -1;
}

static int polls_of(void (*wait)(const bool *flag))
{
    polls = 0;
    is_over = false;
    weft_lock();
    wait(&is_over);
    weft_unlock();
    return polls_before_yield;
}

static void a_wait_for_one_spins(void **state)
{
    (void)state;
    weft_world.is_oversubscribed = true;
    assert_true(polls_of(weft_progress_until) > SPINS);
}

static void a_wait_for_several_yields_first(void **state)
{
    (void)state;
    weft_world.is_oversubscribed = true;
    assert_int_equal(polls_of(weft_progress_until_all), 1);
}

static void with_enough_cores_both_spin(void **state)
{
    (void)state;
    weft_world.is_oversubscribed = false;
    assert_true(polls_of(weft_progress_until) > SPINS);
    assert_true(polls_of(weft_progress_until_all) > SPINS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_wait_for_one_spins, open_progress),
        cmocka_unit_test_setup(a_wait_for_several_yields_first, open_progress),
        cmocka_unit_test_setup(with_enough_cores_both_spin, open_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
