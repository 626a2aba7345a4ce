/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* ppoll, gettid */
/* Of the threads that sleep, those are woken that have to be, and no others: once where they sleep
 * on words, and once where one of them sleeps on descriptors. */
#include "runtime/progress.h"

#include "libc_syscall.h"
#include "runtime/fd_watch.h"
#include "runtime/lock.h"
#include "runtime/vci.h"
#include "runtime/world.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "mpi.h"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 7, PATIENCE_S = 20, WAITS = 5 };

static weft_doorbell_t doorbell;

/* ---- how many sleep, and how often one has woken ---- */

static atomic_int asleep, wakes, rests;
static _Thread_local bool is_counted;

static bool is_short(const struct timespec *limit)
{
    return limit != NULL && limit->tv_sec == 0 && limit->tv_nsec < 1000000;
}

/* Takes the place of the C library's. */
long syscall(long number, ...)
{
    long words[SYSCALL_WORDS];
    va_list list;
    va_start(list, number);
    read_syscall_words(list, words);
    va_end(list);
    bool is_sleep = is_counted && number == SYS_futex && words[1] == FUTEX_WAIT;
    bool is_rest = is_sleep && words[0] != (long)&doorbell.is_sleeping &&
                   is_short((const struct timespec *)words[3]);
    atomic_fetch_add(&rests, is_rest);
    atomic_fetch_add(&asleep, is_sleep);
    long result = libc_syscall(number, words);
    atomic_fetch_add(&wakes, is_sleep);
    atomic_fetch_sub(&asleep, is_sleep);
    return result;
}

/* Takes the place of the C library's: no thread wakes only because its time is up. */
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    (void)mask;
    atomic_fetch_add(&asleep, is_counted);
    int result = poll(fds, count, is_short(limit) ? 1 : -1);
    atomic_fetch_add(&wakes, is_counted);
    atomic_fetch_sub(&asleep, is_counted);
    return result;
}

static bool becomes(const atomic_int *number, int expected)
{
    int64_t end = weft_clock_ns() + PATIENCE_S * 1000000000LL;
    while (atomic_load(number) != expected && weft_clock_ns() < end)
        usleep(100);
    return atomic_load(number) == expected;
}

/* ---- threads that wait ---- */

typedef struct sleeper {
    pthread_t thread;
    bool flag;
    bool is_background;
    int vci;       /* 0: it may be any */
    atomic_int id; /* in the kernel; 0: there is no thread */
    atomic_int is_over;
} sleeper_t;

static sleeper_t sleepers[THREADS];

/* Is there no thread, or is it blocked in the kernel? */
static bool is_blocked(const sleeper_t *sleeper)
{
    char path[64], state = 0;
    int id = atomic_load(&sleeper->id);
    if (id == 0 || atomic_load(&sleeper->is_over) != 0)
        return true;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id);
    FILE *file = fopen(path, "r");
    bool is_read = file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    if (file != NULL)
        fclose(file);
    return is_read && state == 'S';
}

static bool are_blocked(void)
{
    for (int i = 0; i < THREADS; i++) {
        if (!is_blocked(&sleepers[i]))
            return false;
    }
    return true;
}

/* A thread is counted just before it sleeps. */
static void await_asleep(int expected)
{
    int64_t end = weft_clock_ns() + PATIENCE_S * 1000000000LL;
    while ((atomic_load(&asleep) != expected || !are_blocked()) && weft_clock_ns() < end)
        usleep(100);
    if (atomic_load(&asleep) != expected)
        fail_msg("%d threads sleep, not %d", atomic_load(&asleep), expected);
}

static void *sleep_until_told(void *argument)
{
    sleeper_t *self = argument;
    atomic_store(&self->id, (int)gettid());
    is_counted = true;
    weft_lock();
    if (self->is_background)
        weft_progress_in_background(&self->flag);
    else if (self->vci > 0)
        weft_progress_until_in(&self->flag, self->vci);
    else
        weft_progress_until(&self->flag);
    atomic_store(&self->is_over, 1);
    weft_unlock();
    is_counted = false;
    return NULL;
}

static void begin_as(sleeper_t *sleeper, const sleeper_t *as)
{
    *sleeper = *as;
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_until_told, sleeper), 0);
}

static void begin(sleeper_t *sleeper, bool is_background)
{
    begin_as(sleeper, &(sleeper_t){.is_background = is_background});
}

/* One after the other, so that the first is the watcher. */
static void begin_all(void)
{
    for (int i = 0; i < THREADS; i++) {
        begin(&sleepers[i], false);
        await_asleep(i + 1);
    }
    atomic_store(&wakes, 0);
}

static void await_end(sleeper_t *sleeper)
{
    if (!becomes(&sleeper->is_over, 1))
        fail_msg("thread %d sleeps on, though its wait is over", (int)(sleeper - sleepers));
    pthread_join(sleeper->thread, NULL);
    atomic_store(&sleeper->id, 0);
}

/* So that each place in the list, and the watcher, have their turns. */
static int nth_to_end(int first, int i)
{
    return (first + i) % THREADS;
}

/* ---- flags that other threads set ---- */

