/* SPDX-License-Identifier: BSD-3-Clause */
/* Which ranks of a job that survives losses are lost, and what the job returns. */
#include "launch/mpirun/rank_ends.h"

#include "mpi.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { RANKS = 5, LATER_MS = 10000 };

static wl_rank_ends_t ends;

static int open_ends(void **state)
{
    static int first[] = {0, 1}, second[] = {2, 3, 4}, host_of[] = {0, 0, 1, 1, 1};
    static wl_placed_host_t hosts[] = {{.name = "a", .ranks = first, .count = 2},
                                       {.name = "b", .ranks = second, .count = 3}};
    static const wl_job_plan_t plan = {
        .size = RANKS,
        .survives_losses = true,
        .placement = {.size = RANKS, .host_count = 2, .hosts = hosts, .host_of = host_of}};
    (void)state;
    return wl_rank_ends_open(&plan, &ends) == MPI_SUCCESS ? 0 : 1;
}

static int release_ends(void **state)
{
    (void)state;
    wl_rank_ends_release(&ends);
    return 0;
}

static void tell(wl_rank_event_kind_t kind, int rank)
{
    const wl_rank_event_t event = {.kind = kind, .rank = rank};
    wl_rank_ends_take(&ends, &event, 0);
}

static void end_rank(int rank, int code, bool has_notes)
{
    const wl_rank_event_t event = {.kind = WL_RANK_ENDED,
                                   .rank = rank,
                                   .pid = 7,
                                   .code = code,
                                   .signal = code > 128 ? code - 128 : 0,
                                   .has_notes = has_notes};
    wl_rank_ends_take(&ends, &event, 0);
}

static void a_signal_and_a_code_lose_a_rank(void **state)
{
    (void)state;
    end_rank(3, 128 + SIGKILL, false);
    end_rank(1, 4, false);
    end_rank(0, 0, false);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), 1);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), 3);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), -1);
    assert_int_equal(wl_rank_ends_exit_code(&ends), 0);
    char text[200];
    wl_rank_ends_summarize(&ends, text, sizeof(text));
    assert_string_equal(text, "2 of 5 ranks were lost: 1,3");
    wl_rank_ends_describe(&ends, 1, text, sizeof(text));
    assert_string_equal(text, "rank 1 (process 7 on a) exited with code 4");
}

static void a_code_after_finalize_is_the_jobs(void **state)
{
    (void)state;
    tell(WL_RANK_CONNECTED, 2);
    tell(WL_RANK_FINALIZED, 2);
    end_rank(2, 6, true);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), -1);
    assert_int_equal(wl_rank_ends_exit_code(&ends), 6);
}

static void an_end_in_the_middle_loses_a_rank(void **state)
{
    (void)state;
    tell(WL_RANK_CONNECTED, 2);
    end_rank(2, 0, true);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), 2);
}

/* Without notes the news of MPI_Finalize may come behind those of the end. */
static void late_news_are_waited_for(void **state)
{
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        tell(WL_RANK_CONNECTED, rank);
        end_rank(rank, 0, false);
    }
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), -1);
    assert_true(wl_rank_ends_decide_at_ms(&ends) < LATER_MS);
    tell(WL_RANK_FINALIZED, 0);
    assert_int_equal(wl_rank_ends_next_lost(&ends, LATER_MS), 1);
    assert_int_equal(wl_rank_ends_next_lost(&ends, LATER_MS), -1);
    assert_true(wl_rank_ends_decide_at_ms(&ends) == INT64_MAX);
}

static void a_rank_that_aborts_is_not_lost(void **state)
{
    (void)state;
    tell(WL_RANK_CONNECTED, 4);
    tell(WL_RANK_ABORTED, 4);
    end_rank(4, 3, true);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), -1);
}

static void a_host_takes_its_living_ranks_along(void **state)
{
    (void)state;
    end_rank(3, 0, false);
    tell(WL_HOST_LOST, 2);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), 2);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), 4);
    assert_int_equal(wl_rank_ends_next_lost(&ends, 0), -1);
    assert_true(ends.ends[4].is_with_host);
}

static void the_first_loss_counts_when_all_are_lost(void **state)
{
    (void)state;
    end_rank(1, 9, false);
    tell(WL_HOST_LOST, 2);
    end_rank(0, 3, false);
    assert_int_equal(wl_rank_ends_exit_code(&ends), 9);
    char text[200];
    wl_rank_ends_summarize(&ends, text, sizeof(text));
    assert_string_equal(text, "all 5 ranks were lost");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ends, release_ends)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_signal_and_a_code_lose_a_rank),         TEST(a_code_after_finalize_is_the_jobs),
        TEST(an_end_in_the_middle_loses_a_rank),       TEST(late_news_are_waited_for),
        TEST(a_rank_that_aborts_is_not_lost),          TEST(a_host_takes_its_living_ranks_along),
        TEST(the_first_loss_counts_when_all_are_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
