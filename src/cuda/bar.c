/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/bar.h"

#include "cuda/cuda_stream.h"
#include "cuda/gdr_api.h"
#include "core/world.h"
#include "base/config.h"
#include "base/list.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

enum { WINDOW = 2 << 20, REFUSALS_MAX = 4 };

typedef struct weft_bar_window {
    weft_link_t order; /* by use, the latest last */
    struct weft_bar_window *next;
    weft_allocation_t *of;
    uintptr_t start; /* of the device's addresses */
    size_t bytes;
    weft_gdr_handle_t handle;
    char *at; /* the mapping, which begins at `start` or before it */
    size_t before;
    bool must_read_back; /* writes arrive in no order that other devices could rely on */
} window_t;

static weft_gdr_api_t api;
static weft_bar_state_t state;
static void *library;
static weft_gdr_t gdr;
static weft_list_t order = {&order, &order};
static size_t mapped_bytes;
static int windows;
static int refusals;             /* of plain memory, in a row: then no more windows are made */
static bool refuses_other_kinds; /* virtual memory, pools: some versions take them */

weft_bar_state_t wefti_bar_state(void)
{
    return state;
}

int wefti_bar_windows(void)
{
    return windows;
}

/* ---- the library ---- */

static void note_detour(const char *why, int error)
{
    if (weft_world_may_note(WEFT_NOTE_NO_BAR))
        WEFT_LOG(WEFT_WARN, "cuda",
                 "GDRCopy is installed but %s%s%s: small messages of device memory go through "
                 "pinned memory, some microseconds slower (WEFT_DEVICE_BAR_MAX=0 does without it)",
                 why, error == 0 ? "" : ", ", error == 0 ? "" : strerror(error));
}

/* Once; where it is not installed nothing is said. */
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

/* ---- windows ---- */

static void close_window(window_t *window)
{
    window_t **link = &window->of->windows;
    while (*link != window)
        link = &(*link)->next;
    *link = window->next;
    weft_list_remove(&window->order);
    /* Neither may fail, but where the memory was freed the pin is void already. */
    api.gdr_unmap(gdr, window->handle, window->at, window->bytes);
    api.gdr_unpin_buffer(gdr, window->handle);
    mapped_bytes -= window->bytes;
    windows--;
    weft_free(window);
}

void wefti_bar_forget(weft_allocation_t *allocation)
{
    while (allocation->windows != NULL)
        close_window(allocation->windows);
}

/* Pages that begin the allocation's share of the 2 MiB around [from, to). */
static void choose_pages(const weft_memory_t *memory, uintptr_t from, uintptr_t to, window_t *out)
{
    uintptr_t page = WEFT_GDR_PAGE - 1, piece = WINDOW - 1;
    uintptr_t low = memory->base & ~page, high = (memory->base + memory->bytes + page) & ~page;
    uintptr_t start = from & ~piece, end = (to + piece) & ~piece;
    out->start = start < low ? low : start;
    out->bytes = (end > high ? high : end) - out->start;
}

static bool make_room(size_t bytes)
{
    if (bytes > weft_config.DEVICE_BAR_MAX)
        return false;
    while (mapped_bytes + bytes > weft_config.DEVICE_BAR_MAX) {
        window_t *oldest = WEFT_ELEMENT(order.next, window_t, order);
        oldest->of->small_uses = 0; /* it has to earn a new one */
        close_window(oldest);
    }
    return true;
}

/* A value of errno. */
static int map_pages(window_t *window)
{
    weft_gdr_info_t info;
    void *at;
    int error = api.gdr_pin_buffer(gdr, window->start, window->bytes, 0, 0, &window->handle);
    if (error != 0)
        return error;
    error = api.gdr_map(gdr, window->handle, &at, window->bytes);
    if (error == 0) {
        window->at = at;
        error = api.gdr_get_info_v2(gdr, window->handle, &info);
        window->before = window->start - info.address;
        if (error != 0)
            api.gdr_unmap(gdr, window->handle, at, window->bytes);
    }
    if (error != 0)
        api.gdr_unpin_buffer(gdr, window->handle);
    return error;
}

