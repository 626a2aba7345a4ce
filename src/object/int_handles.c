/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/int_handles.h"

#include "object/object.h"
#include "base/memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum { FIRST_CAPACITY = 64 };

weft_int_handles_t weft_type_int_handles, weft_op_int_handles;

static bool grow_int_handles(weft_int_handles_t *table)
{
    if (table->capacity > (INT_MAX - WEFT_PREDEFINED_HANDLES) / 2)
        return false;
    int capacity = table->capacity == 0 ? FIRST_CAPACITY : 2 * table->capacity;
    void **objects = weft_realloc(table->objects, (size_t)capacity * sizeof(*objects));
    if (objects == NULL)
        return false;
    for (int i = table->capacity; i < capacity; i++)
        objects[i] = NULL;
    table->objects = objects;
    table->capacity = capacity;
    return true;
}

int weft_int_handles_add(weft_int_handles_t *table, void *object)
{
    int slot = table->first_free;
    while (slot < table->capacity && table->objects[slot] != NULL)
        slot++;
    if (slot == table->capacity && !grow_int_handles(table))
        return 0;
    table->objects[slot] = object;
    table->first_free = slot + 1;
    return WEFT_PREDEFINED_HANDLES + slot;
}

void *weft_int_handles_find(const weft_int_handles_t *table, int number)
{
    int slot = number - WEFT_PREDEFINED_HANDLES;
    return number >= WEFT_PREDEFINED_HANDLES && slot < table->capacity ? table->objects[slot]
                                                                       : NULL;
}

void weft_int_handles_remove(weft_int_handles_t *table, int number)
{
    int slot = number - WEFT_PREDEFINED_HANDLES;
    table->objects[slot] = NULL;
    if (slot < table->first_free)
        table->first_free = slot;
}

void weft_int_handles_close(weft_int_handles_t *table)
{
    weft_free(table->objects);
    *table = (weft_int_handles_t){0};
}
