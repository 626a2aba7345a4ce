/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_multicast.h"

#include "cuda/allocation.h"
#include "cuda/cuda_exchange.h"
#include "cuda/cuda_kernels.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_stream.h"
#include "cuda/mapping_handles.h"
#include "cuda/kernels/kernel_arches.h"
#include "runtime/fd_mail.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <string.h>
#include <unistd.h>

_Static_assert((int)WEFT_EXCHANGE_MOST_MEMBERS == (int)WEFT_EXCHANGE_MEMBERS,
               "as many ranks as a kernel takes");

enum {
    OBJECT_BYTES = WEFT_MULTICAST_BLOCKS * WEFT_MULTICAST_AREA,
    BOUND_PART = 8, /* of a device: so much of it may be buffers of the program that are bound */
};

/* A member that is 0 was not made yet. */
typedef struct part {
    weft_multicast_t common; /* first */
    weft_device_t *device;
    weft_cu_allocation_t object, memory;
    weft_cu_address_t own, all;
    size_t bound_bytes;
    uint64_t buffer; /* the allocation that the program's buffer lies in; 0: the library's memory */
    int fd;          /* of the object, in the process that has made it; -1: none */
    weft_link_t link; /* in one of the lists below */
} multicast_part_t;

static weft_list_t closed = {&closed, &closed}, in_use = {&in_use, &in_use},
                   buffers = {&buffers, &buffers}; /* to which a buffer is bound */

static size_t buffer_bytes; /* of all that are bound */

/* ---- what a device can ---- */

static int multicast_attribute(const weft_device_t *device, int attribute)
{
    int value = 0;
    return wefti_cu.cuDeviceGetAttribute(&value, attribute, device->number) == WEFT_CU_SUCCESS
               ? value
               : 0;
}

static bool has_functions(void)
{
    return wefti_cu.cuMemCreate != NULL && wefti_cu.cuMulticastCreate != NULL &&
           wefti_cu.cuMulticastAddDevice != NULL && wefti_cu.cuMulticastBindMem != NULL &&
           wefti_cu.cuMulticastUnbind != NULL && wefti_cu.cuMulticastGetGranularity != NULL;
}

static bool look_at(const weft_device_t *device)
{
    int capability = 10 * multicast_attribute(device, WEFT_CU_DEVICE_CAPABILITY_MAJOR) +
                     multicast_attribute(device, WEFT_CU_DEVICE_CAPABILITY_MINOR);
    return has_functions() && multicast_attribute(device, WEFT_CU_DEVICE_MULTICAST) != 0 &&
           multicast_attribute(device, WEFT_CU_DEVICE_HANDLE_POSIX_FD) != 0 &&
           weft_kernel_multicasts(capability) && strcmp(weft_config.DEVICE_IPC, "no") != 0;
}

bool wefti_can_multicast(weft_device_t *device, const struct weft_op *op,
                         const struct weft_type *type)
{
    if (device->multicasts == 0)
        device->multicasts =
            device->time_limits == 0 && look_at(device) && wefti_has_kernels(device) ? 1 : -1;
    return device->multicasts > 0 &&
           (op == NULL || weft_multicast_kernel(op, type) != WEFT_NO_KERNEL);
}

/* ---- steps: each in the device's context; after a failure return_object() undoes the rest ---- */

static bool is_good(weft_cu_result_t result, const char *call)
{
    if (result != WEFT_CU_SUCCESS)
        WEFT_LOG(WEFT_INFO, "cuda", "no multicast memory: %s: %s", call,
                 wefti_driver_error(result));
    return result == WEFT_CU_SUCCESS;
}

static size_t in_granules(size_t bytes, size_t granule)
{
    return (bytes + granule - 1) / granule * granule;
}

