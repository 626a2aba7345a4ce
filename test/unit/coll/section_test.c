/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/section.h"

#include <mpi.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MEMBERS = 3, PARTS = 4 };

static const weft_how_t how = {.radix = 2};

static weft_data_t data_at(ptrdiff_t offset, size_t count, weft_type_t *type)
{
    return (weft_data_t){weft_place_at(WEFT_OUT, offset), count, type};
}

static weft_data_t ints_at(ptrdiff_t offset, size_t count)
{
    return data_at(offset, count, weft_type_of(MPI_INT));
}

static void add_steps(weft_plan_t *plan, int count)
{
    for (int i = 0; i < count; i++)
        weft_plan_send(plan, ints_at(4 * i, 1), 1);
}

static void add_section(weft_plan_t *plan, int members, int steps)
{
    weft_data_t data = ints_at(0, 5);
    weft_section_begin(
        plan, &(weft_section_call_t){
                  .coll = WEFT_BCAST, .members = members, .gives_count = 1, .gives = &data});
    add_steps(plan, steps);
    weft_section_end(plan);
}

/* ---- one plan ---- */

static void one_member_has_none(void **state)
{
    (void)state;
    weft_plan_t *plan = weft_plan_create(&how);
    add_section(plan, 1, 2);
    weft_section_end(plan);
    assert_int_equal(plan->section_count, 0);
    assert_int_equal(plan->count, 2);
    assert_int_equal(weft_plan_meetings(plan), 0);
    weft_plan_release(plan);
}

static void steps_are_between(void **state)
{
    (void)state;
    weft_plan_t *plan = weft_plan_create(&how);
    add_steps(plan, 3);
    add_section(plan, MEMBERS, 20); /* so many that the array of steps is moved */
    add_steps(plan, 1);
    add_section(plan, MEMBERS, 0);
    add_section(plan, MEMBERS, 2);
    assert_int_equal(plan->error, MPI_SUCCESS);
    assert_int_equal(plan->section_count, 3);
    /* counted from the step that begins the section */
    static const size_t ends[3][2] = {{3, 24}, {25, 26}, {26, 29}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(plan->steps[ends[i][0]].kind, WEFT_STEP_SECTION);
        assert_int_equal(plan->steps[ends[i][0]].peer, i);
        assert_int_equal(plan->sections[i]->end, ends[i][1]);
    }
    assert_int_equal(plan->count, 29);
    assert_int_equal(weft_plan_meetings(plan), 3);
    weft_plan_release(plan);
}

/* A section needs nothing of the caller's after it was begun. */
static void calls_are_copied(void **state)
{
    (void)state;
    weft_type_t *type;
    assert_int_equal(weft_type_contiguous(7, weft_type_of(MPI_INT), &type), MPI_SUCCESS);
    weft_type_commit(type);
    int references = type->object.references;
    weft_plan_t *plan = weft_plan_create(&how);
    weft_data_t gives[1] = {data_at(8, 1, type)}, gets[MEMBERS];
    for (int i = 0; i < MEMBERS; i++)
        gets[i] = data_at(100 * i, (size_t)i, type);
    weft_section_call_t call = {.coll = WEFT_GATHER,
                                .members = MEMBERS,
                                .member = 1,
                                .root = 2,
                                .radix = 5,
                                .gives_count = 1,
                                .gets_count = MEMBERS,
                                .gives = gives,
                                .gets = gets};
    weft_section_begin(plan, &call);
    weft_section_end(plan);
    memset(gives, 0xff, sizeof(gives));
    memset(gets, 0xff, sizeof(gets));
    memset(&call, 0xff, sizeof(call));
    assert_int_equal(type->object.references, references + 1 + MEMBERS);
    const weft_section_call_t *kept = &plan->sections[0]->call;
    assert_int_equal(kept->coll, WEFT_GATHER);
    assert_int_equal(kept->member, 1);
    assert_int_equal(kept->root, 2);
    assert_int_equal(kept->radix, 5);
    assert_int_equal(kept->gives[0].place.offset, 8);
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(kept->gets[i].place.offset, 100 * i);
        assert_int_equal(kept->gets[i].count, i);
        assert_ptr_equal(kept->gets[i].type, type);
    }
    weft_plan_release(plan);
    assert_int_equal(type->object.references, references);
    weft_type_release(type);
}

/* The section waits if its first step would. */
static void waits_are_taken_over(void **state)
{
    (void)state;
    weft_data_t data = ints_at(0, 1);
    const weft_section_call_t calls[2] = {
        {.coll = WEFT_REDUCE, .members = 2, .gives_count = 1, .gives = &data},
        {.coll = WEFT_REDUCE, .members = 2, .gives_count = 1, .gives = &data, .waits = true}};
    weft_plan_t *plan = weft_plan_create(&how);
    for (int i = 0; i < 4; i++) {
        if (i / 2 > 0)
            weft_plan_wait(plan);
        weft_section_begin(plan, &calls[i % 2]);
        add_steps(plan, 2);
        weft_section_end(plan);
    }
    static const bool expected[4] = {false, true, true, true};
    for (int i = 0; i < 4; i++)
        assert_int_equal(plan->sections[i]->call.waits, expected[i]);
    size_t first = plan->sections[2]->end - 2; /* the last section has two steps */
    assert_int_equal(plan->steps[first - 1].kind, WEFT_STEP_SECTION);
    assert_false(plan->steps[first - 1].waits);
    assert_true(plan->steps[first].waits);
    assert_false(plan->steps[first + 1].waits);
    weft_plan_release(plan);
}

/* ---- parts ---- */

/* Part i gets context[i] sections. */
static void write_part(weft_plan_t *plan, const void *context, int index)
{
    for (int i = 0; i < ((const int *)context)[index]; i++)
        add_section(plan, MEMBERS, 1);
}

/* Each meeting has a different number, below the count. */
static void meetings_are_told_apart(void **state)
{
    (void)state;
    static const int sections[PARTS] = {2, 0, 3, 1};
    bool is_taken[64] = {false};
    weft_plan_t *plan = weft_plan_create(&how);
    add_section(plan, MEMBERS, 1);
    weft_plan_parts(plan, PARTS, write_part, sections);
    add_section(plan, MEMBERS, 1);
    uint32_t meetings = weft_plan_meetings(plan);
    assert_int_equal(meetings, 2 + PARTS * 3);
    is_taken[0] = is_taken[1] = true;
    for (int part = 0; part < PARTS; part++) {
        assert_int_equal(plan->parts[part]->section_count, sections[part]);
        for (int i = 0; i < sections[part]; i++) {
            uint32_t number = weft_part_meeting(plan, part) + (uint32_t)(i * plan->part_count);
            assert_in_range(number, 2, meetings - 1);
            assert_false(is_taken[number]);
            is_taken[number] = true;
        }
    }
    weft_plan_release(plan);
}

/* A single part is written into the plan itself, and so are its sections. */
static void one_part_is_the_plan(void **state)
{
    (void)state;
    static const int sections[1] = {2};
    weft_plan_t *plan = weft_plan_create(&how);
    weft_plan_parts(plan, 1, write_part, sections);
    assert_int_equal(plan->part_count, 0);
    assert_int_equal(plan->section_count, 2);
    assert_int_equal(weft_plan_meetings(plan), 2);
    weft_plan_release(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_member_has_none),     cmocka_unit_test(steps_are_between),
        cmocka_unit_test(calls_are_copied),        cmocka_unit_test(waits_are_taken_over),
        cmocka_unit_test(meetings_are_told_apart), cmocka_unit_test(one_part_is_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
