/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop of mpirun and its daemons: what happens on a file descriptor, a signal, the end of
 * a child or a time calls a function. One thread uses a loop, and no function of the loop blocks
 * but wl_loop_turn(). A function that is called may add and remove watches, its own included, and
 * close their descriptors; it may not take a turn of the loop.
 *
 *   wl_loop_turn:  poll -> functions of ready descriptors (signals are one) -> functions of timers
 */
#ifndef WEFT_LAUNCH_LOOP_EVENT_LOOP_H
#define WEFT_LAUNCH_LOOP_EVENT_LOOP_H

#include "base/list.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** `ready` is what poll() said: POLLIN, POLLOUT, POLLHUP, POLLERR. */
typedef void (*wl_watch_fn_t)(void *owner, short ready);
typedef void (*wl_timer_fn_t)(void *owner);
typedef void (*wl_signal_fn_t)(void *owner, int signal_number);
/** SIGCHLD has come, for `first` and perhaps, as signals of one kind are merged, for others too. */
typedef void (*wl_child_fn_t)(void *owner, pid_t first);

/** A time at which a function is called, once. Part of its owner; its address may not change while
 *  it runs. */
typedef struct wl_timer {
    weft_link_t link; /* in the loop's list while it runs */
    int64_t at_ms;    /* on weft_clock_ms() */
    wl_timer_fn_t fn;
    void *owner;
} wl_timer_t;

/** Who wants to know of the end of children. Part of its owner. */
typedef struct wl_child_watch {
    weft_link_t link;
    wl_child_fn_t fn;
    void *owner;
} wl_child_watch_t;

typedef struct wl_watch {
    int fd;       /* -1: removed */
    short events; /* that are waited for; 0: none, and no hang-up either */
    wl_watch_fn_t fn;
    void *owner;
} wl_watch_t;

typedef struct wl_loop {
    wl_watch_t *watches;  /* [count of capacity] */
    struct pollfd *polls; /* the same */
    int count, capacity, removed;
    int *slots; /* [slot_capacity] index of the watch of each descriptor; -1: none */
    int slot_capacity;
    weft_list_t timers;   /* of wl_timer_t */
    weft_list_t children; /* of wl_child_watch_t */
    int signal_fd;        /* -1: signals are not received */
    wl_signal_fn_t on_signal;
    void *signal_owner;
    wl_timer_t quiet;
    int quiet_ms;
    wl_timer_fn_t on_quiet;
    void *quiet_owner;
} wl_loop_t;

/** An empty loop; its address may not change from here on. */
void wl_loop_open(wl_loop_t *out);

/** Close what the loop has opened. Watched descriptors stay open. */
void wl_loop_close(wl_loop_t *loop);

/* ---- File descriptors ---- */

/**
 * Call `fn` when one of `events` (POLLIN, POLLOUT), a hang-up or an error is there; again in each
 * turn while it is. Regular files are always ready. A descriptor has one watch at most.
 * fn       NULL: nothing is called; the turn ends, and its caller looks what is there
 * returns  MPI_SUCCESS; MPI_ERR_NO_MEM
 */
int wl_loop_add(wl_loop_t *loop, int fd, short events, wl_watch_fn_t fn, void *owner);

/** Wait for other events on a watched descriptor; 0: for nothing at all, until this is called
 *  again. Does nothing if it is not watched. */
void wl_loop_set(wl_loop_t *loop, int fd, short events);

/** To be called before the descriptor is closed. Does nothing if it is not watched. */
void wl_loop_remove(wl_loop_t *loop, int fd);

/* ---- Times ---- */

void wl_timer_init(wl_timer_t *timer, wl_timer_fn_t fn, void *owner);

/** Call the timer's function at `at_ms` in place of any time set before; INT64_MAX: never. */
void wl_timer_set(wl_loop_t *loop, wl_timer_t *timer, int64_t at_ms);

/** The same, but a time set before stays if it is earlier. */
void wl_timer_hasten(wl_loop_t *loop, wl_timer_t *timer, int64_t at_ms);

void wl_timer_stop(wl_timer_t *timer);

/** Call `fn` whenever no descriptor has been ready for `ms` milliseconds; 0: do not. A loop has one
 *  such function. */
void wl_loop_set_quiet(wl_loop_t *loop, int ms, wl_timer_fn_t fn, void *owner);

/* ---- Signals and children ---- */

/**
 * Receive SIGCHLD, SIGINT, SIGTERM, SIGQUIT, SIGHUP unless it is ignored (nohup), and those of
 * `more`, which ends with 0. They are blocked from now on; threads started later inherit that.
 * SIGCHLD gets its default action, in this process and in those that it starts: POSIX does not say
 * whether a program that is executed with SIGCHLD ignored finds it so, and where it does, its
 * system() and waitpid() fail. Once in a loop, before there are children.
 * fn       gets all but SIGCHLD, which goes to those who watch children
 * returns  MPI_SUCCESS; MPI_ERR_SPAWN; MPI_ERR_NO_MEM
 */
int wl_loop_open_signals(wl_loop_t *loop, const int more[], wl_signal_fn_t fn, void *owner);

void wl_loop_add_child_watch(wl_loop_t *loop, wl_child_watch_t *watch, wl_child_fn_t fn,
                             void *owner);
/** Does nothing to a watch that is all zeros or was removed. */
void wl_loop_remove_child_watch(wl_child_watch_t *watch);

/* ---- The turn ---- */

/** Wait until a descriptor is ready, a timer is due or `most_ms` are over (-1: no limit), and call
 *  what is to be called. Returns how many descriptors were ready. */
int wl_loop_turn(wl_loop_t *loop, int64_t most_ms);

#endif
