/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a cache line takes from one core to another: two threads on the first two cores of the
 * process pass a number back and forth. Prints nanoseconds one way, the median of batches; 0 if
 * there is only one core. compare runs it before and after each benchmark, because virtual machines
 * move their cores.
 *
 *   cc -O2 -pthread -o line_probe line_probe.c
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 15, TRIPS = 4000, TOTAL = BATCHES * TRIPS };

/* Even: the first thread's turn; odd: the second's. It is alone in its cache line and in the next,
 * which the processor fetches with it. */
static _Alignas(128) atomic_int turn;

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void await(int value)
{
    while (atomic_load_explicit(&turn, memory_order_acquire) != value)
        ;
}

static void *answer(void *cpu)
{
    pin(*(int *)cpu);
    for (int i = 0; i < TOTAL; i++) {
        await(2 * i + 1);
        atomic_store_explicit(&turn, 2 * i + 2, memory_order_release);
    }
    return NULL;
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds one way in the batch that begins with trip `first`. */
static double time_batch(int first)
{
    double begin_ns = now_ns();

    for (int i = first; i < first + TRIPS; i++) {
        atomic_store_explicit(&turn, 2 * i + 1, memory_order_release);
        await(2 * i + 2);
    }
    return (now_ns() - begin_ns) / (2.0 * TRIPS);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The first two cores of the process's affinity mask; false if it has fewer. */
static int two_cores(int cores[2])
{
    cpu_set_t set;
    int found = 0;

    sched_getaffinity(0, sizeof(set), &set);
    for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
        if (CPU_ISSET(cpu, &set))
            cores[found++] = cpu;
    return found == 2;
}

int main(void)
{
    double batches[BATCHES];
    pthread_t other;
    int cores[2];

    if (!two_cores(cores)) {
        printf("0\n");
        return 0;
    }
    pin(cores[0]);
    if (pthread_create(&other, NULL, answer, &cores[1]) != 0)
        return 1;
    for (int i = 0; i < BATCHES; i++)
        batches[i] = time_batch(i * TRIPS);
    pthread_join(other, NULL);
    qsort(batches, BATCHES, sizeof(batches[0]), ascending);
    printf("%.1f\n", batches[BATCHES / 2]);
    return 0;
}
