/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells between two ranks: each belongs to one of them, and goes out in the order in which it came.
 */
#include "shm/cells.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { CELLS = 8, HALF = CELLS / 2, ROUNDS = 10000 };

static char memory[1];
static weft_cells_t ends[2];

static int open_both(void **state)
{
    (void)state;
    for (int end = 0; end < 2; end++)
        weft_cells_open(&ends[end], memory, CELLS, end == 1);
    return 0;
}

/* One end sends its next cell to the other. */
static unsigned pass(int from)
{
    unsigned number = weft_cells_next(&ends[from]);
    assert_int_equal(weft_cells_next(&ends[from]), number);
    weft_cells_pass(&ends[from]);
    weft_cells_take(&ends[1 - from], number);
    return number;
}

static void check_owners(void)
{
    int owned[CELLS] = {0};
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < ends[end].count; i++)
            owned[ends[end].owned[i]]++;
    }
    for (int i = 0; i < CELLS; i++)
        assert_int_equal(owned[i], 1);
}

static void each_begins_with_half(void **state)
{
    (void)state;
    assert_int_equal(ends[0].count, HALF);
    assert_int_equal(ends[1].count, HALF);
    check_owners();
}

static void none(void **state)
{
    (void)state;
    weft_cells_open(&ends[0], memory, 0, false);
    assert_int_equal(ends[0].count, 0);
}

/* A message of several packets is answered by one whose packets lie in the same cells, in turn: so
 * their lengths fit each other. */
static void answers_take_the_same_cells(void **state)
{
    unsigned sent[HALF];
    (void)state;
    for (int i = 0; i < HALF; i++)
        sent[i] = pass(0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < HALF; i++)
            assert_int_equal(pass(1), sent[i]);
        for (int i = 0; i < HALF; i++)
            assert_int_equal(pass(0), sent[i]);
    }
}

/* What came last goes first, and what came before it is sent when that is gone. */
static void the_last_run_goes_first(void **state)
{
    (void)state;
    unsigned first = pass(0), own = pass(1); /* own goes back at once, as it came last */
    assert_int_equal(own, first);
    unsigned a = pass(0), b = pass(0);
    assert_int_equal(pass(1), a);
    unsigned c = pass(0); /* a once more, the last run of the other end now */
    assert_int_equal(c, a);
    assert_int_equal(pass(1), c);
    assert_int_equal(pass(1), b);
    check_owners();
}

static void none_is_lost(void **state)
{
    uint32_t seed = 1;
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245u + 12345u;
        int from = (int)(seed >> 20 & 1);
        if (ends[from].count > 0)
            pass(from);
        check_owners();
    }
}

/* Who has more than three quarters gives one back with one packet in some. */
static void spare_cells_go_back(void **state)
{
    (void)state;
    while (ends[0].count > 0) {
        pass(0);
        assert_int_equal(weft_cells_spare(&ends[0]), -1);
    }
    assert_int_equal(ends[1].count, CELLS);
    int given = 0;
    for (int i = 1; i <= 3 * WEFT_CELLS_SPARE; i++) {
        unsigned oldest = ends[1].owned[0];
        unsigned number = pass(1);
        int spare = weft_cells_spare(&ends[1]);
        if (spare >= 0) {
            assert_int_equal(i % WEFT_CELLS_SPARE, 0);
            assert_int_equal(spare, oldest);
            weft_cells_take_spare(&ends[0], (unsigned)spare);
            given++;
        }
        check_owners();
        assert_int_equal(pass(0), number); /* the answer; the spare one waits */
    }
    assert_int_equal(given, 1); /* then it has three quarters while it waits for the answer */
    assert_int_equal(ends[1].count, CELLS - given);
    assert_int_equal(ends[0].count, given);
}

static void cells_do_not_overlap(void **state)
{
    static char many[2 * WEFT_CELL_BYTES];
    (void)state;
    weft_cells_open(&ends[0], many, 2, false);
    assert_ptr_equal(weft_cells_at(&ends[0], 0), many);
    assert_ptr_equal(weft_cells_at(&ends[0], 1), many + WEFT_CELL_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_begins_with_half, open_both),
        cmocka_unit_test_setup(none, open_both),
        cmocka_unit_test_setup(answers_take_the_same_cells, open_both),
        cmocka_unit_test_setup(the_last_run_goes_first, open_both),
        cmocka_unit_test_setup(none_is_lost, open_both),
        cmocka_unit_test_setup(spare_cells_go_back, open_both),
        cmocka_unit_test_setup(cells_do_not_overlap, open_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
