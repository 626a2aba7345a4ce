/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of kernel.cuh that differ between device and host: the host's. */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ON_HOST_CUH
#define WEFT_CUDA_KERNELS_KERNEL_ON_HOST_CUH

#include "cuda/kernels/kernel_args.h"
#include "cuda/kernels/kernel_on_host.h"

#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define WEFT_DEVICE inline
#define WEFT_DEVICE_ONCE inline
#define WEFT_UNROLL
#define WEFT_NO_UNROLL

/* The number of the thread that is running the kernel. */
struct weft_here_t {
    uint64_t thread, threads;
};
static thread_local weft_here_t weft_here;

template <class Args, void (*body)(const Args &)>
void weft_invoke(const void *args, unsigned blocks, unsigned threads)
{
    Args copy;
    memcpy(&copy, args, sizeof(copy));
    weft_here.threads = (uint64_t)blocks * threads;
    for (weft_here.thread = 0; weft_here.thread < weft_here.threads; weft_here.thread++)
        body(copy);
}

/* Each thread of a kernel that exchanges data waits for those of other ranks, which takes several
 * changes of processes where these share a core. A few threads do the work of all; the kernels of
 * all ranks have equally many. */
template <class Args, void (*body)(const Args &)>
void weft_invoke_few(const void *args, unsigned blocks, unsigned threads)
{
    const uint64_t most = 8, all = (uint64_t)blocks * threads;
    weft_invoke<Args, body>(args, 1, (unsigned)(all < most ? all : most));
}

/* A block is one thread, which does the work of all threads of the block. */
template <class Args, void (*body)(const Args &)>
void weft_invoke_blocks(const void *args, unsigned blocks, unsigned threads)
{
    (void)threads;
    weft_invoke<Args, body>(args, blocks, 1);
}

#define WEFT_KERNEL(name, args_t)          WEFT_KERNEL_BY(weft_invoke, name, args_t)
#define WEFT_EXCHANGE_KERNEL(name, args_t) WEFT_KERNEL_BY(weft_invoke_few, name, args_t)
#define WEFT_BLOCK_KERNEL(name, args_t)    WEFT_KERNEL_BY(weft_invoke_blocks, name, args_t)

#define WEFT_KERNEL_BY(invoke, name, args_t)                                                       \
    static void name(const args_t &args);                                                          \
    extern "C" {                                                                                   \
    extern const weft_kernel_on_host_t name##_on_host __attribute__((visibility("default")));      \
    const weft_kernel_on_host_t name##_on_host = {#name, sizeof(args_t),                           \
                                                  invoke<args_t, name>};                      \
    }                                                                                              \
    static void name(const args_t &args)

WEFT_DEVICE uint64_t weft_thread()
{
    return weft_here.thread;
}

WEFT_DEVICE uint64_t weft_threads()
{
    return weft_here.threads;
}

WEFT_DEVICE uint64_t weft_block()
{
    return weft_here.thread;
}

WEFT_DEVICE uint64_t weft_blocks()
{
    return weft_here.threads;
}

WEFT_DEVICE unsigned weft_block_thread()
{
    return 0;
}

WEFT_DEVICE unsigned weft_block_threads()
{
    return 1;
}

WEFT_DEVICE bool weft_block_all(bool claim)
{
    return claim;
}

/* Few tries, as the thread that is waited for may need this processor. */
enum { WEFT_TRIES_AWAKE = 1, WEFT_TRIES_TO_LOOK = 64 };

WEFT_DEVICE void weft_pause()
{
    sched_yield();
}

WEFT_DEVICE uint64_t weft_clock_ns()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

WEFT_DEVICE uint64_t weft_upper_product(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

WEFT_DEVICE void *weft_translated(const void *address)
{
    return weft_host_translate == nullptr ? (void *)address : weft_host_translate(address);
}

/* Uses memcpy, since users' memory may hold any type. A misaligned access fails, as on a device. */
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

/* Unlike on a device, the two halves of a weft_vector_t may arrive one after the other. */
template <class T> WEFT_DEVICE T weft_load_volatile(const void *address)
{
    return __atomic_load_n((T *)weft_translated(address), __ATOMIC_RELAXED);
}

template <> WEFT_DEVICE weft_vector_t weft_load_volatile<weft_vector_t>(const void *address)
{
    const uint64_t half[] = {weft_load_volatile<uint64_t>(address),
                             weft_load_volatile<uint64_t>((const char *)address + 8)};
    weft_vector_t value;
    memcpy(&value, half, sizeof(value));
    return value;
}

template <class T> WEFT_DEVICE void weft_store_volatile(void *address, T value)
{
    __atomic_store_n((T *)weft_translated(address), value, __ATOMIC_RELAXED);
}

template <> WEFT_DEVICE void weft_store_volatile<weft_vector_t>(void *address, weft_vector_t value)
{
    uint64_t half[2];
    memcpy(half, &value, sizeof(half));
    weft_store_volatile(address, half[0]);
    weft_store_volatile((void *)((char *)address + 8), half[1]);
}

template <class T> WEFT_DEVICE T weft_load_acquire(const void *address)
{
    return __atomic_load_n((T *)weft_translated(address), __ATOMIC_ACQUIRE);
}

template <class T> WEFT_DEVICE void weft_store_release(void *address, T value)
{
    __atomic_store_n((T *)weft_translated(address), value, __ATOMIC_RELEASE);
}

WEFT_DEVICE uint32_t weft_count(void *address)
{
    return __atomic_fetch_add((uint32_t *)weft_translated(address), 1u, __ATOMIC_ACQ_REL);
}

#endif
