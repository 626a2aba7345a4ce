/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "cuda/cuda_segments.h"

#include "cuda/cuda_share.h"
#include "cuda/mapping_handles.h"
#include "runtime/fd_mail.h"
#include "runtime/world.h"
#include "base/list.h"
#include "base/memory.h"
#include "mpi.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SEGMENTS_MOST = 64, /* of a buffer: 1.2 GiB in pieces of 20 MiB, PyTorch's */
    LISTS_MOST = 64     /* those that are in use come on top */
};

static const uint64_t first_id = UINT64_C(1) << 63; /* the driver counts from 1 */

typedef struct segment {
    uint64_t bytes;
    uint64_t ticket; /* of the descriptor */
} segment_t;

/* What the file contains. */
typedef struct segments {
    uint64_t count;
    segment_t segment[SEGMENTS_MOST];
} segments_t;

typedef struct segment_list {
    weft_link_t link; /* least recently used first */
    uint64_t id;
    uintptr_t base;
    size_t bytes;
    weft_device_t *device;
    segments_t segments;
    uint64_t ids[SEGMENTS_MOST]; /* of the allocations */
    int fd;
    uint64_t ticket; /* of the descriptor */
    size_t shares;   /* in use */
} segment_list_t;

static weft_list_t lists = {&lists, &lists};
static int list_count;

static segment_list_t *list_at(weft_link_t *link)
{
    return WEFT_ELEMENT(link, segment_list_t, link);
}

/* ---- the owner's side ---- */

static void drop_list(segment_list_t *list)
{
    weft_list_remove(&list->link);
    list_count--;
    if (weft_device_freed != NULL)
        weft_device_freed(list->id);
    weft_fd_withdraw(list->ticket);
    close(list->fd);
    weft_free(list);
}

static void make_room_for_list(void)
{
    for (weft_link_t *at = lists.next, *next; at != &lists && list_count >= LISTS_MOST; at = next) {
        next = at->next;
        if (list_at(at)->shares == 0)
            drop_list(list_at(at));
    }
}

/* The next piece; false: it is not one of virtual memory with a descriptor, on the same device. */
static bool collect_one(uintptr_t at, segment_list_t *out)
{
    weft_memory_t memory;
    uint64_t count = out->segments.count;
    if (wefti_memory_look((void *)at, &memory) != MPI_SUCCESS || memory.device == NULL ||
        (count > 0 && (memory.base != at || memory.device != out->device)))
        return false;
    const weft_allocation_t *entry = wefti_share_by_fd(memory.id);
    if (entry == NULL)
        return false;
    if (count == 0) {
        out->base = memory.base;
        out->device = memory.device;
    }
    out->ids[count] = memory.id;
    out->segments.segment[count] = (segment_t){memory.bytes, entry->ticket};
    out->segments.count = count + 1;
    out->bytes = memory.base + memory.bytes - out->base;
    return true;
}

static bool collect_segments(const void *buf, size_t bytes, segment_list_t *out)
{
    uintptr_t at = (uintptr_t)buf, end = at + bytes;
    memset(out, 0, sizeof(*out));
    for (; at < end; at = out->base + out->bytes) {
        if (out->segments.count == SEGMENTS_MOST) {
            wefti_warn_of_detour(WEFT_WARNING_NO_HANDLE,
                                 "a buffer in more than 64 pieces of virtual memory is not shared "
                                 "between processes: map larger pieces");
            return false;
        }
        if (!collect_one(at, out))
            return false;
    }
    return true;
}

static segment_list_t *find_list(const segment_list_t *like)
{
    for (weft_link_t *at = lists.next; at != &lists; at = at->next) {
        segment_list_t *list = list_at(at);
        if (list->segments.count == like->segments.count &&
            memcmp(list->ids, like->ids, like->segments.count * sizeof(like->ids[0])) == 0)
            return list;
    }
    return NULL;
}

static segment_list_t *add_list(const segment_list_t *like)
{
    static uint64_t last_id = first_id;
    make_room_for_list();
    segment_list_t *list = weft_alloc_zeroed(1, sizeof(*list));
    int fd = list == NULL ? -1 : memfd_create("weft-segments", MFD_CLOEXEC);
    if (fd < 0) {
        weft_free(list);
        return NULL;
    }
    *list = *like;
    list->segments.count = 0; /* nothing is written yet */
    list->id = last_id++;
    list->fd = fd;
    list->ticket = weft_fd_offer(fd);
    list->link = (weft_link_t){&list->link, &list->link};
    list_count++;
    return list;
}

/* Descriptors may have been closed and opened again since; then nobody uses the list. */
static bool write_list(segment_list_t *list, const segments_t *now)
{
    if (memcmp(&list->segments, now, sizeof(*now)) == 0)
        return true;
    list->segments = *now;
    return pwrite(list->fd, now, sizeof(*now), 0) == (ssize_t)sizeof(*now);
}

