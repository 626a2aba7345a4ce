/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/sleepers.h"

#include "runtime/fd_watch.h"
#include "runtime/lock.h"
#include "runtime/spread.h"
#include "runtime/vci.h"
#include "runtime/wait_pvars.h"
#include "base/futex.h"
#include "base/list.h"

#include <stddef.h>

enum { NAP_NS = 50000 }; /* the longest sleep while something is awaited that rings no doorbell */

/* Where a thread sleeps that follows: on this word while it has the first value; on the doorbell,
 * to which it was moved, while it has the second. The last one is the last thing that who has
 * chosen the thread to be woken writes to its weft_sleeper_t. */
enum { ON_OWN_WORD, ON_DOORBELL, IS_WOKEN };

typedef struct weft_sleeper {
    const bool *flag;
    unsigned vcis; /* of packets that *flag may depend on */
    bool is_background;
    bool is_asleep; /* the watcher: it has looked for packets, and polls no more */
    bool is_nap;    /* its sleep is short */
    bool follows;   /* is in the list, */
    bool rests;     /* without being counted: it watches soon */
    bool is_chosen; /* to be woken */
    atomic_uint place;
    weft_link_t link;
    struct weft_sleeper *next; /* of those that are chosen */
} weft_sleeper_t;

atomic_int weft_sleepers;
atomic_bool weft_sleepers_news;

/* With the lock. */
static weft_sleepers_args_t its;
static weft_sleeper_t *watcher;
static weft_list_t following = {&following, &following};
static int following_count;
static unsigned watched_vcis;  /* by the watcher: those of all who follow are among them */
static int room_awaited;       /* number of things that need the packets of all VCIs */
static weft_sleeper_t *chosen; /* to be woken when the lock is given */
static int silent;             /* number of things that are awaited and ring no doorbell */
static bool must_nap;          /* the next sleep on the doorbell has to be short */

void wefti_sleepers_open(const weft_sleepers_args_t *args)
{
    its = *args;
}

static void tell(void)
{
    atomic_store_explicit(&weft_sleepers_news, true, memory_order_relaxed);
}

/* Set with the lock, or with that of a VCI alone. */
static bool is_over(const weft_sleeper_t *sleeper)
{
    return __atomic_load_n(sleeper->flag, __ATOMIC_ACQUIRE);
}

static weft_sleeper_t *sleeper_of(weft_link_t *link)
{
    return WEFT_ELEMENT(link, weft_sleeper_t, link);
}

static void begin_to_follow(weft_sleeper_t *sleeper)
{
    sleeper->follows = true;
    weft_list_append(&following, &sleeper->link);
    following_count += !sleeper->rests;
}

static void end_to_follow(weft_sleeper_t *sleeper)
{
    sleeper->follows = false;
    weft_list_unlink(&sleeper->link);
    following_count -= !sleeper->rests;
}

/* ---- waking ---- */

/* A thread that follows. */
static void choose(weft_sleeper_t *sleeper)
{
    end_to_follow(sleeper);
    sleeper->is_chosen = true;
    sleeper->next = chosen;
    chosen = sleeper;
    tell();
}

weft_wakes_t wefti_sleepers_choose(void)
{
    for (weft_link_t *at = following.next, *next; at != &following; at = next) {
        next = at->next;
        if (is_over(sleeper_of(at)))
            choose(sleeper_of(at));
    }
    weft_wakes_t wakes = {.first = chosen, .does_ring = watcher != NULL && is_over(watcher)};
    chosen = NULL;
    atomic_store_explicit(&weft_sleepers_news, false, memory_order_relaxed);
    return wakes;
}

void wefti_sleepers_wake(const weft_wakes_t *wakes)
{
    for (weft_sleeper_t *at = wakes->first, *next; at != NULL; at = next) {
        next = at->next;
        atomic_store(&at->place, IS_WOKEN);
        weft_futex_wake(&at->place); /* it may have gone on already: only the address counts */
    }
    if (wakes->does_ring)
        weft_sleepers_ring();
}

void weft_sleepers_ring(void)
{
    if (weft_fd_watch_is_used())
        weft_fd_watch_wake();
    else
        weft_doorbell_wake(its.doorbell);
}

void wefti_sleepers_look(void)
{
    for (weft_link_t *at = following.next; at != &following; at = at->next) {
        if (is_over(sleeper_of(at)))
            tell();
    }
    if (atomic_load_explicit(&weft_sleepers_news, memory_order_relaxed)) {
        weft_unlock();
        weft_lock();
    }
}

/* ---- the watcher ---- */

static unsigned needed(unsigned vcis)
{
    return room_awaited > 0 ? WEFT_ALL_VCIS : vcis;
}

static bool is_watched(unsigned vcis)
{
    return (needed(vcis) & ~watched_vcis) == 0;
}

static void end_watch(const weft_sleeper_t *self)
{
    if (watcher != self)
        return;
    watcher = NULL;
    atomic_store(&its.doorbell->is_sleeping, 0);
}

static void sleep_as_watcher(weft_sleeper_t *self, unsigned set_to, weft_fd_watch_t *watch)
{
    bool in_poll = weft_fd_watch_is_used();
    self->is_asleep = true;
    self->is_nap = silent > 0 || must_nap;
    must_nap = false;
    int64_t most_ns = self->is_nap ? NAP_NS : in_poll ? 0 : its.most_ns;
    weft_waits.sleeps++;
    weft_spread_sleeps(true);
    weft_unlock();
    if (in_poll)
        weft_fd_watch_sleep(watch, most_ns);
    else
        weft_futex_wait(&its.doorbell->is_sleeping, set_to, most_ns);
    weft_lock();
    weft_spread_sleeps(false);
}