/* The granularity that the driver recommends may be far larger than needed. */
static bool measure_granularity(multicast_part_t *part, weft_cu_multicast_t *properties)
{
    size_t best = 0;
    if (!is_good(
            wefti_cu.cuMulticastGetGranularity(&best, properties, WEFT_CU_MULTICAST_RECOMMENDED),
            "cuMulticastGetGranularity"))
        return false;
    if (best > OBJECT_BYTES &&
        !is_good(wefti_cu.cuMulticastGetGranularity(&best, properties, WEFT_CU_MULTICAST_MINIMUM),
                 "cuMulticastGetGranularity"))
        return false;
    part->common.share.granule = (uint32_t)best;
    properties->bytes = in_granules(OBJECT_BYTES, best);
    return true;
}

/* Buffers are bound in units of the least granularity. 0: the driver does not say. */
static size_t least_granularity(weft_device_t *device)
{
    weft_visit_t visit;
    const weft_cu_multicast_t properties = {
        .devices = 2, .bytes = OBJECT_BYTES, .handle_types = WEFT_CU_HANDLE_POSIX_FD};
    if (device->multicast_granule == 0 && wefti_device_enter(device, &visit) == MPI_SUCCESS) {
        is_good(wefti_cu.cuMulticastGetGranularity(&device->multicast_granule, &properties,
                                                   WEFT_CU_MULTICAST_MINIMUM),
                "cuMulticastGetGranularity");
        wefti_device_leave(&visit);
    }
    return device->multicast_granule;
}

static bool measure_object(multicast_part_t *part, weft_cu_multicast_t *properties, size_t bytes)
{
    size_t granule = part->device->multicast_granule;
    if (bytes == 0)
        return measure_granularity(part, properties);
    part->common.share.granule = (uint32_t)granule;
    properties->bytes = granule == 0 ? 0 : in_granules(bytes, granule);
    return granule != 0;
}

static bool make_object(multicast_part_t *part, int members, size_t bytes)
{
    weft_multicast_share_t *share = &part->common.share;
    weft_cu_multicast_t properties = {.devices = (unsigned)members,
                                      .bytes = OBJECT_BYTES,
                                      .handle_types = WEFT_CU_HANDLE_POSIX_FD};
    if (!measure_object(part, &properties, bytes) ||
        !is_good(wefti_cu.cuMulticastCreate(&part->object, &properties), "cuMulticastCreate") ||
        !is_good(wefti_cu.cuMemExportToShareableHandle(&part->fd, part->object,
                                                       WEFT_CU_HANDLE_POSIX_FD, 0),
                 "cuMemExportToShareableHandle"))
        return false;
    share->owner = (uint32_t)weft_world.rank;
    share->ticket = weft_fd_offer(part->fd);
    share->bytes = properties.bytes;
    return true;
}

/* False: it has not come yet, or never will. */
static bool fetch_object(const weft_multicast_share_t *share, int *fd_out)
{
    weft_fd_answer_t answer = weft_fd_fetch((int)share->owner, share->ticket, fd_out);
    const char *trouble = weft_fd_mail_trouble();
    if (answer == WEFT_FD_REFUSED)
        WEFT_LOG(WEFT_INFO, "cuda", "no multicast memory: rank %u gives no descriptor%s%s",
                 share->owner, trouble == NULL ? "" : ": ", trouble == NULL ? "" : trouble);
    return answer == WEFT_FD_HERE;
}

static bool import_object(multicast_part_t *part, const weft_multicast_share_t *share, int fd)
{
    weft_cu_result_t result = wefti_cu.cuMemImportFromShareableHandle(
        &part->object, (void *)(intptr_t)fd, WEFT_CU_HANDLE_POSIX_FD);
    part->common.share.bytes = share->bytes;
    part->common.share.granule = share->granule;
    return is_good(result, "cuMemImportFromShareableHandle");
}

static bool add_own_device(multicast_part_t *part)
{
    return is_good(wefti_cu.cuMulticastAddDevice(part->object, part->device->number),
                   "cuMulticastAddDevice");
}

static bool take_part_memory(multicast_part_t *part)
{
    weft_cu_allocation_properties_t properties = {
        .type = WEFT_CU_ALLOCATION_PINNED,
        .handle_types = WEFT_CU_HANDLE_POSIX_FD,
        .location = {WEFT_CU_LOCATION_DEVICE, part->device->number}};
    return is_good(wefti_cu.cuMemCreate(&part->memory, part->common.share.bytes, &properties, 0),
                   "cuMemCreate");
}

