/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernel.cuh is made of on the host. */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ON_HOST_CUH
#define WEFT_CUDA_KERNELS_KERNEL_ON_HOST_CUH

#include "cuda/kernels/kernel_args.h"
#include "cuda/kernels/kernel_on_host.h"

#include <stdint.h>
#include <string.h>

#define WEFT_DEVICE inline

/* The thread that the kernel runs as. */
struct weft_place_t {
    uint64_t thread, threads;
};
static thread_local weft_place_t weft_place;

template <class Args, void (*body)(const Args &)>
void weft_invoke(const void *args, unsigned blocks, unsigned threads)
{
    Args copy;
    memcpy(&copy, args, sizeof(copy));
    weft_place.threads = (uint64_t)blocks * threads;
    for (weft_place.thread = 0; weft_place.thread < weft_place.threads; weft_place.thread++)
        body(copy);
}

#define WEFT_KERNEL(name, args_t)                                                                  \
    static void name(const args_t &args);                                                          \
    extern "C" {                                                                                   \
    extern const weft_kernel_on_host_t name##_on_host __attribute__((visibility("default")));      \
    const weft_kernel_on_host_t name##_on_host = {#name, sizeof(args_t),                           \
                                                  weft_invoke<args_t, name>};                      \
    }                                                                                              \
    static void name(const args_t &args)

WEFT_DEVICE uint64_t weft_thread()
{
    return weft_place.thread;
}

WEFT_DEVICE uint64_t weft_threads()
{
    return weft_place.threads;
}

WEFT_DEVICE void *weft_translated(const void *address)
{
    return weft_host_translate == nullptr ? (void *)address : weft_host_translate(address);
}

/* By memcpy: users' memory was written as any type. A device refuses what is not aligned, and so does
 * this. */
template <class T> WEFT_DEVICE T weft_load(const void *address)
{
    T value;
    if ((uintptr_t)address % alignof(T) != 0)
        __builtin_trap();
    memcpy((void *)&value, weft_translated(address), sizeof(T));
    return value;
}

template <class T> WEFT_DEVICE void weft_store(void *address, const T &value)
{
    if ((uintptr_t)address % alignof(T) != 0)
        __builtin_trap();
    memcpy(weft_translated(address), (const void *)&value, sizeof(T));
}

template <class T> WEFT_DEVICE T weft_load_volatile(const void *address)
{
    return __atomic_load_n((T *)weft_translated(address), __ATOMIC_RELAXED);
}

template <class T> WEFT_DEVICE void weft_store_volatile(void *address, T value)
{
    __atomic_store_n((T *)weft_translated(address), value, __ATOMIC_RELAXED);
}

template <class T> WEFT_DEVICE T weft_load_acquire(const void *address)
{
    return __atomic_load_n((T *)weft_translated(address), __ATOMIC_ACQUIRE);
}

template <class T> WEFT_DEVICE void weft_store_release(void *address, T value)
{
    __atomic_store_n((T *)weft_translated(address), value, __ATOMIC_RELEASE);
}

#endif
