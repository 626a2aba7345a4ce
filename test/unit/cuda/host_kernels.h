/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels compiled for the host, run in this process. They get addresses that no processor accepts,
 * as those of a device, so that an access which does not go through kernel.cuh ends the test.
 */
#ifndef TEST_UNIT_CUDA_HOST_KERNELS_H
#define TEST_UNIT_CUDA_HOST_KERNELS_H

#include "cuda/kernels/kernel_calls.h"
#include "cuda/kernels/kernel_on_host.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_AN_ADDRESS ((uintptr_t)1 << 62)

static const weft_kernel_on_host_t *host_kernels[WEFT_KERNEL_COUNT];

/** The kernels call this for the places of a multicast address; for tests that have such
 * addresses. */
typedef unsigned host_multicast_t(const void *address, void **places_out, unsigned most);
static host_multicast_t **host_multicast;

/* The same numbers in every run. */
static inline unsigned random_bits(void)
{
    static unsigned long long seed = 1;
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33);
}

static inline void *device_address(const void *address)
{
    return (void *)((uintptr_t)address | NOT_AN_ADDRESS);
}

static void *host_address(const void *address)
{
    if (((uintptr_t)address & NOT_AN_ADDRESS) == 0) {
        fprintf(stderr, "a kernel touched %p, which is not a device's address\n", address);
        abort();
    }
    return (void *)((uintptr_t)address & ~NOT_AN_ADDRESS);
}

static size_t args_bytes(weft_kernel_t kernel)
{
    if (kernel == WEFT_KERNEL_copy_batch)
        return sizeof(weft_copy_args_t);
    if (kernel == WEFT_KERNEL_scale)
        return sizeof(weft_scale_args_t);
    if (strncmp(weft_kernel_names[kernel], "weft_multicast", strlen("weft_multicast")) == 0)
        return sizeof(weft_multicast_args_t);
    if (kernel == WEFT_KERNEL_exchange_move || weft_kernel_element_bytes[kernel - 1] > 0)
        return sizeof(weft_exchange_args_t);
    return weft_kernel_element_bytes[kernel] > 0 ? sizeof(weft_reduce_args_t)
                                                 : sizeof(weft_move_args_t);
}

/* Every kernel of the table exists and takes the arguments that the table's users pass. */
static bool find_kernels(void *library)
{
    for (int i = 1; i < WEFT_KERNEL_COUNT; i++) {
        char symbol[128];
        snprintf(symbol, sizeof(symbol), "%s_on_host", weft_kernel_names[i]);
        host_kernels[i] = dlsym(library, symbol);
        if (host_kernels[i] == NULL ||
            host_kernels[i]->args_bytes != args_bytes((weft_kernel_t)i)) {
            fprintf(stderr, "%s is not among the kernels, or takes other arguments\n", symbol);
            return false;
        }
    }
    return true;
}

/* Returns 0; 77, which skips the test, where there is no C++ compiler to make them. */
static int open_kernels(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/simcuda/libweft_kernels_host.so", getenv("BUILD"));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("no kernels for the host: %s\n", dlerror());
        return 77;
    }
    void *(**translate)(const void *) = dlsym(library, "weft_host_translate");
    *translate = host_address;
    host_multicast = (host_multicast_t **)dlsym(library, "weft_host_multicast");
    return find_kernels(library) ? 0 : 1;
}

static inline void run_kernel(const weft_kernel_call_t *call)
{
    if (call->blocks > 0)
        host_kernels[call->kernel]->invoke(&call->args, call->blocks, call->threads);
}

#endif
