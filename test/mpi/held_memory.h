/* SPDX-License-Identifier: BSD-3-Clause */
/* For one program that is linked with the library's objects: the functions of base/memory.h are
 * replaced by versions that remember each block that the library holds. */
#ifndef TEST_MPI_HELD_MEMORY_H
#define TEST_MPI_HELD_MEMORY_H

#include "expect.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 1 << 16 };

typedef struct weft_block {
    void *memory;
    size_t bytes;
    void *caller;
} weft_block_t;

static weft_block_t blocks[SLOTS];
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static inline void *remember(void *memory, size_t bytes, void *caller)
{
    pthread_mutex_lock(&lock);
    size_t slot = 0;
    while (slot < used && blocks[slot].memory != NULL)
        slot++;
    if (slot == SLOTS)
        abort();
    used = slot == used ? used + 1 : used;
    blocks[slot] = (weft_block_t){memory, bytes, caller};
    pthread_mutex_unlock(&lock);
    return memory;
}

static inline void forget(const void *memory)
{
    pthread_mutex_lock(&lock);
    for (size_t slot = 0; slot < used && memory != NULL; slot++) {
        if (blocks[slot].memory == memory)
            blocks[slot].memory = NULL;
    }
    pthread_mutex_unlock(&lock);
}

void *weft_alloc(size_t bytes)
{
    return remember(malloc(bytes + 1), bytes, __builtin_return_address(0));
}

void *weft_alloc_zeroed(size_t count, size_t size)
{
    return remember(calloc(count + 1, size + 1), count * size, __builtin_return_address(0));
}

void *weft_alloc_array(size_t count, size_t size)
{
    return remember(malloc(count * size + 1), count * size, __builtin_return_address(0));
}

void *weft_alloc_aligned(size_t bytes, size_t alignment)
{
    size_t whole = (bytes + alignment) / alignment * alignment;
    return remember(aligned_alloc(alignment, whole), bytes, __builtin_return_address(0));
}

void *weft_realloc(void *old, size_t bytes)
{
    forget(old);
    return remember(realloc(old, bytes + 1), bytes, __builtin_return_address(0));
}

char *weft_strdup(const char *text)
{
    return remember(strdup(text), strlen(text) + 1, __builtin_return_address(0));
}

void weft_free(void *memory)
{
    forget(memory);
    free(memory);
}

size_t weft_memory_in_use(void)
{
    return 0;
}

static inline size_t held_blocks(void)
{
    size_t count = 0;
    for (size_t slot = 0; slot < used; slot++)
        count += blocks[slot].memory != NULL;
    return count;
}

#endif
