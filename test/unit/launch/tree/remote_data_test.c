/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions of other hosts for data of the ranks here: how long an answer is looked for. */
#include "launch/tree/remote_data.h"

#include "base/clock.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static wl_loop_t loop;
static wl_router_t router;
static wl_pmix_server_t server;
static wl_remote_data_t data;

static void open_node(void)
{
    static const wl_host_tree_t tree = {.count = 3, .radix = 2};
    wl_loop_open(&loop);
    assert_int_equal(wl_router_open(&tree, 1, NULL, &loop, &router), MPI_SUCCESS);
    server = (wl_pmix_server_t){.connection.fd = -1};
    weft_list_init(&server.looking_up);
    wl_remote_data_open(NULL, &router, &server, &data);
}

static void close_node(void)
{
    wl_remote_data_close(&data);
    wl_router_close(&router);
    wl_loop_close(&loop);
}

/* A question with a limit in s; returns when it ends. */
static int64_t end_of_question(uint64_t limit_s)
{
    wl_writer_t body = {0};
    wl_write_u32(&body, 0);
    wl_write_u64(&body, 4);
    wl_write_u64(&body, limit_s);
    wl_write_text(&body, "key");
    const wl_message_t message = {.kind = WL_MSG_GET,
                                  .from = 2,
                                  .body = wl_queue_front(&body.body),
                                  .bytes = wl_queue_bytes(&body.body)};
    wl_remote_data_take(&data, &message);
    wl_writer_release(&body);
    weft_link_t *link = weft_list_pop(&server.looking_up);
    assert_non_null(link);
    wl_pmix_request_t *request = WEFT_ELEMENT(link, wl_pmix_request_t, link);
    int64_t end_ms = request->answer_by_ms;
    wl_pmix_request_release(request);
    return end_ms;
}

static void limits_are_kept(void **state)
{
    (void)state;
    open_node();
    int64_t before_ms = weft_clock_ms(), end_ms = end_of_question(30);
    assert_true(end_ms >= before_ms + 30000 && end_ms <= weft_clock_ms() + 30000);
    assert_true(end_of_question(0) == INT64_MAX);
    close_node();
}

static void absurd_limits_are_none(void **state)
{
    static const uint64_t limits[] = {INT64_MAX, INT64_MAX / 1000, UINT64_MAX, 1ULL << 63};
    (void)state;
    open_node();
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        assert_true(end_of_question(limits[i]) == INT64_MAX);
    close_node();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(absurd_limits_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
