/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/progress_thread.h"

#include "runtime/lock.h"
#include "runtime/progress.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    TICK_NS = 100000,
    TICKS_AWAKE = 50, /* with nothing under way, before the thread sleeps deeply */
};

bool weft_has_progress_thread;

static pthread_t thread;
static atomic_int under_way; /* operations; written with the lock */
static atomic_bool is_ending;
static atomic_uint is_deep; /* 1: the thread sleeps until it is rung, or is about to */
static bool is_over;        /* the thread is to rest; with the lock */

/* ---- waking it ---- */

/* The thread sets is_deep before it looks at what would keep it awake; the others write that before
 * they look at is_deep. */
static void ring(void)
{
    if (atomic_load(&is_deep) != 0 && atomic_exchange(&is_deep, 0) != 0)
        weft_futex_wake(&is_deep);
}

void weft_progress_thread_follow(int more)
{
    int before = atomic_load_explicit(&under_way, memory_order_relaxed);
    atomic_store(&under_way, before + more);
    if (before + more == 0)
        is_over = true;
    else if (before == 0)
        ring();
}

/* ---- what it does ---- */

/* A poll function, which ends the thread's wait. Other threads may poll it: then they wait. */
static int look_for_others(bool everything)
{
    (void)everything;
    is_over |= weft_progress_waits() > 1 || atomic_load_explicit(&is_ending, memory_order_relaxed);
    return 0;
}

static void engage(void)
{
    is_over = false;
    weft_progress_need(look_for_others);
    weft_progress_in_background(&is_over);
    weft_progress_remove(look_for_others);
}

static bool is_needed(void)
{
    return atomic_load(&under_way) > 0 && weft_progress_waits() == 0;
}

static void sleep_deeply(void)
{
    atomic_store(&is_deep, 1);
    while (atomic_load(&under_way) == 0 && !atomic_load(&is_ending) && atomic_load(&is_deep) != 0)
        weft_futex_wait(&is_deep, 1, 0);
    atomic_store(&is_deep, 0);
}

/* Without the lock. */
static void rest(void)
{
    int idle = 0;
    do {
        weft_futex_wait(&is_deep, 0, TICK_NS);
        idle = atomic_load(&under_way) > 0 ? 0 : idle + 1;
        if (idle > TICKS_AWAKE)
            sleep_deeply();
    } while (!is_needed() && !atomic_load(&is_ending));
}

static void *progress_thread_run(void *unused)
{
    for (;;) {
        rest();
        if (atomic_load(&is_ending))
            return unused;
        weft_lock();
        if (is_needed())
            engage();
        weft_unlock();
    }
}

/* ---- begin and end ---- */

void weft_progress_thread_open(void)
{
    atomic_store(&is_ending, false);
    atomic_store(&under_way, 0);
    int error = weft_thread_start("weft-progress", 0, progress_thread_run, &thread);
    if (error != 0) {
        WEFT_LOG(WEFT_WARN, "progress", "WEFT_PROGRESS_THREAD: there can be no thread: %s",
                 strerror(error));
        return;
    }
    weft_has_progress_thread = true;
    weft_world_set_locked();
}

void weft_progress_thread_close(void)
{
    if (!weft_has_progress_thread)
        return;
    atomic_store(&is_ending, true);
    ring();
    weft_lock();
    is_over = true;
    weft_progress_notify();
    weft_unlock();
    pthread_join(thread, NULL);
    weft_has_progress_thread = false;
}
