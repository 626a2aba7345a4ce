/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/progress.h"

#include "runtime/contention.h"
#include "runtime/fd_watch.h"
#include "runtime/lock.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <sched.h>

enum {
    /* Empty polls before a wait yields: with a core each about 50 us; when cores are short, just
     * long enough for a peer on another core to answer. */
    SPIN_ALONE = 5000,
    SPIN_OVERSUBSCRIBED = 20,
    SPIN_ALONE_NS = 50000, /* where polls cost more, as over a network: so long at most */
    SPIN_OVERSUBSCRIBED_NS = 1000,
    YIELD_EVERY_NS = 1000,
    /* Yields before it sleeps. Even with a core each they go on for some 300 us, since a sleeper on
     * another core takes 20 to 40 us to wake; and they come early, since on a busy machine two
     * ranks may find themselves on one core. */
    YIELDS_ALONE = 400,
    YIELDS_OVERSUBSCRIBED = 2,
    /* Who sleeps on descriptors takes longer to wake (25 us and more where a peer's answer takes
     * 5): it yields longer before. On four hosts of two ranks and two cores in all, 50 made a
     * barrier of 80 us, 1 one of 100 us, none one of 160 us. */
    YIELDS_NETWORK = 50,
    POLLS_PER_YIELD = 20,
    TESTS_PER_YIELD_ALONE = 1000,
    TESTS_PER_YIELD_OVERSUBSCRIBED = 10,
    /* A loop of tests cannot sleep: where yields are dear it makes one in so many. */
    DEAR_YIELDS_SKIPPED = 64,
    NAP_NS = 50000, /* a sleep while something is awaited that rings no doorbell */
    POLLS_PER_CLOCK = 16,
    POLLS_TO_MEASURE = 32,
};

bool weft_senders_fence = true;

static weft_poll_fn_t polls[WEFT_POLLS];
static int poll_count;
static weft_doorbell_t private_doorbell;
static weft_doorbell_t *doorbell = &private_doorbell;
static int spin_limit, spin_limit_contended, yield_limit, polls_per_yield, test_limit;
static weft_contention_t contention; /* with the lock */
static int yield_limit_contended;
static int silent;          /* what is awaited and rings no doorbell */
static atomic_int sleepers; /* threads of this process in sleep_on_doorbell() */

enum { SLEEPS_IN_POLL = 1 };

static const unsigned SLEEPS_ON_WORD = 1u << 31;

/* What a doorbell is set to; with the lock. On the word it is another number each time: a thread
 * that has set the doorbell, and is on its way to sleep when it is rung, must not take the number
 * of the next thread that sets it for its own. */
static unsigned next_way_to_sleep(bool in_poll)
{
    static unsigned number;
    if (in_poll)
        return SLEEPS_IN_POLL + (unsigned)weft_world.rank;
    return SLEEPS_ON_WORD | (++number & ~SLEEPS_ON_WORD);
}

static bool is_on_word(unsigned how)
{
    return (how & SLEEPS_ON_WORD) != 0;
}

void weft_doorbell_wake(weft_doorbell_t *sleeping)
{
    unsigned how = atomic_exchange(&sleeping->is_sleeping, 0);
    if (is_on_word(how))
        weft_futex_wake(&sleeping->is_sleeping);
    else if (how != 0)
        weft_fd_watch_ring((int)(how - SLEEPS_IN_POLL));
}

/* The most polls, up to `most`, that take `limit_ns` at the price of a poll that finds nothing. */
static int polls_within(int64_t poll_ns, int64_t limit_ns, int most)
{
    int64_t count = limit_ns / poll_ns;
    return count < 1 ? 1 : count < most ? (int)count : most;
}

static int64_t measure_poll(void)
{
    int64_t start = weft_clock_ns();
    for (int i = 0; i < POLLS_TO_MEASURE; i++)
        weft_progress();
    int64_t each = (weft_clock_ns() - start) / POLLS_TO_MEASURE;
    return each < 1 ? 1 : each;
}

