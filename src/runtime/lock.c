/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mutex, which is reserved for a thread that has taken it many times while no other wanted it
 * (after Kawachiya, Koseki and Onodera, "Lock Reservation", OOPSLA 2002). That thread takes and
 * gives it by plain stores. An atomic operation would wait until all stores before it have reached
 * the caches, among them the packet that the thread has just written into a peer's ring: the line
 * has to come from the peer's core, and a message takes three times as long.
 *
 * Another thread that wants the lock cancels the reservation. The two do as in Dekker's algorithm:
 * each stores its wish, and then looks at the other's. The owner does so without a fence; the
 * other's asymmetric fence stands for both.
 */
#include "runtime/lock.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/futex.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

enum {
    RESERVATIONS = 64, /* threads that the lock can be reserved for, of all that ever are */
    /* So many times a thread takes the lock, with none between, until it is reserved: more where
     * reservations do not last, since to cancel one takes some microseconds. */
    TAKES_LEAST = 256,
    TAKES_MOST = 1 << 20,
    LASTING_NS = 1000000,
    AWAKE_NS = 10000,    /* that a thread looks at the mutex before it sleeps, */
    PAUSES_MOST = 64,    /* and between two looks */
    LOOKS_OFFERED = 100, /* for another thread to take the lock that is offered */
    LOOKS_AT_OWNER = 100,
    NAP_NS = 50000,
    DRAIN_NS = 10000000,
};

typedef struct lock_owner {
    _Alignas(64) pthread_t thread; /* set before anybody sees the reservation, and for good */
    bool is_used;
    atomic_bool is_held; /* written by the thread alone */
} lock_owner_t;

/* What threads look at that want the lock; in one line, which comes with it. */
static struct {
    _Alignas(64) pthread_mutex_t mutex;
    atomic_bool is_taken;    /* the mutex; to be looked at, as a look does not take the line */
    atomic_int waiting;      /* threads that wait for the lock */
    atomic_uint turns;       /* how often one of them has got it; written with the lock */
    atomic_bool waits_awake; /* a thread that wants it looks for a while before it sleeps */
} lock = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static lock_owner_t reservations[RESERVATIONS];
static lock_owner_t *_Atomic reserved; /* the present one; written with the mutex; NULL: none */

static void give_mutex(void)
{
    atomic_store_explicit(&lock.is_taken, false, memory_order_relaxed);
    pthread_mutex_unlock(&lock.mutex);
}

/* ---- with the lock ---- */

/* The caller has waited for the lock. */
static void end_waiting(void)
{
    atomic_fetch_sub(&lock.waiting, 1);
    unsigned turns = atomic_load_explicit(&lock.turns, memory_order_relaxed);
    atomic_store_explicit(&lock.turns, turns + 1, memory_order_relaxed);
}

static lock_owner_t *held; /* the lock is held by this; NULL: by the mutex */
static pthread_t last_taker;
static unsigned takes, takes_needed = TAKES_LEAST;
static int64_t reserved_ns; /* since when */

/* The caller's own, or a new one; NULL: all are used. */
static lock_owner_t *own_reservation(void)
{
    for (int i = 0; i < RESERVATIONS; i++) {
        lock_owner_t *own = &reservations[i];
        if (!own->is_used) {
            own->is_used = true;
            own->thread = pthread_self();
        }
        if (pthread_equal(own->thread, pthread_self()))
            return own;
    }
    return NULL;
}

/* Reserves the lock, which the caller holds by the mutex, and from then on by the reservation. */
static void reserve(void)
{
    lock_owner_t *own = weft_asymmetric_fence_open() ? own_reservation() : NULL;
    if (own == NULL)
        return;
    held = own;
    reserved_ns = weft_clock_ns();
    atomic_store_explicit(&own->is_held, true, memory_order_relaxed);
    atomic_store_explicit(&reserved, own, memory_order_release);
    give_mutex();
}

/* The caller has taken the mutex, and the lock is not reserved. */
static void count_take(void)
{
    bool goes_on = takes > 0 && pthread_equal(last_taker, pthread_self()) &&
                   atomic_load_explicit(&lock.waiting, memory_order_relaxed) == 0;
    last_taker = pthread_self();
    takes = goes_on ? takes + 1 : 1;
    if (takes < takes_needed)
        return;
    takes = 0;
    reserve();
}

/* ---- without it ---- */

