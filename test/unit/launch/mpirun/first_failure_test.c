/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is blamed for the end of a job, by what mpirun hears of first and next. */
#include "launch/mpirun/first_failure.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIZE = 4, NOW = 1000 };

static const weft_rank_event_t connected = {.kind = WEFT_RANK_CONNECTED, .rank = 2};
static const weft_rank_event_t bereft = {.kind = WEFT_RANK_BEREFT, .rank = 0, .code = 16};
static const weft_rank_event_t its_end = {.kind = WEFT_RANK_ENDED, .rank = 0, .code = 16};
static const weft_rank_event_t aborted = {.kind = WEFT_RANK_ABORTED, .rank = 1, .code = 7};
static const weft_rank_event_t left = {.kind = WEFT_RANK_ENDED, .rank = 2, .code = 0};
static const weft_rank_event_t exited = {.kind = WEFT_RANK_ENDED, .rank = 3, .code = 5};
static const weft_rank_event_t killed = {.kind = WEFT_RANK_ENDED, .rank = 1, .code = 128 + SIGSEGV, .signal = SIGSEGV};
static const weft_rank_event_t lost = {.kind = WEFT_HOST_LOST, .rank = 3};

typedef struct story {
    const weft_rank_event_t *events[3];
    weft_reason_t reason;
    int rank, code;
} story_t;

static const story_t stories[] = {
    {{&bereft}, WEFT_BEREFT, 0, 16},
    {{&bereft, &its_end}, WEFT_BEREFT, 0, 16},
    {{&bereft, &its_end, &aborted}, WEFT_ABORTED, 1, 7},
    {{&bereft, &aborted}, WEFT_ABORTED, 1, 7},
    {{&aborted, &bereft}, WEFT_ABORTED, 1, 7},
    {{&bereft, &exited}, WEFT_EXIT_CODE, 3, 5},
    {{&exited, &bereft}, WEFT_EXIT_CODE, 3, 5},
    {{&bereft, &left}, WEFT_NO_FINALIZE, 2, 1},
    {{&bereft, &killed}, WEFT_SIGNALLED, 1, 128 + SIGSEGV},
    {{&bereft, &aborted, &killed}, WEFT_SIGNALLED, 1, 128 + SIGSEGV},
    {{&bereft, &lost}, WEFT_UNREACHABLE, 3, 128 + SIGKILL},
    {{&killed, &bereft, &aborted}, WEFT_SIGNALLED, 1, 128 + SIGSEGV},
    {{&aborted, &exited}, WEFT_ABORTED, 1, 7},
};

static void test_stories(void **unused)
{
    weft_job_plan_t plan = {.size = SIZE};
    (void)unused;
    for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++) {
        const story_t *story = &stories[i];
        weft_blame_t blame;
        assert_int_equal(weft_blame_open(&plan, &blame), 0);
        weft_blame_take(&blame, &connected, NOW);
        assert_false(weft_blame_is_doubtful(&blame, SIZE));
        for (int k = 0; k < 3 && story->events[k] != NULL; k++)
            weft_blame_take(&blame, story->events[k], NOW + k);
        assert_int_equal(blame.reason, story->reason);
        assert_int_equal(blame.event.rank, story->rank);
        assert_int_equal(weft_blame_exit_code(&blame), story->code);
        assert_int_equal(weft_blame_is_doubtful(&blame, 1), story->reason < WEFT_SIGNALLED);
        assert_false(weft_blame_is_doubtful(&blame, 0));
        weft_blame_release(&blame);
    }
}

/* Who has lost another one is doubted for longer; who comes after him, as ever. */
static void test_doubt(void **unused)
{
    weft_job_plan_t plan = {.size = SIZE};
    weft_blame_t blame, other;
    (void)unused;
    assert_int_equal(weft_blame_open(&plan, &blame), 0);
    assert_int_equal(weft_blame_open(&plan, &other), 0);
    weft_blame_take(&blame, &bereft, NOW);
    weft_blame_take(&other, &aborted, NOW);
    assert_true(blame.sentence_at_ms > other.sentence_at_ms);
    weft_blame_take(&blame, &aborted, NOW);
    assert_int_equal(blame.sentence_at_ms, other.sentence_at_ms);
    weft_blame_release(&blame);
    weft_blame_release(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stories), cmocka_unit_test(test_doubt)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
