/* SPDX-License-Identifier: BSD-3-Clause */
/* The places of shelves: each rank has its own, takes and gives back pieces of it alone, and there
 * are so many of them. */
#include "runtime/shelf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { RANKS = 3, OWN = 1 };

static void test_places(void **state)
{
    (void)state;
    char *memory = malloc(weft_shelves_bytes(RANKS));
    char *piece[WEFT_SHELF_PIECES];
    weft_shelves_open(memory, RANKS, OWN);
    assert_ptr_equal(weft_shelf_of(0), memory);
    assert_ptr_equal(weft_shelf_of(RANKS - 1), memory + 2 * (size_t)WEFT_SHELF_BYTES);
    assert_null(weft_shelf_of(RANKS));
    assert_null(weft_shelf_of(-1));
    for (int i = 0; i < WEFT_SHELF_PIECES; i++) {
        piece[i] = weft_shelf_take();
        assert_ptr_equal(piece[i], weft_shelf_of(OWN) + (size_t)i * WEFT_SHELF_PIECE);
    }
    assert_null(weft_shelf_take());
    weft_shelf_give(piece[5]);
    weft_shelf_give(piece[WEFT_SHELF_PIECES - 1]);
    assert_ptr_equal(weft_shelf_take(), piece[5]);
    assert_ptr_equal(weft_shelf_take(), piece[WEFT_SHELF_PIECES - 1]);
    assert_null(weft_shelf_take());
    weft_shelves_open(memory, RANKS, OWN); /* of the next job: all are free */
    assert_ptr_equal(weft_shelf_take(), piece[0]);
    weft_shelves_close();
    free(memory);
}

static void test_none(void **state)
{
    (void)state;
    assert_null(weft_shelf_of(0));
    assert_null(weft_shelf_take());
    weft_shelves_open(NULL, RANKS, OWN);
    assert_null(weft_shelf_of(OWN));
    assert_null(weft_shelf_take());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places), cmocka_unit_test(test_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