/* A fence on the processor that the owner runs on. If the kernel refuses that, as in a sandbox that
 * was entered meanwhile: no processor keeps a store back for so long. */
static void fence_owner(void)
{
    if (weft_asymmetric_fence())
        return;
    const struct timespec drain = {.tv_nsec = DRAIN_NS};
    nanosleep(&drain, NULL);
}

static void await_owner(const lock_owner_t *owner)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    for (int looks = 1; atomic_load_explicit(&owner->is_held, memory_order_acquire); looks++) {
        if (looks < LOOKS_AT_OWNER)
            weft_cpu_relax();
        else if (looks < 2 * LOOKS_AT_OWNER)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
}

/* The caller has taken the mutex: now nobody else can make a reservation. */
static void cancel(const lock_owner_t *owner)
{
    atomic_fetch_add(&lock.waiting, 1);
    atomic_store(&reserved, NULL);
    fence_owner();
    await_owner(owner);
    end_waiting();
    held = NULL;
    takes = 0;
    if (weft_clock_ns() - reserved_ns >= LASTING_NS)
        takes_needed = TAKES_LEAST;
    else if (takes_needed < TAKES_MOST)
        takes_needed *= 4;
}

static bool waits_awake(void)
{
    return atomic_load_explicit(&lock.waits_awake, memory_order_relaxed);
}

/* Most of what is done with the lock takes less time than to put a thread to sleep and to wake it.
 * The looks become rare, since each takes the line from the thread that has the lock. */
static bool take_awake(void)
{
    int64_t until_ns = weft_clock_ns() + AWAKE_NS;
    int pauses = 1;
    do {
        for (int i = 0; i < pauses; i++)
            weft_cpu_relax();
        pauses = pauses < PAUSES_MOST ? 2 * pauses : PAUSES_MOST;
        if (!atomic_load_explicit(&lock.is_taken, memory_order_relaxed) &&
            pthread_mutex_trylock(&lock.mutex) == 0)
            return true;
    } while (weft_clock_ns() < until_ns);
    return false;
}

static void take_contended(void)
{
    atomic_fetch_add(&lock.waiting, 1);
    if (!waits_awake() || !take_awake())
        pthread_mutex_lock(&lock.mutex);
    end_waiting();
}

static void take_mutex(void)
{
    if (pthread_mutex_trylock(&lock.mutex) != 0)
        take_contended();
    atomic_store_explicit(&lock.is_taken, true, memory_order_relaxed);
}

/* Takes the lock if it is reserved for the caller. A reservation that was cancelled just now, or
 * long ago while this thread did not run, is seen by the second look. */
static bool take_reserved(void)
{
    lock_owner_t *own = atomic_load_explicit(&reserved, memory_order_acquire);
    if (own == NULL || !pthread_equal(own->thread, pthread_self()))
        return false;
    atomic_store_explicit(&own->is_held, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&reserved, memory_order_acquire) == own)
        return true;
    atomic_store_explicit(&own->is_held, false, memory_order_release);
    return false;
}

/* Where ranks outnumber the cores, the thread that is waited for probably needs this one's core. */
void weft_lock_open(void)
{
    atomic_store_explicit(&lock.waits_awake, !weft_world.is_oversubscribed, memory_order_relaxed);
}

void weft_lock_take(void)
{
    if (take_reserved())
        return;
    take_mutex();
    const lock_owner_t *owner = atomic_load_explicit(&reserved, memory_order_relaxed);
    if (owner != NULL)
        cancel(owner);
    else
        count_take();
}

void weft_lock_give(void)
{
    if (held != NULL)
        atomic_store_explicit(&held->is_held, false, memory_order_release);
    else
        give_mutex();
}

/* The mutex is not fair: without this the thread that offers it would mostly win it back. */
static void await_turn(unsigned turns)
{
    for (int looks = 0; looks < LOOKS_OFFERED && waits_awake(); looks++) {
        if (atomic_load_explicit(&lock.turns, memory_order_relaxed) != turns)
            return;
        weft_cpu_relax();
    }
    sched_yield();
}

void weft_lock_offer(void)
{
    if (atomic_load_explicit(&lock.waiting, memory_order_relaxed) == 0)
        return;
    unsigned turns = atomic_load_explicit(&lock.turns, memory_order_relaxed);
    weft_lock_give();
    await_turn(turns);
    weft_lock_take();
}
