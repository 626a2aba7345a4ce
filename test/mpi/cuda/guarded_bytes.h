/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers of any kind of memory between two guards, all of whose bytes are known. */
#ifndef TEST_MPI_CUDA_GUARDED_BYTES_H
#define TEST_MPI_CUDA_GUARDED_BYTES_H

#include "device_memory.h"

enum { GUARD = 64 };

/* Byte `i` of a buffer, the guard before the data counted; it differs from its neighbours. */
static inline unsigned char byte_at(size_t i, unsigned seed)
{
    return (unsigned char)((i * 167 + (i >> 8) * 13 + seed * 31) % 251);
}

/* A buffer of `bytes` bytes between its guards. */
static inline memory_t take_guarded(memory_kind_t kind, size_t bytes, unsigned seed)
{
    size_t room = bytes + 2 * GUARD;
    memory_t memory = memory_take(kind, room);
    unsigned char *host = malloc(room);
    for (size_t i = 0; i < room; i++)
        host[i] = byte_at(i, seed);
    memory_put(memory.at, host, room);
    free(host);
    return memory;
}

#endif
