/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of kernel.cuh that differ between device and host: the device's. */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ON_DEVICE_CUH
#define WEFT_CUDA_KERNELS_KERNEL_ON_DEVICE_CUH

#include "cuda/kernels/kernel_args.h"

#include <stdint.h>

#define WEFT_DEVICE __device__ __forceinline__

/** For a large function that many kernels contain and each calls once. */
#define WEFT_DEVICE_ONCE __device__ __noinline__

/** Before a loop of few turns, so that the arrays it walks over stay in registers. */
#define WEFT_UNROLL _Pragma("unroll")

/** Before other loops: by default the compiler unrolls each four times, which makes the image four
 * times as large. */
#define WEFT_NO_UNROLL _Pragma("unroll 1")

/* At least two blocks fit a multiprocessor, so a thread has 64 registers. */
#define WEFT_KERNEL(name, args_t)                                                                  \
    extern "C" __global__ void __launch_bounds__(WEFT_KERNEL_THREADS, 2)                           \
        name(const __grid_constant__ args_t args)

/* A kernel whose threads wait for those of the same kernel of other ranks. */
#define WEFT_EXCHANGE_KERNEL(name, args_t) WEFT_KERNEL(name, args_t)

/* A kernel whose threads of a block work together, by the functions for blocks below. These kernels
 * run few blocks, and a thread has 128 registers. */
#define WEFT_BLOCK_KERNEL(name, args_t)                                                            \
    extern "C" __global__ void __launch_bounds__(WEFT_KERNEL_THREADS, 1)                           \
        name(const __grid_constant__ args_t args)

/** The number of this thread among all of the launch, and the number of threads. */
WEFT_DEVICE uint64_t weft_thread()
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

WEFT_DEVICE uint64_t weft_threads()
{
    return (uint64_t)gridDim.x * blockDim.x;
}

/** The block of this thread, the number of blocks, the thread's number in the block, and the
 * threads of a block. */
WEFT_DEVICE uint64_t weft_block()
{
    return blockIdx.x;
}

WEFT_DEVICE uint64_t weft_blocks()
{
    return gridDim.x;
}

WEFT_DEVICE unsigned weft_block_thread()
{
    return threadIdx.x;
}

WEFT_DEVICE unsigned weft_block_threads()
{
    return blockDim.x;
}

/** Is the claim true for all threads of the block? All of them must call this, and what each did
 * before is visible to all afterwards. */
WEFT_DEVICE bool weft_block_all(bool claim)
{
    return __syncthreads_and(claim) != 0;
}

/* How often a waiting thread reads before it pauses for the first time, and between two reads of
 * the host's word, which go over the bus. */
enum { WEFT_TRIES_AWAKE = 64, WEFT_TRIES_TO_LOOK = 4096 };

/** Wait a little. */
WEFT_DEVICE void weft_pause()
{
    __nanosleep(40);
}

WEFT_DEVICE uint64_t weft_clock_ns()
{
    uint64_t now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

/** The upper 64 of the 128 bits of a product. */
WEFT_DEVICE uint64_t weft_upper_product(uint64_t a, uint64_t b)
{
    return __umul64hi(a, b);
}

/** Load an aligned T. All addresses that kernels get are of global memory, including the host's and
 * those of peers. The compiler is told so, and need not emit code that finds out the address
 * space. */
template <class T> WEFT_DEVICE T weft_load(const void *address)
{
    __builtin_assume(__isGlobal(address));
    return *(const T *)address;
}

template <class T> WEFT_DEVICE void weft_store(void *address, const T &value)
{
    __builtin_assume(__isGlobal(address));
    *(T *)address = value;
}

/*
 * Flags, uint32_t or uint64_t, that other devices and the host read and write meanwhile. Volatile:
 * every call reads or writes memory, in no order with other accesses; it also moves 16 bytes at
 * once. Acquire: what follows sees what was written before the flag. Release: a thread that sees
 * the flag also sees what was written before it.
 */
template <class T> WEFT_DEVICE T weft_load_volatile(const void *address)
{
    T value;
    if constexpr (sizeof(T) == 4)
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    else
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

template <> WEFT_DEVICE weft_vector_t weft_load_volatile<weft_vector_t>(const void *address)
{
    weft_vector_t value;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.word[0]), "=r"(value.word[1]), "=r"(value.word[2]),
                   "=r"(value.word[3])
                 : "l"(address)
                 : "memory");
    return value;
}

template <class T> WEFT_DEVICE void weft_store_volatile(void *address, T value)
{
    if constexpr (sizeof(T) == 4)
        asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
    else
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

template <> WEFT_DEVICE void weft_store_volatile<weft_vector_t>(void *address, weft_vector_t value)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address),
                 "r"(value.word[0]), "r"(value.word[1]), "r"(value.word[2]), "r"(value.word[3])
                 : "memory");
}

template <class T> WEFT_DEVICE T weft_load_acquire(const void *address)
{
    T value;
    if constexpr (sizeof(T) == 4)
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    else
        asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
    return value;
}

template <class T> WEFT_DEVICE void weft_store_release(void *address, T value)
{
    if constexpr (sizeof(T) == 4)
        asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
    else
        asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}

/** Add 1 to a word of this device in one step; returns what it was before. */
WEFT_DEVICE uint32_t weft_count(void *address)
{
    return atomicAdd((unsigned *)address, 1u);
}

#endif
