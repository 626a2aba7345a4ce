/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks are named when mpirun leaves them. */
#include "launch/mpirun/left_ranks.h"

#include "base/memory.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 7, MANY = 1000 };

static void open_left(int size, wl_job_plan_t *plan, wl_left_ranks_t *left)
{
    static char a[] = "a", b[] = "b";
    char *names[] = {a, b};
    int *host_of = weft_alloc_zeroed((size_t)size, sizeof(*host_of));
    host_of[size - 1] = 1;
    *plan = (wl_job_plan_t){.size = size};
    assert_int_equal(wl_placement_rebuild(host_of, size, names, 2, &plan->placement), MPI_SUCCESS);
    assert_int_equal(wl_left_ranks_open(plan, left), MPI_SUCCESS);
    weft_free(host_of);
}

static void close_left(wl_job_plan_t *plan, wl_left_ranks_t *left)
{
    wl_left_ranks_release(left);
    wl_placement_release(&plan->placement);
}

static void expect_left(const wl_left_ranks_t *left, const char *expected)
{
    char text[640];
    wl_left_ranks_describe(left, text, sizeof(text));
    assert_string_equal(text, expected);
}

static void take(wl_left_ranks_t *left, wl_rank_event_kind_t kind, int rank)
{
    const wl_rank_event_t event = {.kind = kind, .rank = rank};
    wl_left_ranks_take(left, &event);
}

static void names_ranks_without_an_end(void **state)
{
    wl_job_plan_t plan;
    wl_left_ranks_t left;
    (void)state;
    open_left(SIZE, &plan, &left);
    expect_left(&left, "ranks 0-6 on a and other hosts have");
    take(&left, WL_RANK_ENDED, 0);
    take(&left, WL_RANK_FINALIZED, 1);
    take(&left, WL_RANK_ENDED, 3);
    expect_left(&left, "ranks 1-2,4-6 on a and other hosts have");
    take(&left, WL_HOST_LOST, 6);
    expect_left(&left, "ranks 1-2,4-5 on a have");
    for (int rank = 2; rank < 6; rank++)
        take(&left, WL_RANK_ENDED, rank);
    expect_left(&left, "rank 1 on a has");
    close_left(&plan, &left);
}

static void long_lists_are_cut(void **state)
{
    wl_job_plan_t plan;
    wl_left_ranks_t left;
    char text[640];
    (void)state;
    open_left(MANY, &plan, &left);
    for (int rank = 0; rank < MANY; rank += 2)
        take(&left, WL_RANK_ENDED, rank);
    wl_left_ranks_describe(&left, text, sizeof(text));
    assert_int_equal(strncmp(text, "ranks 1,3,5,", 12), 0);
    assert_non_null(strstr(text, "... on a and other hosts have"));
    close_left(&plan, &left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_ranks_without_an_end),
        cmocka_unit_test(long_lists_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
