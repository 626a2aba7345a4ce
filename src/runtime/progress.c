/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/progress.h"

#include "runtime/contention.h"
#include "runtime/fd_watch.h"
#include "runtime/lock.h"
#include "runtime/spread.h"
#include "runtime/wait_pvars.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>

enum {
    /* Empty polls before a wait yields: about 50 us if each rank has a core; when cores are short,
     * just long enough for a peer on another core to answer. */
    SPIN_ALONE = 3000,
    SPIN_OVERSUBSCRIBED = 20,
    SPIN_ALONE_NS = 50000, /* the most time for them: polls of a network cost more */
    SPIN_OVERSUBSCRIBED_NS = 1000,
    /* Where strangers compute on the cores, a wait does not yield, so an answer must come while it
     * spins; a peer that was woken answers within 10 us. With 1 us each rank falls asleep while it
     * wakes the other: a ping-pong of 8 bytes beside two such processes took 55 to 600 us. */
    SPIN_BESIDE_OTHERS_NS = 10000,
    YIELD_EVERY_NS = 1000,
    /* Yields before a wait sleeps. They go on for some 300 us even if each rank has a core, since a
     * sleeper on another core takes 20 to 40 us to wake; and they come early, since on a busy
     * machine two ranks may be on one core. */
    YIELDS_ALONE = 400,
    YIELDS_OVERSUBSCRIBED = 16,
    /* A shorter yield found nobody else on the core. When oversubscribed a wait makes so many of
     * them before it sleeps: it takes the core from nobody, and where each rank slept while the
     * other was being woken (40 us and more), a ping-pong of two of four ranks took 0.2 to 2.6 us.
     */
    QUIET_YIELD_NS = 600,
    YIELDS_QUIET = 400,
    /* A rank that sleeps on descriptors takes longer to wake (25 us and more where a peer's answer
     * takes 5), so it yields longer before it sleeps. On four hosts of two ranks, with two cores in
     * all, a barrier took 80 us with 50 yields, 100 us with one and 160 us with none. */
    YIELDS_NETWORK = 50,
    POLLS_PER_YIELD = 20,
    TURNS_GIVEN = 8, /* the most yields for another rank to go first */
    TESTS_PER_YIELD_ALONE = 1000,
    TESTS_PER_YIELD_OVERSUBSCRIBED = 10,
    TESTS_PER_OFFER = 4, /* of the lock */
    /* A loop of tests cannot sleep: where yields are dear it makes one in so many. */
    DEAR_YIELDS_SKIPPED = 64,
    NAP_NS = 50000, /* the longest sleep while something is awaited that rings no doorbell */
    WATCHFUL_NS = 10000000, /* the longest sleep where ranks may die unheard */
    /* A pause leaves the line to its writer, which counts where the cores are far apart. Where
     * they are near, an answer comes within so many looks. */
    LOOKS_UNPAUSED = 16,
    /* Of weft_progress_looks(). On an Emerald Rapids, where a pause takes 13 ns, messages of 8 B
     * take 0.13 us with one of them between two looks, and 0.08 to 0.09 with two, and four before
     * the first. */
    LOOK_FIRST_NS = 55,
    LOOK_BETWEEN_NS = 28,
    LOOKS = 40,
    LOOKS_SHORT = 16,
    PAUSES_TO_MEASURE = 64,
    POLLS_PER_CLOCK = 16,
    POLLS_TO_MEASURE = 8,
    MEASUREMENTS = 8,
};

static atomic_uint own_senders_fence = 1;
atomic_uint *weft_senders_fence = &own_senders_fence;

static weft_poll_fn_t polls[WEFT_POLLS];
static int poll_count;
void (*_Atomic weft_progress_held)(void);
atomic_int weft_progress_sleepers;

