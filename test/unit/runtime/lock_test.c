/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock lets one thread in at a time, while it is reserved for one, and when others cancel that.
 */
#include "runtime/lock.h"
#include "runtime/vci.h"

#include "base/futex.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

enum { MANY = 100000, FEW = 2000, THREADS = 4, BURSTS = 60, LINES = 16, CANCELLATIONS = 300 };

static atomic_long mutex_takes;
static volatile long entries; /* with the lock */

/* In place of libc's. */
int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    static int (*libc)(pthread_mutex_t * mutex);
    if (libc == NULL)
        *(void **)&libc = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
    atomic_fetch_add(&mutex_takes, 1);
    return libc(mutex);
}

static void enter(long times)
{
    for (long i = 0; i < times; i++) {
        weft_lock_take();
        entries++;
        weft_lock_give();
    }
}

static void *enter_few(void *unused)
{
    enter(FEW);
    return unused;
}

static void in_thread(void *(*run)(void *argument), void *argument)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* How often the mutex is taken if this thread enters so many times. */
static long mutex_takes_of(long times)
{
    long before = atomic_load(&mutex_takes);
    enter(times);
    return atomic_load(&mutex_takes) - before;
}

static void is_reserved_for_one_who_is_alone(void **state)
{
    (void)state;
    if (!weft_asymmetric_fence_open())
        skip(); /* on this kernel it never is */
    enter(FEW);
    assert_int_equal(mutex_takes_of(MANY), 0);
}

/* A second thread, which then ends with the reservation, and the first one again. */
static void others_cancel_it(void **state)
{
    (void)state;
    entries = 0;
    for (int i = 1; i <= 5; i++) {
        enter(FEW);
        in_thread(enter_few, NULL);
        assert_int_equal(entries, 2L * FEW * i);
    }
    assert_in_range(mutex_takes_of(1), 1, 1);
}

static void *enter_once(void *is_in)
{
    weft_lock_take();
    atomic_store((atomic_bool *)is_in, true);
    weft_lock_give();
    return NULL;
}

/* Who waits within the lock, as in a call that polls, lets others in. */
static void an_offer_lets_others_in(void **state)
{
    (void)state;
    pthread_t thread;
    atomic_bool is_in = false;
    enter(MANY);
    weft_lock_take();
    assert_int_equal(pthread_create(&thread, NULL, enter_once, &is_in), 0);
    while (!atomic_load(&is_in))
        weft_lock_offer();
    weft_lock_give();
    pthread_join(thread, NULL);
}

/* *argument: a seed, and in the end how often the thread has entered. Some bursts are long enough
 * for a reservation. What the lock protects is written in two steps. */
static void *enter_in_bursts(void *argument)
{
    long *entered = argument;
    unsigned bits = (unsigned)*entered;
    *entered = 0;
    for (int burst = 0; burst < BURSTS; burst++) {
        bits = bits * 1103515245 + 12345;
        long length = (bits >> 16) % 4 == 0 ? 3000 : (bits >> 18) % 20;
        for (long i = 0; i < length; i++) {
            weft_lock_take();
            long before = entries;
            if (i % 500 == 0)
                sched_yield();
            entries = before + 1;
            if (i % 100 == 0)
                weft_lock_offer();
            weft_lock_give();
        }
        *entered += length;
        sched_yield();
    }
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    long entered[THREADS], sum = 0;
    entries = 0;
    for (int i = 0; i < THREADS; i++) {
        entered[i] = i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, enter_in_bursts, &entered[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += entered[i];
    }
    assert_int_equal(entries, sum);
}

/* ---- an owner whose stores are slow ---- */

typedef struct line {
    _Alignas(64) atomic_long word;
} line_t;

static line_t lines[LINES];
static atomic_bool is_over;

/* Stores that reach the cache late, since another thread writes the same lines. */
static void store_slowly(void)
{
    for (int i = 0; i < LINES; i++)
        atomic_store_explicit(&lines[i].word, i, memory_order_relaxed);
}

static void *disturb(void *unused)
{
    const struct timespec pause = {.tv_nsec = 1500000}; /* the lock is reserved again meanwhile */
    for (int i = 0; i < CANCELLATIONS; i++) {
        for (int rounds = 0; rounds < 100; rounds++)
            store_slowly();
        enter(1);
        nanosleep(&pause, NULL);
    }
    atomic_store(&is_over, true);
    return unused;
}

static void an_owner_with_slow_stores(void **state)
{
    (void)state;
    pthread_t thread;
    long entered = 0;
    entries = 0;
    assert_int_equal(pthread_create(&thread, NULL, disturb, NULL), 0);
    for (; !atomic_load(&is_over); entered++) {
        store_slowly();
        enter(1);
    }
    pthread_join(thread, NULL);
    assert_int_equal(entries, entered + CANCELLATIONS);
}

/* The place of a thread that has ended may go to the next one. */
static void threads_that_come_and_go(void **state)
{
    (void)state;
    entries = 0;
    for (int i = 0; i < 200; i++)
        in_thread(enter_few, NULL);
    assert_int_equal(entries, 200L * FEW);
}

static void *try_vci(void *has_taken)
{
    *(bool *)has_taken = weft_vci_try(1);
    if (*(bool *)has_taken)
        weft_vci_give(1);
    return NULL;
}

static bool can_another_take(void)
{
    bool has_taken;
    in_thread(try_vci, &has_taken);
    return has_taken;
}

static void *take_vci(void *unused)
{
    weft_vci_take(1);
    weft_vci_give(1);
    return unused;
}

/* Who only tries leaves a VCI to the thread that has it, or that uses it all the time. */
static void a_vci_is_left_to_its_user(void **state)
{
    (void)state;
    weft_vci_take(1);
    assert_false(can_another_take());
    weft_vci_give(1);
    assert_true(can_another_take());
    for (int i = 0; i < MANY; i++)
        take_vci(NULL);
    assert_int_equal(can_another_take(), !weft_asymmetric_fence_open());
    assert_true(weft_vci_try(1));
    weft_vci_give(1);
    in_thread(take_vci, NULL);
    assert_true(can_another_take());
}

static void a_vci_is_entered_once(void **state)
{
    (void)state;
    assert_false(weft_vci_enter(0));
    assert_true(weft_vci_enter(1));
    assert_true(weft_vci_enter(2));
    assert_false(weft_vci_enter(1));
    assert_false(can_another_take());
    weft_vci_leave(1, true);
    assert_true(can_another_take());
    assert_false(weft_vci_enter(2));
    weft_vci_leave(2, true);
}

/* Threads that wait do so awake, or asleep. */
static int with_cores(void **unused)
{
    (void)unused;
    weft_world.is_oversubscribed = false;
    weft_lock_open();
    return 0;
}

static int short_of_cores(void **unused)
{
    (void)unused;
    weft_world.is_oversubscribed = true;
    weft_lock_open();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_reserved_for_one_who_is_alone),
                                       cmocka_unit_test(others_cancel_it),
                                       cmocka_unit_test(an_offer_lets_others_in),
                                       cmocka_unit_test(many_threads),
                                       cmocka_unit_test(an_owner_with_slow_stores),
                                       cmocka_unit_test(threads_that_come_and_go),
                                       cmocka_unit_test(a_vci_is_left_to_its_user),
                                       cmocka_unit_test(a_vci_is_entered_once)};
    const struct CMUnitTest waits[] = {cmocka_unit_test(an_offer_lets_others_in),
                                       cmocka_unit_test(many_threads)};
    return cmocka_run_group_tests(tests, with_cores, NULL) +
           cmocka_run_group_tests(waits, short_of_cores, NULL);
}
