/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the library's own. */
#ifndef WEFT_BASE_THREAD_H
#define WEFT_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/**
 * Start a thread that blocks all signals: they are for the threads of the program.
 * name         as debuggers show it, at most 15 characters; NULL: that of the process
 * stack_bytes  0: as many as threads have otherwise
 * returns      0, or an errno
 */
int weft_thread_start(const char *name, size_t stack_bytes, void *(*run)(void *), pthread_t *out);

#endif
