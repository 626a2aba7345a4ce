/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a collective whose peer is lost, or that has failed on its own rank: it names the
 * ranks that are lost, and the communicator. The engine runs plans in which rank 0 of four waits
 * for others. */
#include "coll/failure.h"

#include "coll/engine.h"
#include "coll/team/shape.h"
#include "pt2pt/pt2pt.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

static weft_endpoint_t endpoints[RANKS];

static weft_request_t *begin_barrier(void)
{
    weft_request_t *request;
    weft_shape_t shape = weft_shape_blocks(1, RANKS);
    const weft_how_t how = {.shape = &shape, .radix = 2};
    weft_plan_t *plan = weft_plan_create(&how);
    weft_coll_args_t args = {.comm = &weft_comm_world};
    for (int rank = 1; rank < RANKS; rank++)
        weft_plan_await(plan, rank);
    assert_int_equal(weft_engine_begin(plan, &args, &request), MPI_SUCCESS);
    weft_plan_release(plan);
    assert_false(request->is_complete);
    return request;
}

static void expect_text(weft_request_t *request, const char *wanted)
{
    assert_true(request->is_complete);
    assert_int_equal(weft_request_result(request), MPI_ERR_OTHER);
    assert_string_equal(weft_fail_text(), wanted);
    weft_request_release(request);
}

static void lose(int rank)
{
    char why[40];
    snprintf(why, sizeof(why), "host h%d does not answer", rank);
    weft_pt2pt_peer_lost(rank, why);
}

static int find_all(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++)
        endpoints[rank].is_lost = false;
    weft_world.has_lost = false;
    snprintf(weft_comm_world.name, sizeof(weft_comm_world.name), "MPI_COMM_WORLD");
    return 0;
}

static void lost_ranks_are_named(void **state)
{
    (void)state;
    weft_request_t *request = begin_barrier();
    lose(1);
    lose(3);
    assert_false(request->is_complete); /* rank 2 has not sent yet */
    lose(2);
    expect_text(request,
                "in a collective of MPI_COMM_WORLD (4 ranks), rank 0, which has lost rank 1, 2, 3: "
                "host h2 does not answer");
}

static void communicators_without_name_are_counted(void **state)
{
    (void)state;
    weft_comm_world.name[0] = '\0';
    weft_request_t *request = begin_barrier();
    for (int rank = 1; rank < RANKS; rank++)
        lose(rank);
    expect_text(request,
                "in a collective of a communicator (4 ranks), rank 0, which has lost rank 1, 2, 3: "
                "host h3 does not answer");
}

/* After a failure on this rank the text names this rank, and no rank is lost. */
static void own_failures_are_named(void **state)
{
    (void)state;
    static const weft_request_ops_t ops = {.name = "collective"};
    weft_request_t request;
    weft_request_init(&request, &ops, &weft_comm_world);
    weft_request_note_error(&request, weft_fail(MPI_ERR_OTHER, "the device is gone"));
    weft_coll_explain_failure(&request);
    static const char wanted[] =
        "in a collective of MPI_COMM_WORLD (4 ranks), rank 0: the device is gone";
    assert_string_equal(request.why, wanted);
    weft_coll_explain_failure(&request);
    assert_string_equal(request.why, wanted);
    weft_request_forget_error(&request);
}

/* The text that another rank has sent is kept unchanged. */
static void texts_of_others_are_kept(void **state)
{
    (void)state;
    static const weft_request_ops_t ops = {.name = "collective"};
    static const char text[] = "in a collective of MPI_COMM_WORLD (4 ranks), rank 2: no memory";
    weft_request_t request;
    weft_request_init(&request, &ops, &weft_comm_world);
    weft_request_note_error(&request, weft_fail(MPI_ERR_OTHER, "%s", text));
    weft_coll_explain_failure(&request);
    assert_string_equal(request.why, text);
    weft_request_forget_error(&request);
}

static void others_say_nothing(void **state)
{
    (void)state;
    static const weft_request_ops_t ops = {.name = "collective"};
    weft_request_t request;
    weft_request_init(&request, &ops, &weft_comm_world);
    weft_coll_explain_failure(&request);
    assert_null(request.why);
    request.status.MPI_ERROR = MPI_ERR_TRUNCATE;
    weft_coll_explain_failure(&request);
    assert_null(request.why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lost_ranks_are_named, find_all),
        cmocka_unit_test_setup(communicators_without_name_are_counted, find_all),
        cmocka_unit_test_setup(own_failures_are_named, find_all),
        cmocka_unit_test_setup(texts_of_others_are_kept, find_all),
        cmocka_unit_test_setup(others_say_nothing, find_all),
    };
    weft_config_read();
    weft_log_threshold = -1;
    weft_world.rank = 0;
    weft_world.size = weft_world.local_size = RANKS;
    if (weft_processes_open(RANKS, 0) != MPI_SUCCESS)
        return 1;
    for (int rank = 0; rank < RANKS; rank++)
        weft_processes.at[rank].endpoint = &endpoints[rank];
    weft_pt2pt_open();
    if (weft_comm_open() != MPI_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
