/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kernels take: each has one of these structures, by value. Plain C, the same on host and
 * device. Addresses are of global memory as the device sees it: its own, a mapping of a peer's, or
 * pinned host memory. kernel_calls.h fills them in.
 */
#ifndef WEFT_CUDA_KERNELS_KERNEL_ARGS_H
#define WEFT_CUDA_KERNELS_KERNEL_ARGS_H

#include <stdint.h>

enum {
    WEFT_KERNEL_THREADS = 512,    /* at most in a block, and a multiple of a team's */
    WEFT_TEAM_THREADS = 32,       /* consecutive threads that share a piece of a copy */
    WEFT_VECTOR_BYTES = 16,       /* the widest access */
    WEFT_REDUCE_ADDRESSES = 32,   /* sources, and as many destinations, in the arguments */
    WEFT_COPY_ENTRIES = 64,       /* in the arguments */
};

/**
 * Reduce: every destination gets source[0] op source[1] op ..., element by element, from the left.
 * A destination may be one of the sources; else nothing overlaps.
 *
 *   |<- head ->|<- vectors * 16 bytes ->|<- tail ->|     the same at all addresses
 */
typedef struct weft_reduce_args {
    uint64_t count;   /* elements in all */
    uint64_t head;    /* elements before the first vector */
    uint64_t vectors; /* 0 when the addresses are not all alike within 16 bytes */
    uint32_t sources, destinations;
    /* NULL, or memory with the addresses of the sources, then those of the destinations, in place
     * of the arrays below, when they are too many for those. */
    void *const *list;
    const void *source[WEFT_REDUCE_ADDRESSES];
    void *destination[WEFT_REDUCE_ADDRESSES];
} weft_reduce_args_t;

#endif
