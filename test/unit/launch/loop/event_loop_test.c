/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2 */
#include "launch/loop/event_loop.h"

#include "base/clock.h"
#include "mpi.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PIPES = 40 /* more than the loop's first room */ };

typedef struct counter {
    wl_loop_t *loop;
    int fd, other_fd; /* other_fd: to be removed when we are called; -1: none */
    int calls;
    short ready;
} counter_t;

static void count_call(void *owner, short ready)
{
    counter_t *counter = owner;
    counter->calls++;
    counter->ready = ready;
    if (counter->other_fd >= 0)
        wl_loop_remove(counter->loop, counter->other_fd);
}

static void watch_pipe(wl_loop_t *loop, counter_t *counter, int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    *counter = (counter_t){.loop = loop, .fd = ends[0], .other_fd = -1};
    assert_int_equal(wl_loop_add(loop, ends[0], POLLIN, count_call, counter), MPI_SUCCESS);
}

static void put_byte(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

static void ready_ones_are_called(void **state)
{
    wl_loop_t loop;
    counter_t counters[PIPES];
    int ends[PIPES][2];
    (void)state;
    wl_loop_open(&loop);
    for (int i = 0; i < PIPES; i++)
        watch_pipe(&loop, &counters[i], ends[i]);
    for (int i = 0; i < PIPES; i += 3)
        put_byte(ends[i][1]);
    assert_int_equal(wl_loop_turn(&loop, 0), (PIPES + 2) / 3);
    for (int i = 0; i < PIPES; i++)
        assert_int_equal(counters[i].calls, i % 3 == 0);
    wl_loop_turn(&loop, 0); /* what was not read is ready again */
    assert_int_equal(counters[0].calls, 2);
    for (int i = 0; i < PIPES; i++) {
        close(ends[i][0]);
        close(ends[i][1]);
    }
    wl_loop_close(&loop);
}

/* Of two that are ready, the one called first removes the other. */
static void removed_ones_are_not_called(void **state)
{
    wl_loop_t loop;
    counter_t a, b;
    int a_ends[2], b_ends[2];
    (void)state;
    wl_loop_open(&loop);
    watch_pipe(&loop, &a, a_ends);
    watch_pipe(&loop, &b, b_ends);
    a.other_fd = b.fd;
    b.other_fd = a.fd;
    put_byte(a_ends[1]);
    put_byte(b_ends[1]);
    wl_loop_turn(&loop, 0);
    wl_loop_turn(&loop, 0);
    assert_int_equal(a.calls + b.calls, 2);
    assert_true(a.calls == 0 || b.calls == 0);
    wl_loop_remove(&loop, a.fd);
    wl_loop_remove(&loop, b.fd); /* the second time, for one of them */
    wl_loop_turn(&loop, 0);
    assert_int_equal(a.calls + b.calls, 2);
    wl_loop_close(&loop);
}

typedef struct replacer {
    counter_t counter; /* gets the old number */
    wl_loop_t *loop;
    int old_fd, new_fd;
} replacer_t;

/* Close a descriptor that is ready too, and watch another one with its number. */
static void replace_other(void *owner, short ready)
{
    replacer_t *replacer = owner;
    (void)ready;
    wl_loop_remove(replacer->loop, replacer->old_fd);
    assert_int_equal(dup2(replacer->new_fd, replacer->old_fd), replacer->old_fd);
    assert_int_equal(
        wl_loop_add(replacer->loop, replacer->old_fd, POLLIN, count_call, &replacer->counter),
        MPI_SUCCESS);
}

static void new_one_with_an_old_number_is_not_ready(void **state)
{
    wl_loop_t loop;
    counter_t old;
    int first[2], second[2], empty[2];
    (void)state;
    wl_loop_open(&loop);
    assert_int_equal(pipe2(first, O_CLOEXEC), 0);
    assert_int_equal(pipe2(empty, O_CLOEXEC), 0);
    replacer_t replacer = {.loop = &loop, .new_fd = empty[0], .counter.other_fd = -1};
    assert_int_equal(wl_loop_add(&loop, first[0], POLLIN, replace_other, &replacer), MPI_SUCCESS);
    watch_pipe(&loop, &old, second);
    replacer.old_fd = second[0];
    put_byte(first[1]);
    put_byte(second[1]);
    wl_loop_turn(&loop, 0);
    wl_loop_remove(&loop, first[0]);
    assert_int_equal(old.calls, 0);
    assert_int_equal(replacer.counter.calls, 0);
    put_byte(empty[1]);
    wl_loop_turn(&loop, 0);
    assert_int_equal(replacer.counter.calls, 1);
    wl_loop_close(&loop);
}

static void hang_up_is_told_to_those_who_wait(void **state)
{
    wl_loop_t loop;
    counter_t counter;
    int ends[2];
    (void)state;
    wl_loop_open(&loop);
    watch_pipe(&loop, &counter, ends);
    wl_loop_set(&loop, counter.fd, 0);
    close(ends[1]);
    assert_int_equal(wl_loop_turn(&loop, 0), 0);
    assert_int_equal(counter.calls, 0);
    wl_loop_set(&loop, counter.fd, POLLIN);
    assert_int_equal(wl_loop_turn(&loop, -1), 1);
    assert_int_equal(counter.ready & POLLHUP, POLLHUP);
    wl_loop_close(&loop);
}

typedef struct clockwork {
    wl_loop_t *loop;
    wl_timer_t timer, *victim;
    int calls, again_ms; /* again_ms: set again for so much later; INT_MAX: not */
    int *order;
} clockwork_t;

static void tick(void *owner)
{
    clockwork_t *clockwork = owner;
    clockwork->calls = ++*clockwork->order;
    if (clockwork->again_ms != INT32_MAX)
        wl_timer_set(clockwork->loop, &clockwork->timer, weft_clock_ms() + clockwork->again_ms);
    if (clockwork->victim != NULL)
        wl_timer_stop(clockwork->victim);
}

static clockwork_t make_clockwork(wl_loop_t *loop, int *order)
{
    return (clockwork_t){.loop = loop, .again_ms = INT32_MAX, .order = order};
}

static void timers_come_in_order(void **state)
{
    wl_loop_t loop;
    int order = 0;
    (void)state;
    wl_loop_open(&loop);
    clockwork_t late = make_clockwork(&loop, &order), early = late, stopped = late, never = late;
    wl_timer_init(&late.timer, tick, &late);
    wl_timer_init(&early.timer, tick, &early);
    wl_timer_init(&stopped.timer, tick, &stopped);
    wl_timer_init(&never.timer, tick, &never);
    int64_t now = weft_clock_ms();
    early.victim = &stopped.timer;
    wl_timer_set(&loop, &late.timer, now - 1);
    wl_timer_set(&loop, &stopped.timer, now);
    wl_timer_set(&loop, &early.timer, now + 1000000);
    wl_timer_set(&loop, &early.timer, now - 2); /* replaces the time before */
    wl_timer_set(&loop, &never.timer, INT64_MAX);
    wl_loop_turn(&loop, -1);
    assert_int_equal(early.calls, 1);
    assert_int_equal(late.calls, 2);
    assert_int_equal(stopped.calls, 0);
    assert_int_equal(never.calls, 0);
    wl_loop_close(&loop);
}

static void a_timer_that_is_always_due_does_not_keep_the_loop(void **state)
{
    wl_loop_t loop;
    int order = 0;
    (void)state;
    wl_loop_open(&loop);
    clockwork_t always = make_clockwork(&loop, &order);
    always.again_ms = 0;
    wl_timer_init(&always.timer, tick, &always);
    wl_timer_set(&loop, &always.timer, 0);
    wl_loop_turn(&loop, -1);
    assert_int_equal(always.calls, 1);
    wl_loop_turn(&loop, -1);
    assert_int_equal(always.calls, 2);
    wl_loop_close(&loop);
}

static void count_quiet(void *owner)
{
    ++*(int *)owner;
}

static void quiet_comes_again_and_ends(void **state)
{
    wl_loop_t loop;
    int calls = 0;
    (void)state;
    wl_loop_open(&loop);
    wl_loop_set_quiet(&loop, 1, count_quiet, &calls);
    while (calls < 3)
        assert_int_equal(wl_loop_turn(&loop, -1), 0);
    wl_loop_set_quiet(&loop, 0, NULL, NULL);
    assert_int_equal(wl_loop_turn(&loop, 5), 0);
    assert_int_equal(calls, 3);
    wl_loop_close(&loop);
}

static void note_signal(void *owner, int signal_number)
{
    *(int *)owner = signal_number;
}

static void note_child(void *owner, pid_t first)
{
    *(pid_t *)owner = first;
}

/* In a process of its own, since the signals stay blocked. */
static _Noreturn void receive_signals(void)
{
    static const int more[] = {SIGUSR1, 0};
    wl_loop_t loop;
    wl_child_watch_t a = {0}, b = {0};
    int signal_number = 0;
    pid_t by_a = 0, by_b = 0;
    wl_loop_open(&loop);
    wl_loop_remove_child_watch(&a); /* was never added */
    wl_loop_add_child_watch(&loop, &a, note_child, &by_a);
    wl_loop_add_child_watch(&loop, &b, note_child, &by_b);
    if (wl_loop_open_signals(&loop, more, note_signal, &signal_number) != MPI_SUCCESS)
        _exit(1);
    raise(SIGUSR1);
    wl_loop_turn(&loop, -1);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    while (by_a == 0)
        wl_loop_turn(&loop, -1);
    wl_loop_remove_child_watch(&b);
    waitpid(child, NULL, 0);
    _exit(signal_number == SIGUSR1 && by_a == child && by_b == child ? 0 : 2);
}

static void signals_and_children_are_told(void **state)
{
    int status;
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        receive_signals();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ready_ones_are_called),
        cmocka_unit_test(removed_ones_are_not_called),
        cmocka_unit_test(new_one_with_an_old_number_is_not_ready),
        cmocka_unit_test(hang_up_is_told_to_those_who_wait),
        cmocka_unit_test(timers_come_in_order),
        cmocka_unit_test(a_timer_that_is_always_due_does_not_keep_the_loop),
        cmocka_unit_test(quiet_comes_again_and_ends),
        cmocka_unit_test(signals_and_children_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
