/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs whose ranks die at a moment, and whose survivors check what they see. */
#ifndef TEST_FAULT_DYING_H
#define TEST_FAULT_DYING_H

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static int world_rank;

/* Ends the process, with this text, if something is not right. */
static inline void check(int is_right, const char *format, ...)
{
    va_list args;
    if (is_right)
        return;
    va_start(args, format);
    fprintf(stderr, "rank %d: ", world_rank);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    _Exit(1);
}

static inline void die(int signal)
{
    (void)signal;
    raise(SIGKILL);
}

/* Kill this process in `us` microseconds. */
static inline void die_soon(unsigned us)
{
    struct itimerval timer = {.it_value = {.tv_usec = (int)us + 1}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &timer, NULL);
}

#endif