bool wefti_segments_share(const void *buf, size_t bytes, weft_share_t *out)
{
    segment_list_t found;
    if (!collect_segments(buf, bytes, &found))
        return false;
    segment_list_t *list = find_list(&found);
    if (list == NULL)
        list = add_list(&found);
    if (list == NULL)
        return false;
    weft_list_remove(&list->link);
    weft_list_append(&lists, &list->link);
    if (!write_list(list, &found.segments))
        return false;
    for (uint64_t i = 0; i < found.segments.count; i++)
        wefti_allocation_of(found.ids[i])->shares++;
    list->shares++;
    *out = (weft_share_t){.base = list->base,
                          .bytes = list->bytes,
                          .id = list->id,
                          .address = (uintptr_t)buf,
                          .ticket = list->ticket,
                          .owner = (uint32_t)weft_world.rank,
                          .kind = WEFT_HANDLE_SEGMENTS,
                          .is_brief = wefti_is_brief(list->device, bytes)};
    memcpy(out->uuid, list->device->uuid.bytes, sizeof(out->uuid));
    return true;
}

/* NULL: it has gone. */
static segment_list_t *list_of(const weft_share_t *share)
{
    weft_link_t *at = lists.next;
    while (at != &lists && list_at(at)->id != share->id)
        at = at->next;
    return at == &lists ? NULL : list_at(at);
}

void wefti_segments_push(const weft_share_t *share, int rank)
{
    const segment_list_t *list = list_of(share);
    for (uint64_t i = 0; list != NULL && i < list->segments.count; i++)
        weft_fd_push(list->segments.segment[i].ticket, rank, share->is_brief);
}

void wefti_segments_unshare(const weft_share_t *share)
{
    segment_list_t *list = list_of(share);
    if (list == NULL)
        return;
    list->shares--;
    for (uint64_t i = 0; i < list->segments.count; i++)
        wefti_share_let_go(wefti_allocation_of(list->ids[i]), share->is_brief);
}

static bool names(const segment_list_t *list, uint64_t id)
{
    uint64_t i = 0;
    while (i < list->segments.count && list->ids[i] != id)
        i++;
    return i < list->segments.count;
}

void wefti_segments_forget(uint64_t id)
{
    for (weft_link_t *at = lists.next, *next; at != &lists; at = next) {
        next = at->next;
        if (names(list_at(at), id))
            drop_list(list_at(at));
    }
}

/* ---- the peer's side ---- */

/* The descriptors of a share that are on their way. */
typedef struct arrival {
    weft_link_t link;
    uint32_t owner;
    uint64_t ticket;        /* of the list */
    segments_t segments;    /* count 0: the list has not come yet */
    int fds[SEGMENTS_MOST]; /* -1: it has not come yet */
} arrival_t;

static weft_list_t arrivals = {&arrivals, &arrivals};

static arrival_t *arrival_at(weft_link_t *link)
{
    return WEFT_ELEMENT(link, arrival_t, link);
}

static arrival_t *find_arrival(const weft_share_t *share)
{
    weft_link_t *at = arrivals.next;
    while (at != &arrivals &&
           (arrival_at(at)->owner != share->owner || arrival_at(at)->ticket != share->ticket))
        at = at->next;
    return at == &arrivals ? NULL : arrival_at(at);
}

static arrival_t *add_arrival(const weft_share_t *share)
{
    arrival_t *arrival = weft_alloc_zeroed(1, sizeof(*arrival));
    if (arrival == NULL)
        return NULL;
    arrival->owner = share->owner;
    arrival->ticket = share->ticket;
    weft_list_append(&arrivals, &arrival->link);
    return arrival;
}

static void drop_arrival(arrival_t *arrival)
{
    weft_list_remove(&arrival->link);
    for (uint64_t i = 0; i < arrival->segments.count; i++) {
        if (arrival->fds[i] >= 0)
            close(arrival->fds[i]);
        else
            weft_fd_forget((int)arrival->owner, arrival->segments.segment[i].ticket);
    }
    weft_free(arrival);
}

static bool is_sound(const segments_t *segments, size_t wanted_bytes)
{
    uint64_t bytes = 0;
    if (segments->count > SEGMENTS_MOST)
        return false;
    for (uint64_t i = 0; i < segments->count; i++)
        bytes += segments->segment[i].bytes;
    return bytes == wanted_bytes;
}

