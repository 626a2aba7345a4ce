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

#include "runtime/sleepers.h"
#include "runtime/vci.h"

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

typedef struct lock {
    /* What threads look at that want the lock; in one line, which comes with it. */
    _Alignas(64) pthread_mutex_t mutex;
    atomic_bool is_taken; /* the mutex; to be looked at, as a look does not take the line */
    atomic_int waiting;   /* threads that wait for the lock */
    atomic_uint turns;    /* how often one of them has got it; written with the lock */

    _Alignas(64) lock_owner_t *_Atomic reserved; /* written with the mutex; NULL: for nobody */
    /* With the lock. */
    lock_owner_t *held; /* it is held by this; NULL: by the mutex */
    pthread_t last_taker;
    unsigned takes, takes_needed;
    int64_t reserved_ns; /* since when */
    lock_owner_t reservations[RESERVATIONS];
} lock_t;

/* The first is the library's, the others those of VCIs. */
static lock_t locks[WEFT_VCIS] = {
    [0 ... WEFT_VCIS - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER, .takes_needed = TAKES_LEAST}};

static atomic_bool is_awake; /* a thread that wants a lock looks for a while before it sleeps */

static void give_mutex(lock_t *lock)
{
    atomic_store_explicit(&lock->is_taken, false, memory_order_relaxed);
    pthread_mutex_unlock(&lock->mutex);
}

/* ---- with the lock ---- */

/* The caller has waited for the lock. */
static void end_waiting(lock_t *lock)
{
    atomic_fetch_sub(&lock->waiting, 1);
    unsigned turns = atomic_load_explicit(&lock->turns, memory_order_relaxed);
    atomic_store_explicit(&lock->turns, turns + 1, memory_order_relaxed);
}

