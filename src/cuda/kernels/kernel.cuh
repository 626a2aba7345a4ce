/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions and macros that kernels are written with, so that the same text runs on a device
 * and, for tests, on the host.
 *
 *   WEFT_KERNEL(weft_reduce_sum_F32, weft_reduce_args_t)
 *   {
 *       for (uint64_t i = weft_thread(); i < args.count; i += weft_threads())
 *           weft_store<float>(to + i, weft_load<float>(from + i));
 *   }
 *
 * A kernel takes one structure, `args`, and touches global memory only through the functions below:
 * on the host they translate the address. The host runs a kernel's threads one after the other, so
 * there is no shared memory, no barrier, and no thread that waits for another of the same kernel.
 * The exception is a WEFT_BLOCK_KERNEL: the host runs each of its blocks as one thread, so the
 * threads of a block may meet in weft_block_all().
 */
#ifndef WEFT_CUDA_KERNELS_KERNEL_CUH
#define WEFT_CUDA_KERNELS_KERNEL_CUH

#include "cuda/kernels/kernel_args.h"

#include <stdint.h>
#include <string.h>

/** 16 bytes that are loaded or stored by one access. */
struct alignas(WEFT_VECTOR_BYTES) weft_vector_t {
    uint32_t word[4];
};

#ifdef WEFT_KERNELS_ON_HOST
#include "cuda/kernels/kernel_on_host.cuh"
#else
#include "cuda/kernels/kernel_on_device.cuh"
#endif

/** The team of this thread, its number in the team, and the number of teams. */
WEFT_DEVICE uint64_t weft_team()
{
    return weft_thread() / WEFT_TEAM_THREADS;
}

WEFT_DEVICE unsigned weft_stream_class()
{
    return (unsigned)(weft_thread() % WEFT_TEAM_THREADS);
}

WEFT_DEVICE uint64_t weft_teams()
{
    return weft_threads() / WEFT_TEAM_THREADS;
}

/** An address some bytes further on. */
WEFT_DEVICE const char *weft_at(const void *address, uint64_t bytes)
{
    return (const char *)address + bytes;
}

WEFT_DEVICE char *weft_at(void *address, uint64_t bytes)
{
    return (char *)address + bytes;
}

/** Load a member of a structure in global memory: weft_load_member(&list[i].start). */
template <class T> WEFT_DEVICE T weft_load_member(const T *member)
{
    return weft_load<T>(member);
}

/** Load from any address: by one access where it is aligned for T, else by bytes. */
template <class T> WEFT_DEVICE T weft_load_loose(const void *address)
{
    if ((uintptr_t)address % alignof(T) == 0)
        return weft_load<T>(address);
    T value;
    unsigned char bytes[sizeof(T)];
    for (unsigned i = 0; i < sizeof(T); i++)
        bytes[i] = weft_load<unsigned char>(weft_at(address, i));
    memcpy(&value, bytes, sizeof(T));
    return value;
}

template <class T> WEFT_DEVICE void weft_store_loose(void *address, const T &value)
{
    if ((uintptr_t)address % alignof(T) == 0) {
        weft_store(address, value);
        return;
    }
    unsigned char bytes[sizeof(T)];
    memcpy(bytes, &value, sizeof(T));
    for (unsigned i = 0; i < sizeof(T); i++)
        weft_store(weft_at(address, i), bytes[i]);
}

#endif
