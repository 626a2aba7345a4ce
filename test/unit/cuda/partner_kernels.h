/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels of several members that wait for each other, run on the host at the same time, and
 * operands for them. */
#ifndef TEST_UNIT_CUDA_PARTNER_KERNELS_H
#define TEST_UNIT_CUDA_PARTNER_KERNELS_H

#include "cuda/host_kernels.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_MEMBERS = 5 };

static weft_kernel_call_t calls[MOST_MEMBERS];
static _Alignas(8) uint32_t watch[MOST_MEMBERS][8];

static inline unsigned random_below(unsigned end)
{
    return random_bits() % end;
}

static inline void fill(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)random_below(256);
}

/* Random bits that are no large number and no NaN in any of the formats, since results may be
 * different NaNs. */
static inline void fill_with_numbers(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i + 1 < count; i += 2) {
        unsigned bits = 0x3c00 + random_below(0x380) + random_below(2) * 0x8000;
        bytes[i] = (unsigned char)bits;
        bytes[i + 1] = (unsigned char)(bits >> 8);
    }
}

static inline void *run_one(void *call)
{
    run_kernel(call);
    return NULL;
}

static inline void run_together(uint32_t members)
{
    pthread_t threads[MOST_MEMBERS];
    for (uint32_t i = 0; i < members; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_one, &calls[i]), 0);
    for (uint32_t i = 0; i < members; i++)
        pthread_join(threads[i], NULL);
}

/* The result of the kernel that reduces operands in memory. */
static inline void reduce_at_hand(weft_kernel_t kernel, const void *const *sources, uint32_t count,
                                  size_t bytes, void *to)
{
    weft_kernel_call_t call;
    weft_kernel_reduction_t reduction = {.kernel = kernel,
                                         .bytes = bytes,
                                         .sources = count,
                                         .destinations = 1,
                                         .source = sources,
                                         .destination = &to};
    weft_call_reduction(&reduction, 2, &call);
    run_kernel(&call);
}

/* Member 0's kernel, whose partners do not come, must end and report it. */
static inline void run_alone(uint32_t flag, bool is_called_off)
{
    memset(watch[0], 0, sizeof(watch[0]));
    if (is_called_off)
        watch[0][0] = flag;
    run_kernel(&calls[0]);
    assert_int_equal(watch[0][1], flag);
}

#endif
