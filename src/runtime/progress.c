/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/progress.h"

#include "runtime/contention.h"
#include "runtime/fd_watch.h"
#include "runtime/lock.h"
#include "runtime/spread.h"
#include "runtime/vci.h"
#include "runtime/wait_pvars.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/cpu.h"
#include "base/fail.h"
#include "base/log.h"
#include "mpi.h"

#include <limits.h>
#include <sched.h>

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
    /* A wait that was woken so often for other threads of the process rests before it sleeps where
     * it can be woken: for so long, and twice as long each time up to eight times that. */
    RUNG_IN_VAIN = 2,
    REST_FIRST_NS = 50000,
    REST_DOUBLED = 3,
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

static weft_poll_fn_t polls[WEFT_POLLS];
static int poll_count;
void (*_Atomic weft_progress_held)(void);
const bool *weft_progress_awaited;

static weft_doorbell_t private_doorbell;
static weft_doorbell_t *doorbell = &private_doorbell;
static int spin_limit, spin_limit_contended, spin_limit_beside_others;
static int yield_limit, yield_limit_contended, quiet_yield_limit, polls_per_yield, test_limit;
static weft_contention_t contention;  /* with the lock */
static atomic_bool is_short_of_cores; /* what it says, for others */
static atomic_int waits;              /* threads that wait; written with the lock */
/* Where threads share the library: how many waits there were, of all threads; some may be left out,
 * as it is written without a lock as well. */
static atomic_uint waits_begun;
static int pauses_first = 1, pauses_between = 1; /* of weft_progress_looks() */
static int64_t long_ns; /* after a wait of so long weft_world.waited_long() is called; 0: never */

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

static int poll_everything(void)
{
    return poll_all(true);
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
    wefti_sleepers_open(&(weft_sleepers_args_t){
        .doorbell = doorbell,
        .most_ns = weft_config.RECOVERY ? WATCHFUL_NS : long_ns,
        .poll_all = poll_everything,
    });
    wefti_doorbells_open(is_short || !weft_world.has_asymmetric_fence);
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

int weft_progress(void)
{
    return poll_all(false);
}

static inline void note_wait(void)
{
    unsigned before = atomic_load_explicit(&waits_begun, memory_order_relaxed);
    if (__builtin_expect(weft_world.is_threaded, 0))
        atomic_store_explicit(&waits_begun, before + 1, memory_order_relaxed);
}

weft_looks_t weft_progress_looks(void)
{
    note_wait();
    bool is_brief = weft_world.is_oversubscribed || weft_world.is_threaded ||
                    wefti_cores_are_short(&contention);
    return (weft_looks_t){
        .most = is_brief ? LOOKS_SHORT : LOOKS, .first = pauses_first, .between = pauses_between};
}

/* That wait, the caller among them, though it may only test. */
static int threads_awake(void)
{
    int awake = weft_progress_waits() - atomic_load_explicit(&weft_sleepers, memory_order_relaxed);
    return awake < 1 ? 1 : awake;
}

/* Also finds out whether other processes want the core. Returns how long it took. */
static int64_t progress_yield(void)
{
    weft_unlock();
    int64_t start = weft_clock_ns();
    sched_yield();
    int64_t elapsed_ns = weft_clock_ns() - start;
    weft_lock();
    wefti_contention_note_yield(&contention, elapsed_ns, threads_awake());
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

static int poll_for(const bool *awaited)
{
    weft_progress_awaited = awaited;
    int done = poll_all(false);
    weft_progress_awaited = NULL;
    return done;
}

void weft_progress_test(void)
{
    weft_progress_test_for(NULL);
}

void weft_progress_test_for(const bool *awaited)
{
    static int empty_tests;
    if (poll_for(awaited) > 0) {
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

/* A wait that goes on. */
typedef struct wait_state {
    const bool *flag;
    unsigned vcis; /* of packets that *flag may depend on */
    bool is_background;
    int empty;        /* rounds in a row that found nothing; others may count as over */
    int quiet_yields; /* that did not count as rounds */
    int sleeps;
    int in_vain;    /* of them, in a row, from which it was woken while other threads waited, too */
    unsigned begun; /* waits that had begun at the last sleep */
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

/* Where other threads of the process get messages all the time, each of them wakes this one, which
 * would then wait awake for a while; where cores are short it would take theirs. */
static bool is_disturbed(const wait_state_t *wait)
{
    return wait->in_vain >= RUNG_IN_VAIN && weft_world.is_threaded && weft_progress_is_short();
}

static void rest_in_wait(const wait_state_t *wait)
{
    int doublings = wait->in_vain - RUNG_IN_VAIN;
    wefti_rest_until(wait->flag,
                     REST_FIRST_NS << (doublings < REST_DOUBLED ? doublings : REST_DOUBLED));
}

static void sleep_in_wait(wait_state_t *wait)
{
    if (is_disturbed(wait))
        rest_in_wait(wait);
    bool is_in_vain = wefti_sleep_until(wait->flag, wait->vcis, wait->is_background);
    unsigned begun = atomic_load_explicit(&waits_begun, memory_order_relaxed);
    wait->in_vain = is_in_vain && begun != wait->begun ? wait->in_vain + 1 : 0;
    wait->begun = begun;
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
    if (is_disturbed(wait)) {
        sleep_in_wait(wait);
        return;
    }
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

static void make_rounds(wait_state_t *wait)
{
    while (!__atomic_load_n(wait->flag, __ATOMIC_ACQUIRE)) {
        int done = poll_for(wait->flag);
        if (done > 0) {
            wait->empty = 0;
            wait->since_ns = 0;
        } else {
            idle(wait);
        }
        if (atomic_load_explicit(&weft_sleepers, memory_order_relaxed) != 0)
            wefti_sleepers_look();
    }
}

/* A poll function may wait as well: its thread is counted once. */
static void wait_and_count(wait_state_t *wait)
{
    static _Thread_local bool is_counted;
    bool is_inner = is_counted;
    count_contention();
    if (!is_inner) {
        note_wait();
        count_waits(1);
    }
    wait->begun = atomic_load_explicit(&waits_begun, memory_order_relaxed);
    is_counted = true;
    make_rounds(wait);
    weft_progress_let_go();
    is_counted = is_inner;
    if (is_inner)
        return;
    count_waits(-1);
    if (atomic_load_explicit(&weft_sleepers, memory_order_relaxed) != 0)
        wefti_sleepers_keep_watch(weft_progress_waits());
}

/* `empty` rounds of polling count as over. */
static void wait_until(const bool *flag, unsigned vcis, int empty)
{
    int64_t began_ns = weft_waits_begin(flag);
    wait_and_count(&(wait_state_t){.flag = flag, .vcis = vcis, .empty = empty});
    weft_waits_end(began_ns);
}

void weft_progress_until(const bool *flag)
{
    wait_until(flag, WEFT_ALL_VCIS, 0);
}

void weft_progress_until_in(const bool *flag, int vci)
{
    wait_until(flag, 1u << vci | 1, 0);
}

void weft_progress_until_all(const bool *flag)
{
    bool yields_first = weft_world.is_oversubscribed && !wefti_yields_are_dear(&contention);
    wait_until(flag, WEFT_ALL_VCIS, yields_first ? spin_limit_contended : 0);
}

void weft_progress_in_background(const bool *flag)
{
    wait_and_count(&(wait_state_t){
        .flag = flag, .vcis = WEFT_ALL_VCIS, .is_background = true, .empty = INT_MAX / 2});
}