static void tell_with_lock(sleeper_t *sleeper)
{
    weft_lock();
    weft_progress_notify();
    sleeper->flag = true; /* in any order, with the lock */
    weft_unlock();
}

/* The thread sanitizer knows no other. */
static void fence(void)
{
    static atomic_int any;
    atomic_fetch_add(&any, 1);
}

static void tell_without_lock(sleeper_t *sleeper)
{
    __atomic_store_n(&sleeper->flag, true, __ATOMIC_RELEASE);
    fence();
    weft_progress_alert();
}

static void end_by(void (*tell)(sleeper_t *sleeper), int wakes_most)
{
    for (int first = 0; first < THREADS; first++) {
        begin_all();
        for (int i = 0; i < THREADS; i++) {
            sleeper_t *sleeper = &sleepers[nth_to_end(first, i)];
            atomic_store(&wakes, 0);
            tell(sleeper);
            await_end(sleeper);
            await_asleep(THREADS - 1 - i);
            assert_in_range(atomic_load(&wakes), 1, wakes_most);
        }
    }
}

/* Where the watcher sleeps on a word, another one takes its place asleep; else that one wakes. */
static int wakes_of_one(void)
{
    return weft_fd_watch_is_used() ? 2 : 1;
}

static void one_flag_wakes_one_thread(void **unused)
{
    (void)unused;
    end_by(tell_with_lock, wakes_of_one());
}

/* The watcher as well, which finds the flag. */
static void a_flag_is_found_that_was_set_without_the_lock(void **unused)
{
    (void)unused;
    end_by(tell_without_lock, 1 + wakes_of_one());
}

/* ---- packets ---- */

static sleeper_t *_Atomic packet; /* that ends the wait of this thread */

static int poll_packet(bool everything)
{
    (void)everything;
    sleeper_t *receiver = atomic_exchange(&packet, NULL);
    if (receiver == NULL)
        return 0;
    receiver->flag = true;
    weft_progress_notify();
    return 1;
}

static void send_packet(sleeper_t *receiver)
{
    atomic_store(&packet, receiver);
    fence();
    if (!weft_fd_watch_is_used())
        weft_doorbell_wake(&doorbell);
    else if (atomic_exchange(&doorbell.is_sleeping, 0) != 0)
        weft_fd_watch_wake(); /* where a peer's datagram would wake it */
}

static void a_packet_wakes_the_watcher_and_its_receiver(void **unused)
{
    (void)unused;
    assert_int_equal(weft_progress_add(poll_packet), MPI_SUCCESS);
    end_by(send_packet, 1 + wakes_of_one());
    weft_progress_remove(poll_packet);
}

/* ---- a thread that is in a function of the program, and waits for another one's wait ---- */

static atomic_int is_in_program;
static sleeper_t *called, *_Atomic awaited;

static int poll_program(bool everything)
{
    (void)everything;
    if (called == NULL || !is_counted)
        return 0;
    called = NULL;
    weft_sleepers_step_out();
    weft_unlock();
    atomic_store(&is_in_program, 1);
    assert_true(becomes(&((sleeper_t *)atomic_load(&awaited))->is_over, 1));
    weft_lock();
    atomic_store(&is_in_program, 0);
    return 1;
}

static void others_are_woken_while_one_is_in_the_program(void **unused)
{
    (void)unused;
    assert_int_equal(weft_progress_add(poll_packet), MPI_SUCCESS);
    assert_int_equal(weft_progress_add(poll_program), MPI_SUCCESS);
    begin_all();
    atomic_store(&awaited, &sleepers[THREADS - 1]);
    weft_lock();
    called = &sleepers[0];
    weft_unlock();
    weft_progress_alert(); /* the watcher polls, and calls the program */
    assert_true(becomes(&is_in_program, 1));
    await_asleep(THREADS - 1);
    send_packet(&sleepers[THREADS - 1]);
    await_end(&sleepers[THREADS - 1]);
    assert_true(becomes(&is_in_program, 0));
    for (int i = 0; i < THREADS - 1; i++) {
        tell_with_lock(&sleepers[i]);
        await_end(&sleepers[i]);
    }
    weft_progress_remove(poll_packet);
    weft_progress_remove(poll_program);
}

/* ---- what rings no doorbell ---- */

static atomic_int is_done; /* by a device, say */

static int poll_device(bool everything)
{
    (void)everything;
    if (atomic_exchange(&is_done, 0) == 0)
        return 0;
    sleepers[1].flag = true;
    weft_progress_notify();
    return 1;
}

/* The watcher sleeps for as long as it takes; then another thread waits for a device. */
static void a_sleep_becomes_short_when_something_silent_is_awaited(void **unused)
{
    (void)unused;
    assert_int_equal(weft_progress_add(poll_device), MPI_SUCCESS);
    atomic_store(&is_done, 0);
    begin(&sleepers[0], false);
    await_asleep(1);
    weft_lock();
    weft_progress_await_silent(1);
    weft_unlock();
    begin(&sleepers[1], false);
    atomic_store(&wakes, 0);
    while (atomic_load(&wakes) < 10)
        usleep(100); /* naps */
    atomic_store(&is_done, 1);
    await_end(&sleepers[1]);
    weft_lock();
    weft_progress_await_silent(-1);
    weft_unlock();
    tell_with_lock(&sleepers[0]);
    await_end(&sleepers[0]);
    weft_progress_remove(poll_device);
}

