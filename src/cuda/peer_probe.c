/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/peer_probe.h"

#include "cuda/allocation.h"
#include "cuda/cuda_copy.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_mapping.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_queue.h"
#include "cuda/cuda_share.h"
#include "cuda/cuda_stream.h"
#include "runtime/host_devices.h"
#include "runtime/world.h"
#include "mpi.h"

#include <stdio.h>
#include <string.h>

/* An area has a part for each device of the host, so that two of them do not disturb each other:
 * one half is written by a copy, the other by a kernel. */
enum {
    WORDS = 16, /* of a part */
    HALF = WORDS / 2 * sizeof(uint32_t),
    PART = 2 * HALF,
    AREA = WEFT_HOST_DEVICES * PART,
};

static bool is_probing; /* the mapping of an area is not tried itself */

/* What the owner writes (`turn` 0), and what the other device writes (1): never all ones. */
static void write_pattern(uint32_t *out, int part, uint32_t turn)
{
    for (uint32_t i = 0; i < WORDS; i++)
        out[i] = 0x5eed0001u + turn * 0x10000000u + ((uint32_t)part * WORDS + i) * 2654435761u / 4;
}

static bool await_queue(weft_queue_t *queue)
{
    weft_visit_t visit;
    if (wefti_device_enter(queue->device, &visit) != MPI_SUCCESS)
        return false;
    bool is_good = wefti_cu.cuStreamSynchronize(queue->stream) == WEFT_CU_SUCCESS;
    wefti_device_leave(&visit);
    return is_good;
}

bool wefti_is_probing(void)
{
    return is_probing;
}

/* ---- the owner ---- */

static bool fill_area(weft_device_t *device, void *area)
{
    weft_queue_t *queue = wefti_queue_of(device, WEFT_STREAM_QUICK);
    uint32_t *slot = queue == NULL ? NULL : wefti_pinned_take(device, AREA);
    if (slot == NULL)
        return false;
    for (int part = 0; part < WEFT_HOST_DEVICES; part++)
        write_pattern(slot + part * WORDS, part, 0);
    bool is_good = wefti_copy(queue, area, slot, AREA) == MPI_SUCCESS && await_queue(queue);
    wefti_pinned_give(slot);
    return is_good;
}

void wefti_probe_offer(weft_device_t *device)
{
    weft_memory_t memory;
    weft_share_t share;
    if (device->has_probe || wefti_streams_may_wait())
        return;
    device->has_probe = true;
    if (!weft_host_device_may_offer(device->place))
        return;
    void *area = wefti_scratch_take(device, AREA);
    if (area != NULL && fill_area(device, area) && wefti_memory_look(area, &memory) == 0 &&
        wefti_share(&memory, area, AREA, &share))
        weft_host_device_offer(device->place, &share);
}

/* ---- the other device ---- */

/* The words of this rank in pinned memory: what is wanted, and what was got. */
typedef struct probe {
    weft_queue_t *queue;
    char *part;             /* of the area, mapped */
    uint32_t *wanted, *got; /* [WORDS] each */
} probe_t;

static int move_by_kernel(const probe_t *its, void *to, const void *from)
{
    weft_piece_t pieces[2] = {{to, from, HALF / 2},
                              {(char *)to + HALF / 2, (const char *)from + HALF / 2, HALF / 2}};
    return wefti_copy_many(its->queue, pieces, 2, false);
}

/* One half by a copy, the other one by a kernel, where there are kernels. */
static bool move(const probe_t *its, void *to, const void *from, bool kernel_first)
{
    size_t by_kernel = kernel_first ? 0 : HALF, by_copy = HALF - by_kernel;
    return wefti_copy(its->queue, (char *)to + by_copy, (const char *)from + by_copy, HALF) ==
               MPI_SUCCESS &&
           move_by_kernel(its, (char *)to + by_kernel, (const char *)from + by_kernel) ==
               MPI_SUCCESS &&
           await_queue(its->queue);
}

static bool reads_as_wanted(const probe_t *its, bool kernel_first)
{
    memset(its->got, 0, PART);
    return move(its, its->got, its->part, kernel_first) && memcmp(its->got, its->wanted, PART) == 0;
}

static bool try_part(const probe_t *its, int part)
{
    write_pattern(its->wanted, part, 0);
    if (!reads_as_wanted(its, false))
        return false;
    write_pattern(its->wanted, part, 1);
    return move(its, its->part, its->wanted, false) && reads_as_wanted(its, true);
}

/* Returns false if it cannot be tried. */
static bool try_area(weft_device_t *device, const weft_share_t *area, bool *is_good_out)
{
    weft_mapping_t mapping;
    probe_t its = {.queue = wefti_queue_of(device, WEFT_STREAM_QUICK)};
    its.wanted = its.queue == NULL ? NULL : wefti_pinned_take(device, 2 * PART);
    if (its.wanted == NULL)
        return false;
    its.got = its.wanted + WORDS;
    is_probing = true;
    bool is_mapped = wefti_map(area, device, true, &mapping);
    is_probing = false;
    if (is_mapped) {
        its.part = (char *)mapping.address + device->place * PART;
        *is_good_out = try_part(&its, device->place);
        wefti_unmap(&mapping);
    }
    wefti_pinned_give(its.wanted);
    return is_mapped;
}

static void say_that_it_fails(const weft_device_t *device, const uint8_t owner_uuid[16])
{
    char owner[16] = "one not seen", why[160];
    weft_cu_device_t number = wefti_device_number(owner_uuid);
    if (number >= 0)
        wefti_cu.cuDeviceGetPCIBusId(owner, sizeof(owner), number);
    snprintf(why, sizeof(why),
             "the driver says that device %s reaches the memory of device %s, but what it writes "
             "there is lost",
             device->pci, owner);
    wefti_warn_of_detour(WEFT_WARNING_PEERS_LIE, why);
}

weft_reach_t wefti_probe_reach(weft_device_t *device, const uint8_t owner_uuid[16])
{
    int owner = weft_host_device_find(owner_uuid);
    const weft_share_t *area = weft_host_device_offered(owner);
    bool is_good = true;
    if (is_probing || device->place < 0 || area == NULL)
        return WEFT_REACHES;
    weft_verdict_t verdict = weft_host_verdict_ask(device->place, owner);
    if (verdict == WEFT_VERDICT_YOURS && area->owner == (uint32_t)weft_world.rank) {
        /* Within a process it takes peer access, which is the program's to enable. */
        weft_host_verdict_give(device->place, owner, WEFT_VERDICT_UNKNOWN);
        return WEFT_REACHES;
    }
    if (verdict == WEFT_VERDICT_YOURS) {
        bool is_tried = try_area(device, area, &is_good);
        verdict = is_good ? WEFT_VERDICT_GOOD : WEFT_VERDICT_BAD;
        weft_host_verdict_give(device->place, owner, is_tried ? verdict : WEFT_VERDICT_UNKNOWN);
        if (!is_good)
            say_that_it_fails(device, owner_uuid);
    }
    return verdict == WEFT_VERDICT_GOOD  ? WEFT_REACHES
           : verdict == WEFT_VERDICT_BAD ? WEFT_REACH_FAILS
                                         : WEFT_REACH_LATER;
}
