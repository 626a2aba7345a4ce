/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/lock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int waiting;

void weft_lock_take(void)
{
    if (pthread_mutex_trylock(&mutex) == 0)
        return;
    atomic_fetch_add(&waiting, 1);
    pthread_mutex_lock(&mutex);
    atomic_fetch_sub(&waiting, 1);
}

void weft_lock_give(void)
{
    pthread_mutex_unlock(&mutex);
}

void weft_lock_offer(void)
{
    if (atomic_load_explicit(&waiting, memory_order_relaxed) == 0)
        return;
    pthread_mutex_unlock(&mutex);
    /* The mutex is not fair: without this the polling thread would mostly win it back. */
    sched_yield();
    weft_lock_take();
}
