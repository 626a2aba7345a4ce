/* SPDX-License-Identifier: BSD-3-Clause */
/* Device addresses and the alias, as the picture in sim.h shows them. */
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t base;
static size_t size;
static intptr_t distance; /* from a device address to its alias */
static sim_extents_t unused;

/* Reserves device addresses and the alias as two halves of one mapping. Sanitizers leave little
 * room, so it halves the size until the mapping succeeds. */
CUresult sim_space_open(void)
{
    for (size = (size_t)512 << 30; size >= (size_t)8 << 30; size /= 2) {
        char *all = mmap(NULL, 2 * size + SIM_GRANULE, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

uintptr_t sim_space_take(size_t bytes, size_t alignment, uintptr_t wish)
{
    alignment = alignment < SIM_GRANULE ? SIM_GRANULE : alignment;
    uint64_t start;
    if (wish != 0 && wish % alignment == 0 && sim_extents_take_at(&unused, wish, bytes))
        return wish;
    return sim_extents_take(&unused, bytes, alignment, &start) ? start : 0;
}

void sim_space_give(uintptr_t start, size_t bytes)
{
    sim_extents_give(&unused, start, bytes);
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
    int fd = memfd_create("simcuda", MFD_CLOEXEC);
    if (fd == -1)
        return NULL;
    if (ftruncate(fd, (off_t)bytes) == 0)
        return sim_backing_adopt(fd, bytes);
    close(fd);
    return NULL;
}

int sim_file_hold(int fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own != -1)
        flock(own, LOCK_SH);
    return own;
}

bool sim_file_is_held(int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return true;
    flock(fd, LOCK_UN);
    return false;
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
    return mmap(sim_alias(start), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                backing->fd, (off_t)offset) != MAP_FAILED;
}

void sim_space_unmap(uintptr_t start, size_t bytes)
{
    if (mmap(sim_alias(start), bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        sim_die("unmapping %zu bytes: errno %d", bytes, errno);
}
