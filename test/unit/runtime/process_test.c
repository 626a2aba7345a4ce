/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of processes: indices, ranks and generations, while it grows and shrinks. */
#include "runtime/process.h"

#include "base/config.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { OWN = 5, OTHER_JOB = 3, MANY = 1000000 };

static int open_table(void **state)
{
    (void)state;
    return weft_processes_open(OWN, 2) == MPI_SUCCESS ? 0 : -1;
}

static int close_table(void **state)
{
    (void)state;
    weft_processes_close();
    return 0;
}

static int add(int job, int rank)
{
    int process = WEFT_NO_PROCESS;
    assert_int_equal(weft_process_add(job, rank, &process), MPI_SUCCESS);
    assert_true(weft_process_is_used(process));
    assert_int_equal(weft_process_rank(process), rank);
    assert_int_equal(weft_process_find(job, rank), process);
    assert_null(weft_process_reached(process));
    return process;
}

static void own_job_comes_first(void **state)
{
    (void)state;
    assert_int_equal(weft_processes.self, 2);
    for (int rank = 0; rank < OWN; rank++) {
        assert_int_equal(weft_process_find(WEFT_OWN_JOB, rank), rank);
        assert_int_equal(weft_process_rank(rank), rank);
    }
    assert_int_equal(weft_process_find(WEFT_OWN_JOB, OWN), WEFT_NO_PROCESS);
    assert_int_equal(weft_process_find(WEFT_OWN_JOB, -1), WEFT_NO_PROCESS);
    assert_int_equal(weft_process_find(OTHER_JOB, 0), WEFT_NO_PROCESS);
    assert_false(weft_process_is_used(OWN));
}

static void jobs_are_told_apart(void **state)
{
    (void)state;
    int one = add(OTHER_JOB, 0), two = add(OTHER_JOB + 1, 0), three = add(OTHER_JOB, 4);
    assert_int_equal(one, OWN);
    assert_int_equal(two, OWN + 1);
    assert_int_equal(three, OWN + 2);
    assert_int_equal(weft_process_find(WEFT_OWN_JOB, 0), 0);
}

static void free_entries_get_another_generation(void **state)
{
    (void)state;
    int first = add(OTHER_JOB, 0), last = add(OTHER_JOB, 1);
    uint32_t generation = weft_processes.at[first].generation;
    weft_process_remove(first);
    assert_false(weft_process_is_used(first));
    assert_int_equal(weft_process_find(OTHER_JOB, 0), WEFT_NO_PROCESS);
    assert_int_equal(weft_process_find(OTHER_JOB, 1), last);
    assert_int_equal(add(OTHER_JOB + 1, 7), first);
    assert_int_equal(weft_processes.at[first].generation, generation + 1);
}

static void the_table_shrinks(void **state)
{
    (void)state;
    int first = add(OTHER_JOB, 0), middle = add(OTHER_JOB, 1), last = add(OTHER_JOB, 2);
    weft_process_remove(middle);
    assert_int_equal(weft_processes.count, OWN + 3);
    weft_process_remove(last);
    assert_int_equal(weft_processes.count, OWN + 1);
    weft_process_remove(first);
    assert_int_equal(weft_processes.count, OWN);
    assert_int_equal(weft_processes.free_count, 0);
    assert_int_equal(add(OTHER_JOB, 9), OWN);
    assert_int_equal(weft_processes.at[OWN].generation, 1);
}

static void endpoints_survive_growth(void **state)
{
    (void)state;
    weft_endpoint_t endpoint = {.is_on_host = true};
    weft_processes.at[1].endpoint = &endpoint;
    for (int rank = 0; rank < 1000; rank++)
        add(OTHER_JOB, rank);
    assert_ptr_equal(weft_process_reached(1), &endpoint);
    assert_null(weft_process_reached(OWN + 999));
    assert_int_equal(weft_processes.at[OWN + 999].node, 0);
}

static void a_million_ranks(void **state)
{
    (void)state;
    weft_processes_close();
    assert_int_equal(weft_processes_open(MANY, MANY - 1), MPI_SUCCESS);
    assert_int_equal(weft_process_find(WEFT_OWN_JOB, MANY - 1), MANY - 1);
    assert_int_equal(weft_process_rank(MANY - 1), MANY - 1);
    assert_int_equal(add(OTHER_JOB, 0), MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(own_job_comes_first, open_table, close_table),
        cmocka_unit_test_setup_teardown(jobs_are_told_apart, open_table, close_table),
        cmocka_unit_test_setup_teardown(free_entries_get_another_generation, open_table,
                                        close_table),
        cmocka_unit_test_setup_teardown(the_table_shrinks, open_table, close_table),
        cmocka_unit_test_setup_teardown(endpoints_survive_growth, open_table, close_table),
        cmocka_unit_test_setup_teardown(a_million_ranks, open_table, close_table),
    };
    weft_config_read();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
