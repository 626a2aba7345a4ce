/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/handle_numbers.h"

#include "object/object.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void leaves_predefined_handles(void **state)
{
    (void)state;
    assert_int_equal(weft_handle_number(MPI_COMM_WORLD), (int)(intptr_t)MPI_COMM_WORLD);
    assert_ptr_equal(weft_handle_of_number((int)(intptr_t)MPI_COMM_SELF, NULL), MPI_COMM_SELF);
}

/* Objects are 64 bytes apart, as in pools. */
static void numbers_many(void **state)
{
    enum { OBJECTS = 5000 };
    static _Alignas(64) char objects[OBJECTS][64];
    static int numbers[OBJECTS];
    (void)state;
    for (int i = 0; i < OBJECTS; i++) {
        numbers[i] = weft_handle_number(objects[i]);
        assert_true(numbers[i] >= WEFT_PREDEFINED_HANDLES);
    }
    for (int i = 0; i < OBJECTS; i++) {
        assert_int_equal(weft_handle_number(objects[i]), numbers[i]);
        assert_ptr_equal(weft_handle_of_number(numbers[i], NULL), objects[i]);
    }
}

static void does_not_know_others(void **state)
{
    (void)state;
    assert_ptr_equal(weft_handle_of_number(1 << 30, MPI_COMM_NULL), MPI_COMM_NULL);
    assert_ptr_equal(weft_handle_of_number(-1, MPI_COMM_NULL), MPI_COMM_NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_predefined_handles),
        cmocka_unit_test(numbers_many),
        cmocka_unit_test(does_not_know_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
