/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_copy.h"

#include <string.h>

enum {
    STAGED_MAX = 64 << 10 /* a pageable source up to this size is read at the call */
};

typedef enum place {
    NOWHERE,
    PAGEABLE,
    HOST, /* pinned or registered */
    MANAGED,
    DEVICE
} place_t;

typedef struct job {
    sim_copy_t copy;
    bool is_staged; /* the source was copied to `staged` */
    _Alignas(16) char staged[];
} job_t;

sim_copy_t sim_copy_linear(sim_side_t to, sim_side_t from, size_t bytes)
{
    return (sim_copy_t){.to = to, .from = from, .width = bytes, .height = 1, .depth = 1};
}

static size_t span(const sim_copy_t *copy, const sim_side_t *side)
{
    return (copy->depth - 1) * side->slice + (copy->height - 1) * side->pitch + copy->width;
}

static place_t place_of(const sim_copy_t *copy, const sim_side_t *side)
{
    const sim_range_t *range = sim_range_find(side->start);
    if (range == NULL)
        return side->is_device || sim_space_holds(side->start) || side->start == 0 ? NOWHERE
                                                                                   : PAGEABLE;
    if (!sim_range_covers(side->start, span(copy, side)))
        return sim_is_host(range) && !side->is_device ? PAGEABLE : NOWHERE;
    if (sim_is_host(range))
        return HOST;
    return range->what == SIM_MANAGED ? MANAGED : DEVICE;
}

/* ---- running a copy ---- */

static bool may_copy(const sim_context_t *context, const sim_copy_t *copy, const sim_side_t *side)
{
    if (!side->is_device && !sim_space_holds(side->start))
        return true;
    sim_lock();
    bool may =
        sim_may_copy(context, (sim_area_t){side->start, span(copy, side), side == &copy->to});
    sim_unlock();
    return may;
}

static bool is_lost(const sim_context_t *context, const sim_side_t *side)
{
    sim_lock();
    bool is_it = sim_is_lost(context, side->start);
    sim_unlock();
    return is_it;
}

/* What cannot be read is all ones. */
static void set_rows(const sim_copy_t *copy)
{
    for (size_t slice = 0; slice < copy->depth; slice++) {
        for (size_t row = 0; row < copy->height; row++)
            memset(sim_alias(copy->to.start + slice * copy->to.slice + row * copy->to.pitch), 0xff,
                   copy->width);
    }
}

static void copy_rows(const sim_copy_t *copy, const char *staged)
{
    for (size_t slice = 0; slice < copy->depth; slice++) {
        for (size_t row = 0; row < copy->height; row++) {
            uintptr_t from = copy->from.start + slice * copy->from.slice + row * copy->from.pitch;
            uintptr_t to = copy->to.start + slice * copy->to.slice + row * copy->to.pitch;
            const char *source =
                staged == NULL ? sim_alias(from) : staged + (from - copy->from.start);
            memmove(sim_alias(to), source, copy->width);
        }
    }
}

static CUresult run_copy(sim_work_t *work)
{
    const job_t *job = (job_t *)work->arguments;
    const sim_copy_t *copy = &job->copy;
    if (!may_copy(work->context, copy, &copy->to) ||
        (!job->is_staged && !may_copy(work->context, copy, &copy->from)))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (is_lost(work->context, &copy->to))
        return CUDA_SUCCESS;
    if (!job->is_staged && is_lost(work->context, &copy->from))
        set_rows(copy);
    else
        copy_rows(copy, job->is_staged ? job->staged : NULL);
    return CUDA_SUCCESS;
}

/* ---- giving a copy to a stream ---- */

static bool has_sync_memops(const sim_side_t *side)
{
    const sim_range_t *range = sim_range_find(side->start);
    return range != NULL && sim_is_synchronous(range);
}

/* The rules are those of "API synchronization behavior" in the driver's manual.
 * CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is about synchronous operations. */
static bool must_wait(const sim_copy_t *copy, place_t to, place_t from, bool is_async)
{
    if (!is_async && (has_sync_memops(&copy->to) || has_sync_memops(&copy->from)))
        return true;
    if (to == PAGEABLE || (from == PAGEABLE && span(copy, &copy->from) > STAGED_MAX))
        return true;
    if (is_async || from == PAGEABLE)
        return false;
    return to != DEVICE || from != DEVICE;
}

/* While it waits for pageable memory the driver keeps other calls out. */
static CUresult submit(sim_stream_t *stream, sim_work_t *work, bool wait, bool is_pageable)
{
    bool is_alone = wait && is_pageable && sim_options()->strict != 0;
    if (is_alone)
        sim_exclude(stream->context->device);
    CUresult result = sim_submit(stream, work, wait);
    if (is_alone)
        sim_admit();
    return result;
}

CUresult sim_copy_submit(sim_stream_t *stream, const sim_copy_t *copy, bool is_async)
{
    if (copy->width == 0 || copy->height == 0 || copy->depth == 0)
        return CUDA_SUCCESS;
    place_t to = place_of(copy, &copy->to), from = place_of(copy, &copy->from);
    if (to == NOWHERE || from == NOWHERE)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = is_async ? CUDA_SUCCESS : sim_unsafe_call();
    if (result != CUDA_SUCCESS)
        return result;
    bool is_captured = stream->capture != NULL;
    bool is_staged =
        from == PAGEABLE && to != PAGEABLE && !is_captured && span(copy, &copy->from) <= STAGED_MAX;
    size_t staged = is_staged ? span(copy, &copy->from) : 0;
    sim_work_t *work =
        sim_work_create(stream->context, CU_GRAPH_NODE_TYPE_MEMCPY, sizeof(job_t) + staged);
    job_t *job = (job_t *)work->arguments;
    job->copy = *copy;
    job->is_staged = is_staged;
    if (is_staged)
        memcpy(job->staged, (void *)copy->from.start, staged);
    work->run = run_copy;
    bool wait = must_wait(copy, to, from, is_async);
    result = submit(stream, work, !is_captured && wait, to == PAGEABLE || from == PAGEABLE);
    if (!is_async && !wait)
        sim_returns_early(stream);
    return result;
}
