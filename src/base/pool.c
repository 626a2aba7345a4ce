/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/pool.h"

#include "base/memory.h"

#include <stdint.h>

typedef struct block {
    struct block *next;
    void *memory; /* as allocated */
    char *first;  /* first object, 64-byte aligned */
    size_t objects;
} pool_block_t;

enum { FIRST_OBJECTS = 16, MOST_OBJECTS = 4096, ALIGNMENT = 64 };

static pool_block_t *new_block(size_t object_bytes, size_t objects)
{
    pool_block_t *block = weft_alloc(sizeof(*block));
    void *memory = weft_alloc(object_bytes * objects + ALIGNMENT);
    if (block == NULL || memory == NULL) {
        weft_free(block);
        weft_free(memory);
        return NULL;
    }
    uintptr_t first = ((uintptr_t)memory + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
    *block = (pool_block_t){.memory = memory, .first = (char *)first, .objects = objects};
    return block;
}

bool weft_pool_grow(weft_pool_t *pool)
{
    const pool_block_t *newest = pool->blocks;
    size_t objects = newest == NULL ? FIRST_OBJECTS : newest->objects * 2;
    pool_block_t *block =
        new_block(pool->object_bytes, objects > MOST_OBJECTS ? MOST_OBJECTS : objects);
    if (block == NULL)
        return false;
    block->next = pool->blocks;
    pool->blocks = block;
    for (size_t i = block->objects; i-- > 0;) {
        void *object = block->first + i * pool->object_bytes;
        *weft_pool_link(object) = pool->free_list;
        /* The first word is an object's kind: 0 says that the object is not live. */
        *(int *)object = 0;
        pool->free_list = object;
    }
    return true;
}

bool weft_pool_owns(const weft_pool_t *pool, const void *pointer)
{
    for (const pool_block_t *block = pool->blocks; block != NULL; block = block->next) {
        uintptr_t offset = (uintptr_t)pointer - (uintptr_t)block->first;
        if (offset < block->objects * pool->object_bytes)
            return offset % pool->object_bytes == 0;
    }
    return false;
}

void weft_pool_each(const weft_pool_t *pool, void (*visit)(void *object, void *context),
                    void *context)
{
    for (const pool_block_t *block = pool->blocks; block != NULL; block = block->next) {
        for (size_t i = 0; i < block->objects; i++)
            visit(block->first + i * pool->object_bytes, context);
    }
}

void weft_pool_close(weft_pool_t *pool)
{
    for (pool_block_t *block = pool->blocks; block != NULL;) {
        pool_block_t *next = block->next;
        weft_free(block->memory);
        weft_free(block);
        block = next;
    }
    pool->blocks = NULL;
    pool->free_list = NULL;
    pool->live = 0;
}

bool weft_pool_close_unused(weft_pool_t *pool)
{
    if (pool->live > 0)
        return false;
    weft_pool_close(pool);
    return true;
}
