/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting, in one place: spin, then yield, then sleep (doorbell.h, sleepers.h).
 */
#ifndef WEFT_RUNTIME_PROGRESS_H
#define WEFT_RUNTIME_PROGRESS_H

#include "runtime/doorbell.h"
#include "runtime/sleepers.h"
#include "base/futex.h"
#include "base/own_symbol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/** Choose how to wait, by what weft_world says of cores and fences and by the configuration.
 * `doorbell` is where peers wake this process; NULL: no peer can. */
void weft_progress_open(weft_doorbell_t *doorbell);

/** Called in each round of progress, with the lock; never blocks. Returns how much it did.
 * `everything`: poll every peer (before a sleep), and not only the busy ones. */
typedef int (*weft_poll_fn_t)(bool everything);

/** Have `poll` called until it is removed; once a round, also if it is added again. MPI_ERR_INTERN,
 *  with a text: there are WEFT_POLLS already. */
enum { WEFT_POLLS = 16 };
int weft_progress_add(weft_poll_fn_t poll) __attribute__((warn_unused_result));
/** The same where no caller can pass the error on: on failure it ends the job. */
void weft_progress_need(weft_poll_fn_t poll);
void weft_progress_remove(weft_poll_fn_t poll);

/** One round; how much was done. */
int weft_progress(void);

/** What the wait or test awaits that makes rounds at this moment, with the lock; NULL: nothing. */
extern WEFT_OWN_SYMBOL const bool *weft_progress_awaited;

/** With the lock, in a round: is the wait or test over that makes it? Then what would have to be
 * kept can as well stay where it is. */
static inline bool weft_progress_is_over(void)
{
    return weft_progress_awaited != NULL &&
           __atomic_load_n(weft_progress_awaited, __ATOMIC_ACQUIRE);
}

/** One round, for calls that test and return: when nothing is done it yields now and then, and
 *  offers the lock, so that a loop around MPI_Test lets others run. */
void weft_progress_test(void);

/** The same for calls that look for one thing: what comes behind it may stay where it is. */
void weft_progress_test_for(const bool *awaited);

/** Rounds until *flag is true. Gives up the lock while it yields or sleeps. What is held back goes
 * out before it returns. */
void weft_progress_until(const bool *flag);

/** The same where *flag depends on what comes in a VCI (vci.h), or in VCI 0: while the thread
 * sleeps, packets in others that need no answer do not wake it, as long as there is room. */
void weft_progress_until_in(const bool *flag, int vci);

/** The same where several ranks have to do something first. When oversubscribed some of them may
 * need this core, so the wait begins with a yield. On 8 ranks of two cores a barrier takes 8.2 us
 * instead of 11. (A ping-pong is faster with spins: 1.6 us instead of 3.7 on four ranks.) */
void weft_progress_until_all(const bool *flag);

/** The same for a thread of the library's own, whom nobody waits for: it goes to sleep at once, and
 * tools do not count its wait. */
void weft_progress_in_background(const bool *flag);

/** Threads of this process that wait in one of these three; with the lock, or to be guessed. */
int weft_progress_waits(void);

/** Not NULL: a transport holds packets back, and this sends them. Set by the transport, with the
 *  lock. */
extern WEFT_OWN_SYMBOL void (*_Atomic weft_progress_held)(void);

/** Is anything held back? Also without the lock. */
static inline bool weft_progress_holds(void)
{
    return atomic_load_explicit(&weft_progress_held, memory_order_relaxed) != NULL;
}

/** To be called before a call returns that tells the program of something complete: it may leave
 * MPI for long. Where nothing is held back this costs one load. */
static inline void weft_progress_let_go(void)
{
    void (*let_go)(void) = atomic_load_explicit(&weft_progress_held, memory_order_relaxed);
    if (__builtin_expect(let_go == NULL, 1))
        return;
    atomic_store_explicit(&weft_progress_held, NULL, memory_order_relaxed);
    let_go();
}

/** How a wait looks at one place in memory before it makes rounds: for about a microsecond in all,
 * or a shorter time where cores are short, or other threads need the lock, which it keeps. Each
 * look takes the line from the peer, which needs it to write. */
typedef struct weft_looks {
    int most;    /* looks */
    int first;   /* calls of weft_cpu_relax() before the first, if the peer has to hear first; */
    int between; /* and between two */
} weft_looks_t;

weft_looks_t weft_progress_looks(void);

/** Are cores short, as far as waits have noticed? Without the library's lock. */
bool weft_progress_is_short(void);

/** Let other ranks on this core run until *number has come to `awaited`, but for a few turns at
 * most, and not where a turn would be a stranger's. */
void weft_progress_give_way(const atomic_ullong *number, unsigned long long awaited);

/** With the lock: flags may be set that threads of this process sleep for, by when the lock is
 * given; then they are woken. */
static inline void weft_progress_notify(void)
{
    if (__builtin_expect(atomic_load_explicit(&weft_sleepers, memory_order_relaxed) != 0, 0))
        atomic_store_explicit(&weft_sleepers_news, true, memory_order_relaxed);
}

/** Also without the lock: such a flag is set, or there may be something to poll. Where the caller
 * does not have the lock, it needs a full fence before (weft_doorbells_fence() will do). */
static inline void weft_progress_alert(void)
{
    if (__builtin_expect(atomic_load_explicit(&weft_sleepers, memory_order_relaxed) != 0, 0))
        weft_sleepers_ring();
}

#endif
