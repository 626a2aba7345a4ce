/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a description of the work to a launch: which kernel, how many threads, its arguments.
 *
 *   weft_kernel_call_t call;
 *   weft_call_copies(&copies, processors, &call);
 *   if (call.blocks > 0)
 *       launch function[call.kernel] with call.blocks, call.threads and {&call.args}
 *
 * Addresses are the device's. A list holds addresses that are too many for a launch's arguments. It
 * is pinned memory with one address on host and device; the functions write it, and it must stay as
 * it is until the kernel has run. `processors` is the number of multiprocessors that the kernel may
 * fill, 1 or more. Where a call `fills_device`, a launch of fewer blocks gives the same results,
 * and the caller lowers their number to what fits at once: blocks beyond that would run on a
 * device that is partly empty. Of exchanges and multicasts all ranks must launch the same number.
 */
#ifndef WEFT_CUDA_KERNELS_KERNEL_CALLS_H
#define WEFT_CUDA_KERNELS_KERNEL_CALLS_H

#include "cuda/kernels/kernel_args.h"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/move_shape.h"
#include "cuda/kernels/scale_list.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct weft_kernel_call {
    weft_kernel_t kernel;
    unsigned blocks; /* 0: there is nothing to do */
    unsigned threads;
    bool fills_device; /* there is work for more threads than fit */
    union {
        weft_reduce_args_t reduce;
        weft_copy_args_t copy;
        weft_move_args_t move;
        weft_exchange_args_t exchange;
        weft_multicast_args_t multicast;
        weft_scale_args_t scale;
    } args;
} weft_kernel_call_t;

/** Every destination gets source[0] op source[1] op ...; it may be one of the sources. */
typedef struct weft_kernel_reduction {
    weft_kernel_t kernel; /* weft_reduce_kernel() */
    size_t bytes;         /* count * extent of the type */
    uint32_t sources, destinations;
    bool rounds; /* after each operation, as the processor does; else 16-bit floats round once */
    const void *const *source;
    void *const *destination;
    void **list; /* its room is weft_reduction_list_bytes() */
} weft_kernel_reduction_t;

/** Bytes of the list that a reduction needs; 0 in most cases. */
static inline size_t weft_reduction_list_bytes(uint32_t sources, uint32_t destinations)
{
    if (sources <= WEFT_REDUCE_ADDRESSES && destinations <= WEFT_REDUCE_ADDRESSES)
        return 0;
    return ((size_t)sources + destinations) * sizeof(void *);
}

void weft_call_reduction(const weft_kernel_reduction_t *reduction, unsigned processors,
                         weft_kernel_call_t *out);

typedef struct weft_kernel_copy {
    void *to;
    const void *from;
    size_t bytes;
} weft_kernel_copy_t;

/** Copies that do not overlap. */
typedef struct weft_kernel_copies {
    const weft_kernel_copy_t *copy;
    size_t count;
    weft_copy_entry_t *list; /* its room is weft_copies_list_bytes() */
} weft_kernel_copies_t;

/** Bytes of the list that a number of copies needs; 0 for few copies. */
static inline size_t weft_copies_list_bytes(size_t count)
{
    return count <= WEFT_COPY_ENTRIES ? 0 : count * sizeof(weft_copy_entry_t);
}

void weft_call_copies(const weft_kernel_copies_t *copies, unsigned processors,
                      weft_kernel_call_t *out);

/** One side of a move: `count` elements of a shape; or, where the shape is NULL, the packed bytes
 * themselves, from the move's first byte on. */
typedef struct weft_kernel_end {
    const weft_move_shape_t *shape;
    const void *image; /* the shape's image where the device reads it; NULL when it has none */
    void *buf;         /* the source is only read */
    size_t count;
} weft_kernel_end_t;

/** Bytes [begin, end) of the packed stream, which must be within both sides: pack, unpack, or a
 * copy between two layouts. The sides do not overlap. */
typedef struct weft_kernel_move {
    weft_kernel_end_t to, from;
    size_t begin, end;
} weft_kernel_move_t;

void weft_call_move(const weft_kernel_move_t *move, unsigned processors, weft_kernel_call_t *out);

/** to[i] = from[i] * factor, or from[i] / factor; `to` may be `from`. */
typedef struct weft_kernel_scaling {
    weft_scaled_t type;
    bool is_division;
    size_t count;
    const void *from;
    void *to;
    const void *factor_at; /* an element where the device reaches it; NULL: `factor` */
    uint64_t factor;       /* the bits of the factor in the type to compute with */
} weft_kernel_scaling_t;

void weft_call_scaling(const weft_kernel_scaling_t *scaling, unsigned processors,
                       weft_kernel_call_t *out);

/** The caller has filled in out->args.exchange. Both are the same on all ranks:
 * most   the bytes of the longest block of all
 * crowd  how many of the ranks share a device, at most */
void weft_call_exchange(weft_kernel_t kernel, size_t most, int crowd, weft_kernel_call_t *out);

/** The caller has filled in out->args.multicast, except for `piece`, `first` and `row`. Its
 * `portions`, their lengths and what of them is bound are the same on all ranks. */
void weft_call_multicast(weft_kernel_t kernel, weft_kernel_call_t *out);

#endif
