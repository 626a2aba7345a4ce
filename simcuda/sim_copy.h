/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies. Each form becomes slices, made of rows of bytes, between two addresses. */
#ifndef SIMCUDA_SIM_COPY_H
#define SIMCUDA_SIM_COPY_H

#include "sim_stream.h"

/** One side of a copy. Row r of slice s begins at start + s * slice + r * pitch. */
typedef struct sim_side {
    uintptr_t start;
    size_t pitch, slice;
    bool is_device; /* must be memory that CUDA knows */
} sim_side_t;

typedef struct sim_copy {
    sim_side_t to, from;
    size_t width, height, depth; /* bytes, rows, slices */
} sim_copy_t;

/** A copy of `bytes` in one piece. */
sim_copy_t sim_copy_linear(sim_side_t to, sim_side_t from, size_t bytes);
static inline sim_side_t sim_device_side(CUdeviceptr start)
{
    return (sim_side_t){.start = start, .is_device = true};
}
static inline sim_side_t sim_any_side(const void *start)
{
    return (sim_side_t){.start = (uintptr_t)start};
}

/** Gives a copy to a stream, and waits as the real driver does. Every copy waits if the target is
 * pageable, or the source is pageable and not small. Beyond that only synchronous copies wait: not
 * between devices, nor for a small pageable source. */
CUresult sim_copy_submit(sim_stream_t *stream, const sim_copy_t *copy, bool is_async);

#endif
