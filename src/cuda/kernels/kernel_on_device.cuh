/* SPDX-License-Identifier: BSD-3-Clause */
/* What kernel.cuh is made of on a device. */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ON_DEVICE_CUH
#define WEFT_CUDA_KERNELS_KERNEL_ON_DEVICE_CUH

#include "cuda/kernels/kernel_args.h"

#include <stdint.h>

#define WEFT_DEVICE __device__ __forceinline__

/** Before a loop of few turns, so that arrays it runs over stay in registers. */
#define WEFT_UNROLL _Pragma("unroll")

/** Before others: left alone, each becomes four, and the image four times as large. */
#define WEFT_UNROLL_2  _Pragma("unroll 2")
#define WEFT_NO_UNROLL _Pragma("unroll 1")

#define WEFT_KERNEL(name, args_t)                                                                  \
    extern "C" __global__ void __launch_bounds__(WEFT_KERNEL_THREADS)                              \
        name(const __grid_constant__ args_t args)

/** This thread's number among all of the launch, and how many there are. */
WEFT_DEVICE uint64_t weft_thread()
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

WEFT_DEVICE uint64_t weft_threads()
{
    return (uint64_t)gridDim.x * blockDim.x;
}

/** The upper 64 of the 128 bits of a product. */
WEFT_DEVICE uint64_t weft_upper_product(uint64_t a, uint64_t b)
{
    return __umul64hi(a, b);
}

/** Aligned as T asks for. */
template <class T> WEFT_DEVICE T weft_load(const void *address)
{
    return *(const T *)address;
}

template <class T> WEFT_DEVICE void weft_store(void *address, const T &value)
{
    *(T *)address = value;
}

/*
 * Flags, uint32_t or uint64_t, that other devices and the host read and write meanwhile. Volatile:
 * every call reads or writes memory, in no order with other accesses. Acquire: what follows sees
 * what was written before the flag. Release: whoever sees the flag sees what was written before it.
 */
template <class T> WEFT_DEVICE T weft_load_volatile(const void *address)
{
    return *(const volatile T *)address;
}

template <class T> WEFT_DEVICE void weft_store_volatile(void *address, T value)
{
    *(volatile T *)address = value;
}

template <class T> WEFT_DEVICE T weft_load_acquire(const void *address)
{
    T value = weft_load_volatile<T>(address);
    __threadfence_system();
    return value;
}

template <class T> WEFT_DEVICE void weft_store_release(void *address, T value)
{
    __threadfence_system();
    weft_store_volatile(address, value);
}

#endif
