/* SPDX-License-Identifier: BSD-3-Clause */
/* GDRCopy: what can be pinned and mapped, what is seen through the mapping, and what is left of it
 * when the memory is freed. */
#include "case.h"

#include "cuda/gdr_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

enum { PAGE = WEFT_GDR_PAGE };

static struct {
#define MEMBER(result, name, arguments) result(*name) arguments;
    WEFT_GDR_FUNCTIONS(MEMBER)
#undef MEMBER
    int (*gdr_get_callback_flag)(weft_gdr_t gdr, weft_gdr_handle_t handle, int *out);
} api;

static void load(void)
{
    void *library = dlopen(WEFT_GDR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
#define FIND(result, name, arguments) *(void **)&api.name = dlsym(library, #name);
    WEFT_GDR_FUNCTIONS(FIND)
#undef FIND
    *(void **)&api.gdr_get_callback_flag = dlsym(library, "gdr_get_callback_flag");
}

static weft_gdr_t open_all(void)
{
    open_device(0);
    load();
    weft_gdr_t gdr = api.gdr_open();
    CHECK(gdr != NULL);
    return gdr;
}

/* Whole pages of memory, pinned and mapped. */
typedef struct mapped {
    CUdeviceptr address;
    weft_gdr_handle_t handle;
    size_t bytes;
    char *at;
} mapped_t;

static mapped_t map_new(weft_gdr_t gdr, size_t bytes)
{
    mapped_t mapped = {.bytes = bytes};
    void *at;
    OK(cuMemAlloc(&mapped.address, bytes));
    SAME(mapped.address % PAGE, 0);
    SAME(api.gdr_pin_buffer(gdr, mapped.address, bytes, 0, 0, &mapped.handle), 0);
    SAME(api.gdr_map(gdr, mapped.handle, &at, bytes), 0);
    mapped.at = at;
    return mapped;
}

static void unmap(weft_gdr_t gdr, const mapped_t *mapped)
{
    SAME(api.gdr_unmap(gdr, mapped->handle, mapped->at, mapped->bytes), 0);
    SAME(api.gdr_unpin_buffer(gdr, mapped->handle), 0);
}

/* ---- cases ---- */

static void the_same_memory_is_seen(void)
{
    weft_gdr_t gdr = open_all();
    mapped_t mapped = map_new(gdr, 2 << 20);
    weft_gdr_info_t info;
    int ints[3] = {1, 2, 3}, read[3] = {0};
    SAME(api.gdr_get_info_v2(gdr, mapped.handle, &info), 0);
    SAME(info.address, mapped.address);
    SAME(info.bytes, mapped.bytes);
    SAME(info.is_mapped, 1);
    SAME(api.gdr_copy_to_mapping(mapped.handle, mapped.at + 100004, ints, sizeof(ints)), 0);
    SAME(int_at(mapped.address + 100008), 2);
    OK(cuMemsetD32(mapped.address + 100004, 77, 2));
    OK(cuCtxSynchronize());
    SAME(api.gdr_copy_from_mapping(mapped.handle, read, mapped.at + 100004, sizeof(read)), 0);
    SAME(read[1], 77);
    SAME(read[2], 3);
    unmap(gdr, &mapped);
    SAME(api.gdr_close(gdr), 0);
    OK(cuMemFree(mapped.address));
}

/* Small allocations share pages. */
static void small_ones_are_reached(void)
{
    weft_gdr_t gdr = open_all();
    CUdeviceptr small[2];
    weft_gdr_handle_t handle;
    void *at;
    int value = 5;
    OK(cuMemAlloc(&small[0], 1000));
    OK(cuMemAlloc(&small[1], 1000));
    CUdeviceptr page = small[1] / PAGE * PAGE;
    SAME(api.gdr_pin_buffer(gdr, page, PAGE, 0, 0, &handle), 0);
    SAME(api.gdr_map(gdr, handle, &at, PAGE), 0);
    SAME(api.gdr_copy_to_mapping(handle, (char *)at + (small[1] - page), &value, sizeof(value)), 0);
    SAME(int_at(small[1]), 5);
    OK(cuMemFree(small[0]));
    SAME(api.gdr_copy_from_mapping(handle, &value, (char *)at + (small[1] - page), sizeof(value)),
         0);
    SAME(value, 5);
}

static void what_is_refused(void)
{
    weft_gdr_t gdr = open_all();
    weft_gdr_handle_t handle;
    CUdeviceptr memory, managed, pooled;
    int stack = 0;
    OK(cuMemAlloc(&memory, 2 << 20));
    OK(cuMemAllocManaged(&managed, 2 << 20, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocAsync(&pooled, 2 << 20, NULL));
    OK(cuCtxSynchronize());
    SAME(api.gdr_pin_buffer(gdr, memory, 0, 0, 0, &handle), EINVAL);
    CHECK(api.gdr_pin_buffer(gdr, managed, PAGE, 0, 0, &handle) != 0);
    CHECK(api.gdr_pin_buffer(gdr, (unsigned long)&stack / PAGE * PAGE, PAGE, 0, 0, &handle) != 0);
    CHECK(api.gdr_pin_buffer(gdr, memory, 64 << 20, 0, 0, &handle) != 0);
    SAME(api.gdr_pin_buffer(gdr, pooled, PAGE, 0, 0, &handle), EINVAL);
    SAME(api.gdr_pin_buffer(gdr, memory + 512, PAGE, 0, 0, &handle), EINVAL);
    SAME(api.gdr_pin_buffer(gdr, memory, PAGE + 1, 0, 0, &handle), EINVAL);
}

static void room_is_limited(void)
{
    weft_gdr_t gdr = open_all();
    CUdeviceptr memory;
    weft_gdr_handle_t handle, other;
    OK(cuMemAlloc(&memory, 2 << 20));
    SAME(api.gdr_pin_buffer(gdr, memory, 2 * PAGE, 0, 0, &handle), 0);
    SAME(api.gdr_pin_buffer(gdr, memory + 2 * PAGE, PAGE, 0, 0, &other), ENOMEM);
    SAME(api.gdr_unpin_buffer(gdr, handle), 0);
    SAME(api.gdr_unpin_buffer(gdr, handle), EINVAL);
    SAME(api.gdr_pin_buffer(gdr, memory + 2 * PAGE, PAGE, 0, 0, &other), 0);
}

static void freeing_revokes(void)
{
    weft_gdr_t gdr = open_all();
    mapped_t mapped = map_new(gdr, 2 << 20);
    CUdeviceptr again;
    int flag = 0;
    SAME(api.gdr_get_callback_flag(gdr, mapped.handle, &flag), 0);
    SAME(flag, 0);
    OK(cuMemFree(mapped.address));
    SAME(api.gdr_get_callback_flag(gdr, mapped.handle, &flag), 0);
    SAME(flag, 1);
    OK(cuMemAlloc(&again, 2 << 20));
    unmap(gdr, &mapped);
}

static void what_was_freed_faults(void)
{
    weft_gdr_t gdr = open_all();
    mapped_t mapped = map_new(gdr, 2 << 20);
    int value;
    OK(cuMemFree(mapped.address));
    api.gdr_copy_from_mapping(mapped.handle, &value, mapped.at, sizeof(value));
}

static void mappings_go_first(void)
{
    weft_gdr_t gdr = open_all();
    mapped_t mapped = map_new(gdr, 2 << 20);
    void *at;
    SAME(api.gdr_map(gdr, mapped.handle, &at, PAGE), EAGAIN);
    SAME(api.gdr_unpin_buffer(gdr, mapped.handle), EBUSY);
    unmap(gdr, &mapped);
}

static void there_is_no_module(void)
{
    open_device(0);
    load();
    CHECK(api.gdr_open() == NULL);
}

static void failures_are_planned(void)
{
    weft_gdr_t gdr = open_all();
    CUdeviceptr memory;
    weft_gdr_handle_t handle;
    OK(cuMemAlloc(&memory, 2 << 20));
    SAME(api.gdr_pin_buffer(gdr, memory, PAGE, 0, 0, &handle), 0);
    SAME(api.gdr_pin_buffer(gdr, memory, PAGE, 0, 0, &handle), 12);
}

int main(void)
{
    static const test_case_t cases[] = {
        {"the same memory is seen", "bar=16M", the_same_memory_is_seen, 0},
        {"small ones are reached", "bar=16M", small_ones_are_reached, 0},
        {"what is refused", "bar=16M", what_is_refused, 0},
        {"freeing revokes", "bar=16M", freeing_revokes, 0},
        {"what was freed faults", "bar=16M", what_was_freed_faults, SIGSEGV},
        {"room is limited", "bar=128K", room_is_limited, 0},
        {"mappings go first", "bar=16M", mappings_go_first, 0},
        {"there is no module", "bar=0", there_is_no_module, 0},
        {"failures are planned", "bar=16M,fail=gdr_pin_buffer:2:12", failures_are_planned, 0},
        {0},
    };
    return run_cases(cases);
}
