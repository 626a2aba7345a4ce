/* SPDX-License-Identifier: BSD-3-Clause */
/* In which barriers the leader of the next collective goes first: there it leaves a mark. */
#include "coll/wall/wall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MEMBERS = 3, OWN = 1, OTHER = 2 };

static weft_strip_t strips[MEMBERS];
static weft_wall_t *wall;

static int open_wall(void **state)
{
    (void)state;
    wall = calloc(1, sizeof *wall + MEMBERS * sizeof wall->members[0]);
    assert_non_null(wall);
    wall->size = MEMBERS;
    wall->rank = OWN;
    wall->strip = &strips[OWN];
    for (int i = 0; i < MEMBERS; i++) {
        atomic_store(&strips[i].state.left, 0);
        wall->members[i].strip = &strips[i];
    }
    return 0;
}

static int close_wall(void **state)
{
    (void)state;
    free(wall);
    return 0;
}

static void call(weft_coll_t coll, int root)
{
    wall->number++;
    weft_wall_leader_note(wall, coll, root);
}

/* A barrier; does this member, as the leader, go first? */
static bool leads_barrier(void)
{
    call(WEFT_BARRIER, 0);
    return atomic_load(&wall->strip->state.left) == wall->number;
}

static void nobody_leads_at_first(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        assert_false(leads_barrier());
}

static void the_root_behind_a_barrier_leads_the_next(void **state)
{
    (void)state;
    static const weft_coll_t colls[] = {WEFT_BCAST, WEFT_SCATTER, WEFT_SCATTERV};
    for (size_t i = 0; i < sizeof colls / sizeof colls[0]; i++) {
        leads_barrier();
        call(colls[i], OWN);
        assert_true(leads_barrier());
        assert_false(leads_barrier());
        assert_false(leads_barrier());
        call(WEFT_ALLREDUCE, 0);
    }
}

static void another_root_is_given_way(void **state)
{
    (void)state;
    leads_barrier();
    call(WEFT_BCAST, OTHER);
    assert_false(leads_barrier());
}

static void the_first_member_leads_scans(void **state)
{
    (void)state;
    leads_barrier();
    call(WEFT_SCAN, 0);
    assert_int_equal(wall->leader.member, 0);
    leads_barrier();
    call(WEFT_EXSCAN, OWN); /* which has no root */
    assert_int_equal(wall->leader.member, 0);
}

/* Only the last of them: before it the program may do other things. */
static void the_place_among_barriers_counts(void **state)
{
    (void)state;
    leads_barrier();
    leads_barrier();
    call(WEFT_BCAST, OWN);
    assert_false(leads_barrier());
    assert_true(leads_barrier());
    assert_false(leads_barrier());
}

static void without_a_barrier_before_it_there_is_no_leader(void **state)
{
    (void)state;
    leads_barrier();
    call(WEFT_ALLREDUCE, 0);
    call(WEFT_BCAST, OWN);
    assert_false(leads_barrier());
    assert_false(leads_barrier());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_leads_at_first, open_wall, close_wall),
        cmocka_unit_test_setup_teardown(the_root_behind_a_barrier_leads_the_next, open_wall,
                                        close_wall),
        cmocka_unit_test_setup_teardown(another_root_is_given_way, open_wall, close_wall),
        cmocka_unit_test_setup_teardown(the_first_member_leads_scans, open_wall, close_wall),
        cmocka_unit_test_setup_teardown(the_place_among_barriers_counts, open_wall, close_wall),
        cmocka_unit_test_setup_teardown(without_a_barrier_before_it_there_is_no_leader, open_wall,
                                        close_wall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
