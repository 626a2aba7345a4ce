/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of the members of a wall: by the parts of the machine, or even ones. Of every member its
 * leader, and of every group all members, each once. */
#include "coll/wall/wall_groups.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 128 };

static int parts[MOST];

static void expect_lists(const weft_wall_groups_t *its, int members, int rank)
{
    int leaders = 0, own = 0;
    assert_int_equal(its->members[0], its->of[rank].leader);
    for (int i = 0; i < members; i++) {
        const weft_grouped_member_t *of = &its->of[i];
        assert_in_range(of->index, 0, its->largest - 1);
        assert_int_equal(its->of[of->leader].leader, of->leader);
        assert_int_equal(its->of[of->leader].index, 0);
        if (of->leader == i)
            assert_int_equal(its->leaders[leaders++], i);
        if (of->leader != its->of[rank].leader)
            continue;
        assert_int_equal(its->members[own], i);
        assert_int_equal(of->index, own++);
    }
    assert_int_equal(its->count, leaders);
    assert_int_equal(its->size, own);
    assert_int_equal(its->of[its->members[0]].led, own);
    assert_int_equal(its->others, leaders - (its->members[0] == rank));
    for (int i = 0; i < its->others; i++)
        assert_int_not_equal(its->leaders[its->count + i], rank);
}

static void expect_groups(int members, int count, int largest)
{
    for (int rank = 0; rank < members; rank++) {
        weft_wall_groups_t *its = weft_wall_groups_make(parts, members, rank);
        assert_non_null(its);
        expect_lists(its, members, rank);
        assert_int_equal(its->count, count);
        assert_int_equal(its->largest, largest);
        weft_free(its);
    }
}

static void test_even(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        parts[i] = -1;
    expect_groups(2, 1, 2);
    expect_groups(3, 2, 2);
    expect_groups(16, 4, 4);
    expect_groups(17, 4, 5);
    expect_groups(64, 8, 8);
    expect_groups(MOST, 11, 12);
}

static void test_parts(void **state)
{
    (void)state;
    /* as ranks are bound one after the other to caches of eight cores, */
    for (int i = 0; i < MOST; i++)
        parts[i] = i / 8;
    expect_groups(64, 8, 8);
    /* or in turns to those of two packages */
    for (int i = 0; i < MOST; i++)
        parts[i] = i % 2 * 4 + i / 2 / 8;
    expect_groups(64, 8, 8);
    for (int rank = 0; rank < 64; rank++) {
        weft_wall_groups_t *its = weft_wall_groups_make(parts, 64, rank);
        for (int i = 0; i < its->size; i++)
            assert_int_equal(parts[its->members[i]], parts[rank]);
        weft_free(its);
    }
}

/* Parts that make no groups. */
static void test_unfit(void **state)
{
    (void)state;
    for (int i = 0; i < MOST; i++)
        parts[i] = 5; /* all under one cache */
    expect_groups(16, 4, 4);
    parts[3] = 6; /* one alone under another */
    expect_groups(16, 4, 4);
    parts[4] = 6;
    expect_groups(16, 2, 14);
    parts[9] = -1; /* one that is not bound */
    expect_groups(16, 4, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_unfit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
