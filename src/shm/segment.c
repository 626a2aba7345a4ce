/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shm/segment.h"

#include "runtime/meeting.h"
#include "runtime/shelf.h"
#include "runtime/wall_place.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/least.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    DATA_BYTES_MIN = 4096,
    DATA_BYTES_MAX = 256 * 1024,
    DATA_BYTES_CROWDED = 64 * 1024,
    CELLS_MIN = 4,                /* of a pair, with fewer most packets would not find one */
    LARGE_BYTES_MIN = 512 * 1024, /* smaller ones are no faster than the others */
    LARGE_BYTES_MAX = 4 * 1024 * 1024,
    PATH_BYTES = 320,
};

static const char key[] = "weft.shm";

/* What the maker tells the others. */
typedef struct invitation {
    uint64_t token;
    uint64_t bytes;
    char path[PATH_BYTES];
    bool has_name; /* the last rank that attaches removes it */
} invitation_t;

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t segment_block_bytes(int ranks)
{
    return round_up(sizeof(weft_rank_block_t) + WEFT_VCIS * (((size_t)ranks + 63) / 64) * 8, 128);
}

static size_t pairs_of(int ranks)
{
    return (size_t)ranks * (size_t)ranks;
}

static size_t jobs_offset(int ranks)
{
    return round_up(sizeof(weft_segment_header_t), 128) +
           segment_block_bytes(ranks) * (size_t)ranks;
}

/* Each pair shares one, whichever of the two asks. */
static size_t baton_index(size_t one, size_t other)
{
    size_t higher = one > other ? one : other, lower = one < other ? one : other;
    return higher * (higher + 1) / 2 + lower;
}

/* Where the channels of a VCI are, from the beginning of the segment on. */
typedef struct vci_layout {
    size_t credits, slots, data, batons, end;
    size_t data_bytes, baton_bytes; /* of each */
} vci_layout_t;

static vci_layout_t vci_layout(size_t begin, int ranks, size_t data_bytes, size_t baton_bytes)
{
    size_t pairs = pairs_of(ranks), batons = baton_index((size_t)ranks, 0);
    vci_layout_t its = {.credits = begin, .data_bytes = data_bytes, .baton_bytes = baton_bytes};
    its.slots = round_up(begin + pairs * sizeof(weft_credit_t), PAGE);
    its.data = round_up(its.slots + pairs * WEFT_SLOTS * sizeof(weft_slot_t), PAGE);
    its.batons = round_up(its.data + pairs * data_bytes, PAGE);
    its.end = round_up(its.batons + batons * baton_bytes, PAGE);
    return its;
}

static vci_layout_t first_layout(int ranks, size_t data_bytes, size_t baton_bytes)
{
    size_t jobs_end = jobs_offset(ranks) + pairs_of(ranks) * sizeof(weft_copy_job_t);
    return vci_layout(round_up(jobs_end, 128), ranks, data_bytes, baton_bytes);
}

/* Of a file. Short batons, as all of it takes memory. */
static size_t segment_bytes(int ranks, size_t data_bytes)
{
    return first_layout(ranks, data_bytes, WEFT_BATON_SHORT_BYTES).end;
}

static size_t large_offset(int ranks, size_t data_bytes)
{
    return first_layout(ranks, data_bytes, WEFT_BATON_BYTES).end;
}

static size_t boards_offset(int ranks, size_t data_bytes, size_t large_bytes)
{
    return large_offset(ranks, data_bytes) + pairs_of(ranks) * large_bytes;
}

static size_t walls_offset(int ranks, size_t data_bytes, size_t large_bytes)
{
    return round_up(boards_offset(ranks, data_bytes, large_bytes) + weft_boards_bytes(ranks), PAGE);
}

static size_t shelves_offset(int ranks, size_t data_bytes, size_t large_bytes, size_t wall_bytes)
{
    return round_up(
        walls_offset(ranks, data_bytes, large_bytes) + weft_walls_bytes(ranks, wall_bytes), PAGE);
}

static size_t vcis_offset(int ranks, size_t data_bytes, size_t large_bytes, size_t wall_bytes)
{
    return round_up(shelves_offset(ranks, data_bytes, large_bytes, wall_bytes) +
                        weft_shelves_bytes(ranks),
                    PAGE);
}

/* All VCIs but the first are alike. */
static size_t vci_bytes(int ranks, size_t data_bytes)
{
    return data_bytes == 0 ? 0 : vci_layout(0, ranks, data_bytes, WEFT_BATON_SHORT_BYTES).end;
}