static weft_cu_result_t read_list(arrival_t *arrival, size_t bytes)
{
    segments_t found;
    int fd;
    if (arrival->segments.count > 0)
        return WEFT_CU_SUCCESS;
    weft_cu_result_t result = wefti_fetch_fd((int)arrival->owner, arrival->ticket, &fd);
    if (result != WEFT_CU_SUCCESS)
        return result;
    bool is_whole = pread(fd, &found, sizeof(found), 0) == (ssize_t)sizeof(found);
    close(fd);
    if (!is_whole || !is_sound(&found, bytes))
        return WEFT_CU_INVALID_VALUE;
    arrival->segments = found;
    for (uint64_t i = 0; i < found.count; i++)
        arrival->fds[i] = -1;
    return WEFT_CU_SUCCESS;
}

/* All that have not come are asked for at once. */
static weft_cu_result_t fetch_pieces(arrival_t *arrival)
{
    weft_cu_result_t worst = WEFT_CU_SUCCESS;
    for (uint64_t i = 0; i < arrival->segments.count; i++) {
        if (arrival->fds[i] >= 0)
            continue;
        weft_cu_result_t result = wefti_fetch_fd(
            (int)arrival->owner, arrival->segments.segment[i].ticket, &arrival->fds[i]);
        if (result != WEFT_CU_SUCCESS && (result != WEFT_CU_NOT_READY || worst == WEFT_CU_SUCCESS))
            worst = result;
    }
    return worst;
}

static weft_cu_result_t map_segment(int fd, size_t bytes, weft_cu_address_t address)
{
    weft_cu_allocation_t allocation;
    weft_cu_result_t result = wefti_cu.cuMemImportFromShareableHandle(
        &allocation, (void *)(intptr_t)fd, WEFT_CU_HANDLE_POSIX_FD);
    if (result != WEFT_CU_SUCCESS)
        return result;
    result = wefti_cu.cuMemMap(address, bytes, 0, allocation, 0);
    wefti_cu.cuMemRelease(allocation);
    return result;
}

/* The driver unmaps whole mappings only, and knows how large each is. */
static void unmap_segments(weft_cu_address_t from, weft_cu_address_t to)
{
    weft_cu_address_t base;
    size_t bytes;
    while (from < to && wefti_cu.cuMemGetAddressRange(&base, &bytes, from) == WEFT_CU_SUCCESS) {
        wefti_cu.cuMemUnmap(base, bytes);
        from = base + bytes;
    }
}

static weft_cu_result_t map_pieces(const arrival_t *arrival, size_t bytes,
                                   const weft_device_t *device, weft_cu_address_t *out)
{
    const segments_t *segments = &arrival->segments;
    weft_cu_access_t access = wefti_access_by(device);
    weft_cu_address_t address, end;
    weft_cu_result_t result = wefti_cu.cuMemAddressReserve(&address, bytes, 0, 0, 0);
    if (result != WEFT_CU_SUCCESS)
        return result;
    end = address;
    for (uint64_t i = 0; i < segments->count && result == WEFT_CU_SUCCESS; i++) {
        result = map_segment(arrival->fds[i], segments->segment[i].bytes, end);
        end += result == WEFT_CU_SUCCESS ? segments->segment[i].bytes : 0;
    }
    if (result == WEFT_CU_SUCCESS)
        result = wefti_cu.cuMemSetAccess(address, bytes, &access, 1);
    if (result == WEFT_CU_SUCCESS) {
        *out = address;
        return result;
    }
    unmap_segments(address, end);
    wefti_cu.cuMemAddressFree(address, bytes);
    return result;
}

weft_cu_result_t wefti_segments_map(const weft_share_t *share, const weft_device_t *device,
                                    weft_cu_address_t *out)
{
    arrival_t *arrival = find_arrival(share);
    if (arrival == NULL)
        arrival = add_arrival(share);
    if (arrival == NULL)
        return WEFT_CU_OUT_OF_MEMORY;
    weft_cu_result_t result = read_list(arrival, share->bytes);
    if (result == WEFT_CU_SUCCESS)
        result = fetch_pieces(arrival);
    if (result == WEFT_CU_SUCCESS)
        result = map_pieces(arrival, share->bytes, device, out);
    if (result != WEFT_CU_NOT_READY)
        drop_arrival(arrival);
    return result;
}

void wefti_segments_unmap(weft_cu_address_t address, size_t bytes)
{
    unmap_segments(address, address + bytes);
    wefti_cu.cuMemAddressFree(address, bytes);
}

bool wefti_segments_are_awaited(const weft_share_t *share)
{
    return share->kind == WEFT_HANDLE_SEGMENTS && find_arrival(share) != NULL;
}

void wefti_segments_give_up(const weft_share_t *share)
{
    arrival_t *arrival = share->kind == WEFT_HANDLE_SEGMENTS ? find_arrival(share) : NULL;
    if (arrival != NULL)
        drop_arrival(arrival);
}

void wefti_segments_close(void)
{
    while (!weft_list_is_empty(&lists))
        drop_list(list_at(lists.next));
    while (!weft_list_is_empty(&arrivals))
        drop_arrival(arrival_at(arrivals.next));
}
