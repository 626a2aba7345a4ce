/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_size_t in_use;

static void *count(void *memory)
{
    if (memory != NULL)
        atomic_fetch_add_explicit(&in_use, malloc_usable_size(memory), memory_order_relaxed);
    return memory;
}

static void discount(void *memory)
{
    if (memory != NULL)
        atomic_fetch_sub_explicit(&in_use, malloc_usable_size(memory), memory_order_relaxed);
}

void *weft_alloc(size_t bytes)
{
    return count(malloc(bytes == 0 ? 1 : bytes));
}

void *weft_alloc_zeroed(size_t number, size_t size)
{
    return count(calloc(number == 0 ? 1 : number, size == 0 ? 1 : size));
}

void *weft_alloc_array(size_t number, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(number, size, &bytes) ? NULL : weft_alloc(bytes);
}

void *weft_alloc_aligned(size_t bytes, size_t alignment)
{
    void *memory;
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    if (posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) != 0)
        return NULL;
    return count(memory);
}

void *weft_realloc(void *old, size_t bytes)
{
    discount(old);
    void *memory = realloc(old, bytes == 0 ? 1 : bytes);
    count(memory == NULL ? old : memory);
    return memory;
}

char *weft_strdup(const char *text)
{
    return count(strdup(text));
}

void weft_free(void *memory)
{
    discount(memory);
    free(memory);
}

size_t weft_memory_in_use(void)
{
    return atomic_load_explicit(&in_use, memory_order_relaxed);
}
