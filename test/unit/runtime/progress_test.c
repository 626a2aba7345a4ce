/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* ppoll */
/* Waits: long ones, fences that the kernel refuses, and what is polled. */
#include "runtime/progress.h"

#include "libc_syscall.h"

#include "runtime/fd_watch.h"
#include "runtime/lock.h"
#include "runtime/world.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct sleeper {
    pthread_t thread;
    bool flag;
    int descriptor;
    atomic_uint polls;
} sleeper_t;

static weft_doorbell_t doorbell;
static _Thread_local sleeper_t *self;

/* Each thread sleeps on a descriptor of its own. */
static int wait_fd(void)
{
    return self == NULL ? WEFT_FD_NONE : self->descriptor;
}

static int poll_nothing(bool everything)
{
    (void)everything;
    if (self != NULL)
        atomic_fetch_add(&self->polls, 1);
    return 0;
}

static void *sleep_until_told(void *argument)
{
    self = argument;
    weft_lock();
    weft_progress_until(&self->flag);
    weft_unlock();
    return NULL;
}

static void begin(sleeper_t *sleeper)
{
    *sleeper = (sleeper_t){.descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    assert_true(sleeper->descriptor >= 0);
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_until_told, sleeper), 0);
    while (atomic_load(&sleeper->polls) < 4 || atomic_load(&doorbell.is_sleeping) == 0)
        usleep(100); /* the thread sleeps for 20 ms at a time */
}

static void end(sleeper_t *sleeper)
{
    weft_lock();
    sleeper->flag = true;
    weft_unlock();
    uint64_t one = 1;
    assert_int_equal(write(sleeper->descriptor, &one, sizeof(one)), sizeof(one));
    pthread_join(sleeper->thread, NULL);
    close(sleeper->descriptor);
}

/* ---- long waits ---- */

static atomic_bool brings_packet, has_packet;
static const int64_t longer_than_long_ns = 700000000;

/* A sleep that a packet ends, after a time that waits take for long. */
static int sleep_until_packet(void)
{
    int64_t end = weft_clock_ns() + longer_than_long_ns;
    while (weft_clock_ns() < end)
        usleep(1000);
    atomic_store(&has_packet, true);
    return 0;
}

/* Takes the place of the C library's. */
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    (void)mask;
    if (atomic_exchange(&brings_packet, false))
        return sleep_until_packet();
    return poll(fds, count, limit == NULL ? -1 : (int)(limit->tv_nsec / 1000000));
}

static atomic_int long_waits, packets_taken;

static void note_long_wait(const bool *flag)
{
    (void)flag;
    atomic_fetch_add(&long_waits, 1);
}

static int poll_packet(bool everything)
{
    (void)everything;
    bool is_taken = atomic_exchange(&has_packet, false);
    atomic_fetch_add(&packets_taken, is_taken);
    return is_taken;
}

static void open_with_limit(int unreceived_after_s)
{
    weft_config.UNRECEIVED_AFTER = unreceived_after_s;
    weft_lock();
    weft_progress_open(&doorbell);
    weft_unlock();
}

/* It is no long wait without anything if a packet has ended its last sleep. */
static void a_packet_is_taken_before_a_wait_is_long(void **unused)
{
    sleeper_t sleeper;
    (void)unused;
    weft_world.waited_long = note_long_wait;
    assert_int_equal(weft_progress_add(poll_packet), MPI_SUCCESS);
    open_with_limit(1);
    begin(&sleeper);
    atomic_store(&brings_packet, true);
    while (atomic_load(&packets_taken) == 0)
        usleep(100);
    end(&sleeper);
    assert_int_equal(atomic_load(&long_waits), 0);
    begin(&sleeper);
    while (atomic_load(&long_waits) == 0)
        usleep(1000);
    end(&sleeper);
    weft_progress_remove(poll_packet);
    open_with_limit(0);
}

/* ---- a kernel that refuses asymmetric fences after the start ---- */

static atomic_bool refuses_fences;

/* Takes the place of the C library's. */
long syscall(long number, ...)
{
    long words[SYSCALL_WORDS];
    va_list list;
    va_start(list, number);
    read_syscall_words(list, words);
    va_end(list);
    if (number == SYS_membarrier && atomic_load(&refuses_fences)) {
        errno = EPERM;
        return -1;
    }
    return libc_syscall(number, words);
}

static void open_with_word(atomic_uint *word)
{
    weft_world.has_asymmetric_fence = word != NULL;
    weft_world.senders_fence = word;
    weft_lock();
    weft_progress_open(&doorbell);
    weft_unlock();
}

/* Then the ranks that send to this one must fence, and are told so. */
static void senders_fence_where_the_kernel_does_not(void **unused)
{
    static atomic_uint word;
    sleeper_t sleeper;
    (void)unused;
    if (!weft_asymmetric_fence_open())
        skip();
    open_with_word(&word);
    begin(&sleeper);
    assert_int_equal(atomic_load(&word), 0);
    end(&sleeper);
    atomic_store(&refuses_fences, true);
    begin(&sleeper);
    assert_int_equal(atomic_load(&word), 1);
    end(&sleeper);
    atomic_store(&refuses_fences, false);
    open_with_word(NULL);
}

