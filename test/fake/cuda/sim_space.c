/* SPDX-License-Identifier: BSD-3-Clause */
/* Device addresses and the alias, as the picture in sim.h shows them. */
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A stretch of free addresses; sorted, never touching one another. */
typedef struct extent {
    uintptr_t start;
    size_t bytes;
} extent_t;

static uintptr_t base;
static size_t size;
static intptr_t distance; /* from a device address to its alias */
static extent_t *extents;
static size_t extent_count, extent_room;

/* Two halves of one reservation of addresses. Sanitizers leave little room: asks for less until it gets it. */
CUresult sim_space_open(void)
{
    for (size = (size_t)512 << 30; size >= (size_t)8 << 30; size /= 2) {
        char *all = mmap(NULL, 2 * size + SIM_GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (all == MAP_FAILED)
            continue;
        base = ((uintptr_t)all + SIM_GRANULE - 1) & ~((uintptr_t)SIM_GRANULE - 1);
        distance = (intptr_t)size;
        sim_space_give(base, size);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}

bool sim_space_holds(uintptr_t address)
{
    return address - base < size;
}

void *sim_alias(uintptr_t address)
{
    return (void *)(sim_space_holds(address) ? address + (uintptr_t)distance : address);
}

static void insert_extent(size_t at, extent_t extent)
{
    if (extent_count == extent_room) {
        extent_room = 2 * extent_room + 16;
        extents = realloc(extents, extent_room * sizeof(*extents));
        if (extents == NULL)
            sim_die("no memory for %zu extents", extent_room);
    }
    memmove(extents + at + 1, extents + at, (extent_count - at) * sizeof(*extents));
    extents[at] = extent;
    extent_count++;
}

static void remove_extent(size_t at)
{
    extent_count--;
    memmove(extents + at, extents + at + 1, (extent_count - at) * sizeof(*extents));
}

/* Cuts [start, start + bytes) out of a free extent that holds it. */
static void cut_extent(size_t at, uintptr_t start, size_t bytes)
{
    extent_t whole = extents[at];
    remove_extent(at);
    uintptr_t end = start + bytes;
    if (end < whole.start + whole.bytes)
        insert_extent(at, (extent_t){end, whole.start + whole.bytes - end});
    if (whole.start < start)
        insert_extent(at, (extent_t){whole.start, start - whole.start});
}

/* First fit from below: what was freed is soon taken again, as on real devices, and old addresses mislead
 * whoever still believes in them. */
uintptr_t sim_space_take(size_t bytes, size_t alignment, uintptr_t wish)
{
    alignment = alignment < SIM_GRANULE ? SIM_GRANULE : alignment;
    for (size_t i = 0; wish != 0 && i < extent_count; i++) {
        if (wish % alignment == 0 && wish >= extents[i].start && wish + bytes <= extents[i].start + extents[i].bytes) {
            cut_extent(i, wish, bytes);
            return wish;
        }
    }
    for (size_t i = 0; i < extent_count; i++) {
        uintptr_t start = (extents[i].start + alignment - 1) / alignment * alignment;
        if (start + bytes <= extents[i].start + extents[i].bytes) {
            cut_extent(i, start, bytes);
            return start;
        }
    }
    return 0;
}

void sim_space_give(uintptr_t start, size_t bytes)
{
    size_t at = 0;
    while (at < extent_count && extents[at].start < start)
        at++;
    insert_extent(at, (extent_t){start, bytes});
    if (at + 1 < extent_count && start + bytes == extents[at + 1].start) {
        extents[at].bytes += extents[at + 1].bytes;
        remove_extent(at + 1);
    }
    if (at > 0 && extents[at - 1].start + extents[at - 1].bytes == start) {
        extents[at - 1].bytes += extents[at].bytes;
        remove_extent(at);
    }
}

/* ---- backings ---- */

sim_backing_t *sim_backing_adopt(int fd, size_t bytes)
{
    sim_backing_t *backing = sim_alloc(sizeof(*backing));
    *backing = (sim_backing_t){.fd = fd, .bytes = bytes, .references = 1};
    return backing;
}

sim_backing_t *sim_backing_create(size_t bytes)
{
    int fd = memfd_create("weft_fake_cuda", MFD_CLOEXEC);
    if (fd == -1)
        return NULL;
    if (ftruncate(fd, (off_t)bytes) == 0)
        return sim_backing_adopt(fd, bytes);
    close(fd);
    return NULL;
}

void sim_backing_release(sim_backing_t *backing)
{
    if (backing == NULL || --backing->references > 0)
        return;
    close(backing->fd);
    free(backing);
}

bool sim_space_map(uintptr_t start, const sim_backing_t *backing, size_t offset, size_t bytes)
{
    return mmap(sim_alias(start), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, backing->fd,
                (off_t)offset) != MAP_FAILED;
}

void sim_space_unmap(uintptr_t start, size_t bytes)
{
    if (mmap(sim_alias(start), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        sim_die("unmapping %zu bytes: errno %d", bytes, errno);
}
