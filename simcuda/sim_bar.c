/* SPDX-License-Identifier: BSD-3-Clause */
/* GDRCopy: device memory that the processor reaches through a mapping. The functions of
 * libgdrapi.so.2 are defined here, where the memory is; that library is empty and depends on this
 * one. */
#include "sim.h"
#include "sim_bar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#pragma GCC visibility push(default)
#include "cuda/gdr_api.h"
#define DECLARE(result, name, arguments) result name arguments;
WEFT_GDR_FUNCTIONS(DECLARE)
int gdr_get_callback_flag(weft_gdr_t gdr, weft_gdr_handle_t handle, int *out);
#pragma GCC visibility pop

typedef struct pin {
    struct pin *next;
    unsigned long number;
    uintptr_t start; /* a device address */
    size_t bytes;
    const sim_backing_t *backing;
    size_t offset; /* in the backing */
    void *at;      /* the mapping; NULL: none */
    size_t at_bytes;
    bool is_revoked; /* the memory was freed */
} pin_t;

struct gdr {
    bool is_open;
};

static struct gdr module;
static pin_t *pins;
static size_t used;

static bool is_open(weft_gdr_t gdr)
{
    return gdr == &module && module.is_open;
}

static pin_t *pin_of(weft_gdr_handle_t handle)
{
    pin_t *pin = pins;
    while (pin != NULL && pin->number != handle.number)
        pin = pin->next;
    return pin;
}

static void close_mapping(pin_t *pin)
{
    if (pin->at != NULL)
        munmap(pin->at, pin->at_bytes);
    pin->at = NULL;
}

static void release(pin_t *pin)
{
    pin_t **link = &pins;
    while (*link != pin)
        link = &(*link)->next;
    *link = pin->next;
    close_mapping(pin);
    if (!pin->is_revoked)
        used -= pin->bytes;
    free(pin);
}