/* The caller's own, or a new one; NULL: all are used. */
static lock_owner_t *own_reservation(lock_t *lock)
{
    for (int i = 0; i < RESERVATIONS; i++) {
        lock_owner_t *own = &lock->reservations[i];
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
static void reserve(lock_t *lock)
{
    lock_owner_t *own = weft_asymmetric_fence_open() ? own_reservation(lock) : NULL;
    if (own == NULL)
        return;
    lock->held = own;
    lock->reserved_ns = weft_clock_ns();
    atomic_store_explicit(&own->is_held, true, memory_order_relaxed);
    atomic_store_explicit(&lock->reserved, own, memory_order_release);
    give_mutex(lock);
}

/* The caller has taken the mutex, and the lock is not reserved. */
static void count_take(lock_t *lock)
{
    bool goes_on = lock->takes > 0 && pthread_equal(lock->last_taker, pthread_self()) &&
                   atomic_load_explicit(&lock->waiting, memory_order_relaxed) == 0;
    lock->last_taker = pthread_self();
    lock->takes = goes_on ? lock->takes + 1 : 1;
    if (lock->takes < lock->takes_needed)
        return;
    lock->takes = 0;
    reserve(lock);
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
static void cancel(lock_t *lock, const lock_owner_t *owner)
{
    atomic_fetch_add(&lock->waiting, 1);
    atomic_store(&lock->reserved, NULL);
    fence_owner();
    await_owner(owner);
    end_waiting(lock);
    lock->held = NULL;
    lock->takes = 0;
    if (weft_clock_ns() - lock->reserved_ns >= LASTING_NS)
        lock->takes_needed = TAKES_LEAST;
    else if (lock->takes_needed < TAKES_MOST)
        lock->takes_needed *= 4;
}

static bool waits_awake(void)
{
    return atomic_load_explicit(&is_awake, memory_order_relaxed);
}

/* Most of what is done with the lock takes less time than to put a thread to sleep and to wake it.
 * The looks become rare, since each takes the line from the thread that has the lock. */
static bool take_awake(lock_t *lock)
{
    int64_t until_ns = weft_clock_ns() + AWAKE_NS;
    int pauses = 1;
    do {
        weft_cpu_pause(pauses);
        pauses = pauses < PAUSES_MOST ? 2 * pauses : PAUSES_MOST;
        if (!atomic_load_explicit(&lock->is_taken, memory_order_relaxed) &&
            pthread_mutex_trylock(&lock->mutex) == 0)
            return true;
    } while (weft_clock_ns() < until_ns);
    return false;
}

static void take_contended(lock_t *lock)
{
    atomic_fetch_add(&lock->waiting, 1);
    if (!waits_awake() || !take_awake(lock))
        pthread_mutex_lock(&lock->mutex);
    end_waiting(lock);
}

static void take_mutex(lock_t *lock)
{
    if (pthread_mutex_trylock(&lock->mutex) != 0)
        take_contended(lock);
    atomic_store_explicit(&lock->is_taken, true, memory_order_relaxed);
}

/* Takes the lock if it is reserved for the caller. A reservation that was cancelled just now, or
 * long ago while this thread did not run, is seen by the second look. */
static inline bool take_reserved(lock_t *lock)
{
    lock_owner_t *own = atomic_load_explicit(&lock->reserved, memory_order_acquire);
    if (own == NULL || !pthread_equal(own->thread, pthread_self()))
        return false;
    atomic_store_explicit(&own->is_held, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&lock->reserved, memory_order_acquire) == own)
        return true;
    atomic_store_explicit(&own->is_held, false, memory_order_release);
    return false;
}

/* Where ranks outnumber the cores, the thread that is waited for probably needs this one's core. */
void weft_lock_open(void)
{
    atomic_store_explicit(&is_awake, !weft_world.is_oversubscribed, memory_order_relaxed);
}

static inline void take(lock_t *lock)
{
    if (take_reserved(lock))
        return;
    take_mutex(lock);
    const lock_owner_t *owner = atomic_load_explicit(&lock->reserved, memory_order_relaxed);
    if (owner != NULL)
        cancel(lock, owner);
    else
        count_take(lock);
}

/* Takes a lock that nobody holds, and that is not reserved for another thread. */
static bool try_to_take(lock_t *lock)
{
    if (take_reserved(lock))
        return true;
    if (atomic_load_explicit(&lock->reserved, memory_order_relaxed) != NULL ||
        atomic_load_explicit(&lock->is_taken, memory_order_relaxed) ||
        pthread_mutex_trylock(&lock->mutex) != 0)
        return false;
    atomic_store_explicit(&lock->is_taken, true, memory_order_relaxed);
    if (atomic_load_explicit(&lock->reserved, memory_order_relaxed) == NULL)
        return true;
    give_mutex(lock);
    return false;
}

static inline void give(lock_t *lock)
{
    if (lock->held != NULL)
        atomic_store_explicit(&lock->held->is_held, false, memory_order_release);
    else
        give_mutex(lock);
}

/* The mutex is not fair: without this the thread that offers it would mostly win it back. */
static void await_turn(const lock_t *lock, unsigned turns)
{
    for (int looks = 0; looks < LOOKS_OFFERED && waits_awake(); looks++) {
        if (atomic_load_explicit(&lock->turns, memory_order_relaxed) != turns)
            return;
        weft_cpu_relax();
    }
    sched_yield();
}

/* ---- the library's ---- */

void weft_lock_take(void)
{
    take(&locks[0]);
}

static __attribute__((noinline)) void give_and_wake(void)
{
    weft_wakes_t wakes = wefti_sleepers_choose();
    give(&locks[0]);
    wefti_sleepers_wake(&wakes);
}

void weft_lock_give(void)
{
    if (__builtin_expect(atomic_load_explicit(&weft_sleepers_news, memory_order_relaxed), 0))
        give_and_wake();
    else
        give(&locks[0]);
}

void weft_lock_offer(void)
{
    lock_t *lock = &locks[0];
    if (atomic_load_explicit(&lock->waiting, memory_order_relaxed) == 0)
        return;
    unsigned turns = atomic_load_explicit(&lock->turns, memory_order_relaxed);
    give(lock);
    await_turn(lock, turns);
    take(lock);
}

/* ---- those of VCIs ---- */

_Thread_local unsigned weft_vcis_held;
atomic_bool weft_vcis_used;

void weft_vci_take(int vci)
{
    take(&locks[vci]);
}

bool weft_vci_try(int vci)
{
    return try_to_take(&locks[vci]);
}

void weft_vci_give(int vci)
{
    give(&locks[vci]);
}