void weft_progress_open(weft_doorbell_t *shared_doorbell)
{
    doorbell = shared_doorbell == NULL ? &private_doorbell : shared_doorbell;
    bool is_short = weft_world.is_oversubscribed;
    wefti_contention_open(&contention, is_short);
    int64_t poll_ns = measure_poll();
    spin_limit_contended = polls_within(poll_ns, SPIN_OVERSUBSCRIBED_NS, SPIN_OVERSUBSCRIBED);
    spin_limit = is_short ? spin_limit_contended : polls_within(poll_ns, SPIN_ALONE_NS, SPIN_ALONE);
    int yields_short = weft_fd_watch_is_used() ? YIELDS_NETWORK : YIELDS_OVERSUBSCRIBED;
    yield_limit = is_short ? yields_short : YIELDS_ALONE;
    yield_limit_contended = weft_fd_watch_is_used() ? YIELDS_NETWORK : yield_limit;
    polls_per_yield = is_short ? 1 : polls_within(poll_ns, YIELD_EVERY_NS, POLLS_PER_YIELD);
    test_limit = is_short ? TESTS_PER_YIELD_OVERSUBSCRIBED : TESTS_PER_YIELD_ALONE;
    if (weft_config.SPIN >= 0)
        spin_limit = spin_limit_contended = weft_config.SPIN;
    if (weft_config.YIELDS >= 0)
        yield_limit = yield_limit_contended = weft_config.YIELDS;
    weft_senders_fence = is_short || !weft_world.has_asymmetric_fence;
    WEFT_LOG(WEFT_INFO, "progress", "cores %s, spin %d polls, yield %d times, senders %s",
             is_short ? "short" : "enough", spin_limit, yield_limit,
             weft_senders_fence ? "fence" : "do not fence");
}

int weft_progress_add(weft_poll_fn_t poll)
{
    for (int i = 0; i < poll_count; i++) {
        if (polls[i] == poll)
            return MPI_SUCCESS;
    }
    if (poll_count == WEFT_POLLS)
        return weft_fail(MPI_ERR_INTERN, "no more than %d functions can be polled for progress",
                         WEFT_POLLS);
    polls[poll_count++] = poll;
    return MPI_SUCCESS;
}

void weft_progress_need(weft_poll_fn_t poll)
{
    if (weft_progress_add(poll) != MPI_SUCCESS)
        weft_world.abort(1, weft_fail_text());
}

void weft_progress_remove(weft_poll_fn_t poll)
{
    for (int i = 0; i < poll_count; i++) {
        if (polls[i] == poll)
            polls[i] = polls[--poll_count];
    }
}

static inline int poll_all(bool everything)
{
    int done = 0;
    for (int i = 0; i < poll_count; i++)
        done += polls[i](everything);
    return done;
}

int weft_progress(void)
{
    return poll_all(false);
}

/* Also finds out whether others want the core. */
static void progress_yield(void)
{
    weft_unlock();
    int64_t start = weft_clock_ns();
    sched_yield();
    int64_t elapsed_ns = weft_clock_ns() - start;
    weft_lock();
    wefti_contention_note_yield(&contention, elapsed_ns);
}

/* For loops of tests, once in a while. With more ranks than cores the others need the core, whoever
 * else computes. */
static void yield_between_tests(void)
{
    static int skipped;
    wefti_contention_count(&contention);
    if (wefti_yields_are_dear(&contention) && !weft_world.is_oversubscribed &&
        ++skipped < DEAR_YIELDS_SKIPPED)
        return;
    skipped = 0;
    progress_yield();
}

void weft_progress_test(void)
{
    static int empty_tests;
    if (poll_all(false) > 0) {
        empty_tests = 0;
        return;
    }
    if (++empty_tests < test_limit)
        return;
    empty_tests = 0;
    yield_between_tests();
}

/* Another thread of this process that sleeps on the same doorbell must not be left with a cleared
 * one.
 */
static void stay_awake(void)
{
    if (atomic_load(&sleepers) > 1)
        weft_doorbell_wake(doorbell);
    else
        atomic_store(&doorbell->is_sleeping, 0);
}