/* Nothing that must wait for the memory's context is done here, but versions differ in whether it
 * has to be current. */
static int map_in_context(window_t *window)
{
    weft_visit_t visit;
    int ordering = 0;
    const weft_device_t *device = window->of->memory.device;
    if (wefti_device_enter(device, &visit) != MPI_SUCCESS)
        return -1;
    int error = map_pages(window);
    wefti_cu.cuDeviceGetAttribute(&ordering, WEFT_CU_DEVICE_RDMA_ORDERING, device->number);
    window->must_read_back = ordering < WEFT_CU_RDMA_ORDER_ALL;
    wefti_device_leave(&visit);
    return error;
}

static void note_refusal(weft_allocation_t *allocation, int error)
{
    if (!allocation->is_legacy) {
        refuses_other_kinds = true;
        return;
    }
    refusals = windows == 0 ? REFUSALS_MAX : refusals + 1;
    note_detour("refuses to map device memory", error < 0 ? 0 : error);
}

/* NULL: not possible, and not to be tried again. */
static window_t *add_window(weft_allocation_t *allocation, uintptr_t from, uintptr_t to)
{
    window_t found = {.of = allocation};
    choose_pages(&allocation->memory, from, to, &found);
    window_t *window = make_room(found.bytes) ? weft_alloc(sizeof(*window)) : NULL;
    int error = window == NULL ? 0 : map_in_context(&found);
    if (window == NULL || error != 0) {
        weft_free(window);
        allocation->has_no_window = true;
        if (error != 0)
            note_refusal(allocation, error);
        return NULL;
    }
    *window = found;
    weft_list_append(&order, &window->order);
    window->next = allocation->windows;
    allocation->windows = window;
    mapped_bytes += window->bytes;
    windows++;
    refusals = 0;
    return window;
}

static window_t *window_of(const weft_allocation_t *allocation, uintptr_t from, uintptr_t to)
{
    window_t *window = allocation->windows;
    while (window != NULL && (from < window->start || to > window->start + window->bytes))
        window = window->next;
    return window;
}

/* Is it time for a window? */
static bool has_earned(weft_allocation_t *allocation)
{
    if (allocation->has_no_window || refusals == REFUSALS_MAX ||
        (!allocation->is_legacy && refuses_other_kinds) ||
        allocation->small_uses++ < weft_config.DEVICE_BAR_AFTER || wefti_streams_may_wait())
        return false;
    if (state == WEFT_BAR_UNKNOWN)
        open_library();
    return state == WEFT_BAR_OPEN;
}

/* Work that has been launched and waits for us need not see what is written this way. */
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
    window_t *window = window_of(allocation, from, to);
    if (window == NULL && has_earned(allocation))
        window = add_window(allocation, from, to);
    if (window == NULL)
        return false;
    weft_list_remove(&window->order);
    weft_list_append(&order, &window->order);
    *out = (weft_bar_t){window->at + window->before + (from - window->start), window->handle.number,
                        window->must_read_back};
    return true;
}

/* ---- copies ---- */

/* The library knows the fastest instructions; any will do. */
void wefti_bar_read(const weft_bar_t *bar, void *to, size_t bytes)
{
    if (api.gdr_copy_from_mapping((weft_gdr_handle_t){bar->handle}, to, bar->at, bytes) != 0)
        memcpy(to, bar->at, bytes);
}

void wefti_bar_write(const weft_bar_t *bar, const void *from, size_t bytes)
{
    if (api.gdr_copy_to_mapping((weft_gdr_handle_t){bar->handle}, bar->at, from, bytes) != 0) {
        memcpy(bar->at, from, bytes);
        atomic_thread_fence(memory_order_seq_cst); /* out of the buffers that combine writes */
    }
    if (bar->must_read_back)
        (void)*(volatile char *)bar->at; /* which no write can be behind of on the bus */
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
