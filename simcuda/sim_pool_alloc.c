/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations in stream order. An allocation has addresses at once; memory is behind them from when
 * the stream reaches the allocation until it reaches the free. An access from another stream that
 * comes too early or too late finds no memory. Allocations that a graph makes keep their addresses
 * as long as the graph lives. */
#include "sim_pool.h"

#include <fcntl.h>
#include <stdlib.h>

enum {
    PIECE =
        64 << 10 /* allocations of pools are multiples of this: whole pages on every processor */
};

static size_t whole(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* ---- the memory of an allocation ---- */

sim_range_t *sim_pooled_add(sim_pool_t *pool, uint64_t offset, size_t bytes)
{
    uintptr_t start = sim_space_take(whole(bytes, SIM_GRANULE), SIM_GRANULE, 0);
    if (start == 0)
        return NULL;
    pool->references++;
    return sim_range_add(&(sim_range_t){.start = start,
                                        .bytes = bytes,
                                        .what = SIM_POOLED,
                                        .pool = pool,
                                        .device = pool->device->ordinal,
                                        .device_index = pool->device->index,
                                        .backing = pool->backing,
                                        .offset = offset,
                                        .is_pending = true,
                                        .readers = pool->readers,
                                        .writers = pool->writers});
}

void sim_pooled_map(sim_range_t *range)
{
    if (!sim_space_map(range->start, range->backing, range->offset, whole(range->bytes, PIECE)))
        sim_die("mapping %zu bytes of a pool", range->bytes);
    range->is_pending = false;
    sim_range_changed();
}

void sim_pooled_unmap(sim_range_t *range, bool forget)
{
    size_t bytes = whole(range->bytes, PIECE);
    sim_space_unmap(range->start, bytes);
    range->is_pending = true;
    sim_range_changed();
    if (forget)
        fallocate(range->backing->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)range->offset, (off_t)bytes);
}

CUresult sim_pooled_free(sim_range_t *range)
{
    sim_pool_t *pool = range->pool;
    size_t bytes = whole(range->bytes, PIECE);
    sim_pooled_unmap(range, !pool->is_imported);
    if (range->of_graph)
        return CUDA_SUCCESS;
    if (!pool->is_imported) {
        sim_extents_give(&pool->unused, range->offset, bytes);
        pool->used -= bytes;
        pool->device->used -= bytes;
    }
    sim_space_give(range->start, whole(range->bytes, SIM_GRANULE));
    sim_range_remove(range);
    sim_pool_release(pool);
    return CUDA_SUCCESS;
}

/* ---- in stream order ---- */

typedef struct step {
    uintptr_t start;
    uint64_t id; /* of the range, as another range may have the addresses later */
    bool owns;   /* the work of a graph: dropping it frees the range */
} step_t;

static sim_range_t *range_of(const step_t *step)
{
    sim_range_t *range = sim_range_at(step->start);
    return range != NULL && range->id == step->id ? range : NULL;
}

static CUresult run_alloc(sim_work_t *work)
{
    sim_lock();
    sim_range_t *range = range_of((step_t *)work->arguments);
    if (range != NULL)
        sim_pooled_map(range);
    sim_unlock();
    return CUDA_SUCCESS;
}

static CUresult run_free(sim_work_t *work)
{
    sim_lock();
    sim_range_t *range = range_of((step_t *)work->arguments);
    if (range != NULL)
        sim_pooled_free(range);
    sim_unlock();
    return CUDA_SUCCESS;
}

static void drop_step(sim_work_t *work)
{
    const step_t *step = (step_t *)work->arguments;
    sim_range_t *range = step->owns ? range_of(step) : NULL;
    if (range == NULL)
        return;
    range->of_graph = false;
    sim_pooled_free(range);
}

static sim_work_t *create_step(sim_stream_t *stream, CUgraphNodeType type, const sim_range_t *range)
{
    sim_work_t *work = sim_work_create(stream->context, type, sizeof(step_t));
    bool owns = type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && stream->capture != NULL;
    *(step_t *)work->arguments = (step_t){range->start, range->id, owns};
    work->run = type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ? run_alloc : run_free;
    work->drop = drop_step;
    return work;
}

static CUresult take_piece(sim_pool_t *pool, size_t bytes, sim_range_t **out)
{
    uint64_t offset;
    size_t piece = whole(bytes, PIECE);
    CUresult result = sim_memory_charge(pool->device, piece);
    if (result != CUDA_SUCCESS)
        return result;
    if (!sim_extents_take(&pool->unused, piece, PIECE, &offset)) {
        pool->device->used -= piece;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = sim_pooled_add(pool, offset, bytes);
    if (*out == NULL) {
        sim_extents_give(&pool->unused, offset, piece);
        pool->device->used -= piece;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool->used += piece;
    if (pool->used_high < pool->used)
        pool->used_high = pool->used;
    return CUDA_SUCCESS;
}

static CUresult alloc_from(CUdeviceptr *out, size_t bytes, sim_pool_t *pool, sim_stream_t *stream)
{
    sim_range_t *range;
    if (out == NULL || bytes == 0 || pool == NULL || pool->is_imported)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes > sim_options()->memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = take_piece(pool, bytes, &range);
    if (result != CUDA_SUCCESS)
        return result;
    range->of_graph = stream->capture != NULL;
    sim_work_t *work = create_step(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, range);
    CUdeviceptr start = range->start;
    result = sim_submit(stream, work, false);
    if (result == CUDA_SUCCESS)
        *out = start;
    else if (sim_range_at(start) != NULL)
        sim_pooled_free(sim_range_at(start));
    return result;
}

static CUresult alloc_current(CUdeviceptr *out, size_t bytes, CUstream handle)
{
    sim_stream_t *stream;
    sim_pool_t *pool;
    CUresult result = sim_stream_of(handle, &stream);
    if (result == CUDA_SUCCESS)
        result = sim_pool_current(stream->context->device, &pool);
    return result ? result : alloc_from(out, bytes, pool, stream);
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : alloc_current(out, bytes, stream));
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream handle)
{
    sim_stream_t *stream;
    CUresult result = sim_begin(__func__);
    if (result == CUDA_SUCCESS)
        result = sim_stream_of(handle, &stream);
    return sim_end(result ? result : alloc_from(out, bytes, sim_pool_of(pool), stream));
}

static CUresult free_later(CUdeviceptr address, CUstream handle)
{
    sim_stream_t *stream;
    CUresult result = sim_stream_of(handle, &stream);
    if (result != CUDA_SUCCESS || address == 0)
        return result;
    sim_range_t *range = sim_range_at(address);
    if (range == NULL || range->what != SIM_POOLED || range->is_freed)
        return CUDA_ERROR_INVALID_VALUE;
    sim_work_t *work = create_step(stream, CU_GRAPH_NODE_TYPE_MEM_FREE, range);
    range->is_freed = !range->of_graph;
    result = sim_submit(stream, work, false);
    if (result != CUDA_SUCCESS)
        range->is_freed = false;
    return result;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    CUresult result = sim_begin(__func__);
    return sim_end(result ? result : free_later(address, stream));
}
