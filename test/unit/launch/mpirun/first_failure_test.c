/* SPDX-License-Identifier: BSD-3-Clause */
/* Which failure ends a job, by the order in which mpirun learns of the events. */
#include "launch/mpirun/first_failure.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIZE = 4, NOW = 1000 };

static const wl_rank_event_t connected = {.kind = WL_RANK_CONNECTED, .rank = 2};
static const wl_rank_event_t lost_peer = {.kind = WL_RANK_LOST_PEER, .rank = 0, .code = 16};
static const wl_rank_event_t its_end = {.kind = WL_RANK_ENDED, .rank = 0, .code = 16};
static const wl_rank_event_t aborted = {.kind = WL_RANK_ABORTED, .rank = 1, .code = 7};
static const wl_rank_event_t left = {
    .kind = WL_RANK_ENDED, .rank = 2, .pid = 12, .has_notes = true};
static const wl_rank_event_t no_server = {.kind = WL_SERVER_LOST, .rank = 0, .text = "why"};
static const wl_rank_event_t exited = {.kind = WL_RANK_ENDED, .rank = 3, .code = 5};
static const wl_rank_event_t killed = {
    .kind = WL_RANK_ENDED, .rank = 1, .code = 128 + SIGSEGV, .signal = SIGSEGV};
static const wl_rank_event_t lost = {.kind = WL_HOST_LOST, .rank = 3};

typedef struct story {
    const wl_rank_event_t *events[3];
    wl_failure_reason_t reason;
    int rank, code;
} story_t;

static const story_t stories[] = {
    {{&lost_peer}, WL_LOST_PEER, 0, 16},
    {{&lost_peer, &its_end}, WL_LOST_PEER, 0, 16},
    {{&lost_peer, &its_end, &aborted}, WL_ABORTED, 1, 7},
    {{&lost_peer, &aborted}, WL_ABORTED, 1, 7},
    {{&aborted, &lost_peer}, WL_ABORTED, 1, 7},
    {{&lost_peer, &exited}, WL_EXIT_CODE, 3, 5},
    {{&exited, &lost_peer}, WL_EXIT_CODE, 3, 5},
    {{&lost_peer, &left}, WL_NO_FINALIZE, 2, 1},
    {{&lost_peer, &killed}, WL_SIGNALLED, 1, 128 + SIGSEGV},
    {{&lost_peer, &aborted, &killed}, WL_SIGNALLED, 1, 128 + SIGSEGV},
    {{&lost_peer, &lost}, WL_UNREACHABLE, 3, 128 + SIGKILL},
    {{&killed, &lost_peer, &aborted}, WL_SIGNALLED, 1, 128 + SIGSEGV},
    {{&aborted, &exited}, WL_ABORTED, 1, 7},
    {{&no_server, &exited, &aborted}, WL_NO_SERVER, 0, 1},
    {{&no_server, &killed}, WL_SIGNALLED, 1, 128 + SIGSEGV},
    {{&aborted, &no_server, &exited}, WL_NO_SERVER, 0, 1},
};

static void test_stories(void **unused)
{
    wl_job_plan_t plan = {.size = SIZE};
    (void)unused;
    for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++) {
        const story_t *story = &stories[i];
        wl_first_failure_t failure;
        assert_int_equal(wl_first_failure_open(&plan, &failure), 0);
        wl_first_failure_take(&failure, &connected, NOW);
        assert_false(wl_first_failure_is_doubtful(&failure, SIZE));
        for (int k = 0; k < 3 && story->events[k] != NULL; k++)
            wl_first_failure_take(&failure, story->events[k], NOW + k);
        assert_int_equal(failure.reason, story->reason);
        assert_int_equal(failure.event.rank, story->rank);
        assert_int_equal(wl_first_failure_exit_code(&failure), story->code);
        assert_int_equal(wl_first_failure_is_doubtful(&failure, 1), story->reason < WL_SIGNALLED);
        assert_false(wl_first_failure_is_doubtful(&failure, 0));
        wl_first_failure_release(&failure);
    }
}

/* The failure of a rank that has lost another one is doubted for longer than other failures. */
static void test_doubt(void **unused)
{
    wl_job_plan_t plan = {.size = SIZE};
    wl_first_failure_t failure, other;
    (void)unused;
    assert_int_equal(wl_first_failure_open(&plan, &failure), 0);
    assert_int_equal(wl_first_failure_open(&plan, &other), 0);
    wl_first_failure_take(&failure, &lost_peer, NOW);
    wl_first_failure_take(&other, &aborted, NOW);
    assert_true(failure.certain_at_ms > other.certain_at_ms);
    wl_first_failure_take(&failure, &aborted, NOW);
    assert_int_equal(failure.certain_at_ms, other.certain_at_ms);
    wl_first_failure_release(&failure);
    wl_first_failure_release(&other);
}

/* Without notes the end of a rank may overtake the news that it has finalized, which PMIx brings.
 */
static void test_late_finalize(void **unused)
{
    wl_job_plan_t plan = {.size = SIZE};
    wl_first_failure_t failure;
    (void)unused;
    assert_int_equal(wl_first_failure_open(&plan, &failure), 0);
    for (int rank = 0; rank < SIZE; rank++)
        wl_first_failure_take(&failure, &(wl_rank_event_t){.kind = WL_RANK_CONNECTED, .rank = rank},
                              NOW);
    for (int rank = 0; rank < SIZE; rank++)
        wl_first_failure_take(
            &failure, &(wl_rank_event_t){.kind = WL_RANK_ENDED, .rank = rank, .pid = 10 + rank},
            NOW);
    for (int rank = 0; rank < SIZE; rank++) {
        assert_int_equal(failure.reason, WL_NO_FINALIZE);
        assert_int_equal(failure.event.rank, rank);
        assert_int_equal(failure.event.pid, 10 + rank);
        assert_true(wl_first_failure_is_doubtful(&failure, 0));
        wl_first_failure_take(&failure, &(wl_rank_event_t){.kind = WL_RANK_FINALIZED, .rank = rank},
                              NOW);
    }
    assert_int_equal(failure.reason, WL_NO_REASON);
    wl_first_failure_release(&failure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stories), cmocka_unit_test(test_doubt),
                                       cmocka_unit_test(test_late_finalize)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
