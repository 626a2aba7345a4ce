/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of this process that sleep in waits. One of them is the watcher: it sleeps on the
 * doorbell (or on descriptors, fd_watch.h), and takes what has come for all when it is rung. The
 * others follow it: each sleeps on a word of its own, until its wait is over. So a packet wakes the
 * watcher and the thread that it is for, and no other, however many sleep.
 *
 * Always, while threads follow, there is a watcher, or a thread that waits awake, and so polls. A
 * thread that ends its wait sees to that (wefti_sleepers_keep_watch), and one that calls a function
 * of the program from within a wait (weft_sleepers_step_out).
 *
 * A thread that waits for one request sleeps for the packets of one VCI (vci.h): those of others
 * that need no answer wake nobody for it.
 *
 * Whoever sets flags with the lock that others may sleep for says so (weft_progress_notify), and
 * when it gives the lock, those are woken whose flags are set: after it was given, so that none of
 * them has to wait for it. Without the lock the watcher is woken (weft_progress_alert): it looks at
 * all flags.
 */
#ifndef WEFT_RUNTIME_SLEEPERS_H
#define WEFT_RUNTIME_SLEEPERS_H

#include "runtime/doorbell.h"
#include "base/own_symbol.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Threads that sleep, or are about to. */
extern WEFT_OWN_SYMBOL atomic_int weft_sleepers;

/** Flags of theirs may be set; written with the lock, read to give it. */
extern WEFT_OWN_SYMBOL atomic_bool weft_sleepers_news;

typedef struct weft_sleepers_args {
    weft_doorbell_t *doorbell; /* where peers wake this process */
    int64_t most_ns;           /* no sleep is longer; 0: until the thread is woken */
    int (*poll_all)(void);     /* polls every peer; how much was done */
} weft_sleepers_args_t;

/** With the lock, as all that follows unless it says otherwise. */
void wefti_sleepers_open(const weft_sleepers_args_t *args);

/** Sleep until *flag is true or, if the caller becomes the watcher, there may be something to poll;
 * it may return early. Gives up the lock meanwhile. `vcis`: of packets that *flag may depend on, a
 * bit each, VCI 0 among them. `is_background`: nobody waits for the thread, so it is not to be
 * woken instead of another one. Returns true if the caller was the watcher, and what has come was
 * for others: *flag is not true. */
bool wefti_sleep_until(const bool *flag, unsigned vcis, bool is_background);

/** The caller has watched several times, each time for others: sleep until *flag is true, for
 * `most_ns` at most, whatever else comes meanwhile. Then it has to watch or to poll. Returns at
 * once if something is awaited that rings no doorbell. */
void wefti_rest_until(const bool *flag, int64_t most_ns);

/** To be called by a thread that waits awake, in each round, while others sleep: wakes those whose
 * flags are set. */
void wefti_sleepers_look(void);

/** A wait has ended; `waits` threads still wait, those that sleep among them. */
void wefti_sleepers_keep_watch(int waits);

/** The caller is going to give the lock to call the program, and may not come back soon. */
void weft_sleepers_step_out(void);

/** Add `more` (or, below 0, fewer) sends that wait for room. While there are any, whoever sleeps is
 * woken for packets of all VCIs. */
void weft_progress_await_room(int more);

/** Add `more` (or, below 0, fewer) things that are awaited and ring no doorbell: a device's work,
 * say, or a time limit. While there are any, the watcher's sleeps are short. */
void weft_progress_await_silent(int more);

/** Whom to wake after the lock was given. */
typedef struct weft_wakes {
    struct weft_sleeper *first; /* these, */
    bool does_ring;             /* and the watcher */
} weft_wakes_t;

/** For lock.c, before it gives the lock, if there are news; */
weft_wakes_t wefti_sleepers_choose(void);
/** and after it. */
void wefti_sleepers_wake(const weft_wakes_t *wakes);

/** Wake the watcher. Also without the lock. */
void weft_sleepers_ring(void) __attribute__((cold));

#endif
