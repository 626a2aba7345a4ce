/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void *weft_alloc(size_t bytes)
{
    return malloc(bytes == 0 ? 1 : bytes);
}

void *weft_alloc_zeroed(size_t count, size_t size)
{
    return calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
}

void *weft_alloc_array(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : weft_alloc(bytes);
}

void *weft_alloc_aligned(size_t bytes, size_t alignment)
{
    void *memory;
    if (alignment < sizeof(void *))
        alignment = sizeof(void *);
    return posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) == 0 ? memory : NULL;
}

void *weft_realloc(void *old, size_t bytes)
{
    return realloc(old, bytes == 0 ? 1 : bytes);
}

char *weft_strdup(const char *text)
{
    return strdup(text);
}

void weft_free(void *memory)
{
    free(memory);
}
