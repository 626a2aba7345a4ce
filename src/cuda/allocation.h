/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a piece of memory is, which the driver is asked; and what is known of allocations, by their
 * buffer id, which the driver never uses twice. The first question to the driver also asks for the
 * id, so what is known of a freed allocation is never taken for the one that has its address later.
 */
#ifndef WEFT_CUDA_ALLOCATION_H
#define WEFT_CUDA_ALLOCATION_H

#include "cuda/cuda_device.h"

/** How an allocation can be shared with other processes. */
typedef enum weft_handle_kind {
    WEFT_HANDLE_UNKNOWN, /* not yet tried */
    WEFT_HANDLE_NONE,
    WEFT_HANDLE_LEGACY, /* CUipcMemHandle */
    WEFT_HANDLE_FD,     /* the descriptor of one VMM allocation */
    WEFT_HANDLE_FABRIC,
    WEFT_HANDLE_POOL,     /* the pool's file descriptor, and the allocation's place in the pool */
    WEFT_HANDLE_SEGMENTS, /* of shares only: a list of several of kind FD */
} weft_handle_kind_t;

typedef struct weft_allocation {
    weft_memory_t memory;
    uintptr_t seen_at; /* an address in it, at which the driver was asked about it */
    bool is_legacy;
    bool is_loose;         /* the driver does not wait at synchronous copies of the program */
    uint64_t handle_types; /* the driver's handle types that this allocation allows */
    weft_cu_pool_t pool;
    weft_handle_kind_t handle_kind;
    int fd;                  /* for kind FD */
    uint64_t ticket;         /* for kind FD of this descriptor, for kind POOL of the pool's */
    size_t shares;           /* for kind FD: those that are in use */
    bool is_known_elsewhere; /* peers may have mapped it */
    uint8_t handle[64];
    struct weft_bar_mapping *mappings; /* this one and the next two belong to bar.c */
    size_t small_uses;                 /* small copies that a mapping would have served */
    bool is_unmappable;                /* a mapping was refused, and is not tried again */
    struct weft_allocation *next;      /* in the same bin */
} weft_allocation_t;

/** These do what weft_is_device() and weft_device->look() promise. */
bool wefti_is_device(const void *buf);
int wefti_memory_look(const void *buf, weft_memory_t *out);

/** What is known of an allocation, valid until the next call of wefti_memory_look(); NULL if
 * nothing is known. */
weft_allocation_t *wefti_allocation_of(uint64_t id);

/** Does the allocation still exist? */
bool wefti_allocation_lives(const weft_allocation_t *entry);

/** Look for freed allocations among some of the known ones; others each time. */
void wefti_allocations_look_for_freed(void);

void wefti_allocations_close(void);

#endif
