/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of objects of one size. Memory is taken in blocks that are never given back before
 * weft_pool_close(), so a stale pointer to a released object still points to readable memory: the
 * handle checks of object/object.h rely on that.
 *
 *   block:  | next block | object | object | ... |        free list: object -> object -> NULL
 *
 * The second word of a free object links it, so that taking and giving one touch no cache line that
 * its user does not; the first word is left as it is.
 */
#ifndef WEFT_BASE_POOL_H
#define WEFT_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct weft_pool {
    size_t object_bytes; /* a multiple of 64 */
    void *free_list;
    void *blocks;
    size_t live;
} weft_pool_t;

#define WEFT_POOL(type)                                                                            \
    {                                                                                              \
        .object_bytes = (sizeof(type) + 63) & ~(size_t)63                                          \
    }

/** Fill the free list; false when there is no memory. */
bool weft_pool_grow(weft_pool_t *pool) __attribute__((cold));

static inline void **weft_pool_link(void *object)
{
    return (void **)object + 1;
}

/** An object of 64-byte alignment with undefined contents; NULL when there is no memory. The caller
 *  holds the library's lock. */
static inline void *weft_pool_take(weft_pool_t *pool)
{
    if (__builtin_expect(pool->free_list == NULL, 0) && !weft_pool_grow(pool))
        return NULL;
    void *object = pool->free_list;
    pool->free_list = *weft_pool_link(object);
    pool->live++;
    return object;
}

static inline void weft_pool_give(weft_pool_t *pool, void *object)
{
    *weft_pool_link(object) = pool->free_list;
    pool->free_list = object;
    pool->live--;
}

/** Does `pointer` name an object of this pool, live or released? O(blocks). */
bool weft_pool_owns(const weft_pool_t *pool, const void *pointer);

/** Call `visit` with every object, live or released (the first int of a released object is 0 if its
 *  owner sets it so). `visit` may take and give objects. */
void weft_pool_each(const weft_pool_t *pool, void (*visit)(void *object, void *context),
                    void *context);

/** Free all blocks, also those with live objects. */
void weft_pool_close(weft_pool_t *pool);

/** Free all blocks if no object is live; false: an object is live, and nothing was freed. */
bool weft_pool_close_unused(weft_pool_t *pool);

#endif
