/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of live objects. A handle that is not in it is refused, where the real driver might
 * crash. */
#include "sim.h"

#include <stdlib.h>

enum { SLOTS = 1024 };

static sim_object_t *slots[SLOTS];

static sim_object_t **slot_of(const void *handle)
{
    return &slots[((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15 >> 54];
}

void *sim_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes == 0 ? 1 : bytes);
    if (memory == NULL)
        sim_die("no memory for %zu bytes", bytes);
    return memory;
}

void *sim_object_create(sim_kind_t kind, size_t bytes)
{
    sim_object_t *object = sim_alloc(bytes), **slot = slot_of(object);
    *object = (sim_object_t){.kind = kind, .next = *slot, .link = slot};
    if (*slot != NULL)
        (*slot)->link = &object->next;
    *slot = object;
    return object;
}

void sim_object_forget(void *given)
{
    sim_object_t *object = given;
    *object->link = object->next;
    if (object->next != NULL)
        object->next->link = object->link;
}

void sim_object_release(void *object)
{
    sim_object_forget(object);
    free(object);
}

void *sim_object_find(sim_kind_t kind, const void *handle)
{
    sim_object_t *object = *slot_of(handle);
    while (object != NULL && ((const void *)object != handle || object->kind != kind))
        object = object->next;
    return object;
}

void sim_object_each(sim_kind_t kind, void (*visit)(void *object, void *data), void *data)
{
    for (size_t i = 0; i < SLOTS; i++) {
        for (sim_object_t *object = slots[i], *next; object != NULL; object = next) {
            next = object->next;
            if (object->kind == kind)
                visit(object, data);
        }
    }
}