static weft_doorbell_t private_doorbell;
static weft_doorbell_t *doorbell = &private_doorbell;
static int spin_limit, spin_limit_contended, spin_limit_beside_others;
static int yield_limit, yield_limit_contended, quiet_yield_limit, polls_per_yield, test_limit;
static weft_contention_t contention;  /* with the lock */
static atomic_bool is_short_of_cores; /* what it says, for others */
static atomic_int waits;              /* threads that wait; written with the lock */
static int silent;                    /* number of things that are awaited and ring no doorbell */
static bool must_nap;
static int pauses_first = 1, pauses_between = 1; /* of weft_progress_looks() */
static int64_t long_ns; /* after a wait of so long weft_world.waited_long() is called; 0: never */
static int64_t sleep_most_ns; /* 0: until the doorbell is rung */

enum { SLEEPS_IN_POLL = 1 };

static const unsigned SLEEPS_ON_WORD = 1u << 31;

/* The value to set the doorbell to; with the lock. A thread that sleeps on the word gets a new
 * number each time: if the doorbell is rung before the thread sleeps, and another thread sets it
 * again, the first must not take the other's number for its own, and sleep on. */
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

/* How often something that takes `each_ns` goes into `limit_ns`: from 1 to `most`. */
static int times_within(int64_t each_ns, int64_t limit_ns, int most)
{
    int64_t count = limit_ns / each_ns;
    return count < 1 ? 1 : count < most ? (int)count : most;
}

static void poll_some(void)
{
    for (int i = 0; i < POLLS_TO_MEASURE; i++)
        weft_progress();
}

static void pause_some(void)
{
    weft_cpu_pause(PAUSES_TO_MEASURE);
}

/* The least of some measurements, as other ranks may have the core during any of them. */
static int64_t least_ns(void (*act)(void))
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < MEASUREMENTS; i++) {
        int64_t start = weft_clock_ns();
        act();
        int64_t ns = weft_clock_ns() - start;
        least = ns < least ? ns : least;
    }
    return least < 1 ? 1 : least;
}

static int64_t measure_poll(void)
{
    int64_t ns = least_ns(poll_some) / POLLS_TO_MEASURE;
    return ns < 1 ? 1 : ns;
}

/* A pause takes from 5 to 50 ns, by the processor. */
static void measure_pause(void)
{
    int64_t ns = least_ns(pause_some);
    pauses_first = times_within(ns, LOOK_FIRST_NS * PAUSES_TO_MEASURE, LOOK_FIRST_NS);
    pauses_between = times_within(ns, LOOK_BETWEEN_NS * PAUSES_TO_MEASURE, LOOK_BETWEEN_NS);
}

/* All ranks of a host come to the same answer, and one of them may have changed it already. */
static void choose_fence(bool do_senders_fence)
{
    weft_senders_fence = &own_senders_fence;
    atomic_store(weft_senders_fence, do_senders_fence);
    if (weft_world.senders_fence == NULL)
        return;
    weft_senders_fence = weft_world.senders_fence;
    if (do_senders_fence)
        atomic_store(weft_senders_fence, 1);
}