/* ---- a thread for whom nobody waits ---- */

/* It was the watcher; a thread of the program takes its place, so a packet wakes that one alone. */
static void a_thread_of_the_program_watches_itself(void **unused)
{
    (void)unused;
    assert_int_equal(weft_progress_add(poll_packet), MPI_SUCCESS);
    begin(&sleepers[0], true);
    await_asleep(1);
    for (int i = 0; i < WAITS; i++) {
        begin(&sleepers[1], false);
        await_asleep(2);
        atomic_store(&wakes, 0);
        send_packet(&sleepers[1]);
        await_end(&sleepers[1]);
        await_asleep(1);
        assert_in_range(atomic_load(&wakes), 1, wakes_of_one());
    }
    tell_with_lock(&sleepers[0]);
    await_end(&sleepers[0]);
    weft_progress_remove(poll_packet);
}

/* ---- threads that wait for packets of one VCI ---- */

static unsigned rung_for(void)
{
    return atomic_load(&doorbell.is_sleeping) & WEFT_ALL_VCIS;
}

/* The doorbell is rung for the VCIs of all who sleep, and for VCI 0, but for no other. One thread
 * more that goes to sleep, in another VCI, wakes nobody for that. */
static void the_doorbell_is_rung_for_those_who_sleep(void **unused)
{
    (void)unused;
    assert_int_equal(weft_progress_add(poll_packet), MPI_SUCCESS);
    begin_as(&sleepers[0], &(sleeper_t){.vci = 2});
    await_asleep(1);
    assert_int_equal(rung_for(), 1u << 2 | 1);
    atomic_store(&wakes, 0);
    begin_as(&sleepers[1], &(sleeper_t){.vci = 3});
    await_asleep(2);
    assert_int_equal(rung_for(), 1u << 3 | 1u << 2 | 1);
    assert_int_equal(atomic_load(&wakes), 0);
    begin_as(&sleepers[2], &(sleeper_t){.vci = 2});
    await_asleep(3);
    send_packet(&sleepers[1]);
    await_end(&sleepers[1]);
    await_asleep(2);
    tell_with_lock(&sleepers[0]);
    await_end(&sleepers[0]);
    await_asleep(1);
    assert_int_equal(rung_for() & (1u << 2 | 1), 1u << 2 | 1);
    send_packet(&sleepers[2]);
    await_end(&sleepers[2]);
    weft_progress_remove(poll_packet);
}

/* ---- a thread that is woken for others again and again ---- */

static void open_progress(bool is_oversubscribed)
{
    weft_world.is_oversubscribed = is_oversubscribed;
    weft_lock();
    weft_progress_open(&doorbell);
    weft_unlock();
}

/* How often it sleeps where packets do not wake it, while another thread gets some. */
static int rests_beside_another(void)
{
    begin(&sleepers[0], false);
    await_asleep(1);
    atomic_store(&rests, 0);
    for (int i = 0; i < WAITS; i++) {
        begin(&sleepers[1], false);
        await_asleep(2);
        send_packet(&sleepers[1]);
        await_end(&sleepers[1]);
    }
    int count = atomic_load(&rests);
    tell_with_lock(&sleepers[0]);
    await_end(&sleepers[0]);
    return count;
}

static void a_thread_that_is_woken_for_others_rests_where_cores_are_short(void **unused)
{
    (void)unused;
    assert_int_equal(weft_progress_add(poll_packet), MPI_SUCCESS);
    assert_int_equal(rests_beside_another(), 0);
    open_progress(true);
    assert_true(rests_beside_another() > 0);
    open_progress(false);
    weft_progress_remove(poll_packet);
}

static int no_fd(void)
{
    return -3; /* one that ppoll ignores */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_flag_wakes_one_thread),
        cmocka_unit_test(a_flag_is_found_that_was_set_without_the_lock),
        cmocka_unit_test(a_packet_wakes_the_watcher_and_its_receiver),
        cmocka_unit_test(others_are_woken_while_one_is_in_the_program),
        cmocka_unit_test(a_sleep_becomes_short_when_something_silent_is_awaited),
        cmocka_unit_test(a_thread_of_the_program_watches_itself),
        cmocka_unit_test(the_doorbell_is_rung_for_those_who_sleep),
        cmocka_unit_test(a_thread_that_is_woken_for_others_rests_where_cores_are_short)};
    weft_config_read();
    weft_log_threshold = -1;
    weft_config.SPIN = weft_config.YIELDS = 0;
    weft_world.job_id = "unit-sleepers";
    weft_world.is_threaded = true;
    open_progress(false);
    int failed = cmocka_run_group_tests_name("words", tests, NULL, NULL);
    if (weft_fd_watch_add(no_fd) != MPI_SUCCESS)
        return 1;
    open_progress(false);
    failed += cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
    weft_fd_watch_close();
    return failed;
}
