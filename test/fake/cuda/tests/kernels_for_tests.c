/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of the simulator's own tests, as src/cuda/kernels makes them for the host. */
#include "kernels_for_tests.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

typedef struct kernel {
    const char *name;
    size_t args_bytes;
    void (*invoke)(const void *args, unsigned blocks, unsigned threads);
} kernel_t;

EXPORTED void *(*weft_host_translate)(const void *address);

static int load(uint64_t address)
{
    return *(int *)weft_host_translate((void *)address);
}

static void store(uint64_t address, int value)
{
    *(int *)weft_host_translate((void *)address) = value;
}

/* to[i] += from[i], a thread an element. */
static void add(const void *given, unsigned blocks, unsigned threads)
{
    const add_args_t *args = given;
    for (uint64_t i = 0; i < (uint64_t)blocks * threads && i < args->count; i++)
        store(args->to + 4 * i, load(args->to + 4 * i) + load(args->from + 4 * i));
}

EXPORTED const kernel_t test_add_on_host = {"test_add", sizeof(add_args_t), add};

/* Waits until a flag in memory has a value. */
static void spin(const void *given, unsigned blocks, unsigned threads)
{
    const spin_args_t *args = given;
    (void)blocks, (void)threads;
    _Atomic int *flag = weft_host_translate((void *)args->flag);
    while (atomic_load(flag) != args->value)
        sched_yield();
}

EXPORTED const kernel_t test_spin_on_host = {"test_spin", sizeof(spin_args_t), spin};