static size_t cells_offset(int ranks, size_t vcis_begin, size_t vci_data_bytes)
{
    return round_up(vcis_begin + (WEFT_VCIS - 1) * vci_bytes(ranks, vci_data_bytes), PAGE);
}

/* The largest power of two up to `most` with which a ring for each pair fits into `bytes`; not less
 * than DATA_BYTES_MIN. */
static size_t ring_bytes_for(int ranks, size_t bytes, size_t most)
{
    size_t share = bytes / pairs_of(ranks), ring = most;
    while (ring > DATA_BYTES_MIN && ring > share)
        ring /= 2;
    return ring;
}

/* Few pairs send so much that they get a large ring, but many may talk. Where all of them together
 * would no longer fit into the caches, rings are shorter. With eight ranks on two cores of a Zen 4
 * halos of 32 KiB take 80 us through rings of 128 KiB, which have room for such messages unasked,
 * and 137 where they are read. */
static size_t data_bytes_for(int ranks)
{
    size_t cached = ring_bytes_for(ranks, weft_config.SHM_BYTES / 32, DATA_BYTES_MAX);
    size_t bytes = ring_bytes_for(ranks, weft_config.SHM_BYTES / 4, DATA_BYTES_CROWDED);
    return cached > bytes ? cached : bytes;
}

/* Twice as large as a core's own cache, so that a lap drives its lines out: on a Zen 4 with 1 MiB
 * of cache 16 KiB take 2.4 us through 256 KiB, 1.6 through 1 MiB, 1.2 through 2 MiB. */
static size_t wanted_large_bytes(void)
{
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t bytes = LARGE_BYTES_MIN;
    while (bytes < LARGE_BYTES_MAX && (long)bytes < 2 * cache)
        bytes *= 2;
    return bytes;
}

static size_t large_bytes_for(int ranks)
{
    size_t bytes = ring_bytes_for(ranks, weft_config.SHM_BYTES, wanted_large_bytes());
    return bytes < LARGE_BYTES_MIN ? 0 : bytes;
}

/* A wall's ring serves a rank, a message ring a pair of ranks. */
static size_t wall_ring_bytes_for(int ranks)
{
    return weft_config.WALLS ? weft_wall_ring_bytes(ranks, weft_config.SHM_BYTES) : 0;
}

/* As of VCI 0, unless all together would take too much; 0: there is only VCI 0, as rings that are
 * as short as they can be would, too. */
static size_t vci_data_bytes_for(int ranks)
{
    size_t share = weft_config.SHM_BYTES / WEFT_VCIS;
    if (!weft_world_wants_vcis() || pairs_of(ranks) * DATA_BYTES_MIN > share)
        return 0;
    return ring_bytes_for(ranks, share, data_bytes_for(ranks));
}

/* An even number, since each of the two ranks begins with half of them. */
static int cells_for(int ranks)
{
    size_t share = weft_config.SHM_BYTES / 4 / baton_index((size_t)ranks, 0);
    size_t cells = weft_least(share / WEFT_CELL_BYTES, WEFT_CELLS_MOST);
    return cells < CELLS_MIN ? 0 : (int)cells & ~1;
}

/* Large rings, boards, walls, shelves, VCIs and cells are sparse: only in a memfd does a page of
 * them that is not touched cost nothing. */
