/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/bar.h"

#include "cuda/gdr_api.h"
#include "loaded_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

/* Load the library by its path; the code under test then finds it by its name. */
static void load_gdr(void)
{
    char path[4096];
    const char *build = getenv("BUILD");
    snprintf(path, sizeof(path), "%s/simcuda/bar/" WEFT_GDR_LIBRARY, build == NULL ? "." : build);
    assert_non_null(dlopen(path, RTLD_NOW | RTLD_LOCAL));
}

static weft_memory_t look(const void *at)
{
    weft_memory_t memory;
    assert_int_equal(weft_device->look(at, &memory), MPI_SUCCESS);
    return memory;
}

static bool find(const char *at, size_t bytes, bool is_write, weft_bar_t *out)
{
    weft_memory_t memory = look(at);
    return weft_device->bar_find(&memory, at, bytes, is_write, out);
}

static bool can_read(const char *at, size_t bytes)
{
    weft_bar_t bar;
    return find(at, bytes, false, &bar);
}

static int value_at(const char *at)
{
    int value;
    CU(cuMemcpyDtoH_v2, (void *, weft_cu_address_t, size_t), &value, (uintptr_t)at, sizeof(value));
    return value;
}

static void write_at(const char *at, int value)
{
    weft_bar_t bar;
    assert_true(find(at, sizeof(value), true, &bar));
    weft_device->bar_write(&bar, &value, sizeof(value));
}

static int read_at(const char *at)
{
    weft_bar_t bar;
    int value;
    assert_true(find(at, sizeof(value), false, &bar));
    weft_device->bar_read(&bar, &value, sizeof(value));
    return value;
}

static int open_gdr(void **state)
{
    (void)state;
    weft_config.DEVICE_BAR_AFTER = 0;
    weft_config.DEVICE_BAR_MAX = 8 * MIB;
    return 0;
}

static int close_gdr(void **state)
{
    (void)state;
    wefti_allocations_close();
    wefti_bar_close();
    return 0;
}

/* ---- tests ---- */

static void test_not_before_it_is_needed(void **state)
{
    (void)state;
    weft_config.DEVICE_BAR_AFTER = 3;
    char *memory = take_device(1000), *other = take_device(1000);
    assert_false(can_read(memory, weft_config.DEVICE_BAR_READ + 1));
    assert_int_equal(wefti_bar_state(), WEFT_BAR_UNKNOWN);
    for (int i = 0; i < 3; i++)
        assert_false(can_read(memory, 8));
    assert_false(can_read(other, 8));
    assert_int_equal(wefti_bar_state(), WEFT_BAR_UNKNOWN);
    assert_true(can_read(memory, 8));
    assert_false(can_read(other, 8));
    assert_int_equal(wefti_bar_mappings(), 1);
    give_device(memory);
    give_device(other);
}

static void test_copies(void **state)
{
    (void)state;
    char *memory = take_device(5 * MIB + 100);
    write_at(memory + 1, 17);
    write_at(memory + 2 * MIB - 2, 18);
    write_at(memory + 5 * MIB + 96, 19);
    assert_int_equal(value_at(memory + 1), 17);
    assert_int_equal(value_at(memory + 2 * MIB - 2), 18);
    assert_int_equal(read_at(memory + 2 * MIB - 2), 18);
    assert_int_equal(read_at(memory + 5 * MIB + 96), 19);
    give_device(memory);
}

static void test_limits(void **state)
{
    (void)state;
    weft_bar_t bar;
    char *memory = take_device(100000);
    assert_true(find(memory + 3, weft_config.DEVICE_BAR_READ, false, &bar));
    assert_false(find(memory, weft_config.DEVICE_BAR_READ + 1, false, &bar));
    assert_true(find(memory + 3, weft_config.DEVICE_BAR_WRITE, true, &bar));
    assert_false(find(memory, weft_config.DEVICE_BAR_WRITE + 1, true, &bar));
    assert_false(find(memory, 0, true, &bar));
    assert_false(find(memory + 100000 - 8, 9, true, &bar));
    give_device(memory);
}

