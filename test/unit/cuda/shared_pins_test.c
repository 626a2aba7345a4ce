/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory that devices reach: registered once, for one device, no more than there may be,
 * handed on when a context ends, and given back at the end. */
#include "loaded_driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { AREAS = 3, BYTES = 1 << 20 };

static char *area[AREAS];
static void *on_device[2];
static weft_device_t *device[2];

static weft_memory_t look(const void *memory)
{
    weft_memory_t about;
    assert_int_equal(weft_device->look(memory, &about), MPI_SUCCESS);
    return about;
}

static void test_once(void **state)
{
    (void)state;
    assert_int_equal(look(area[0]).kind, WEFT_MEMORY_HOST);
    assert_true(weft_device->pin_shared(device[0], area[0], BYTES));
    assert_int_equal(look(area[0] + BYTES - 1).kind, WEFT_MEMORY_PINNED);
    assert_true(weft_device->pin_shared(device[0], area[0], BYTES)); /* not again */
    assert_false(weft_device->pin_shared(device[1], area[0], BYTES));
    assert_true(weft_device->pin_shared(device[1], area[1], BYTES));
}

static void test_limit(void **state)
{
    size_t most = weft_config.DEVICE_PINNED_MAX;
    (void)state;
    weft_config.DEVICE_PINNED_MAX = (size_t)5 * BYTES; /* half of it is two areas, and no third */
    assert_false(weft_device->pin_shared(device[0], area[2], BYTES));
    assert_true(weft_device->pin_shared(device[0], area[0], BYTES));
    weft_config.DEVICE_PINNED_MAX = most;
    assert_true(weft_device->pin_shared(device[0], area[2], BYTES));
}

static void test_context_ends(void **state)
{
    (void)state;
    CU(cuDevicePrimaryCtxRelease_v2, (int), 1);
    use_device(0);
    assert_true(weft_device->pin_shared(device[0], area[1], BYTES));
    assert_int_equal(look(area[1]).kind, WEFT_MEMORY_PINNED);
}

/* The driver would refuse to register it again. */
static void test_end(void **state)
{
    (void)state;
    weft_cuda_close();
    for (int i = 0; i < AREAS; i++)
        CU(cuMemHostRegister_v2, (void *, size_t, unsigned), area[i], BYTES, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once), cmocka_unit_test(test_limit),
                                       cmocka_unit_test(test_context_ends),
                                       cmocka_unit_test(test_end)};
    open_all("devices=2");
    for (int i = 1; i >= 0; i--) {
        use_device(i);
        on_device[i] = take_device(100);
        device[i] = look(on_device[i]).device;
    }
    for (int i = 0; i < AREAS; i++)
        area[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
