/* SPDX-License-Identifier: BSD-3-Clause */
/* A fence of three hosts, seen from the first, below which are the other two. */
#include "launch/tree/fence_tree.h"

#include "base/memory.h"
#include "mpi.h"

#include <pmix.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SELF = 1, BELOW = 2 };

static wl_loop_t loop;
static wl_router_t router;
static wl_pmix_server_t server;
static wl_fences_t fences;

static int open_node(void **state)
{
    static const wl_host_tree_t chain = {.count = 4, .radix = 1};
    static wl_placed_host_t hosts[] = {{.count = 1}, {.count = 1}, {.count = 2}};
    static int host_of[] = {0, 1, 2, 2};
    static const wl_placement_t placement = {
        .size = 4, .host_count = 3, .hosts = hosts, .host_of = host_of};
    (void)state;
    wl_loop_open(&loop);
    assert_int_equal(wl_router_open(&chain, SELF, NULL, &loop, &router), MPI_SUCCESS);
    server = (wl_pmix_server_t){.connection.fd = -1};
    wl_fences_open(&placement, &router, &fences);
    return 0;
}

static int close_node(void **state)
{
    (void)state;
    wl_fences_close(&fences);
    wl_router_close(&router);
    wl_loop_close(&loop);
    return 0;
}

static wl_pmix_request_t *enter(void)
{
    wl_pmix_request_t *request = weft_alloc_zeroed(1, sizeof(*request));
    assert_non_null(request);
    request->kind = WL_REQUEST_FENCE;
    request->server = &server;
    wl_fences_enter(&fences, request);
    return request;
}

static void come_from_below(void)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, WL_FOR_FENCE);
    wl_write_u32(&body, 0); /* all ranks */
    const wl_message_t message = {.kind = WL_MSG_FENCE,
                                  .from = BELOW,
                                  .body = wl_queue_front(&body.body),
                                  .bytes = wl_queue_bytes(&body.body)};
    wl_fences_take(&fences, &message);
    wl_writer_release(&body);
}

static bool is_open(void)
{
    return !weft_list_is_empty(&fences.open);
}

static void all_hosts_end_it(void **state)
{
    (void)state;
    enter();
    assert_true(is_open());
    come_from_below();
    assert_false(is_open());
}

static void the_next_one_is_another(void **state)
{
    (void)state;
    all_hosts_end_it(state);
    come_from_below();
    assert_true(is_open());
    enter();
    assert_false(is_open());
}

static void a_host_that_enters_again_counts_once(void **state)
{
    (void)state;
    wl_pmix_request_t *request = enter();
    request->answer_by_ms = 0;
    fences.timer.fn(fences.timer.owner);
    enter();
    assert_true(is_open());
    come_from_below();
    assert_false(is_open());
}

/* PMIx does not do this; if it did, no request would be forgotten. */
static void a_host_that_waits_may_not_enter(void **state)
{
    (void)state;
    enter();
    enter();
    assert_true(is_open());
    come_from_below();
    assert_false(is_open());
}

static void the_last_lost_rank_below_ends_it(void **state)
{
    (void)state;
    enter();
    for (int rank = 1; rank < 3; rank++) {
        wl_fences_lose(&fences, rank);
        assert_true(is_open());
    }
    wl_fences_lose(&fences, 3);
    assert_false(is_open());
}

static void a_lost_host_is_not_waited_for(void **state)
{
    (void)state;
    for (int rank = 1; rank < 4; rank++)
        wl_fences_lose(&fences, rank);
    enter();
    assert_false(is_open());
}

static void a_host_without_living_ranks_does_not_enter(void **state)
{
    (void)state;
    come_from_below();
    assert_true(is_open());
    wl_fences_lose(&fences, 0);
    assert_false(is_open());
}

static void a_host_that_had_come_may_be_lost(void **state)
{
    (void)state;
    come_from_below();
    for (int rank = 1; rank < 4; rank++)
        wl_fences_lose(&fences, rank);
    assert_true(is_open());
    enter();
    assert_false(is_open());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_hosts_end_it, open_node, close_node),
        cmocka_unit_test_setup_teardown(the_next_one_is_another, open_node, close_node),
        cmocka_unit_test_setup_teardown(a_host_that_enters_again_counts_once, open_node,
                                        close_node),
        cmocka_unit_test_setup_teardown(a_host_that_waits_may_not_enter, open_node, close_node),
        cmocka_unit_test_setup_teardown(the_last_lost_rank_below_ends_it, open_node, close_node),
        cmocka_unit_test_setup_teardown(a_lost_host_is_not_waited_for, open_node, close_node),
        cmocka_unit_test_setup_teardown(a_host_without_living_ranks_does_not_enter, open_node,
                                        close_node),
        cmocka_unit_test_setup_teardown(a_host_that_had_come_may_be_lost, open_node, close_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
