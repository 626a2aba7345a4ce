/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pthread_setname_np */
#include "base/thread.h"

#include <signal.h>

int weft_thread_start(const char *name, size_t stack_bytes, void *(*run)(void *), pthread_t *out)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    if (stack_bytes > 0)
        pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(out, &attributes, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error == 0 && name != NULL)
        pthread_setname_np(*out, name);
    return error;
}
