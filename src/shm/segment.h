/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that the ranks of one host share: one segment a job and host, made by its lowest rank.
 *
 *   | header | rank blocks [n] | copy jobs | VCI 0 | large rings | boards | walls | shelves
 *   | VCI 1 | VCI 2 ... | cells
 *   a VCI: | credits | slots | data | batons
 *
 * Credits, copy jobs, slots, data and large rings are arrays [receiver][sender], and there are a
 * baton and the cells of shm/cells.h for each pair. Large rings, cells, the boards of
 * runtime/meeting.h, the walls of runtime/wall_place.h, the shelves of runtime/shelf.h and all VCIs
 * but the first (runtime/vci.h) exist in a memfd only.
 *
 * The segment is sparse: a page costs memory only when a pair of ranks uses it. By default it is a
 * memfd that the others open through /proc, so the size of /dev/shm does not matter and no name can
 * be left behind. The alternative is a file in /dev/shm: its room is reserved when it is made (no
 * SIGBUS later), and its name is removed when the last rank has opened it.
 */
#ifndef WEFT_SHM_SEGMENT_H
#define WEFT_SHM_SEGMENT_H

#include "runtime/fd_mail.h"
#include "runtime/host_devices.h"
#include "runtime/vci.h"
#include "runtime/progress.h"
#include "runtime/world.h"
#include "shm/cells.h"
#include "shm/channel.h"
#include "shm/shared_copy.h"
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct weft_segment_header {
    uint64_t token;             /* random, of this job */
    uint32_t data_bytes;        /* of each data ring; a power of two */
    uint32_t large_bytes;       /* of each large ring; a power of two, or 0: there are none */
    uint32_t baton_bytes;       /* of each baton */
    uint32_t wall_ring_bytes;   /* of each ring of a wall; 0: there are no walls */
    uint32_t vci_data_bytes;    /* of each data ring of another VCI; 0: there are none */
    uint32_t cells;             /* of each pair of ranks; even; 0: there are none */
    atomic_uint attached;       /* ranks that have the segment */
    atomic_uint noted;          /* weft_world.noted */
    atomic_uint senders_fence;  /* weft_world.senders_fence */
    atomic_ullong moved_ns;     /* weft_spread_place.moved_ns */
    weft_host_link_t host_link; /* weft_world.host_link */
    weft_host_devices_t host_devices;
} weft_segment_header_t;

/** What one rank shows to the others. */
typedef struct weft_rank_block {
    weft_doorbell_t doorbell;
    weft_cpus_t cpus;          /* that the rank may run on */
    int cpu_quota;             /* processors that its control group grants */
    bool has_asymmetric_fence; /* the rank can make one, and is reached by those of others */
    bool wants_vcis;           /* its threads may use VCIs */
    ino_t pid_namespace;       /* in which `pid` is valid; 0: not known */
    pid_t pid;
    atomic_int processor;   /* weft_spread_place.processor */
    atomic_uint leaving;    /* weft_world.shown_leaving */
    uint64_t probe_address; /* of a word that holds `token + local rank` */
    weft_fd_box_t fd_box;   /* weft_fd_place.box */
    /* [WEFT_VCIS][(n + 63) / 64] senders that have begun to send in the VCI */
    _Alignas(64) atomic_ullong contacts[];
} weft_rank_block_t;

typedef struct weft_segment {
    weft_segment_header_t *header; /* start of the mapping */
    size_t bytes;
    int ranks;
    size_t block_bytes;
    bool is_file;               /* in /dev/shm */
    uint32_t wanted_data_bytes; /* of each data ring, if there had been room */
} weft_segment_t;

/** Make the segment (local rank 0) or attach to it, and wait until all local ranks have done so.
 *  Returns an MPI error class; nothing is left behind on failure. */
int weft_segment_open(const weft_world_t *world, weft_segment_t *out);
void weft_segment_close(weft_segment_t *segment);

/** Set what `world` says of waiting, by what all ranks have shown, so that all decide alike: a rank
 * that sleeps relies on whether senders fence, and collectives choose algorithms by
 * is_oversubscribed. */
void weft_segment_agree_on_waiting(const weft_segment_t *segment, weft_world_t *world);

/** How many VCIs there are: WEFT_VCIS, if all ranks want them and the segment has them, else 1. It
 *  has them if local rank 0 wants them, and if their rings fit into WEFT_SHM_BYTES. */
int weft_segment_vcis(const weft_segment_t *segment);

weft_rank_block_t *weft_segment_block(const weft_segment_t *segment, int local_rank);
weft_slots_pair_t weft_segment_slots(const weft_segment_t *segment, int vci, int rank, int peer);
/** VCI 0 alone has a large ring. */
weft_channel_t weft_segment_channel(const weft_segment_t *segment, int vci, int receiver,
                                    int sender);
/** The cells that `rank` shares with `peer`, as they are before the first packet. */
void weft_segment_cells(const weft_segment_t *segment, int rank, int peer, weft_cells_t *out);
/** Memory of weft_boards_bytes(), zeros at first; NULL: the segment has none. */
void *weft_segment_boards(const weft_segment_t *segment);
/** The memory of walls, weft_walls_bytes(), zeros at first; NULL: the segment has none. */
void *weft_segment_walls(const weft_segment_t *segment);
/** The memory of shelves, weft_shelves_bytes(), which begins with a page; NULL: likewise. */
void *weft_segment_shelves(const weft_segment_t *segment);
weft_copy_job_t *weft_segment_copy_job(const weft_segment_t *segment, int receiver, int sender);

/** Can this process read another's memory? It tries to read from the next rank, whose block says
 *  where to find a word and what that word must hold. False: a warning says why. */
bool weft_segment_can_read(const weft_segment_t *segment, int local_rank);

#endif
