/* SPDX-License-Identifier: BSD-3-Clause */
/* Units of 16 bytes of memory at any address: moved by one access where the address is aligned,
 * else by words or bytes. */
#ifndef WEFT_CUDA_KERNELS_UNIT_CUH
#define WEFT_CUDA_KERNELS_UNIT_CUH

#include "cuda/kernels/kernel.cuh"

/* How many of a block's bytes are in this unit; the last unit may be short. */
WEFT_DEVICE unsigned weft_unit_bytes(uint64_t unit, uint64_t bytes)
{
    const uint64_t left = bytes - unit * WEFT_UNIT_BYTES;
    return left < WEFT_UNIT_BYTES ? (unsigned)left : (unsigned)WEFT_UNIT_BYTES;
}

WEFT_DEVICE uint32_t weft_load_word(const char *from, unsigned bytes)
{
    uint32_t word = 0;
    if (bytes == sizeof(word) && (uintptr_t)from % sizeof(word) == 0)
        return weft_load<uint32_t>(from);
    WEFT_NO_UNROLL for (unsigned i = 0; i < bytes; i++)
        word |= (uint32_t)weft_load<unsigned char>(from + i) << 8 * i;
    return word;
}

WEFT_DEVICE void weft_store_word(char *to, uint32_t word, unsigned bytes)
{
    if (bytes == sizeof(word) && (uintptr_t)to % sizeof(word) == 0) {
        weft_store(to, word);
        return;
    }
    WEFT_NO_UNROLL for (unsigned i = 0; i < bytes; i++)
        weft_store(to + i, (unsigned char)(word >> 8 * i));
}

/* How many of a unit's `bytes` bytes are in its word `index`. */
WEFT_DEVICE unsigned weft_word_bytes(unsigned index, unsigned bytes)
{
    const unsigned before = index * (unsigned)sizeof(uint32_t);
    const unsigned left = bytes > before ? bytes - before : 0;
    return left < sizeof(uint32_t) ? left : (unsigned)sizeof(uint32_t);
}

WEFT_DEVICE weft_vector_t weft_load_packed(const char *from, unsigned bytes)
{
    weft_vector_t unit;
    if (bytes == sizeof(unit) && (uintptr_t)from % sizeof(unit) == 0)
        return weft_load<weft_vector_t>(from);
    WEFT_UNROLL for (unsigned i = 0; i < 4; i++) unit.word[i] =
        weft_load_word(from + i * sizeof(uint32_t), weft_word_bytes(i, bytes));
    return unit;
}

WEFT_DEVICE void weft_store_packed(char *to, const weft_vector_t &unit, unsigned bytes)
{
    if (bytes == sizeof(unit) && (uintptr_t)to % sizeof(unit) == 0) {
        weft_store(to, unit);
        return;
    }
    WEFT_UNROLL for (unsigned i = 0; i < 4; i++)
        weft_store_word(to + i * sizeof(uint32_t), unit.word[i], weft_word_bytes(i, bytes));
}

#endif