void weft_progress_open(weft_doorbell_t *shared_doorbell)
{
    doorbell = shared_doorbell == NULL ? &private_doorbell : shared_doorbell;
    bool is_short = weft_world.is_oversubscribed;
    int ranks_per_core = weft_world.ranks_per_core > 2 ? weft_world.ranks_per_core : 2;
    wefti_contention_open(&contention, is_short ? ranks_per_core : 1);
    int64_t poll_ns = measure_poll();
    measure_pause();
    spin_limit_contended = times_within(poll_ns, SPIN_OVERSUBSCRIBED_NS, SPIN_OVERSUBSCRIBED);
    spin_limit = is_short ? spin_limit_contended : times_within(poll_ns, SPIN_ALONE_NS, SPIN_ALONE);
    spin_limit_beside_others =
        is_short ? spin_limit : times_within(poll_ns, SPIN_BESIDE_OTHERS_NS, SPIN_ALONE);
    int yields_short = weft_fd_watch_is_used() ? YIELDS_NETWORK : YIELDS_OVERSUBSCRIBED;
    yield_limit = is_short ? yields_short : YIELDS_ALONE;
    yield_limit_contended = weft_fd_watch_is_used() ? YIELDS_NETWORK : yield_limit;
    quiet_yield_limit = is_short && weft_config.YIELDS < 0 ? YIELDS_QUIET : 0;
    polls_per_yield = is_short ? 1 : times_within(poll_ns, YIELD_EVERY_NS, POLLS_PER_YIELD);
    test_limit = is_short ? TESTS_PER_YIELD_OVERSUBSCRIBED : TESTS_PER_YIELD_ALONE;
    if (weft_config.SPIN >= 0)
        spin_limit = spin_limit_contended = spin_limit_beside_others = weft_config.SPIN;
    if (weft_config.YIELDS >= 0)
        yield_limit = yield_limit_contended = weft_config.YIELDS;
    long_ns = weft_config.UNRECEIVED_AFTER > 0 ? weft_config.UNRECEIVED_AFTER * 500000000LL : 0;
    sleep_most_ns = weft_config.RECOVERY ? WATCHFUL_NS : long_ns;
    choose_fence(is_short || !weft_world.has_asymmetric_fence);
    WEFT_LOG(WEFT_INFO, "progress", "cores %s, spin %d polls, yield %d times, senders %s",
             is_short ? "short" : "enough", spin_limit, yield_limit,
             atomic_load(weft_senders_fence) != 0 ? "fence" : "do not fence");
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
    int kept = 0;
    for (int i = 0; i < poll_count; i++) {
        if (polls[i] != poll)
            polls[kept++] = polls[i];
    }
    poll_count = kept;
}

static inline int poll_all(bool everything)
{
    int done = 0;
    for (int i = 0; i < poll_count;) {
        weft_poll_fn_t poll = polls[i];
        done += poll(everything);
        if (polls[i] == poll) /* else it was removed, or one before it: the next has its place */
            i++;
    }
    return done;
}

int weft_progress(void)
{
    return poll_all(false);
}

weft_looks_t weft_progress_looks(void)
{
    bool is_brief = weft_world.is_oversubscribed || weft_world.is_threaded ||
                    wefti_cores_are_short(&contention);
    return (weft_looks_t){
        .most = is_brief ? LOOKS_SHORT : LOOKS, .first = pauses_first, .between = pauses_between};
}

/* Also finds out whether other processes want the core. Returns how long it took. */
static int64_t progress_yield(void)
{
    weft_unlock();
    int64_t start = weft_clock_ns();
    sched_yield();
    int64_t elapsed_ns = weft_clock_ns() - start;
    weft_lock();
    wefti_contention_note_yield(&contention, elapsed_ns);
    if (!weft_world.is_oversubscribed)
        return elapsed_ns;
    if (wefti_yields_are_dear(&contention))
        weft_spread_hold(start + elapsed_ns);
    else
        weft_spread_look(start + elapsed_ns);
    return elapsed_ns;
}

void weft_progress_give_way(const atomic_ullong *number, unsigned long long awaited)
{
    for (int turns = 0; turns < TURNS_GIVEN; turns++) {
        if (atomic_load_explicit(number, memory_order_relaxed) >= awaited ||
            wefti_yields_are_dear(&contention))
            break;
        progress_yield();
    }
}

bool weft_progress_is_short(void)
{
    return atomic_load_explicit(&is_short_of_cores, memory_order_relaxed);
}

/* To be called when a wait, or some tests, begin. */
static void count_contention(void)
{
    wefti_contention_count(&contention);
    bool is_short = weft_world.is_oversubscribed || wefti_cores_are_short(&contention);
    if (weft_progress_is_short() != is_short)
        atomic_store_explicit(&is_short_of_cores, is_short, memory_order_relaxed);
}

/* Called once in a while in loops of tests. When oversubscribed it always yields, dear or not,
 * since other ranks need the core. */