static void test_other_kinds(void **state)
{
    (void)state;
    weft_cu_address_t managed, pooled, again;
    CU(cuMemAllocManaged, (weft_cu_address_t *, size_t, unsigned), &managed, 5000, 1);
    CU(cuMemAllocAsync, (weft_cu_address_t *, size_t, void *), &pooled, 5000, NULL);
    CU(cuMemAllocAsync, (weft_cu_address_t *, size_t, void *), &again, 5000, NULL);
    CU(cuCtxSynchronize, (void));
    assert_false(can_read((char *)(uintptr_t)managed, 8));
    assert_int_equal(wefti_bar_state(), WEFT_BAR_UNKNOWN);
    assert_false(can_read((char *)(uintptr_t)pooled, 8));
    assert_false(can_read((char *)(uintptr_t)again, 8));
    char *memory = take_device(1000);
    assert_true(can_read(memory, 8));
    give_device(memory);
    give_device((void *)(uintptr_t)managed);
    give_device((void *)(uintptr_t)pooled);
    give_device((void *)(uintptr_t)again);
}

/* Another allocation at the same address: an access through the old mapping would fault. */
static void test_freed(void **state)
{
    (void)state;
    char *memory = take_device(3 * MIB);
    write_at(memory + 512, 5);
    give_device(memory);
    char *other = take_device(3 * MIB);
    assert_ptr_equal(other, memory);
    write_at(other + 512, 6);
    assert_int_equal(value_at(other + 512), 6);
    assert_int_equal(read_at(other + 512), 6);
    give_device(other);
}

static void test_oldest_goes(void **state)
{
    (void)state;
    char *memory = take_device(12 * MIB);
    for (int i = 0; i < 4; i++)
        assert_true(can_read(memory + i * 2 * MIB, 8));
    assert_int_equal(wefti_bar_mappings(), 4);
    assert_true(can_read(memory, 8));
    weft_config.DEVICE_BAR_AFTER = 1;
    assert_true(can_read(memory + 8 * MIB, 8));
    assert_int_equal(wefti_bar_mappings(), 4);
    assert_true(can_read(memory, 8));
    /* the allocation must be used often again before it gets a new mapping */
    assert_false(can_read(memory + 2 * MIB, 8));
    assert_true(can_read(memory + 2 * MIB, 8));
    assert_int_equal(wefti_bar_mappings(), 4);
    give_device(memory);
}

static void test_too_large(void **state)
{
    (void)state;
    weft_config.DEVICE_BAR_MAX = 64 * 1024;
    char *small = take_device(1000), *large = take_device(4 * MIB);
    assert_false(can_read(large, 8));
    assert_true(can_read(small, 8));
    give_device(small);
    give_device(large);
}

static void test_switched_off(void **state)
{
    (void)state;
    weft_config.DEVICE_BAR_MAX = 0;
    char *memory = take_device(1000);
    assert_false(can_read(memory, 8));
    assert_int_equal(wefti_bar_state(), WEFT_BAR_UNKNOWN);
    give_device(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_not_before_it_is_needed, open_gdr, close_gdr),
        cmocka_unit_test_setup_teardown(test_copies, open_gdr, close_gdr),
        cmocka_unit_test_setup_teardown(test_limits, open_gdr, close_gdr),
        cmocka_unit_test_setup_teardown(test_other_kinds, open_gdr, close_gdr),
        cmocka_unit_test_setup_teardown(test_freed, open_gdr, close_gdr),
        cmocka_unit_test_setup_teardown(test_oldest_goes, open_gdr, close_gdr),
        cmocka_unit_test_setup_teardown(test_too_large, open_gdr, close_gdr),
        cmocka_unit_test_setup_teardown(test_switched_off, open_gdr, close_gdr),
    };
    open_all("bar=64M,late=0");
    load_gdr();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_cuda_close();
    return failed;
}
