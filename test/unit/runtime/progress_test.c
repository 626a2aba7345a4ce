/* SPDX-License-Identifier: BSD-3-Clause */
/* Two threads sleep on descriptors: while either of them sleeps, the doorbell must be set, so that
 * a peer with a packet for it rings. */
#include "runtime/progress.h"

#include "runtime/fd_watch.h"
#include "runtime/lock.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROUNDS = 40 };

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

/* One of two threads has woken: is the doorbell set before the other one polls again? */
static bool is_still_set(void)
{
    sleeper_t first, second;
    bool is_set;
    begin(&second);
    begin(&first);
    end(&first);
    unsigned polls = atomic_load(&second.polls);
    do
        is_set = atomic_load(&doorbell.is_sleeping) != 0;
    while (!is_set && atomic_load(&second.polls) == polls);
    is_set = is_set && atomic_load(&second.polls) == polls;
    end(&second);
    return is_set;
}

/* Not every round succeeds, since the other thread may have reached the end of its sleep just
 * then. */
static void the_doorbell_of_a_sleeper_is_set(void **unused)
{
    int count = 0;
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        count += is_still_set();
    if (count < ROUNDS / 2)
        fail_msg("set in %d of %d rounds", count, ROUNDS);
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

    /* Some were added by main(). */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_doorbell_of_a_sleeper_is_set),
                                       cmocka_unit_test(the_17th_poll_is_refused),
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