void sim_bar_revoke(uintptr_t start, size_t bytes)
{
    for (pin_t *pin = pins; pin != NULL; pin = pin->next) {
        if (pin->is_revoked || pin->start >= start + bytes || start >= pin->start + pin->bytes)
            continue;
        pin->is_revoked = true;
        used -= pin->bytes;
        if (pin->at != NULL && mmap(pin->at, pin->at_bytes, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            sim_die("closing a window of %zu bytes: errno %d", pin->at_bytes, errno);
    }
}

/* ---- pins ---- */

/* Finds what the pages belong to: one allocation of cuMemAlloc, or a block of small ones. */
static int find_memory(uintptr_t start, size_t bytes, pin_t *out)
{
    const sim_range_t *range = sim_range_within(start, bytes);
    if (range == NULL || range->what != SIM_DEVICE_MEMORY)
        return EINVAL;
    uintptr_t first = range->start - range->offset;
    if (start < first || start + bytes > first + range->backing->bytes)
        return EINVAL;
    *out =
        (pin_t){.start = start, .bytes = bytes, .backing = range->backing, .offset = start - first};
    return 0;
}

static int pin_pages(uintptr_t start, size_t bytes, weft_gdr_handle_t *out)
{
    pin_t found;
    if (start % WEFT_GDR_PAGE != 0 || bytes % WEFT_GDR_PAGE != 0 || bytes == 0 || out == NULL)
        return EINVAL;
    int error = find_memory(start, bytes, &found);
    if (error == 0 && bytes > sim_options()->bar - used)
        error = ENOMEM;
    if (error != 0)
        return error;
    pin_t *pin = sim_alloc(sizeof(*pin));
    *pin = found;
    pin->number = sim_next_id();
    pin->next = pins;
    pins = pin;
    used += bytes;
    out->number = pin->number;
    return 0;
}

static int map_pages(pin_t *pin, void **out, size_t bytes)
{
    if (pin->is_revoked || out == NULL || bytes == 0 || bytes > pin->bytes)
        return EINVAL;
    if (pin->at != NULL)
        return EAGAIN;
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pin->backing->fd, (off_t)pin->offset);
    if (at == MAP_FAILED)
        return errno;
    *out = pin->at = at;
    pin->at_bytes = bytes;
    return 0;
}

static void describe(const pin_t *pin, weft_gdr_info_t *out)
{
    *out = (weft_gdr_info_t){.address = pin->start,
                             .bytes = pin->bytes,
                             .page_bytes = WEFT_GDR_PAGE,
                             .is_mapped = pin->at != NULL,
                             .combines_writes = pin->at != NULL,
                             .type = pin->at != NULL};
}

/* ---- entry points ---- */

/* Takes the lock. `error`: the planned failure, or EINVAL if there is no such connection or pin. */
static pin_t *begin(const char *name, weft_gdr_t gdr, weft_gdr_handle_t handle, int *error)
{
    *error = (int)sim_begin_early(name);
    pin_t *pin = pin_of(handle);
    if (*error == 0 && (!is_open(gdr) || pin == NULL))
        *error = EINVAL;
    return pin;
}

static int end(int error)
{
    sim_unlock();
    return error;
}

weft_gdr_t gdr_open(void)
{
    bool is_there = sim_begin_early(__func__) == CUDA_SUCCESS && sim_options()->bar > 0;
    module.is_open = module.is_open || is_there;
    sim_unlock();
    return is_there ? &module : NULL;
}

int gdr_close(weft_gdr_t gdr)
{
    int error = (int)sim_begin_early(__func__);
    if (error == 0 && !is_open(gdr))
        error = EINVAL;
    while (error == 0 && pins != NULL)
        release(pins);
    if (error == 0)
        module.is_open = false;
    return end(error);
}

int gdr_pin_buffer(weft_gdr_t gdr, unsigned long address, size_t bytes, uint64_t p2p_token,
                   uint32_t va_space, weft_gdr_handle_t *out)
{
    int error = (int)sim_begin_early(__func__);
    if (error == 0 && (!is_open(gdr) || p2p_token != 0 || va_space != 0))
        error = EINVAL;
    return end(error != 0 ? error : pin_pages(address, bytes, out));
}

int gdr_unpin_buffer(weft_gdr_t gdr, weft_gdr_handle_t handle)
{
    int error;
    pin_t *pin = begin(__func__, gdr, handle, &error);
    if (error == 0 && pin->at != NULL)
        error = EBUSY;
    if (error == 0)
        release(pin);
    return end(error);
}

int gdr_get_callback_flag(weft_gdr_t gdr, weft_gdr_handle_t handle, int *out)
{
    int error;
    const pin_t *pin = begin(__func__, gdr, handle, &error);
    if (error == 0)
        *out = pin->is_revoked;
    return end(error);
}

int gdr_get_info_v2(weft_gdr_t gdr, weft_gdr_handle_t handle, weft_gdr_info_t *out)
{
    int error;
    const pin_t *pin = begin(__func__, gdr, handle, &error);
    if (error == 0)
        describe(pin, out);
    return end(error);
}

int gdr_map(weft_gdr_t gdr, weft_gdr_handle_t handle, void **out, size_t bytes)
{
    int error;
    pin_t *pin = begin(__func__, gdr, handle, &error);
    return end(error != 0 ? error : map_pages(pin, out, bytes));
}

int gdr_unmap(weft_gdr_t gdr, weft_gdr_handle_t handle, void *at, size_t bytes)
{
    int error;
    pin_t *pin = begin(__func__, gdr, handle, &error);
    if (error == 0 && (at == NULL || at != pin->at || bytes != pin->at_bytes))
        error = EINVAL;
    if (error == 0)
        close_mapping(pin);
    return end(error);
}

/* The real library checks nothing; the simulator aborts if the copy is not in the mapping. Memory
 * that was freed faults. */
static int copy(const char *name, weft_gdr_handle_t handle, const void *mapped, size_t bytes)
{
    int error = (int)sim_begin_early(name);
    const pin_t *pin = pin_of(handle);
    uintptr_t at = pin == NULL ? 0 : (uintptr_t)mapped - (uintptr_t)pin->at;
    if (pin == NULL || pin->at == NULL || at > pin->at_bytes || bytes > pin->at_bytes - at)
        sim_die("%s: %zu bytes at %p are not in the mapping", name, bytes, mapped);
    return end(error);
}

int gdr_copy_to_mapping(weft_gdr_handle_t handle, void *to, const void *from, size_t bytes)
{
    int error = copy(__func__, handle, to, bytes);
    if (error == 0)
        memcpy(to, from, bytes);
    return error;
}

int gdr_copy_from_mapping(weft_gdr_handle_t handle, void *to, const void *from, size_t bytes)
{
    int error = copy(__func__, handle, from, bytes);
    if (error == 0)
        memcpy(to, from, bytes);
    return error;
}

void gdr_runtime_get_version(int *major_out, int *minor_out)
{
    *major_out = 2;
    *minor_out = 5;
}
