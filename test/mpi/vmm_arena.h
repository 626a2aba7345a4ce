/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual memory as allocators with expandable segments use it: far more addresses are reserved
 * than there is memory, which is mapped into them in pieces.
 *
 *     base                                                          base + VMM_ARENA_BYTES
 *      | not mapped | piece | piece | piece |     not mapped            |
 *                         [ buffer ]
 *
 * The functions of the driver come from `library`; the current context is on `device`.
 */
#ifndef TEST_MPI_VMM_ARENA_H
#define TEST_MPI_VMM_ARENA_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { VMM_ARENA_UNIT = 2 << 20, VMM_ARENA_BYTES = 1 << 30, VMM_ARENA_PIECES = 80 };

typedef unsigned long long vmm_word_t; /* CUdeviceptr, CUmemGenericAllocationHandle */

/* CUmemLocation, CUmemAllocationProp and CUmemAccessDesc of cuda.h */
typedef struct vmm_place {
    int type, id;
} vmm_place_t;

typedef struct vmm_properties {
    int type, handle_types;
    vmm_place_t place;
    void *unused[2];
} vmm_properties_t;

typedef struct vmm_access {
    vmm_place_t place;
    int flags;
} vmm_access_t;

typedef struct vmm_arena {
    vmm_word_t base, first, end; /* [first, end) is mapped */
    vmm_word_t handles[VMM_ARENA_PIECES];
    size_t bytes[VMM_ARENA_PIECES];
    int pieces;
    struct vmm_arena *next;
} vmm_arena_t;

static struct {
    int (*reserve)(vmm_word_t *out, size_t bytes, size_t alignment, vmm_word_t hint,
                   unsigned long long flags);
    int (*free)(vmm_word_t address, size_t bytes);
    int (*create)(vmm_word_t *out, size_t bytes, const vmm_properties_t *properties,
                  unsigned long long flags);
    int (*release)(vmm_word_t handle);
    int (*map)(vmm_word_t address, size_t bytes, size_t offset, vmm_word_t handle,
               unsigned long long flags);
    int (*unmap)(vmm_word_t address, size_t bytes);
    int (*set_access)(vmm_word_t address, size_t bytes, const vmm_access_t *access, size_t count);
    int device;
    vmm_arena_t *all; /* those of vmm_arena_take() */
} vmm_arenas;

static inline void vmm_arena_must(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "%s: error %d\n", what, result);
    exit(1);
}

static inline void vmm_arenas_begin(void *library, int device)
{
    *(void **)&vmm_arenas.reserve = dlsym(library, "cuMemAddressReserve");
    *(void **)&vmm_arenas.free = dlsym(library, "cuMemAddressFree");
    *(void **)&vmm_arenas.create = dlsym(library, "cuMemCreate");
    *(void **)&vmm_arenas.release = dlsym(library, "cuMemRelease");
    *(void **)&vmm_arenas.map = dlsym(library, "cuMemMap");
    *(void **)&vmm_arenas.unmap = dlsym(library, "cuMemUnmap");
    *(void **)&vmm_arenas.set_access = dlsym(library, "cuMemSetAccess");
    vmm_arenas.device = device;
}

static inline void vmm_arena_open(vmm_arena_t *arena)
{
    *arena = (vmm_arena_t){0};
    vmm_arena_must(vmm_arenas.reserve(&arena->base, VMM_ARENA_BYTES, 0, 0, 0),
                   "cuMemAddressReserve");
    arena->first = arena->end = arena->base + VMM_ARENA_UNIT;
}

/* Map one more piece, of whole units, that can be exported. */
static inline void vmm_arena_grow(vmm_arena_t *arena, size_t bytes)
{
    const vmm_place_t place = {1, vmm_arenas.device};
    const vmm_properties_t properties = {.type = 1, .handle_types = 1, .place = place};
    const vmm_access_t access = {place, 3};
    int piece = arena->pieces++;
    vmm_arena_must(vmm_arenas.create(&arena->handles[piece], bytes, &properties, 0), "cuMemCreate");
    vmm_arena_must(vmm_arenas.map(arena->end, bytes, 0, arena->handles[piece], 0), "cuMemMap");
    vmm_arena_must(vmm_arenas.set_access(arena->end, bytes, &access, 1), "cuMemSetAccess");
    arena->bytes[piece] = bytes;
    arena->end += bytes;
}

/* Free the last piece. */
static inline void vmm_arena_shrink(vmm_arena_t *arena)
{
    int piece = --arena->pieces;
    arena->end -= arena->bytes[piece];
    vmm_arena_must(vmm_arenas.unmap(arena->end, arena->bytes[piece]), "cuMemUnmap");
    vmm_arena_must(vmm_arenas.release(arena->handles[piece]), "cuMemRelease");
}

static inline void vmm_arena_close(vmm_arena_t *arena)
{
    while (arena->pieces > 0)
        vmm_arena_shrink(arena);
    vmm_arena_must(vmm_arenas.free(arena->base, VMM_ARENA_BYTES), "cuMemAddressFree");
}

/* A buffer in an arena of its own: in one piece, or over the boundary of two or more. */
static inline vmm_word_t vmm_arena_take(size_t bytes, int is_split)
{
    vmm_arena_t *arena = malloc(sizeof(*arena));
    size_t before =
        is_split && bytes / 2 < VMM_ARENA_UNIT ? VMM_ARENA_UNIT - bytes / 2 / 512 * 512 : 0;
    size_t units = (before + bytes) / VMM_ARENA_UNIT + 1;
    vmm_arena_open(arena);
    for (size_t i = 0; i < (is_split ? units : 1); i++)
        vmm_arena_grow(arena, is_split ? VMM_ARENA_UNIT : units * VMM_ARENA_UNIT);
    arena->next = vmm_arenas.all;
    vmm_arenas.all = arena;
    return arena->first + before;
}

static inline void vmm_arena_give(vmm_word_t buffer)
{
    vmm_arena_t **at = &vmm_arenas.all;
    while (*at != NULL && buffer - (*at)->base >= VMM_ARENA_BYTES)
        at = &(*at)->next;
    vmm_arena_t *arena = *at;
    vmm_arena_must(arena == NULL, "vmm_arena_give");
    *at = arena->next;
    vmm_arena_close(arena);
    free(arena);
}

#endif
