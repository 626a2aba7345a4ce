/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contexts that are taken at this process: those of its live communicators, and those that it
 * has proposed for communicators which are being made. A hash table with linear probing; its memory
 * goes up and down with the number of contexts.
 *
 * A context is even, because its lowest bit tells collectives (1) from point-to-point messages (0).
 */
#ifndef WEFT_OBJECT_CONTEXT_SET_H
#define WEFT_OBJECT_CONTEXT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** No context: it is odd. */
enum { WEFT_NO_CONTEXT = 1 };

/** All zeros: the empty set. */
typedef struct weft_context_set {
    uint32_t *slots; /* [capacity] contexts, each with its lowest bit set; 0: nothing */
    size_t capacity; /* 0 or a power of two */
    size_t count;
} weft_context_set_t;

bool weft_context_set_has(const weft_context_set_t *set, uint32_t context);

/** Add a context that is not in the set. MPI_ERR_NO_MEM, and then the set is as before. */
int weft_context_set_add(weft_context_set_t *set, uint32_t context);

/** Remove a context; one that is not in the set is ignored. */
void weft_context_set_remove(weft_context_set_t *set, uint32_t context);

/** Remove all contexts, and give the memory back. */
void weft_context_set_clear(weft_context_set_t *set);

#endif