/* Between setting the doorbell and looking for packets. */
static void fence_doorbell(void)
{
    if (weft_senders_fence)
        atomic_thread_fence(memory_order_seq_cst);
    else
        weft_asymmetric_fence();
}

/* After a sleep in runtime/fd_watch.h, where a ring wakes one thread only. If others sleep there,
 * it may have been meant for them: the doorbell stays set, and what has come by now is taken for
 * all. */
static void answer_ring(unsigned how)
{
    bool is_alone = atomic_load(&sleepers) == 1;
    atomic_store(&doorbell->is_sleeping, is_alone ? 0 : how);
    if (is_alone)
        return;
    fence_doorbell();
    poll_all(true);
}

static void sleep_now(unsigned how, weft_fd_watch_t *watch)
{
    int64_t most_ns = silent > 0 ? NAP_NS : 0;
    weft_unlock();
    if (is_on_word(how))
        weft_futex_wait(&doorbell->is_sleeping, how, most_ns);
    else
        weft_fd_watch_sleep(watch, most_ns);
    weft_lock();
    if (!is_on_word(how))
        answer_ring(how);
}

/* Sleep until somebody rings. The doorbell is set before the last look for packets, so a packet
 * published after that look finds it set. */
static void sleep_on_doorbell(const bool *flag)
{
    bool in_poll = weft_fd_watch_is_used();
    unsigned how = next_way_to_sleep(in_poll);
    weft_fd_watch_t watch;
    atomic_fetch_add(&sleepers, 1);
    atomic_store(&doorbell->is_sleeping, how);
    fence_doorbell();
    if (poll_all(true) > 0 || *flag || (in_poll && !weft_fd_watch_prepare(&watch)))
        stay_awake();
    else
        sleep_now(how, &watch);
    atomic_fetch_sub(&sleepers, 1);
}

/* Was the core somebody else's since the last look? */
static void look_at_clock(int64_t *last_ns)
{
    int64_t now = weft_clock_ns();
    if (*last_ns != 0)
        wefti_contention_note_gap(&contention, now - *last_ns);
    *last_ns = now;
}

/* The `empty`-th empty round of a wait. 0: begin anew. */
static int idle(const bool *flag, int empty)
{
    bool is_short = wefti_cores_are_short(&contention);
    int spins = is_short ? spin_limit_contended : spin_limit;
    int step = is_short ? 1 : polls_per_yield;
    int yields = is_short ? yield_limit_contended : yield_limit;
    if (weft_config.YIELDS < 0 && wefti_yields_are_dear(&contention))
        yields = 0;
    if (empty <= spins) {
        if (weft_world.is_threaded)
            weft_lock_offer();
        if (empty % 8 == 0)
            weft_cpu_relax();
    } else if (empty <= spins + yields * step) {
        if (empty % step == 0)
            progress_yield();
    } else {
        sleep_on_doorbell(flag);
        return 0;
    }
    return empty;
}

void weft_progress_until(const bool *flag)
{
    int empty = 0;
    int64_t clock_ns = 0;
    bool was_waiting = atomic_load_explicit(&doorbell->is_waiting, memory_order_relaxed);
    wefti_contention_count(&contention);
    atomic_store_explicit(&doorbell->is_waiting, true, memory_order_relaxed);
    while (!*(const volatile bool *)flag) {
        if (poll_all(false) > 0) {
            empty = 0;
            continue;
        }
        empty = idle(flag, empty + 1);
        if (empty == 0)
            clock_ns = 0;
        else if (empty % POLLS_PER_CLOCK == 0)
            look_at_clock(&clock_ns);
    }
    atomic_store_explicit(&doorbell->is_waiting, was_waiting, memory_order_relaxed);
}

void weft_progress_await_silent(int more)
{
    silent += more;
}

void weft_progress_notify(void)
{
    if (atomic_load_explicit(&sleepers, memory_order_relaxed) > 0)
        weft_doorbell_wake(doorbell);
}
