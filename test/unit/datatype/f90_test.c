/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran's types: the texts of errors, and that the end of MPI gives their memory back. */
#include "datatype/type.h"
#include "base/fail.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void refuse(weft_f90_arguments_t arguments, const char *text)
{
    weft_type_t *type;
    assert_int_equal(weft_type_f90(&arguments, &type), MPI_ERR_ARG);
    assert_string_equal(weft_fail_text(), text);
}

static void missing_kinds_are_named(void **state)
{
    const int none = MPI_UNDEFINED;
    (void)state;
    refuse((weft_f90_arguments_t){MPI_COMBINER_F90_REAL, 34, 1}, "p is 34, but must be in 0..33");
    refuse((weft_f90_arguments_t){MPI_COMBINER_F90_COMPLEX, 1, 4932},
           "r is 4932, but must be in 0..4931");
    refuse((weft_f90_arguments_t){MPI_COMBINER_F90_REAL, none, none},
           "p and r are MPI_UNDEFINED, but one of them must be given");
    refuse((weft_f90_arguments_t){MPI_COMBINER_F90_INTEGER, none, 39},
           "r is 39, but must be in 0..38");
    refuse((weft_f90_arguments_t){MPI_COMBINER_F90_INTEGER, none, none},
           "r is MPI_UNDEFINED, but must be in 0..38");
}

static void the_end_gives_memory_back(void **state)
{
    (void)state;
    size_t before = weft_memory_in_use();
    for (int round = 0; round < 3; round++) {
        for (int p = 0; p <= 33; p++) {
            for (int r = 0; r <= 4931; r += 37) {
                weft_f90_arguments_t arguments = {MPI_COMBINER_F90_REAL, p, r};
                weft_type_t *type, *again;
                assert_int_equal(weft_type_f90(&arguments, &type), MPI_SUCCESS);
                assert_int_equal(weft_type_f90(&arguments, &again), MPI_SUCCESS);
                assert_ptr_equal(again, type);
                assert_ptr_equal(weft_type_of(weft_type_handle(type)), type);
            }
        }
        weft_types_close();
        assert_int_equal(weft_memory_in_use(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(missing_kinds_are_named),
                                       cmocka_unit_test(the_end_gives_memory_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