static void yield_between_tests(void)
{
    static int skipped;
    count_contention();
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
    empty_tests++;
    if (weft_world.is_threaded && empty_tests % TESTS_PER_OFFER == 0)
        weft_lock_offer();
    bool is_shared = wefti_cores_are_short(&contention) && !wefti_yields_are_dear(&contention);
    if (empty_tests < (is_shared ? TESTS_PER_YIELD_OVERSUBSCRIBED : test_limit))
        return;
    empty_tests = 0;
    yield_between_tests();
}

/* Clear the doorbell; but if other threads of this process sleep on it, no sender would ring a
 * cleared one: wake them, or, where they sleep on descriptors, leave it set. */
static void stay_awake(unsigned how)
{
    if (atomic_load(&weft_progress_sleepers) == 1)
        atomic_store(&doorbell->is_sleeping, 0);
    else if (is_on_word(how))
        weft_doorbell_wake(doorbell);
}

/* From now on the senders of the host fence. Those that have published a packet just now did not:
 * the next sleep must be short. */
static void have_senders_fence(void)
{
    WEFT_LOG(WEFT_INFO, "progress", "the kernel refuses an asymmetric fence: %s", strerror(errno));
    atomic_store(weft_senders_fence, 1);
    must_nap = true;
}

/* Between setting the doorbell and looking for packets. */
static void fence_doorbell(void)
{
    if (atomic_load_explicit(weft_senders_fence, memory_order_relaxed) != 0)
        atomic_thread_fence(memory_order_seq_cst);
    else if (!weft_asymmetric_fence())
        have_senders_fence();
}

/* After a sleep in runtime/fd_watch.h, where a ring wakes one thread only. If other threads sleep
 * there, the ring may have been meant for them: the doorbell stays set, and this thread takes the
 * packets that have come for all. */
static void answer_ring(unsigned how)
{
    bool is_alone = atomic_load(&weft_progress_sleepers) == 1;
    atomic_store(&doorbell->is_sleeping, is_alone ? 0 : how);
    if (is_alone)
        return;
    fence_doorbell();
    poll_all(true);
}

static void sleep_now(unsigned how, weft_fd_watch_t *watch)
{
    bool is_nap = silent > 0 || must_nap;
    must_nap = false;
    weft_waits.sleeps++;
    weft_spread_sleeps(true);
    weft_unlock();
    if (is_on_word(how))
        weft_futex_wait(&doorbell->is_sleeping, how, is_nap ? NAP_NS : sleep_most_ns);
    else
        weft_fd_watch_sleep(watch, is_nap ? NAP_NS : 0);
    weft_lock();
    weft_spread_sleeps(false);
    if (!is_on_word(how))
        answer_ring(how);
}

/* Sleep until the doorbell is rung. It is set before the last look for packets, so the sender of a
 * packet published after that look finds it set. */
static void sleep_on_doorbell(const bool *flag)
{
    bool in_poll = weft_fd_watch_is_used();
    unsigned how = next_way_to_sleep(in_poll);
    weft_fd_watch_t watch;
    atomic_fetch_add(&weft_progress_sleepers, 1);
    atomic_store(&doorbell->is_sleeping, how);
    if (in_poll)
        weft_fd_watch_enter(&watch);
    fence_doorbell();
    if (poll_all(true) > 0 || __atomic_load_n(flag, __ATOMIC_ACQUIRE) ||
        (in_poll && !weft_fd_watch_prepare(&watch)))
        stay_awake(how);
    else
        sleep_now(how, &watch);
    if (in_poll)
        weft_fd_watch_leave(&watch);
    atomic_fetch_sub(&weft_progress_sleepers, 1);
}

/* A wait that goes on. */
typedef struct wait_state {
    const bool *flag;
    int empty;        /* rounds in a row that found nothing; others may count as over */
    int quiet_yields; /* that did not count as rounds */
    int sleeps;
    int64_t clock_ns; /* of the last look at the clock, or 0 */
    int64_t since_ns; /* nothing has happened since, or 0: since now */
} wait_state_t;

/* After a sleep. What has come during the sleep is taken before waited_long() is called: so between
 * two calls, of the same thread or of two, all packets are taken that had come at the first. */
