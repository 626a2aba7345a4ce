/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels compiled for the host, for tests: libweft_kernels_host.so. It exports, for each kernel,
 * an object named <kernel's name>_on_host of the type below.
 */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ON_HOST_H
#define WEFT_CUDA_KERNELS_KERNEL_ON_HOST_H

#include <stddef.h>

typedef struct weft_kernel_on_host {
    const char *name;
    size_t args_bytes;
    /** Run blocks * threads threads, one after the other; `args` has args_bytes bytes. Several
     * threads of the host may call this at once. */
    void (*invoke)(const void *args, unsigned blocks, unsigned threads);
} weft_kernel_on_host_t;

#ifdef __cplusplus
extern "C" {
#endif

/** Translates every address that a kernel touches; NULL: addresses are used as they are. Set it
 * before any kernel runs. An access has at most 16 bytes and never crosses a multiple of 16. */
extern void *(*weft_host_translate)(const void *device_address)
    __attribute__((visibility("default")));

/** Writes to `places_out` where an address of multicast memory lies in the memory of each member,
 * at most `most` places, and returns how many there are. The places need no further translation.
 * NULL: there is no multicast memory. */
extern unsigned (*weft_host_multicast)(const void *device_address, void **places_out, unsigned most)
    __attribute__((visibility("default")));

#ifdef __cplusplus
}
#endif

#endif
