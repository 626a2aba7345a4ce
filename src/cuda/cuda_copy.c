/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_copy.h"

#include "datatype/pack.h"
#include "datatype/pack_kernels.h"
#include "mpi.h"

/* ---- one run of bytes ---- */

static int copy_failed(weft_queue_t *queue, weft_cu_result_t result, const void *to,
                       const void *from, size_t bytes)
{
    return wefti_queue_empty(queue, wefti_driver_failed(result, "cuMemcpyAsync",
                                                        "copying %zu bytes from %p to %p", bytes,
                                                        from, to));
}

static weft_cu_result_t copy_one_run(weft_cu_stream_t stream, void *to, const void *from,
                                     size_t bytes)
{
    return wefti_cu.cuMemcpyAsync((uintptr_t)to, (uintptr_t)from, bytes, stream);
}

int wefti_copy(weft_queue_t *queue, void *to, const void *from, size_t bytes)
{
    weft_visit_t visit;
    if (bytes == 0)
        return MPI_SUCCESS;
    int err = wefti_device_enter(queue->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = copy_one_run(queue->stream, to, from, bytes);
    wefti_device_leave(&visit);
    return result == WEFT_CU_SUCCESS ? MPI_SUCCESS : copy_failed(queue, result, to, from, bytes);
}

int wefti_copy_pieces(weft_queue_t *queue, const weft_piece_t *pieces, size_t count)
{
    weft_visit_t visit;
    int err = wefti_device_enter(queue->device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = WEFT_CU_SUCCESS;
    const weft_piece_t *piece = pieces;
    for (; result == WEFT_CU_SUCCESS && piece < pieces + count; piece++) {
        if (piece->bytes > 0)
            result = copy_one_run(queue->stream, piece->to, piece->from, piece->bytes);
    }
    wefti_device_leave(&visit);
    if (result == WEFT_CU_SUCCESS)
        return MPI_SUCCESS;
    return copy_failed(queue, result, piece[-1].to, piece[-1].from, piece[-1].bytes);
}

/* ---- typed memory ---- */

/* The copy that this thread puts into a stream. It is global because the kernels of
 * datatype/pack_kernels.h take no argument for it. */
static _Thread_local struct {
    weft_cu_stream_t stream;
    bool is_packing;
    weft_cu_result_t result; /* the first failure; after it nothing more is tried */
} current;

static char *cuda_queue_span(char *typed, char *stream, size_t bytes)
{
    if (current.result == WEFT_CU_SUCCESS)
        current.result = current.is_packing ? copy_one_run(current.stream, stream, typed, bytes)
                                            : copy_one_run(current.stream, typed, stream, bytes);
    return stream + bytes;
}

static weft_cu_rows_t rows_at(const char *at, size_t pitch)
{
    return (weft_cu_rows_t){.memory_type = WEFT_CU_MEMORY_UNIFIED,
                            .device = (weft_cu_address_t)(uintptr_t)at,
                            .pitch = pitch};
}

/* Copies `count` blocks as rows; the distance between blocks is positive on both sides. */
static void queue_rows(char *typed, char *stream, const weft_pack_blocks_t *blocks,
                       size_t stream_pitch)
{
    weft_cu_rows_t memory = rows_at(typed, (size_t)blocks->stride);
    weft_cu_rows_t packed = rows_at(stream, stream_pitch);
    weft_cu_copy2d_t copy = {.from = current.is_packing ? memory : packed,
                             .to = current.is_packing ? packed : memory,
                             .width_bytes = blocks->block_bytes,
                             .height = blocks->count};
    if (current.result == WEFT_CU_SUCCESS)
        current.result = wefti_cu.cuMemcpy2DAsync(&copy, current.stream);
}

/* The driver takes a pitch that is at least a row's length, up to a limit that holds for all
 * devices (2^31 - 1). */
static bool are_rows(const weft_pack_blocks_t *blocks)
{
    return blocks->count > 1 && blocks->stride >= (ptrdiff_t)blocks->block_bytes &&
           blocks->stride <= INT32_MAX;
}

static void queue_each(char *typed, char *stream, const weft_pack_blocks_t *blocks,
                       size_t stream_pitch)
{
    if (are_rows(blocks)) {
        queue_rows(typed, stream, blocks, stream_pitch);
        return;
    }
    for (size_t i = 0; i < blocks->count; i++)
        cuda_queue_span(typed + (ptrdiff_t)i * blocks->stride, stream + i * stream_pitch,
                        blocks->block_bytes);
}

static char *cuda_queue_strided(char *typed, char *stream, const weft_pack_blocks_t *blocks)
{
    for (size_t i = 0; i < blocks->outer_count; i++) {
        queue_each(typed + (ptrdiff_t)i * blocks->outer_stride, stream, blocks,
                   blocks->block_bytes);
        stream += blocks->count * blocks->block_bytes;
    }
    return stream;
}

static char *cuda_queue_listed(char *typed, char *stream, const weft_pack_blocks_t *blocks)
{
    for (size_t i = 0; i < blocks->outer_count; i++) {
        for (size_t j = 0; j < blocks->count; j++)
            stream = cuda_queue_span(typed + blocks->offsets[j], stream, blocks->block_bytes);
        typed += blocks->outer_stride;
    }
    return stream;
}

static char *cuda_queue_runs(char *typed, char *stream, const weft_pack_blocks_t *blocks)
{
    for (size_t i = 0; i < blocks->outer_count; i++) {
        const weft_run_t *end = blocks->runs + blocks->count;
        for (const weft_run_t *run = blocks->runs; run < end; run++)
            stream = cuda_queue_span(typed + run->offset, stream, run[1].start - run->start);
        typed += blocks->outer_stride;
    }
    return stream;
}

static char *cuda_queue_field(char *typed, char *stream, const weft_pack_blocks_t *blocks)
{
    queue_each(typed, stream, blocks, (size_t)blocks->stream_stride);
    return stream + (ptrdiff_t)blocks->count * blocks->stream_stride;
}

static weft_pack_kernels_t copying_kernels(void)
{
    weft_pack_kernels_t kernels = {.runs = cuda_queue_runs, .span = cuda_queue_span};
    for (int i = 0; i < WEFT_BLOCK_CLASS_COUNT; i++) {
        kernels.strided[i] = cuda_queue_strided;
        kernels.listed[i] = cuda_queue_listed;
        kernels.fields[i] = cuda_queue_field;
    }
    return kernels;
}

int wefti_copy_blocks_in(weft_device_t *device, weft_cu_stream_t stream,
                         const weft_packing_t *packing, bool is_packing)
{
    weft_visit_t visit;
    int err = wefti_device_enter(device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_pack_kernels_t kernels = copying_kernels();
    weft_stream_part_t part = {packing->offset, packing->bytes, packing->packed};
    current.stream = stream;
    current.is_packing = is_packing;
    current.result = WEFT_CU_SUCCESS;
    weft_pack_by(&kernels, packing->elements, &part);
    wefti_device_leave(&visit);
    if (current.result == WEFT_CU_SUCCESS)
        return MPI_SUCCESS;
    return wefti_driver_failed(
        current.result, "cuMemcpyAsync", "%s %zu bytes of a derived datatype at %p",
        is_packing ? "packing" : "unpacking", packing->bytes, packing->elements->buf);
}

int wefti_copy_blocks(weft_queue_t *queue, const weft_packing_t *packing, bool is_packing)
{
    int err = wefti_copy_blocks_in(queue->device, queue->stream, packing, is_packing);
    return err == MPI_SUCCESS ? err : wefti_queue_empty(queue, err);
}
