/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/bar.h"

#include "cuda/cuda_stream.h"
#include "cuda/gdr_api.h"
#include "runtime/world.h"
#include "base/config.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

enum { MAPPING_BYTES = 2 << 20, REFUSALS_MAX = 4 };

typedef struct weft_bar_mapping {
    weft_link_t order; /* least recently used first */
    struct weft_bar_mapping *next;
    weft_allocation_t *of;
    uintptr_t start; /* the device address where it begins */
    size_t bytes;
    weft_gdr_handle_t handle;
    char *at; /* the mapping, which begins at `start` or before it */
    size_t before;
    bool must_read_back; /* writes may arrive in an order that other devices cannot rely on */
} bar_mapping_t;

static weft_gdr_api_t api;
static weft_bar_state_t state;
static void *library;
static weft_gdr_t gdr;
static weft_list_t order = {&order, &order};
static size_t mapped_bytes;
static int mappings;
/* failures in a row with plain memory; at REFUSALS_MAX no more mappings are made */
static int refusals;
/* virtual memory and pools, which only some versions of GDRCopy take */
static bool refuses_other_kinds;

weft_bar_state_t wefti_bar_state(void)
{
    return state;
}

int wefti_bar_mappings(void)
{
    return mappings;
}

/* ---- the library ---- */

static void note_detour(const char *why, int error)
{
    if (weft_world_may_warn(WEFT_WARNING_NO_BAR))
        WEFT_LOG(WEFT_WARN, "cuda",
                 "GDRCopy is installed but %s%s%s: small messages of device memory go through "
                 "pinned memory, some microseconds slower (WEFT_DEVICE_BAR_MAX=0 does without it)",
                 why, error == 0 ? "" : ", ", error == 0 ? "" : strerror(error));
}

/* This runs once. Where the library is not installed there is no notice. */
static void open_library(void)
{
    int major = 0, minor = 0;
    state = WEFT_BAR_NO_LIBRARY;
    library = dlopen(WEFT_GDR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || !weft_gdr_find(library, &api))
        return;
    gdr = api.gdr_open();
    if (gdr == NULL) {
        state = WEFT_BAR_NO_MODULE;
        note_detour("does not find its kernel module (gdrdrv), or may not use it", 0);
        return;
    }
    state = WEFT_BAR_OPEN;
    api.gdr_runtime_get_version(&major, &minor);
    WEFT_LOG(WEFT_INFO, "cuda", "small messages of device memory go by GDRCopy %d.%d", major,
             minor);
}

/* ---- mappings ---- */

static void close_bar_mapping(bar_mapping_t *mapping)
{
    bar_mapping_t **link = &mapping->of->mappings;
    while (*link != mapping)
        link = &(*link)->next;
    *link = mapping->next;
    weft_list_remove(&mapping->order);
    /* Both succeed, except where the memory was freed: then the pin is gone already. */
    api.gdr_unmap(gdr, mapping->handle, mapping->at, mapping->bytes);
    api.gdr_unpin_buffer(gdr, mapping->handle);
    mapped_bytes -= mapping->bytes;
    mappings--;
    weft_free(mapping);
}

void wefti_bar_forget(weft_allocation_t *allocation)
{
    while (allocation->mappings != NULL)
        close_bar_mapping(allocation->mappings);
}

/* The pages of the 2 MiB around [from, to) that the allocation covers. */
static void choose_pages(const weft_memory_t *memory, uintptr_t from, uintptr_t to,
                         bar_mapping_t *out)
{
    uintptr_t page = WEFT_GDR_PAGE - 1, piece = MAPPING_BYTES - 1;
    uintptr_t low = memory->base & ~page, high = (memory->base + memory->bytes + page) & ~page;
    uintptr_t start = from & ~piece, end = (to + piece) & ~piece;
    out->start = start < low ? low : start;
    out->bytes = (end > high ? high : end) - out->start;
}

static bool make_bar_room(size_t bytes)
{
    if (bytes > weft_config.DEVICE_BAR_MAX)
        return false;
    while (mapped_bytes + bytes > weft_config.DEVICE_BAR_MAX) {
        bar_mapping_t *oldest = WEFT_ELEMENT(order.next, bar_mapping_t, order);
        /* the allocation must be used often again before it gets a new one */
        oldest->of->small_uses = 0;
        close_bar_mapping(oldest);
    }
    return true;
}

/* Returns a value of errno. */
static int map_bar_pages(bar_mapping_t *mapping)
{
    weft_gdr_info_t info;
    void *at;
    int error = api.gdr_pin_buffer(gdr, mapping->start, mapping->bytes, 0, 0, &mapping->handle);
    if (error != 0)
        return error;
    error = api.gdr_map(gdr, mapping->handle, &at, mapping->bytes);
    if (error == 0) {
        mapping->at = at;
        error = api.gdr_get_info_v2(gdr, mapping->handle, &info);
        mapping->before = mapping->start - info.address;
        if (error != 0)
            api.gdr_unmap(gdr, mapping->handle, at, mapping->bytes);
    }
    if (error != 0)
        api.gdr_unpin_buffer(gdr, mapping->handle);
    return error;
}

/* Nothing here must wait for work in the memory's context. Whether that context has to be current
 * depends on the version of GDRCopy. */
