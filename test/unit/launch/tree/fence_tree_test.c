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

enum { SELF = 1, BELOW = 2, HOSTS_BELOW = 2 };

static wl_loop_t loop;
static wl_router_t router;
static wl_pmix_server_t server;
static wl_fences_t fences;

static int open_node(void **state)
{
    static const wl_host_tree_t chain = {.count = 4, .radix = 1};
    static const wl_placement_t placement = {.size = 3, .host_count = 3};
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

static void come_from_below(uint32_t hosts)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, WL_FOR_FENCE);
    wl_write_u32(&body, 0); /* all ranks */
    wl_write_u32(&body, hosts);
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
    come_from_below(HOSTS_BELOW);
    assert_false(is_open());
}

static void the_next_one_is_another(void **state)
{
    (void)state;
    all_hosts_end_it(state);
    come_from_below(HOSTS_BELOW);
    assert_true(is_open());
    enter();
    assert_false(is_open());
}

/* The host below has two hosts; when one of them has come, the fence is not complete. */
static void a_host_that_enters_again_counts_once(void **state)
{
    (void)state;
    wl_pmix_request_t *request = enter();
    request->answer_by_ms = 0;
    fences.timer.fn(fences.timer.owner);
    enter();
    come_from_below(HOSTS_BELOW - 1);
    assert_true(is_open());
    come_from_below(1);
    assert_false(is_open());
}

/* PMIx does not do this; if it did, no request would be forgotten. */
static void a_host_that_waits_may_not_enter(void **state)
{
    (void)state;
    enter();
    enter();
    come_from_below(HOSTS_BELOW - 1);
    assert_true(is_open());
    come_from_below(1);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
