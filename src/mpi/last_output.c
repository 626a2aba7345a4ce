/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "mpi/last_output.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <sys/time.h>

enum { PATIENCE_S = 1 };

static pthread_t flusher;
static sigjmp_buf patience_ends;

/* The timer is of the process: the signal may reach any thread. */
static void patience_is_over(int number)
{
    if (pthread_equal(pthread_self(), flusher))
        siglongjmp(patience_ends, 1);
    pthread_kill(flusher, number);
}

static void set_timer(void)
{
    struct sigaction action = {.sa_handler = patience_is_over, .sa_flags = SA_RESTART};
    struct itimerval timer = {.it_value.tv_sec = PATIENCE_S};
    sigset_t alarm;
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* A pipe that can be written to takes PIPE_BUF bytes at once. */
static bool takes_all(FILE *file)
{
    struct pollfd output = {.fd = fileno(file), .events = POLLOUT};
    return __fpending(file) <= PIPE_BUF && poll(&output, 1, 0) == 1 && output.revents == POLLOUT;
}

static void flush_unless_it_waits(FILE *file)
{
    if (ftrylockfile(file) != 0)
        return;
    if (takes_all(file))
        fflush(file);
    funlockfile(file);
}

void weft_flush_last_output(void)
{
    static atomic_flag has_begun = ATOMIC_FLAG_INIT;
    struct timespec patience = {.tv_sec = PATIENCE_S};
    if (atomic_flag_test_and_set(&has_begun)) {
        nanosleep(&patience, NULL); /* another thread is about to end the process */
        return;
    }
    flusher = pthread_self();
    if (sigsetjmp(patience_ends, 1) == 0) {
        set_timer();
        /* First, since the other streams may include one that is locked for ever. */
        flush_unless_it_waits(stdout);
        flush_unless_it_waits(stderr);
        fflush(NULL);
    }
    signal(SIGALRM, SIG_IGN);
}
