/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory from the heap. malloc and free are called nowhere else. */
#ifndef WEFT_BASE_MEMORY_H
#define WEFT_BASE_MEMORY_H

#include <stddef.h>

/** `bytes` bytes, not cleared; NULL when there is no memory. bytes may be 0 (a pointer to free). */
void *weft_alloc(size_t bytes) __attribute__((malloc));
/** count * size cleared bytes; NULL when there is no memory or the product overflows. */
void *weft_alloc_zeroed(size_t count, size_t size) __attribute__((malloc));
/** count * size bytes, not cleared; NULL when there is no memory or the product overflows. */
void *weft_alloc_array(size_t count, size_t size) __attribute__((malloc));
/** `bytes` bytes at a multiple of `alignment`, a power of two; NULL when there is no memory. */
void *weft_alloc_aligned(size_t bytes, size_t alignment) __attribute__((malloc));
/** As realloc. */
void *weft_realloc(void *old, size_t bytes);
/** A copy of a string; NULL when there is no memory. */
char *weft_strdup(const char *text);
/** NULL is allowed. */
void weft_free(void *memory);

/** Bytes of the heap that this library holds now. */
size_t weft_memory_in_use(void);

#endif