static bool map_both(multicast_part_t *part)
{
    const weft_multicast_share_t *share = &part->common.share;
    return is_good(wefti_map_allocation(part->memory, share->bytes, share->granule, part->device,
                                        &part->own),
                   "cuMemMap of memory") &&
           is_good(wefti_map_allocation(part->object, share->bytes, share->granule, part->device,
                                        &part->all),
                   "cuMemMap of an object");
}

static bool object_bind_memory(multicast_part_t *part)
{
    if (!take_part_memory(part))
        return false;
    size_t bytes = part->common.share.bytes;
    if (!is_good(wefti_cu.cuMulticastBindMem(part->object, 0, part->memory, 0, bytes, 0),
                 "cuMulticastBindMem"))
        return false;
    part->bound_bytes = bytes;
    return map_both(part);
}

/* The granules that a buffer lies in. */
typedef struct granules {
    uint64_t begin, end;
} granules_t;

static granules_t granules_of(const weft_share_t *share, size_t bytes, size_t granule)
{
    uint64_t begin = share->address / granule * granule;
    return (granules_t){begin, begin + in_granules(share->address - begin + bytes, granule)};
}

static bool object_bind_buffer(multicast_part_t *part, const granules_t *where)
{
    const weft_multicast_share_t *share = &part->common.share;
    size_t bytes = where->end - where->begin;
    if (bytes > share->bytes ||
        !is_good(wefti_cu.cuMulticastBindAddr(part->object, 0, where->begin, bytes, 0),
                 "cuMulticastBindAddr"))
        return false;
    part->bound_bytes = bytes;
    return is_good(
        wefti_map_allocation(part->object, share->bytes, share->granule, part->device, &part->all),
        "cuMemMap of an object");
}

/* ---- undoing the steps ---- */

static void unbind(multicast_part_t *part)
{
    size_t bytes = part->common.share.bytes;
    if (part->all != 0)
        wefti_unmap_allocation(part->all, bytes);
    if (part->own != 0)
        wefti_unmap_allocation(part->own, bytes);
    if (part->bound_bytes != 0)
        wefti_cu.cuMulticastUnbind(part->object, part->device->number, 0, part->bound_bytes);
    if (part->memory != 0)
        wefti_cu.cuMemRelease(part->memory);
    if (part->buffer != 0)
        buffer_bytes -= part->bound_bytes;
    part->all = part->own = 0;
    part->memory = 0;
    part->bound_bytes = 0;
}

static void return_object(multicast_part_t *part)
{
    weft_visit_t visit;
    if (!part->device->is_dead && wefti_device_enter(part->device, &visit) == MPI_SUCCESS) {
        unbind(part);
        if (part->object != 0)
            wefti_cu.cuMemRelease(part->object);
        wefti_device_leave(&visit);
    }
    weft_fd_withdraw(part->common.share.ticket);
    if (part->fd >= 0)
        close(part->fd);
    weft_free(part);
}

/* Unmapping waits for all work of the context, so it is put off while a stream may wait. */
static void give_back_late(void)
{
    for (weft_link_t *link; (link = weft_list_pop(&closed)) != NULL;)
        return_object(WEFT_ELEMENT(link, multicast_part_t, link));
}

void wefti_multicasts_close(void)
{
    give_back_late();
    for (weft_link_t *link; (link = weft_list_pop(&in_use)) != NULL;)
        return_object(WEFT_ELEMENT(link, multicast_part_t, link));
}

void wefti_multicast_close(weft_multicast_t *multicast, bool is_in_use)
{
    multicast_part_t *part = (multicast_part_t *)multicast;
    if (part->buffer != 0)
        weft_list_remove(&part->link);
    if (is_in_use) {
        weft_list_append(&in_use, &part->link);
        return;
    }
    if (multicast->watch != NULL)
        wefti_pinned_give_word(part->device, multicast->watch);
    weft_list_append(&closed, &part->link);
    if (!wefti_streams_may_wait())
        give_back_late();
}

/* ---- objects ---- */

