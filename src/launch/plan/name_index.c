/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/name_index.h"

#include "base/memory.h"

#include <stdint.h>
#include <string.h>

/* FNV-1a, folded once, as a table uses the low bits and names differ in their last letters. */
static size_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
    return (size_t)(hash ^ hash >> 32);
}

/* The entry of `name`, or the free one where it is to stand. */
static wl_named_t *entry_of(const wl_name_index_t *index, const char *name)
{
    size_t at = hash_of(name);
    while (index->entries[at & (index->capacity - 1)].name != NULL &&
           strcmp(index->entries[at & (index->capacity - 1)].name, name) != 0)
        at++;
    return &index->entries[at & (index->capacity - 1)];
}

bool wl_name_index_reserve(wl_name_index_t *index, size_t count)
{
    if (2 * count <= index->capacity)
        return true;
    wl_name_index_t larger = {.capacity = 64, .count = index->count};
    while (larger.capacity < 2 * count)
        larger.capacity *= 2;
    larger.entries = weft_alloc_zeroed(larger.capacity, sizeof(*larger.entries));
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->entries[i].name != NULL)
            *entry_of(&larger, index->entries[i].name) = index->entries[i];
    }
    weft_free(index->entries);
    *index = larger;
    return true;
}

void wl_name_index_add(wl_name_index_t *index, const char *name, int number)
{
    *entry_of(index, name) = (wl_named_t){name, number};
    index->count++;
}

int wl_name_index_find(const wl_name_index_t *index, const char *name)
{
    if (index->count == 0)
        return -1;
    const wl_named_t *entry = entry_of(index, name);
    return entry->name != NULL ? entry->number : -1;
}

void wl_name_index_release(wl_name_index_t *index)
{
    weft_free(index->entries);
    *index = (wl_name_index_t){0};
}