/* clang-format off */
#define POLL(i)                                                                                    \
    static int poll_##i(bool everything)                                                           \
    {                                                                                              \
        (void)everything;                                                                          \
        return 0;                                                                                  \
    }
POLL(1) POLL(2) POLL(3) POLL(4) POLL(5) POLL(6) POLL(7) POLL(8)
POLL(9) POLL(10) POLL(11) POLL(12) POLL(13) POLL(14) POLL(15) POLL(16)
    /* clang-format on */

    /* main() has added some of them. */
    static void the_17th_poll_is_refused(void **unused)
{
    static const weft_poll_fn_t more[] = {poll_1,  poll_2,  poll_3,  poll_4,  poll_5,  poll_6,
                                          poll_7,  poll_8,  poll_9,  poll_10, poll_11, poll_12,
                                          poll_13, poll_14, poll_15, poll_16};
    (void)unused;
    int added = 0;
    weft_fail_clear();
    while (added < WEFT_POLLS && weft_progress_add(more[added]) == MPI_SUCCESS)
        added++;
    assert_in_range(added, 1, WEFT_POLLS - 1);
    assert_int_equal(weft_progress_add(more[added]), MPI_ERR_INTERN);
    assert_string_not_equal(weft_fail_text(), "");
    assert_int_equal(weft_progress_add(more[0]), MPI_SUCCESS); /* it is polled already */
    for (int i = 0; i < WEFT_POLLS; i++)
        weft_progress_remove(more[i]);
}

static int calls_of_last;

static int poll_once(bool everything)
{
    (void)everything;
    weft_progress_remove(poll_once);
    weft_progress_remove(poll_1);
    return 0;
}

static int poll_last(bool everything)
{
    (void)everything;
    calls_of_last++;
    return 0;
}

/* A function that removes itself, and one before it, takes no turn from those behind it. */
static void removals_do_not_skip_others(void **unused)
{
    (void)unused;
    const weft_poll_fn_t polls[] = {poll_1, poll_2, poll_once, poll_3, poll_last};
    for (size_t i = 0; i < sizeof(polls) / sizeof(polls[0]); i++)
        assert_int_equal(weft_progress_add(polls[i]), MPI_SUCCESS);
    for (int round = 1; round < 4; round++) {
        weft_progress();
        assert_int_equal(calls_of_last, round);
    }
    for (size_t i = 0; i < sizeof(polls) / sizeof(polls[0]); i++)
        weft_progress_remove(polls[i]);
}

static bool is_done, was_over_before, was_over_after;

static int poll_done(bool everything)
{
    (void)everything;
    was_over_before = weft_progress_is_over();
    is_done = true;
    was_over_after = weft_progress_is_over();
    return 1;
}

static void expect_over_after(void)
{
    assert_false(was_over_before);
    assert_true(was_over_after);
    assert_false(weft_progress_is_over());
    is_done = false;
}

/* A round that awaits nothing is never over before all have been polled. */
static void a_round_knows_that_what_it_awaits_is_there(void **unused)
{
    (void)unused;
    assert_int_equal(weft_progress_add(poll_done), MPI_SUCCESS);
    weft_progress();
    assert_false(was_over_before || was_over_after);
    weft_progress_test();
    assert_false(was_over_before || was_over_after);
    is_done = false;
    weft_progress_until(&is_done);
    expect_over_after();
    weft_progress_test_for(&is_done);
    expect_over_after();
    weft_progress_remove(poll_done);
}

static void the_5th_source_is_refused(void **unused)
{
    (void)unused;
    for (int i = 1; i < WEFT_FD_WATCHES; i++)
        assert_int_equal(weft_fd_watch_add(wait_fd), MPI_SUCCESS);
    weft_fail_clear();
    assert_int_equal(weft_fd_watch_add(wait_fd), MPI_ERR_INTERN);
    assert_string_not_equal(weft_fail_text(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_packet_is_taken_before_a_wait_is_long),
                                       cmocka_unit_test(senders_fence_where_the_kernel_does_not),
                                       cmocka_unit_test(the_17th_poll_is_refused),
                                       cmocka_unit_test(removals_do_not_skip_others),
                                       cmocka_unit_test(a_round_knows_that_what_it_awaits_is_there),
                                       cmocka_unit_test(the_5th_source_is_refused)};
    weft_config_read();
    weft_log_threshold = -1;
    weft_config.SPIN = weft_config.YIELDS = 0;
    weft_world.job_id = "unit-progress";
    weft_world.is_threaded = true;
    if (weft_fd_watch_add(wait_fd) != MPI_SUCCESS || weft_progress_add(poll_nothing) != MPI_SUCCESS)
        return 1;
    weft_lock();
    weft_progress_open(&doorbell);
    weft_unlock();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_fd_watch_close();
    return failed;
}
