/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/allocation.h"

#include "cuda/host_place.h"
#include "loaded_driver.h"
#include "../../mpi/vmm_arena.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static int variable;

/* This function has a stack frame of its own, like those of the library: the caller's variables lie
 * above it. */
static __attribute__((noinline)) bool is_host_place(const void *memory)
{
    return wefti_is_host_place(memory);
}

static void test_host_places(void **state)
{
    (void)state;
    int local;
    char *small = sbrk(4096); /* the malloc of a sanitizer may use other memory */
    char *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *device = take_device(4096);
    assert_true(is_host_place(&variable));
    assert_true(is_host_place(&local));
    assert_true(is_host_place(small));
    assert_false(is_host_place(mapped));
    assert_false(is_host_place(device));
    munmap(mapped, 4096);
    give_device(device);
}

static void *look_at_stack(void *mine)
{
    int local;
    return (void *)(uintptr_t)(is_host_place(&local) && !is_host_place(mine));
}

/* Each thread has its own stack. */
static void test_stacks(void **state)
{
    (void)state;
    pthread_t thread;
    char *device = take_device(64);
    void *is_right;
    pthread_create(&thread, NULL, look_at_stack, device);
    pthread_join(thread, &is_right);
    assert_non_null(is_right);
    give_device(device);
}

static weft_memory_t look(const void *at)
{
    weft_memory_t memory;
    assert_int_equal(weft_device->look(at, &memory), MPI_SUCCESS);
    return memory;
}

static void test_kinds(void **state)
{
    (void)state;
    weft_cu_address_t managed;
    void *pinned, *host = malloc(1 << 20);
    char *device = take_device(5000);
    CU(cuMemAllocManaged, (weft_cu_address_t *, size_t, unsigned), &managed, 5000, 1);
    CU(cuMemHostAlloc, (void **, size_t, unsigned), &pinned, 5000, 0);
    assert_int_equal(look(host).kind, WEFT_MEMORY_HOST);
    assert_int_equal(look(pinned).kind, WEFT_MEMORY_PINNED);
    assert_int_equal(look((void *)(uintptr_t)managed).kind, WEFT_MEMORY_MANAGED);
    assert_int_equal(look(device + 4999).kind, WEFT_MEMORY_DEVICE);
    assert_false(weft_is_device(pinned));
    assert_true(weft_is_device((void *)(uintptr_t)managed));
    weft_memory_t memory = look(device + 77);
    assert_int_equal(memory.base, (uintptr_t)device);
    assert_int_equal(memory.bytes, 5000);
    assert_null(look(host).device);
    CU(cuMemFree_v2, (weft_cu_address_t), managed);
    CU(cuMemFreeHost, (void *), pinned);
    give_device(device);
    free(host);
}

/* A new allocation at the address of a freed one is not mistaken for it. */
static void test_address_used_again(void **state)
{
    (void)state;
    char *first = take_device(3 << 20);
    weft_allocation_t before = *wefti_allocation_of(look(first).id);
    for (int i = 0; i < 20; i++) {
        give_device(first);
        char *second = take_device(3 << 20);
        weft_allocation_t now = *wefti_allocation_of(look(second).id);
        if (second == first) {
            assert_int_not_equal(now.memory.id, before.memory.id);
            assert_false(wefti_allocation_lives(&before));
        }
        assert_true(wefti_allocation_lives(&now));
        first = second;
        before = now;
    }
    give_device(first);
}

/* A mapping in a larger reservation is an allocation of its own: it goes on living when another one
 * of the reservation is unmapped. */
static void test_mappings_of_an_arena(void **state)
{
    (void)state;
    vmm_arena_t arena;
    vmm_arenas_begin(loaded_driver, 0);
    vmm_arena_open(&arena);
    vmm_arena_grow(&arena, VMM_ARENA_UNIT);
    weft_memory_t first = look((void *)(uintptr_t)(arena.first + 100));
    vmm_arena_grow(&arena, 3 * VMM_ARENA_UNIT);
    weft_memory_t second = look((void *)(uintptr_t)(arena.end - 1));
    assert_int_equal(first.base, arena.first);
    assert_int_equal(first.bytes, VMM_ARENA_UNIT);
    assert_int_equal(second.base, arena.first + VMM_ARENA_UNIT);
    assert_int_equal(second.bytes, 3 * VMM_ARENA_UNIT);
    assert_int_not_equal(first.id, second.id);
    assert_true(wefti_allocation_lives(wefti_allocation_of(first.id)));
    assert_true(wefti_allocation_lives(wefti_allocation_of(second.id)));
    vmm_arena_shrink(&arena);
    assert_true(wefti_allocation_lives(wefti_allocation_of(first.id)));
    assert_false(wefti_allocation_lives(wefti_allocation_of(second.id)));
    vmm_arena_close(&arena);
}

