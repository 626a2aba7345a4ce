/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of the hosts of a Slurm allocation, as SLURM_TASKS_PER_NODE has them. */
#include "launch/delegate/delegate.h"

#include "base/fail.h"
#include "launch/plan/launch_options.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HOSTS = 3 };

static void expect_slots(const char *tasks, const int expected[HOSTS])
{
    static char *words[] = {(char *)"mpirun", (char *)"a", NULL};
    wl_job_plan_t plan;
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
    setenv("SLURM_TASKS_PER_NODE", tasks, 1);
    assert_int_equal(wl_options_parse(2, words, &plan), MPI_SUCCESS);
    if (wl_delegate_take_allocation(&plan) != MPI_SUCCESS)
        fail_msg("%s: %s", tasks, weft_fail_text());
    assert_int_equal(plan.apps[0].hosts.count, HOSTS);
    for (int i = 0; i < HOSTS; i++) {
        if (plan.apps[0].hosts.hosts[i].slots != expected[i])
            fail_msg("%s: host %d has %d slots, not %d", tasks, i,
                     plan.apps[0].hosts.hosts[i].slots, expected[i]);
    }
    wl_job_plan_release(&plan);
}

static void numbers_are_repeated(void **state)
{
    (void)state;
    expect_slots("4(x2),1", (int[]){4, 4, 1});
    expect_slots("2,3(x7)", (int[]){2, 3, 3});
    expect_slots("5", (int[]){5, 0, 0});
}

/* A host without a number of slots counts as one. */
static void nonsense_is_no_number(void **state)
{
    (void)state;
    expect_slots("1(x-2147483648),5", (int[]){0, 0, 0});
    expect_slots("2,1(x0),5", (int[]){2, 0, 0});
    expect_slots("-3(x3)", (int[]){0, 0, 0});
    expect_slots("4294967297,99999999999999999999(x2)", (int[]){0, 0, 0});
    expect_slots("x", (int[]){0, 0, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_repeated),
        cmocka_unit_test(nonsense_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
