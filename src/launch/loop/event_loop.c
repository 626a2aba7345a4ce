/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/loop/event_loop.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <limits.h>
#include <sys/signalfd.h>
#include <unistd.h>

void wl_loop_open(wl_loop_t *out)
{
    *out = (wl_loop_t){.signal_fd = -1};
    weft_list_init(&out->timers);
    weft_list_init(&out->children);
}

void wl_loop_close(wl_loop_t *loop)
{
    if (loop->signal_fd >= 0)
        close(loop->signal_fd);
    weft_free(loop->watches);
    weft_free(loop->polls);
    weft_free(loop->slots);
    wl_loop_open(loop);
}

/* ---- File descriptors ---- */

static bool grow_watches(wl_loop_t *loop)
{
    if (loop->count < loop->capacity)
        return true;
    int capacity = 2 * loop->capacity + 32;
    wl_watch_t *watches = weft_realloc(loop->watches, (size_t)capacity * sizeof(*watches));
    if (watches != NULL)
        loop->watches = watches;
    struct pollfd *polls = weft_realloc(loop->polls, (size_t)capacity * sizeof(*polls));
    if (polls != NULL)
        loop->polls = polls;
    if (watches == NULL || polls == NULL)
        return false;
    loop->capacity = capacity;
    return true;
}

static bool grow_slots(wl_loop_t *loop, int fd)
{
    if (fd < loop->slot_capacity)
        return true;
    int capacity = 2 * fd + 32;
    int *slots = weft_realloc(loop->slots, (size_t)capacity * sizeof(*slots));
    if (slots == NULL)
        return false;
    for (int i = loop->slot_capacity; i < capacity; i++)
        slots[i] = -1;
    loop->slots = slots;
    loop->slot_capacity = capacity;
    return true;
}

static int loop_find_slot(const wl_loop_t *loop, int fd)
{
    return fd >= 0 && fd < loop->slot_capacity ? loop->slots[fd] : -1;
}

int wl_loop_add(wl_loop_t *loop, int fd, short events, wl_watch_fn_t fn, void *owner)
{
    if (!grow_watches(loop) || !grow_slots(loop, fd))
        return weft_fail(MPI_ERR_NO_MEM, "%d watched files", loop->count);
    int slot = loop->count++;
    loop->watches[slot] = (wl_watch_t){.fd = fd, .fn = fn, .owner = owner};
    loop->slots[fd] = slot;
    wl_loop_set(loop, fd, events);
    return MPI_SUCCESS;
}

void wl_loop_set(wl_loop_t *loop, int fd, short events)
{
    int slot = loop_find_slot(loop, fd);
    if (slot < 0)
        return;
    loop->watches[slot].events = events;
    /* poll() reports a hang-up even if nothing is asked; what we do not wait for is left out. */
    loop->polls[slot] = (struct pollfd){.fd = events == 0 ? -1 : fd, .events = events};
}

void wl_loop_remove(wl_loop_t *loop, int fd)
{
    int slot = loop_find_slot(loop, fd);
    if (slot < 0)
        return;
    wl_loop_set(loop, fd, 0);
    loop->slots[fd] = -1;
    loop->watches[slot].fd = -1; /* the place is taken back in the next turn */
    loop->removed++;
}

static void drop_removed(wl_loop_t *loop)
{
    int kept = 0;
    for (int i = 0; i < loop->count && loop->removed > 0; i++) {
        const wl_watch_t watch = loop->watches[i];
        if (watch.fd < 0)
            continue;
        loop->watches[kept] = watch;
        loop->polls[kept] = loop->polls[i];
        loop->slots[watch.fd] = kept++;
    }
    if (loop->removed > 0)
        loop->count = kept;
    loop->removed = 0;
}

/* Functions may add watches, which stand behind `count`, and remove some, which stay in place. */
static void call_ready(wl_loop_t *loop)
{
    for (int i = 0, count = loop->count; i < count; i++) {
        const wl_watch_t watch = loop->watches[i];
        short ready = loop->polls[i].revents;
        if (ready != 0 && watch.fd >= 0 && watch.events != 0 && watch.fn != NULL)
            watch.fn(watch.owner, ready);
    }
}

/* ---- Times ---- */

void wl_timer_init(wl_timer_t *timer, wl_timer_fn_t fn, void *owner)
{
    *timer = (wl_timer_t){.fn = fn, .owner = owner};
}

void wl_timer_stop(wl_timer_t *timer)
{
    if (timer->link.next != NULL)
        weft_list_remove(&timer->link);
}

void wl_timer_set(wl_loop_t *loop, wl_timer_t *timer, int64_t at_ms)
{
    wl_timer_stop(timer);
    timer->at_ms = at_ms;
    if (at_ms != INT64_MAX)
        weft_list_append(&loop->timers, &timer->link);
}

void wl_timer_hasten(wl_loop_t *loop, wl_timer_t *timer, int64_t at_ms)
{
    bool runs = timer->link.next != NULL && timer->link.next != &timer->link;
    if (!runs || at_ms < timer->at_ms)
        wl_timer_set(loop, timer, at_ms);
}