/* An allocation of a pool is not the pool. */
static void test_pool(void **state)
{
    (void)state;
    weft_cu_address_t all[3];
    for (int i = 0; i < 3; i++)
        CU(cuMemAllocAsync, (weft_cu_address_t *, size_t, void *), &all[i], 5000, NULL);
    CU(cuCtxSynchronize, (void));
    for (int i = 0; i < 3; i++) {
        weft_memory_t memory = look((void *)(uintptr_t)(all[i] + 4000));
        assert_int_equal(memory.base, all[i]);
        assert_int_equal(memory.bytes, 5000);
    }
    for (int i = 0; i < 3; i++)
        CU(cuMemFree_v2, (weft_cu_address_t), all[i]);
}

/* Many more allocations than the table has places. */
static void test_many(void **state)
{
    enum { COUNT = 1000 };
    static char *all[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        all[i] = take_device(512);
        look(all[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(look(all[i] + 511).base, (uintptr_t)all[i]);
        give_device(all[i]);
    }
}

static void test_current_context_stays(void **state)
{
    (void)state;
    weft_cu_context_t second = use_device(1), first = use_device(0), now;
    char *device = take_device(64);
    CU(cuCtxSetCurrent, (weft_cu_context_t), second);
    weft_memory_t memory = look(device);
    assert_ptr_equal(memory.device->context, first);
    CU(cuCtxGetCurrent, (weft_cu_context_t *), &now);
    assert_ptr_equal(now, second);
    CU(cuCtxSetCurrent, (weft_cu_context_t), NULL);
    assert_int_equal(look(device).id, memory.id);
    CU(cuCtxGetCurrent, (weft_cu_context_t *), &now);
    assert_null(now);
    CU(cuCtxSetCurrent, (weft_cu_context_t), first);
    give_device(device);
}

/* Memory of a pool belongs to no context. Unless the program has a context nothing can be done with
 * the memory, and the library makes none. */
static void test_no_context(void **state)
{
    (void)state;
    weft_cu_address_t address;
    weft_memory_t memory;
    unsigned flags;
    int is_active;
    CU(cuCtxSetCurrent, (weft_cu_context_t), NULL);
    CU(cuDevicePrimaryCtxRelease_v2, (int), 1);
    use_device(0);
    CU(cuMemAllocFromPoolAsync, (weft_cu_address_t *, size_t, void *, void *), &address, 4096,
       *(void **)*state, NULL);
    CU(cuCtxSynchronize, (void));
    assert_int_equal(weft_device->look((void *)(uintptr_t)address, &memory), MPI_ERR_OTHER);
    assert_non_null(strstr(weft_fail_text(), "no context"));
    CU(cuDevicePrimaryCtxGetState, (int, unsigned *, int *), 1, &flags, &is_active);
    assert_int_equal(is_active, 0);
}

/* A pool of device 1, which needs no context. */
static int make_pool(void **state)
{
    static void *pool;
    CU(cuDeviceGetDefaultMemPool, (void **, int), &pool, 1);
    weft_cu_access_t access = {{WEFT_CU_LOCATION_DEVICE, 0}, WEFT_CU_ACCESS_READWRITE};
    CU(cuMemPoolSetAccess, (void *, const weft_cu_access_t *, size_t), pool, &access, 1);
    *state = &pool;
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_places),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_address_used_again),
        cmocka_unit_test(test_mappings_of_an_arena),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_current_context_stays),
        cmocka_unit_test_setup(test_no_context, make_pool),
    };
    open_all("devices=2");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_cuda_close();
    return failed;
}