static void look_at_wait(wait_state_t *wait)
{
    int64_t now = weft_clock_ns();
    if (wait->since_ns == 0) {
        wait->since_ns = now;
    } else if (long_ns > 0 && now - wait->since_ns >= long_ns && weft_world.waited_long != NULL) {
        wait->since_ns = now;
        if (poll_all(true) == 0)
            weft_world.waited_long(wait->flag);
    }
}

/* Notes the time since the last look at the clock: another process may have had the core. */
static void look_at_clock(wait_state_t *wait)
{
    int64_t now = weft_clock_ns();
    if (wait->clock_ns != 0)
        wefti_contention_note_gap(&contention, now - wait->clock_ns);
    wait->clock_ns = now;
}

static void sleep_in_wait(wait_state_t *wait)
{
    sleep_on_doorbell(wait->flag);
    wait->empty = 0;
    wait->clock_ns = 0;
    if (wait->sleeps++ > 0)
        wefti_contention_count(&contention);
    look_at_wait(wait);
}

static void yield_in_wait(wait_state_t *wait)
{
    if (progress_yield() < QUIET_YIELD_NS && wait->quiet_yields < quiet_yield_limit) {
        wait->quiet_yields++;
        wait->empty--;
    }
}

/* A round has found nothing: spin, yield or sleep. */
static void idle(wait_state_t *wait)
{
    bool is_short = wefti_cores_are_short(&contention);
    int spins = is_short ? spin_limit_contended : spin_limit;
    int step = is_short ? 1 : polls_per_yield;
    int yields = is_short ? yield_limit_contended : yield_limit;
    if (wefti_yields_are_dear(&contention)) {
        spins = spin_limit_beside_others;
        if (weft_config.YIELDS < 0)
            yields = 0;
    }
    int empty = ++wait->empty;
    if (empty <= spins) {
        if (weft_world.is_threaded)
            weft_lock_offer();
        if (empty > LOOKS_UNPAUSED && empty % 2 == 0)
            weft_cpu_relax();
    } else if (empty <= spins + yields * step) {
        if (empty % step == 0)
            yield_in_wait(wait);
    } else {
        sleep_in_wait(wait);
        return;
    }
    if (empty % POLLS_PER_CLOCK == 0)
        look_at_clock(wait);
}

static void count_waits(int more)
{
    int now = atomic_load_explicit(&waits, memory_order_relaxed) + more;
    atomic_store_explicit(&waits, now, memory_order_relaxed);
    atomic_store_explicit(&doorbell->is_waiting, now > 0, memory_order_relaxed);
}

int weft_progress_waits(void)
{
    return atomic_load_explicit(&waits, memory_order_relaxed);
}

/* `empty` rounds of polling count as over. */
static void make_rounds_until(const bool *flag, int empty)
{
    wait_state_t wait = {.flag = flag, .empty = empty};
    count_contention();
    count_waits(1);
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) {
        if (poll_all(false) > 0) {
            wait.empty = 0;
            wait.since_ns = 0;
        } else {
            idle(&wait);
        }
    }
    weft_progress_let_go();
    count_waits(-1);
}

static void wait_until(const bool *flag, int empty)
{
    int64_t began_ns = weft_waits_begin(flag);
    make_rounds_until(flag, empty);
    weft_waits_end(began_ns);
}

void weft_progress_until(const bool *flag)
{
    wait_until(flag, 0);
}

void weft_progress_until_all(const bool *flag)
{
    bool yields_first = weft_world.is_oversubscribed && !wefti_yields_are_dear(&contention);
    wait_until(flag, yields_first ? spin_limit_contended : 0);
}

void weft_progress_in_background(const bool *flag)
{
    make_rounds_until(flag, INT_MAX / 2);
}

void weft_progress_await_silent(int more)
{
    silent += more;
}

void weft_progress_wake(void)
{
    if (weft_fd_watch_is_used())
        weft_fd_watch_wake();
    else
        weft_doorbell_wake(doorbell);
}
