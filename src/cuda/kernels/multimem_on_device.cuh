/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to a multicast address, for devices that have them: sm_90 and later.
 *
 *   WEFT_REDUCED_LOAD_16(op, instruction)   defines load(address): 16 bytes of each member,
 *                                           reduced by the switch
 *   WEFT_REDUCED_LOAD_8, _4                 the same for accesses of at most 8 or 4 bytes
 *   weft_multicast_store()                  stores 16 bytes to all members
 *   weft_multicast_signal()                 stores a number to all members; a thread that sees it
 *                                           sees what was stored before it
 *   weft_multicast_see()                    call it after a number was seen: then what others have
 *                                           stored is visible
 *
 * The device's own memory has two addresses here. Accesses by one of them are in no order with
 * accesses by the other, except across proxy fences ("fence.proxy.alias" of the PTX ISA).
 */
#ifndef WEFT_CUDA_KERNELS_MULTIMEM_ON_DEVICE_CUH
#define WEFT_CUDA_KERNELS_MULTIMEM_ON_DEVICE_CUH

#include "cuda/kernels/kernel.cuh"

#define WEFT_REDUCED_LOAD_16(op, instruction)                                                      \
    static WEFT_DEVICE weft_vector_t load(const void *address)                                     \
    {                                                                                              \
        weft_vector_t value;                                                                       \
        asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction                          \
                     " {%0, %1, %2, %3}, [%4];"                                                    \
                     : "=r"(value.word[0]), "=r"(value.word[1]), "=r"(value.word[2]),              \
                       "=r"(value.word[3])                                                         \
                     : "l"(address)                                                                \
                     : "memory");                                                                  \
        return value;                                                                              \
    }

#define WEFT_REDUCED_LOAD_8(op, instruction)                                                       \
    static WEFT_DEVICE weft_vector_t load(const void *address)                                     \
    {                                                                                              \
        weft_vector_t value;                                                                       \
        uint64_t half[2];                                                                          \
        WEFT_UNROLL for (unsigned i = 0; i < 2; i++)                                               \
            asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1];"         \
                         : "=l"(half[i])                                                           \
                         : "l"(weft_at(address, i * sizeof(half[0])))                              \
                         : "memory");                                                              \
        memcpy(&value, half, sizeof(value));                                                       \
        return value;                                                                              \
    }

#define WEFT_REDUCED_LOAD_4(op, instruction)                                                       \
    static WEFT_DEVICE weft_vector_t load(const void *address)                                     \
    {                                                                                              \
        weft_vector_t value;                                                                       \
        WEFT_UNROLL for (unsigned i = 0; i < 4; i++)                                               \
            asm volatile("multimem.ld_reduce.relaxed.sys.global." instruction " %0, [%1];"         \
                         : "=r"(value.word[i])                                                     \
                         : "l"(weft_at(address, i * sizeof(value.word[0])))                        \
                         : "memory");                                                              \
        return value;                                                                              \
    }

/* The instruction takes vectors of floats only; it moves their bits unchanged. */
WEFT_DEVICE void weft_multicast_store(void *address, const weft_vector_t &value)
{
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address),
                 "r"(value.word[0]), "r"(value.word[1]), "r"(value.word[2]), "r"(value.word[3])
                 : "memory");
}

WEFT_DEVICE void weft_multicast_signal(void *address, uint64_t number)
{
    asm volatile("fence.proxy.alias;\n\tmultimem.st.release.sys.global.u64 [%0], %1;"
                 :
                 : "l"(address), "l"(number)
                 : "memory");
}

WEFT_DEVICE void weft_multicast_see()
{
    asm volatile("fence.proxy.alias;" ::: "memory");
}

#endif
