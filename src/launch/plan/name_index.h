/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the number of a name, such as the place of a host in a list, in constant time. The names
 * belong to the caller, who keeps them as long as the index.
 */
#ifndef WEFT_LAUNCH_PLAN_NAME_INDEX_H
#define WEFT_LAUNCH_PLAN_NAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wl_named {
    const char *name; /* NULL: the entry is free */
    int number;
} wl_named_t;

/** A hash table with open addressing; all zeros is an empty one. */
typedef struct wl_name_index {
    wl_named_t *entries;    /* [capacity], a power of two */
    size_t capacity, count; /* at most half of the entries are used */
} wl_name_index_t;

/** Make room for `count` names in all; false: no memory. */
bool wl_name_index_reserve(wl_name_index_t *index, size_t count);

/** Add a name that is not in the index, for which there is room. */
void wl_name_index_add(wl_name_index_t *index, const char *name, int number);

/** The number of a name; -1: it is not in the index. */
int wl_name_index_find(const wl_name_index_t *index, const char *name);

void wl_name_index_release(wl_name_index_t *index);

#endif
