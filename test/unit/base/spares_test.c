/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks are used again, hold what was asked for, and only so many are kept. */
#include "base/spares.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1 << 20, LARGEST = 1 << 20 };

static weft_spares_t spares;
static size_t in_use;

static int open_spares(void **state)
{
    (void)state;
    spares = (weft_spares_t){.most = MOST};
    in_use = weft_memory_in_use();
    return 0;
}

static int close_spares(void **state)
{
    (void)state;
    weft_spares_close(&spares);
    assert_int_equal(weft_memory_in_use(), in_use);
    return 0;
}

static void the_last_one_is_taken_first(void **state)
{
    (void)state;
    void *a = weft_spare_take(&spares, 40000), *b = weft_spare_take(&spares, 40000);
    assert_ptr_not_equal(a, b);
    weft_spare_give(&spares, a, 40000);
    weft_spare_give(&spares, b, 40000);
    assert_ptr_equal(weft_spare_take(&spares, 65536), b); /* of the same class of sizes */
    assert_ptr_equal(weft_spare_take(&spares, 32769), a);
    void *other = weft_spare_take(&spares, 32768);
    weft_spare_give(&spares, other, 32768);
    weft_spare_give(&spares, a, 32769);
    weft_spare_give(&spares, b, 65536);
    weft_spare_give(&spares, NULL, 100);
}

static void every_size_fits(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t bytes = 1; bytes <= 2 * LARGEST; bytes = bytes * 3 / 2 + 1) {
            char *memory = weft_spare_take(&spares, bytes);
            assert_non_null(memory);
            memset(memory, 1, bytes);
            weft_spare_give(&spares, memory, bytes);
            assert_in_range(spares.kept, 0, MOST);
        }
    }
    for (int bits = 0; bits <= 21; bits++) { /* the ends of classes */
        size_t bytes = (size_t)1 << bits;
        void *memory = weft_spare_take(&spares, bytes), *more = weft_spare_take(&spares, bytes + 1);
        memset(memory, 1, bytes);
        memset(more, 1, bytes + 1);
        weft_spare_give(&spares, more, bytes + 1);
        weft_spare_give(&spares, memory, bytes);
    }
}

static void only_so_many_are_kept(void **state)
{
    enum { BLOCKS = 40, BYTES = 65536 };
    void *blocks[BLOCKS];
    (void)state;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = weft_spare_take(&spares, BYTES);
    for (int i = 0; i < BLOCKS; i++)
        weft_spare_give(&spares, blocks[i], BYTES);
    assert_int_equal(spares.kept, MOST);
    void *largest = weft_spare_take(&spares, LARGEST + 1);
    weft_spare_give(&spares, largest, LARGEST + 1);
    assert_int_equal(spares.kept, MOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_last_one_is_taken_first, open_spares, close_spares),
        cmocka_unit_test_setup_teardown(every_size_fits, open_spares, close_spares),
        cmocka_unit_test_setup_teardown(only_so_many_are_kept, open_spares, close_spares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
