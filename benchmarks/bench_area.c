/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench_area.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The byte of gaps, and of all memory before it is filled. */
#define GAP 0xA5

static size_t extent(const bench_area_t *area)
{
    return (area->blocks.count - 1) * area->blocks.stride + area->blocks.bytes;
}

static size_t message_bytes(const bench_area_t *area)
{
    return area->blocks.count * area->blocks.bytes;
}

static bool is_strided(const bench_area_t *area)
{
    return area->blocks.count > 1;
}

static char *host_memory(const bench_t *bench, size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), bytes) != 0) {
        fprintf(stderr, "rank %d: no buffer of %zu bytes\n", bench->rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

static bench_blocks_t blocks_of(const bench_t *bench, size_t bytes)
{
    const bench_options_t *options = &bench->options;

    if (options->block_bytes == 0 || bytes == 0)
        return (bench_blocks_t){.count = 1, .bytes = bytes, .stride = bytes};
    return (bench_blocks_t){.count = bytes / options->block_bytes,
                            .bytes = options->block_bytes,
                            .stride = options->stride_bytes};
}

/* What is staged is packed. */
void bench_area_use(bench_area_t *area, bool is_staged)
{
    bool is_packed;

    area->is_staged = is_staged && area->stage != NULL;
    is_packed = area->is_staged || area->strided == MPI_DATATYPE_NULL;
    area->type = is_packed ? MPI_CHAR : area->strided;
    area->count = is_packed ? (int)message_bytes(area) : 1;
}

/* The area that is sent comes first. */
static void set_host_memory(const bench_t *bench, bench_area_t *area, size_t length)
{
    size_t lead = bench->options.lead[bench->area_count > 0];

    area->memory = memset(host_memory(bench, lead + length), GAP, lead + length);
    area->at = area->memory + lead;
}

static char *device_memory(char place, size_t bytes)
{
    return place == 'V' ? bench_device_alloc_virtual(bytes)
                        : bench_device_alloc(bytes, place == 'M');
}

bench_area_t *bench_area(bench_t *bench, size_t bytes, int which)
{
    bench_area_t *area = (bench_area_t *)host_memory(bench, sizeof(*area));
    size_t length;

    *area =
        (bench_area_t){.place = bench->options.placement[which], .blocks = blocks_of(bench, bytes)};
    length = extent(area) > 0 ? extent(area) : 1;
    if (area->place == 'H')
        set_host_memory(bench, area, length);
    else
        area->at = device_memory(area->place, length);
    if (area->place != 'H')
        bench_device_set(area->at, GAP, length);
    if (area->place != 'H' && (bench->options.is_staged || bench->options.turns > 0))
        area->stage = bench_device_alloc_pinned(bytes > 0 ? bytes * (size_t)bench->slots : 1);
    area->strided = MPI_DATATYPE_NULL;
    if (is_strided(area)) {
        MPI_Type_vector((int)area->blocks.count, (int)area->blocks.bytes, (int)area->blocks.stride,
                        MPI_CHAR, &area->strided);
        MPI_Type_commit(&area->strided);
    }
    bench_area_use(area, bench->is_staged);
    bench->areas[bench->area_count++] = area;
    return area;
}

void *bench_area_buffer(const bench_area_t *area, int slot)
{
    return area->is_staged ? area->stage + (size_t)slot * message_bytes(area) : area->at;
}

void bench_area_out(const bench_area_t *area, int slot)
{
    if (!area->is_staged)
        return;
    if (is_strided(area))
        bench_device_get_blocks(bench_area_buffer(area, slot), area->at, &area->blocks);
    else
        bench_device_get(bench_area_buffer(area, slot), area->at, area->blocks.bytes);
}

void bench_area_in(const bench_area_t *area, int slot)
{
    if (!area->is_staged)
        return;
    if (is_strided(area))
        bench_device_put_blocks(area->at, bench_area_buffer(area, slot), &area->blocks);
    else
        bench_device_put(area->at, bench_area_buffer(area, slot), area->blocks.bytes);
}

char *bench_area_open(const bench_area_t *area)
{
    char *image;

    if (area->place == 'H')
        return area->at;
    image = malloc(extent(area) + 1);
    if (image == NULL) {
        fprintf(stderr, "no image of %zu bytes\n", extent(area));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    bench_device_get(image, area->at, extent(area));
    return image;
}

void bench_area_close(const bench_area_t *area, char *image)
{
    if (area->place == 'H')
        return;
    bench_device_put(area->at, image, extent(area));
    bench_device_wait();
    free(image);
}

/* Neighbouring streams and neighbouring bytes differ, so that a shifted or swapped block shows. */
static unsigned char stream_byte(unsigned seed, size_t at)
{
    return (unsigned char)(seed * 37 + at * 11 + (at >> 8) * 5 + 1);
}

void bench_fill(void *buffer, size_t bytes, unsigned seed)
{
    unsigned char *to = buffer;

    for (size_t i = 0; i < bytes; i++)
        to[i] = stream_byte(seed, i);
}

size_t bench_wrong(const void *buffer, size_t bytes, unsigned seed)
{
    const unsigned char *from = buffer;
    size_t wrong = 0;

    for (size_t i = 0; i < bytes; i++)
        wrong += from[i] != stream_byte(seed, i);
    return wrong;
}

static size_t gap_bytes(const bench_area_t *area, size_t block)
{
    return block + 1 < area->blocks.count ? area->blocks.stride - area->blocks.bytes : 0;
}

void bench_area_fill(const bench_area_t *area, unsigned seed)
{
    char *image = bench_area_open(area);

    for (size_t i = 0; i < area->blocks.count; i++) {
        char *block = image + i * area->blocks.stride;

        for (size_t j = 0; j < area->blocks.bytes; j++)
            block[j] = (char)stream_byte(seed, i * area->blocks.bytes + j);
        memset(block + area->blocks.bytes, GAP, gap_bytes(area, i));
    }
    bench_area_close(area, image);
}

static size_t wrong_in_block(const bench_area_t *area, const unsigned char *image, size_t block,
                             unsigned seed)
{
    const unsigned char *from = image + block * area->blocks.stride;
    size_t wrong = 0;

    for (size_t j = 0; j < area->blocks.bytes; j++)
        wrong += from[j] != stream_byte(seed, block * area->blocks.bytes + j);
    for (size_t j = 0; j < gap_bytes(area, block); j++)
        wrong += from[area->blocks.bytes + j] != GAP;
    return wrong;
}

size_t bench_area_wrong(const bench_area_t *area, unsigned seed)
{
    char *image = bench_area_open(area);
    size_t wrong = 0;

    for (size_t i = 0; i < area->blocks.count; i++)
        wrong += wrong_in_block(area, (unsigned char *)image, i, seed);
    bench_area_close(area, image);
    return wrong;
}

void bench_area_release(bench_area_t *area)
{
    if (area->strided != MPI_DATATYPE_NULL)
        MPI_Type_free(&area->strided);
    if (area->stage != NULL)
        bench_device_free_pinned(area->stage);
    if (area->place == 'H')
        free(area->memory);
    else if (area->place == 'V')
        bench_device_free_virtual(area->at, extent(area) > 0 ? extent(area) : 1);
    else
        bench_device_free(area->at);
    free(area);
}