/* NULL: no timer runs. They are few. */
static wl_timer_t *next_timer(const wl_loop_t *loop)
{
    wl_timer_t *next = NULL;
    for (weft_link_t *link = loop->timers.next; link != &loop->timers; link = link->next) {
        wl_timer_t *timer = WEFT_ELEMENT(link, wl_timer_t, link);
        if (next == NULL || timer->at_ms < next->at_ms)
            next = timer;
    }
    return next;
}

/* A timer that its function sets again for a time that is over waits for the next turn. */
static void call_timers(wl_loop_t *loop)
{
    weft_list_t due;
    int64_t now = weft_clock_ms();
    weft_list_init(&due);
    for (wl_timer_t *timer; (timer = next_timer(loop)) != NULL && timer->at_ms <= now;) {
        weft_list_remove(&timer->link);
        weft_list_append(&due, &timer->link);
    }
    for (weft_link_t *link; (link = weft_list_pop(&due)) != NULL;) {
        const wl_timer_t *timer = WEFT_ELEMENT(link, wl_timer_t, link);
        timer->fn(timer->owner);
    }
}

static void arm_quiet(wl_loop_t *loop)
{
    wl_timer_set(loop, &loop->quiet,
                 loop->quiet_ms > 0 ? weft_clock_ms() + loop->quiet_ms : INT64_MAX);
}

static void loop_is_quiet(void *owner)
{
    wl_loop_t *loop = owner;
    arm_quiet(loop);
    loop->on_quiet(loop->quiet_owner);
}

void wl_loop_set_quiet(wl_loop_t *loop, int ms, wl_timer_fn_t fn, void *owner)
{
    wl_timer_stop(&loop->quiet);
    wl_timer_init(&loop->quiet, loop_is_quiet, loop);
    loop->quiet_ms = ms;
    loop->on_quiet = fn;
    loop->quiet_owner = owner;
    arm_quiet(loop);
}

/* ---- Signals and children ---- */

static void call_child_watches(const wl_loop_t *loop, pid_t first)
{
    for (weft_link_t *link = loop->children.next, *after; link != &loop->children; link = after) {
        const wl_child_watch_t *watch = WEFT_ELEMENT(link, wl_child_watch_t, link);
        after = link->next;
        watch->fn(watch->owner, first);
    }
}

static void signals_ready(void *owner, short ready)
{
    wl_loop_t *loop = owner;
    struct signalfd_siginfo info;
    (void)ready;
    while (read(loop->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            call_child_watches(loop, (pid_t)info.ssi_pid);
        else
            loop->on_signal(loop->signal_owner, (int)info.ssi_signo);
    }
}

int wl_loop_open_signals(wl_loop_t *loop, const int more[], wl_signal_fn_t fn, void *owner)
{
    static const int handled[] = {SIGCHLD, SIGINT, SIGTERM, SIGQUIT, 0};
    struct sigaction hang_up;
    sigset_t set;
    sigemptyset(&set);
    for (const int *each = handled; *each != 0; each++)
        sigaddset(&set, *each);
    for (const int *each = more; *each != 0; each++)
        sigaddset(&set, *each);
    sigaction(SIGHUP, NULL, &hang_up);
    if (hang_up.sa_handler != SIG_IGN)
        sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* If it was ignored when we were started, the kernel would reap our children, and no signal
     * would tell of their ends. */
    signal(SIGCHLD, SIG_DFL);
    loop->on_signal = fn;
    loop->signal_owner = owner;
    loop->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->signal_fd < 0)
        return weft_fail(MPI_ERR_SPAWN, "signals cannot be received");
    return wl_loop_add(loop, loop->signal_fd, POLLIN, signals_ready, loop);
}

void wl_loop_add_child_watch(wl_loop_t *loop, wl_child_watch_t *watch, wl_child_fn_t fn,
                             void *owner)
{
    *watch = (wl_child_watch_t){.fn = fn, .owner = owner};
    weft_list_append(&loop->children, &watch->link);
}

void wl_loop_remove_child_watch(wl_child_watch_t *watch)
{
    if (watch->link.next != NULL)
        weft_list_remove(&watch->link);
}

/* ---- The turn ---- */

static int loop_wait_ms(const wl_loop_t *loop, int64_t most_ms)
{
    const wl_timer_t *timer = next_timer(loop);
    int64_t left = timer == NULL ? INT64_MAX : timer->at_ms - weft_clock_ms();
    if (most_ms >= 0 && most_ms < left)
        left = most_ms;
    if (left < 0)
        return 0;
    return left == INT64_MAX ? -1 : left > INT_MAX ? INT_MAX : (int)left;
}

int wl_loop_turn(wl_loop_t *loop, int64_t most_ms)
{
    drop_removed(loop);
    int ready = poll(loop->polls, (nfds_t)loop->count, loop_wait_ms(loop, most_ms));
    if (ready > 0) {
        arm_quiet(loop);
        call_ready(loop);
    }
    call_timers(loop);
    return ready > 0 ? ready : 0;
}