static multicast_part_t *begin_object(weft_device_t *device)
{
    if (wefti_streams_may_wait())
        return NULL;
    give_back_late();
    multicast_part_t *part = weft_alloc_zeroed(1, sizeof(*part));
    if (part != NULL) {
        part->device = device;
        part->fd = -1;
    }
    return part;
}

/* What becomes an object: member 0 makes it, for `bytes` bytes of a buffer or for the library; the
 * other members open the one that `share` names, and of which they have a descriptor. */
typedef struct origin {
    int members;
    size_t bytes;
    const weft_multicast_share_t *share; /* NULL: this is member 0 */
    int fd;
} origin_t;

static weft_multicast_t *object_join_object(weft_device_t *device, const origin_t *origin)
{
    weft_visit_t visit;
    multicast_part_t *part = begin_object(device);
    if (part == NULL)
        return NULL;
    bool is_there = wefti_device_enter(device, &visit) == MPI_SUCCESS;
    if (is_there) {
        is_there = (origin->share == NULL ? make_object(part, origin->members, origin->bytes)
                                          : import_object(part, origin->share, origin->fd)) &&
                   add_own_device(part);
        wefti_device_leave(&visit);
    }
    if (is_there)
        return &part->common;
    return_object(part);
    return NULL;
}

weft_multicast_t *wefti_multicast_make(weft_device_t *device, int members, size_t bytes)
{
    return object_join_object(device, &(origin_t){.members = members, .bytes = bytes, .fd = -1});
}

weft_multicast_t *wefti_multicast_join(weft_device_t *device, const weft_multicast_share_t *share)
{
    int fd;
    if (wefti_streams_may_wait() || !fetch_object(share, &fd))
        return NULL;
    weft_multicast_t *multicast = object_join_object(device, &(origin_t){.share = share, .fd = fd});
    close(fd);
    return multicast;
}

static bool bind_part(multicast_part_t *part, weft_event_t *cleared)
{
    weft_visit_t visit;
    if (wefti_device_enter(part->device, &visit) != MPI_SUCCESS)
        return false;
    bool is_there = object_bind_memory(part);
    if (is_there)
        is_there = wefti_clear(part->device, (void *)(uintptr_t)part->own, part->common.share.bytes,
                               cleared) == MPI_SUCCESS;
    if (!is_there)
        unbind(part);
    wefti_device_leave(&visit);
    return is_there;
}

bool wefti_multicast_bind(weft_multicast_t *multicast, weft_event_t *cleared)
{
    multicast_part_t *part = (multicast_part_t *)multicast;
    if (wefti_streams_may_wait() || !wefti_prepare_waits(part->device))
        return false;
    uint32_t *watch = wefti_pinned_word(part->device);
    if (watch == NULL)
        return false;
    if (!bind_part(part, cleared)) {
        wefti_pinned_give_word(part->device, watch);
        return false;
    }
    memset(watch, 0, WEFT_WATCH_BYTES);
    multicast->watch = watch;
    return true;
}

/* ---- buffers of the program ---- */

/* The driver binds memory of cuMemCreate only, and to objects that processes share only such memory
 * as they could share. (It also takes memory of pools; but other allocations of a pool lie in the
 * same granules.) */
static bool is_bindable(const weft_allocation_t *entry)
{
    return entry != NULL && entry->memory.kind == WEFT_MEMORY_DEVICE && !entry->is_legacy &&
           entry->pool == NULL &&
           (entry->handle_types & (WEFT_CU_HANDLE_POSIX_FD | WEFT_CU_HANDLE_FABRIC)) != 0;
}

bool wefti_multicast_may_bind(void)
{
    return !wefti_streams_may_wait();
}

bool wefti_multicast_can_bind(weft_device_t *device, const weft_share_t *share, size_t bytes,
                              uint32_t *place_out)
{
    const weft_allocation_t *entry = wefti_allocation_of(share->id);
    if (wefti_cu.cuMulticastBindAddr == NULL || !is_bindable(entry) || share->is_brief ||
        entry->memory.device != device)
        return false;
    const size_t granule = least_granularity(device);
    if (granule == 0)
        return false;
    const weft_memory_t *memory = &entry->memory;
    const granules_t where = granules_of(share, bytes, granule);
    *place_out = (uint32_t)(share->address - where.begin);
    return where.begin >= memory->base && where.end <= memory->base + memory->bytes &&
           (where.begin - memory->base) % granule == 0 && *place_out % WEFT_UNIT_BYTES == 0;
}

