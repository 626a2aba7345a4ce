/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What memory is, by asking the driver; and what is known of allocations, by their buffer id, which
 * the driver never uses twice. The id is part of the first question, so what is known of an
 * allocation that was freed is never taken for its successor at the same address.
 */
#ifndef WEFT_CUDA_ALLOCATION_H
#define WEFT_CUDA_ALLOCATION_H

#include "cuda/cuda_device.h"

/** How an allocation can be shared with other processes. */
typedef enum weft_handle_kind {
    WEFT_HANDLE_UNKNOWN, /* not yet tried */
    WEFT_HANDLE_NONE,
    WEFT_HANDLE_LEGACY, /* CUipcMemHandle */
    WEFT_HANDLE_FD,     /* of one allocation of VMM */
    WEFT_HANDLE_FABRIC,
    WEFT_HANDLE_POOL, /* the pool's file descriptor, and the place in it */
} weft_handle_kind_t;

typedef struct weft_allocation {
    weft_memory_t memory;
    bool is_legacy;
    uint64_t handle_types; /* of the driver, allowed */
    weft_cu_pool_t pool;
    weft_handle_kind_t handle_kind;
    int fd; /* of kind FD its own, of kind POOL the pool's */
    uint8_t handle[64];
    struct weft_bar_mapping *mappings; /* of bar.c, as are the next two */
    size_t small_uses;                 /* that would have had one */
    bool has_no_window;                /* and cannot have one */
    struct weft_allocation *next;      /* in its bin */
} weft_allocation_t;

/** As weft_is_device() and weft_device->look(). */
bool wefti_is_device(const void *buf);
int wefti_memory_look(const void *buf, weft_memory_t *out);

/** What is known of an allocation, until the next call of wefti_memory_look; NULL: nothing. */
weft_allocation_t *wefti_allocation_of(uint64_t id);

/** Is this allocation still there? */
bool wefti_allocation_lives(const weft_memory_t *memory);

void wefti_allocations_close(void);

#endif