static void fence_doorbell(void)
{
    must_nap = !wefti_doorbell_fence() || must_nap;
}

/* The doorbell is set before the last look for packets, so the sender of a packet published after
 * that look finds it set. If there was another watcher, it is rung, and finds that it is none.
 * Returns whether something has come, but for others. */
static bool watch_doorbell(weft_sleeper_t *self)
{
    weft_fd_watch_t watch;
    bool in_poll = weft_fd_watch_is_used();
    if (watcher != NULL)
        weft_sleepers_ring();
    watched_vcis = (watcher != NULL || following_count > 0 ? watched_vcis : 0) | needed(self->vcis);
    watcher = self;
    unsigned set_to = wefti_doorbell_set(its.doorbell, in_poll, watched_vcis);
    if (in_poll)
        weft_fd_watch_enter(&watch);
    fence_doorbell();
    bool has_work = its.poll_all() > 0 || is_over(self) || !is_watched(self->vcis);
    if (following_count > 0)
        tell(); /* flags may have been set without the lock */
    if (!has_work && (!in_poll || weft_fd_watch_prepare(&watch)))
        sleep_as_watcher(self, set_to, &watch);
    if (in_poll)
        weft_fd_watch_leave(&watch);
    bool has_come = has_work || atomic_load(&its.doorbell->is_sleeping) == 0;
    end_watch(self);
    return has_come && !is_over(self);
}

/* ---- those that follow ---- */

/* Have one of them watch, as it sleeps. */
static void move_to_doorbell(weft_sleeper_t *sleeper)
{
    end_to_follow(sleeper);
    watcher = sleeper;
    sleeper->is_asleep = true;
    atomic_store(&sleeper->place, ON_DOORBELL);
    weft_futex_move(&sleeper->place, ON_DOORBELL, &its.doorbell->is_sleeping);
    watched_vcis = needed(watched_vcis);
    wefti_doorbell_set(its.doorbell, false, watched_vcis);
    fence_doorbell();
    if (its.poll_all() > 0 || is_over(sleeper))
        weft_sleepers_ring();
}

static void appoint(void)
{
    if (weft_fd_watch_is_used() || silent > 0 || must_nap)
        choose(sleeper_of(following.next)); /* it will watch when it finds nothing to do */
    else
        move_to_doorbell(sleeper_of(following.next));
}

void wefti_sleepers_keep_watch(int waits)
{
    if (following_count > 0 && watcher == NULL && waits == following_count)
        appoint();
}

void weft_sleepers_step_out(void)
{
    if (following_count > 0 && (watcher == NULL || !watcher->is_asleep))
        choose(sleeper_of(following.next));
}

/* Who has chosen the thread writes to *self without the lock. */
static void await_chooser(weft_sleeper_t *self)
{
    while (self->is_chosen && atomic_load(&self->place) != IS_WOKEN) {
        weft_unlock();
        weft_futex_wait(&self->place, ON_OWN_WORD, 0);
        weft_lock();
    }
}

static void sleep_on_own_word(weft_sleeper_t *self, int64_t most_ns)
{
    begin_to_follow(self);
    if (!is_over(self)) {
        weft_waits.sleeps++;
        weft_unlock();
        weft_futex_wait(&self->place, ON_OWN_WORD, most_ns);
        weft_lock();
    }
    await_chooser(self);
    if (self->follows)
        end_to_follow(self);
    end_watch(self);
}

/* ---- */

static bool may_follow(const weft_sleeper_t *self)
{
    if (watcher == NULL)
        return false;
    bool must_watch = watcher->is_background && !self->is_background;
    bool needs_nap = (silent > 0 || must_nap) && !watcher->is_nap;
    return !must_watch && !needs_nap;
}

/* Have the doorbell rung for these, too, while the watcher sleeps, unless it was rung just now. */
static void watch_also(unsigned vcis)
{
    unsigned set_to = atomic_load(&its.doorbell->is_sleeping);
    if (set_to == 0 ||
        !atomic_compare_exchange_strong(&its.doorbell->is_sleeping, &set_to, set_to | needed(vcis)))
        return;
    watched_vcis |= needed(vcis);
    fence_doorbell();
    if (its.poll_all() > 0)
        weft_sleepers_ring(); /* there may be more */
}

bool wefti_sleep_until(const bool *flag, unsigned vcis, bool is_background)
{
    weft_sleeper_t self = {.flag = flag, .vcis = vcis, .is_background = is_background};
    bool is_in_vain = false;
    atomic_fetch_add(&weft_sleepers, 1);
    if (may_follow(&self) && !is_watched(vcis))
        watch_also(vcis);
    if (may_follow(&self) && is_watched(vcis)) /* a poll function may have given up the lock */
        sleep_on_own_word(&self, its.most_ns);
    else
        is_in_vain = watch_doorbell(&self);
    atomic_fetch_sub(&weft_sleepers, 1);
    return is_in_vain;
}

void wefti_rest_until(const bool *flag, int64_t most_ns)
{
    weft_sleeper_t self = {.flag = flag, .rests = true};
    if (silent > 0 || must_nap)
        return;
    atomic_fetch_add(&weft_sleepers, 1);
    sleep_on_own_word(&self, most_ns);
    atomic_fetch_sub(&weft_sleepers, 1);
}

void weft_progress_await_room(int more)
{
    room_awaited += more;
    if (more > 0 && watcher != NULL && !is_watched(WEFT_ALL_VCIS))
        weft_sleepers_ring();
}

void weft_progress_await_silent(int more)
{
    silent += more;
    if (more > 0 && watcher != NULL && !watcher->is_nap)
        weft_sleepers_ring();
}
