/* SPDX-License-Identifier: BSD-3-Clause */
/* State that upper layers keep with communicators. */
#include "object/comm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void *released[2];
static int releases;

static void note_release(weft_comm_t *comm, void *state)
{
    assert_int_equal(comm->size, 1);
    released[releases++] = state;
}

static weft_comm_t *make_comm(void)
{
    weft_comm_t *comm;
    weft_group_t *group;
    assert_int_equal(weft_errhandler_initial(&weft_comm_world.errhandler), MPI_SUCCESS);
    assert_int_equal(weft_group_create(NULL, 1, &group), MPI_SUCCESS);
    assert_int_equal(weft_comm_create(group, 4, &weft_comm_world, &comm), MPI_SUCCESS);
    weft_group_release(group);
    return comm;
}

static void released_with_the_communicator(void **state)
{
    (void)state;
    int values[2];
    int first = weft_comm_slot_register("first", note_release);
    int second = weft_comm_slot_register("second", note_release);
    int third = weft_comm_slot_register("third", note_release);
    assert_true(first >= 0 && second >= 0 && third >= 0);
    assert_true(first != second && first != third && second != third);
    assert_int_equal(weft_comm_slot_register("second", note_release), second);
    weft_comm_t *comm = make_comm();
    assert_null(comm->slot[first]);
    comm->slot[third] = &values[1];
    comm->slot[first] = &values[0];
    weft_comm_release(comm);
    assert_int_equal(releases, 2); /* the second was empty */
    assert_ptr_equal(released[0], &values[0]);
    assert_ptr_equal(released[1], &values[1]);
}

static void one_too_many_is_refused(void **state)
{
    (void)state;
    char names[WEFT_COMM_SLOTS + 1][8];
    int last = 0, given = 0;
    for (int i = 0; i <= WEFT_COMM_SLOTS && last >= 0; i++) {
        snprintf(names[i], sizeof(names[i]), "n%d", i);
        last = weft_comm_slot_register(names[i], note_release);
        given += last >= 0;
    }
    assert_int_equal(last, -1);
    assert_true(given < WEFT_COMM_SLOTS); /* some were taken before */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released_with_the_communicator),
        cmocka_unit_test(one_too_many_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