static int make_memfd(int ranks, size_t *data_bytes, invitation_t *out)
{
    int fd = memfd_create("weft", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    *data_bytes = data_bytes_for(ranks);
    size_t vcis =
        vcis_offset(ranks, *data_bytes, large_bytes_for(ranks), wall_ring_bytes_for(ranks));
    out->bytes = cells_offset(ranks, vcis, vci_data_bytes_for(ranks)) +
                 baton_index((size_t)ranks, 0) * (size_t)cells_for(ranks) * WEFT_CELL_BYTES;
    if (fchmod(fd, 0600) != 0 || ftruncate(fd, (off_t)out->bytes) != 0) {
        close(fd);
        return -1;
    }
    snprintf(out->path, sizeof(out->path), "/proc/%d/fd/%d", (int)getpid(), fd);
    out->has_name = false;
    return fd;
}

/* A file in /dev/shm; smaller rings until there is room for all of it. */
static int make_file(int ranks, size_t *data_bytes, invitation_t *out)
{
    snprintf(out->path, sizeof(out->path), "/dev/shm/%s.weft", weft_world.job_id);
    int fd = open(out->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    out->has_name = true;
    for (*data_bytes = data_bytes_for(ranks); *data_bytes >= DATA_BYTES_MIN; *data_bytes /= 2) {
        out->bytes = segment_bytes(ranks, *data_bytes);
        if (posix_fallocate(fd, 0, (off_t)out->bytes) == 0)
            return fd;
        if (ftruncate(fd, 0) != 0)
            break;
    }
    unlink(out->path);
    close(fd);
    errno = ENOSPC;
    return -1;
}

static int make_segment(int ranks, size_t *data_bytes, invitation_t *out)
{
    if (strcmp(weft_config.SHM, "file") != 0) {
        int fd = make_memfd(ranks, data_bytes, out);
        if (fd >= 0 || strcmp(weft_config.SHM, "memfd") == 0)
            return fd;
    }
    return make_file(ranks, data_bytes, out);
}

static int map_segment(int fd, size_t bytes, weft_segment_t *out)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return weft_fail(MPI_ERR_NO_MEM, "cannot map a shared segment of %zu bytes: %s", bytes,
                         strerror(errno));
    *out = (weft_segment_t){.header = memory, .bytes = bytes};
    return MPI_SUCCESS;
}

/* Map the segment and have the other ranks attach to it; on failure it is not mapped. */
static int invite_others(const weft_world_t *world, int fd, size_t data_bytes,
                         const invitation_t *invitation, weft_segment_t *out)
{
    int err = map_segment(fd, invitation->bytes, out);
    if (err != MPI_SUCCESS)
        return err;
    out->header->token = invitation->token;
    out->header->data_bytes = (uint32_t)data_bytes;
    out->header->large_bytes =
        invitation->has_name ? 0 : (uint32_t)large_bytes_for(world->local_size);
    out->header->baton_bytes = invitation->has_name ? WEFT_BATON_SHORT_BYTES : WEFT_BATON_BYTES;
    out->header->wall_ring_bytes =
        invitation->has_name ? 0 : (uint32_t)wall_ring_bytes_for(world->local_size);
    out->header->vci_data_bytes =
        invitation->has_name ? 0 : (uint32_t)vci_data_bytes_for(world->local_size);
    out->header->cells = invitation->has_name ? 0 : (uint32_t)cells_for(world->local_size);
    err = world->wireup->put(key, invitation, sizeof(*invitation));
    if (err == MPI_SUCCESS)
        err = world->wireup->fence();
    if (err != MPI_SUCCESS)
        munmap(out->header, out->bytes);
    return err;
}

/* *fd_out stays open until all have attached: the others open it through /proc. */
static int create_segment(const weft_world_t *world, invitation_t *invitation, int *fd_out,
                          weft_segment_t *out)
{
    int err = weft_random(&invitation->token, sizeof(invitation->token));
    if (err != MPI_SUCCESS)
        return err;
    size_t data_bytes = 0;
    int fd = make_segment(world->local_size, &data_bytes, invitation);
    if (fd < 0)
        return weft_fail(
            MPI_ERR_NO_MEM,
            "cannot make the shared segment of %d ranks, %zu bytes at least "
            "(WEFT_SHM=%s): %s: %s",
            world->local_size, segment_bytes(world->local_size, DATA_BYTES_MIN), weft_config.SHM,
            invitation->path[0] == '\0' ? "memfd_create" : invitation->path, strerror(errno));
    err = invite_others(world, fd, data_bytes, invitation, out);
    if (err != MPI_SUCCESS) {
        if (invitation->has_name)
            unlink(invitation->path);
        close(fd);
        return err;
    }
    *fd_out = fd;
    return MPI_SUCCESS;
}

static int attach_segment(const weft_world_t *world, invitation_t *invitation, weft_segment_t *out)
{
    void *data;
    size_t bytes;
    int err = world->wireup->fence();
    if (err != MPI_SUCCESS)
        return err;
    err = world->wireup->get(world->local_ranks[0], key, &data, &bytes);
    if (err != MPI_SUCCESS)
        return err;
    memcpy(invitation, data, bytes < sizeof(*invitation) ? bytes : sizeof(*invitation));
    weft_free(data);
    int fd = open(invitation->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return weft_fail(MPI_ERR_OTHER, "cannot open the shared segment %s of rank %d: %s%s",
                         invitation->path, world->local_ranks[0], strerror(errno),
                         invitation->has_name ? "" : "; WEFT_SHM=file may help");
    err = map_segment(fd, invitation->bytes, out);
    close(fd);
    if (err == MPI_SUCCESS && out->header->token != invitation->token) {
        munmap(out->header, out->bytes);
        return weft_fail(MPI_ERR_OTHER,
                         "%s is not the shared segment of this job; WEFT_SHM=file may "
                         "help",
                         invitation->path);
    }
    return err;
}

/* All ranks wait here, so that each may look at what the others show in their blocks. */
static void await_all(weft_segment_header_t *header, int ranks, const invitation_t *invitation)
{
    unsigned arrived = atomic_fetch_add(&header->attached, 1) + 1;
    if (arrived == (unsigned)ranks) {
        if (invitation->has_name)
            unlink(invitation->path);
        weft_futex_wake(&header->attached);
        return;
    }
    while ((arrived = atomic_load(&header->attached)) < (unsigned)ranks)
        weft_futex_wait(&header->attached, arrived, 0);
}

static ino_t pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

static void show_self(const weft_segment_t *segment, int local_rank)
{
    static uint64_t probe;
    weft_rank_block_t *block = weft_segment_block(segment, local_rank);
    probe = segment->header->token + (uint64_t)local_rank;
    block->cpus = weft_cpus_allowed();
    block->cpu_quota = weft_cpu_quota();
    block->has_asymmetric_fence = weft_asymmetric_fence_open();
    block->wants_vcis = weft_world_wants_vcis();
    block->pid_namespace = pid_namespace();
    block->pid = getpid();
    block->probe_address = (uint64_t)(uintptr_t)&probe;
}

int weft_segment_open(const weft_world_t *world, weft_segment_t *out)
{
    invitation_t invitation = {0};
    int fd = -1;
    int err = world->local_rank == 0 ? create_segment(world, &invitation, &fd, out)
                                     : attach_segment(world, &invitation, out);
    if (err != MPI_SUCCESS)
        return err;
    out->ranks = world->local_size;
    out->block_bytes = segment_block_bytes(world->local_size);
    out->is_file = invitation.has_name;
    out->wanted_data_bytes = (uint32_t)data_bytes_for(world->local_size);
    show_self(out, world->local_rank);
    await_all(out->header, out->ranks, &invitation);
    if (fd >= 0)
        close(fd);
    WEFT_LOG(WEFT_INFO, "shm", "segment %s ranks %d bytes %zu data ring %u large ring %u",
             invitation.path, out->ranks, out->bytes, out->header->data_bytes,
             out->header->large_bytes);
    return MPI_SUCCESS;
}

void weft_segment_close(weft_segment_t *segment)
{
    munmap(segment->header, segment->bytes);
}

weft_rank_block_t *weft_segment_block(const weft_segment_t *segment, int local_rank)
{
    char *blocks = (char *)segment->header + round_up(sizeof(weft_segment_header_t), 128);
    return (weft_rank_block_t *)(void *)(blocks + segment->block_bytes * (size_t)local_rank);
}

void weft_segment_agree_on_waiting(const weft_segment_t *segment, weft_world_t *world)
{
    weft_cpus_t cpus = {{0}};
    int quota = INT_MAX;
    world->has_asymmetric_fence = true;
    for (int i = 0; i < segment->ranks; i++) {
        const weft_rank_block_t *block = weft_segment_block(segment, i);
        weft_cpus_add(&cpus, &block->cpus);
        if (block->cpu_quota < quota)
            quota = block->cpu_quota;
        if (!block->has_asymmetric_fence)
            world->has_asymmetric_fence = false;
    }
    int cores = weft_cpus_count(&cpus);
    if (quota < cores)
        cores = quota;
    world->is_oversubscribed = world->is_oversubscribed || segment->ranks > cores;
    world->ranks_per_core = (segment->ranks + cores - 1) / cores;
}

int weft_segment_vcis(const weft_segment_t *segment)
{
    bool want_all = segment->header->vci_data_bytes != 0;
    for (int i = 0; i < segment->ranks; i++)
        want_all = want_all && weft_segment_block(segment, i)->wants_vcis;
    return want_all ? WEFT_VCIS : 1;
}

/* Where VCI 1 begins. */
static size_t later_vcis(const weft_segment_t *segment)
{
    const weft_segment_header_t *header = segment->header;
    return vcis_offset(segment->ranks, header->data_bytes, header->large_bytes,
                       header->wall_ring_bytes);
}

static vci_layout_t layout_of(const weft_segment_t *segment, int vci)
{
    const weft_segment_header_t *header = segment->header;
    int ranks = segment->ranks;
    if (vci == 0)
        return first_layout(ranks, header->data_bytes, header->baton_bytes);
    return vci_layout(later_vcis(segment) +
                          (size_t)(vci - 1) * vci_bytes(ranks, header->vci_data_bytes),
                      ranks, header->vci_data_bytes, WEFT_BATON_SHORT_BYTES);
}

weft_slots_pair_t weft_segment_slots(const weft_segment_t *segment, int vci, int rank, int peer)
{
    char *base = (char *)segment->header;
    vci_layout_t its = layout_of(segment, vci);
    size_t ranks = (size_t)segment->ranks, own = (size_t)rank, other = (size_t)peer;
    weft_slot_t *slots = (weft_slot_t *)(void *)(base + its.slots);
    char *baton = base + its.batons + baton_index(own, other) * its.baton_bytes;
    return (weft_slots_pair_t){.to = slots + (other * ranks + own) * WEFT_SLOTS,
                               .from = slots + (own * ranks + other) * WEFT_SLOTS,
                               .baton = (weft_slot_t *)(void *)baton,
                               .baton_room = weft_baton_room(its.baton_bytes)};
}

void weft_segment_cells(const weft_segment_t *segment, int rank, int peer, weft_cells_t *out)
{
    const weft_segment_header_t *header = segment->header;
    size_t offset = cells_offset(segment->ranks, later_vcis(segment), header->vci_data_bytes);
    size_t bytes = (size_t)header->cells * WEFT_CELL_BYTES;
    char *memory =
        (char *)segment->header + offset + baton_index((size_t)rank, (size_t)peer) * bytes;
    weft_cells_open(out, memory, (int)header->cells, rank > peer);
}

static void add_large_ring(const weft_segment_t *segment, size_t pair, weft_channel_t *channel)
{
    char *base = (char *)segment->header;
    int ranks = segment->ranks;
    size_t data_bytes = segment->header->data_bytes, large_bytes = segment->header->large_bytes;
    if (large_bytes == 0)
        return;
    channel->large = base + large_offset(ranks, data_bytes) + pair * large_bytes;
    channel->large_units = (uint32_t)(large_bytes / WEFT_DATA_UNIT);
}

weft_channel_t weft_segment_channel(const weft_segment_t *segment, int vci, int receiver,
                                    int sender)
{
    char *base = (char *)segment->header;
    vci_layout_t its = layout_of(segment, vci);
    size_t pair = (size_t)receiver * (size_t)segment->ranks + (size_t)sender;
    weft_channel_t channel = {
        .credit = (weft_credit_t *)(void *)(base + its.credits) + pair,
        .data = base + its.data + pair * its.data_bytes,
        .units = (uint32_t)(its.data_bytes / WEFT_DATA_UNIT),
    };
    if (vci == 0)
        add_large_ring(segment, pair, &channel);
    return channel;
}

void *weft_segment_boards(const weft_segment_t *segment)
{
    size_t offset =
        boards_offset(segment->ranks, segment->header->data_bytes, segment->header->large_bytes);
    if (segment->is_file || offset + weft_boards_bytes(segment->ranks) > segment->bytes)
        return NULL;
    return (char *)segment->header + offset;
}

void *weft_segment_walls(const weft_segment_t *segment)
{
    const weft_segment_header_t *header = segment->header;
    if (header->wall_ring_bytes == 0)
        return NULL;
    return (char *)segment->header +
           walls_offset(segment->ranks, header->data_bytes, header->large_bytes);
}

void *weft_segment_shelves(const weft_segment_t *segment)
{
    const weft_segment_header_t *header = segment->header;
    if (segment->is_file)
        return NULL;
    return (char *)segment->header + shelves_offset(segment->ranks, header->data_bytes,
                                                    header->large_bytes, header->wall_ring_bytes);
}

weft_copy_job_t *weft_segment_copy_job(const weft_segment_t *segment, int receiver, int sender)
{
    char *jobs = (char *)segment->header + jobs_offset(segment->ranks);
    size_t pair = (size_t)receiver * (size_t)segment->ranks + (size_t)sender;
    return (weft_copy_job_t *)(void *)jobs + pair;
}