bool wefti_multicast_bind_buffer(weft_multicast_t *multicast, const weft_share_t *share,
                                 size_t bytes)
{
    weft_visit_t visit;
    multicast_part_t *part = (multicast_part_t *)multicast;
    const granules_t where = granules_of(share, bytes, multicast->share.granule);
    if (wefti_streams_may_wait() ||
        buffer_bytes + (where.end - where.begin) > part->device->bytes / BOUND_PART ||
        wefti_device_enter(part->device, &visit) != MPI_SUCCESS)
        return false;
    bool is_there = object_bind_buffer(part, &where);
    if (!is_there)
        unbind(part);
    wefti_device_leave(&visit);
    if (!is_there)
        return false;
    part->buffer = share->id;
    buffer_bytes += part->bound_bytes;
    multicast->at = (void *)(uintptr_t)part->all;
    weft_list_append(&buffers, &part->link);
    return true;
}

void wefti_multicast_forget(uint64_t id)
{
    for (weft_link_t *link = buffers.next; link != &buffers; link = link->next) {
        multicast_part_t *part = WEFT_ELEMENT(link, multicast_part_t, link);
        part->common.is_gone |= part->buffer == id;
    }
}

/* The driver may wait for kernels of this rank, and these for other ranks. */
static bool may_unbind(const multicast_part_t *part)
{
    const weft_queue_t *queue = part->device->queues[WEFT_STREAM_EXCHANGE];
    return !part->device->is_dead && (queue == NULL || !queue->is_busy);
}

void wefti_multicasts_unbind_gone(void)
{
    weft_visit_t visit;
    if (weft_list_is_empty(&buffers) || wefti_streams_may_wait())
        return;
    for (weft_link_t *link = buffers.next; link != &buffers; link = link->next) {
        multicast_part_t *part = WEFT_ELEMENT(link, multicast_part_t, link);
        if (!part->common.is_gone || part->bound_bytes == 0 || !may_unbind(part) ||
            wefti_device_enter(part->device, &visit) != MPI_SUCCESS)
            continue;
        unbind(part);
        wefti_device_leave(&visit);
    }
}

/* ---- calls ---- */

static void put_portions(const weft_multicast_call_t *its, weft_multicast_args_t *args)
{
    args->portions = (uint32_t)its->portions;
    for (int i = 0; i < its->portions; i++) {
        const weft_portion_t *portion = &its->portion[i];
        args->portion[i] = (weft_multicast_portion_t){.from = portion->from,
                                                      .to = portion->to,
                                                      .bytes = portion->bytes,
                                                      .from_all = portion->from_all,
                                                      .to_all = portion->to_all};
        if (portion->bytes > args->bytes)
            args->bytes = portion->bytes;
    }
}

int wefti_multicast(weft_queue_t *queue, const weft_multicast_call_t *its)
{
    const multicast_part_t *part = (const multicast_part_t *)its->multicast;
    weft_kernel_t kernel =
        its->op == NULL ? WEFT_KERNEL_multicast_move : weft_multicast_kernel(its->op, its->type);
    weft_kernel_call_t call;
    weft_multicast_args_t *args = &call.args.multicast;
    *args = (weft_multicast_args_t){.members = (uint32_t)its->members,
                                    .member = (uint32_t)its->member,
                                    .flag = its->flag,
                                    .scatters = its->scatters,
                                    .limit_ns = wefti_kernel_limit_ns(),
                                    .watch = its->watch,
                                    .own = (void *)(uintptr_t)part->own,
                                    .all = (void *)(uintptr_t)part->all};
    put_portions(its, args);
    weft_call_multicast(kernel, &call);
    return wefti_launch(queue, &call, "a collective with other ranks, by multicast");
}
