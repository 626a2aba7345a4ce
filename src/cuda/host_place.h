/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that belong to the host by construction, so that the driver need not be asked: the
 * stack of the calling thread above the present frame, the heap that brk grows, and the program's
 * own variables.
 *
 *   | program | ... | heap -> brk |   ...  mappings, devices' too  ...   | frame .. top of stack |
 */
#ifndef WEFT_CUDA_HOST_PLACE_H
#define WEFT_CUDA_HOST_PLACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct weft_host_places {
    uintptr_t program, program_bytes;
    uintptr_t heap;            /* where it begins */
    const uintptr_t *heap_end; /* the word in which the C library keeps the end */
} weft_host_places_t;

/** Where the stack of this thread is; 0: not known yet. */
typedef struct weft_stack_place {
    uintptr_t low, top;
} weft_stack_place_t;

extern weft_host_places_t wefti_host_places;
extern _Thread_local weft_stack_place_t wefti_stack_place;

void wefti_host_places_open(void);

/** Find the stack of this thread. */
void wefti_stack_find(void) __attribute__((cold));

/* A frame outside the stack belongs to a coroutine; the stack is then no help. */
static inline bool wefti_is_on_stack(uintptr_t address)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (__builtin_expect(wefti_stack_place.top == 0, 0))
        wefti_stack_find();
    return address >= frame && address < wefti_stack_place.top && frame >= wefti_stack_place.low;
}

static inline bool wefti_is_host_place(const void *memory)
{
    uintptr_t address = (uintptr_t)memory;
    const weft_host_places_t *places = &wefti_host_places;
    return address - places->heap < *places->heap_end - places->heap ||
           address - places->program < places->program_bytes || wefti_is_on_stack(address);
}

#endif