static int map_in_context(bar_mapping_t *mapping)
{
    weft_visit_t visit;
    int ordering = 0;
    const weft_device_t *device = mapping->of->memory.device;
    if (wefti_device_enter(device, &visit) != MPI_SUCCESS)
        return -1;
    int error = map_bar_pages(mapping);
    wefti_cu.cuDeviceGetAttribute(&ordering, WEFT_CU_DEVICE_RDMA_ORDERING, device->number);
    mapping->must_read_back = ordering < WEFT_CU_RDMA_ORDER_ALL;
    wefti_device_leave(&visit);
    return error;
}

static void note_refusal(weft_allocation_t *allocation, int error)
{
    if (!allocation->is_legacy) {
        refuses_other_kinds = true;
        return;
    }
    refusals = mappings == 0 ? REFUSALS_MAX : refusals + 1;
    note_detour("refuses to map device memory", error < 0 ? 0 : error);
}

/* Returns NULL if the memory cannot be mapped; then no later call tries it again. */
static bar_mapping_t *add_bar_mapping(weft_allocation_t *allocation, uintptr_t from, uintptr_t to)
{
    bar_mapping_t found = {.of = allocation};
    choose_pages(&allocation->memory, from, to, &found);
    bar_mapping_t *mapping = make_bar_room(found.bytes) ? weft_alloc(sizeof(*mapping)) : NULL;
    int error = mapping == NULL ? 0 : map_in_context(&found);
    if (mapping == NULL || error != 0) {
        weft_free(mapping);
        allocation->is_unmappable = true;
        if (error != 0)
            note_refusal(allocation, error);
        return NULL;
    }
    *mapping = found;
    weft_list_append(&order, &mapping->order);
    mapping->next = allocation->mappings;
    allocation->mappings = mapping;
    mapped_bytes += mapping->bytes;
    mappings++;
    refusals = 0;
    return mapping;
}

static bar_mapping_t *bar_mapping_of(const weft_allocation_t *allocation, uintptr_t from,
                                     uintptr_t to)
{
    bar_mapping_t *mapping = allocation->mappings;
    while (mapping != NULL && (from < mapping->start || to > mapping->start + mapping->bytes))
        mapping = mapping->next;
    return mapping;
}

/* Was the allocation used often enough to be worth a mapping? */
static bool has_earned(weft_allocation_t *allocation)
{
    if (allocation->is_unmappable || refusals == REFUSALS_MAX ||
        (!allocation->is_legacy && refuses_other_kinds) ||
        allocation->small_uses++ < weft_config.DEVICE_BAR_AFTER || wefti_streams_may_wait())
        return false;
    if (state == WEFT_BAR_UNKNOWN)
        open_library();
    return state == WEFT_BAR_OPEN;
}

/* While a stream may wait for the library there are no writes this way: work that was launched
 * before may not see them. */
bool wefti_bar_suits(size_t bytes, bool is_write)
{
    size_t most = is_write ? weft_config.DEVICE_BAR_WRITE : weft_config.DEVICE_BAR_READ;
    return bytes > 0 && bytes <= most && state <= WEFT_BAR_OPEN && weft_config.DEVICE_BAR_MAX > 0 &&
           !(is_write && wefti_streams_may_wait());
}

bool wefti_bar_find(const weft_memory_t *memory, const void *buf, size_t bytes, bool is_write,
                    weft_bar_t *out)
{
    if (memory->kind != WEFT_MEMORY_DEVICE || !wefti_bar_suits(bytes, is_write))
        return false;
    weft_allocation_t *allocation = wefti_allocation_of(memory->id);
    uintptr_t from = (uintptr_t)buf, to = from + bytes;
    if (allocation == NULL || from < memory->base || to > memory->base + memory->bytes)
        return false;
    bar_mapping_t *mapping = bar_mapping_of(allocation, from, to);
    if (mapping == NULL && has_earned(allocation))
        mapping = add_bar_mapping(allocation, from, to);
    if (mapping == NULL)
        return false;
    weft_list_remove(&mapping->order);
    weft_list_append(&order, &mapping->order);
    *out = (weft_bar_t){mapping->at + mapping->before + (from - mapping->start),
                        mapping->handle.number, mapping->must_read_back};
    return true;
}

/* ---- copies ---- */

/* The library chooses the fastest instructions; if it fails, memcpy does the same. */
void wefti_bar_read(const weft_bar_t *bar, void *to, size_t bytes)
{
    if (api.gdr_copy_from_mapping((weft_gdr_handle_t){bar->handle}, to, bar->at, bytes) != 0)
        memcpy(to, bar->at, bytes);
}

void wefti_bar_write(const weft_bar_t *bar, const void *from, size_t bytes)
{
    if (api.gdr_copy_to_mapping((weft_gdr_handle_t){bar->handle}, bar->at, from, bytes) != 0) {
        memcpy(bar->at, from, bytes);
        atomic_thread_fence(memory_order_seq_cst); /* empty the write-combining buffers */
    }
    if (bar->must_read_back)
        (void)*(volatile char *)bar->at; /* a read makes the bus deliver all earlier writes */
}

void wefti_bar_close(void)
{
    if (gdr != NULL)
        api.gdr_close(gdr);
    if (library != NULL)
        dlclose(library);
    gdr = NULL;
    library = NULL;
    state = WEFT_BAR_UNKNOWN;
    refusals = 0;
    refuses_other_kinds = false;
}
