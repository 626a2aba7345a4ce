/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of the hub, whole, cut anywhere, and those that no rank sends. */
#include "pmi/hub_private.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static hub_stream_t ends[2];

static int open_pair(void **state)
{
    int pair[2];
    (void)state;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
        return 1;
    ends[0] = (hub_stream_t){.fd = pair[0]};
    ends[1] = (hub_stream_t){.fd = pair[1]};
    return 0;
}

static int close_pair(void **state)
{
    (void)state;
    wefti_hub_stream_close(&ends[0]);
    wefti_hub_stream_close(&ends[1]);
    return 0;
}

static void expect_frame(hub_kind_t kind, int number, const char *key, const char *data)
{
    hub_frame_t frame;
    assert_int_equal(wefti_hub_stream_next(&ends[1], &frame), 1);
    assert_int_equal(frame.kind, kind);
    assert_int_equal(frame.number, number);
    assert_int_equal(frame.key_bytes, strlen(key));
    assert_int_equal(frame.data_bytes, strlen(data));
    assert_memory_equal(frame.key, key, strlen(key));
    assert_memory_equal(frame.data, data, strlen(data));
}

static hub_frame_t frame_of(hub_kind_t kind, int number, const char *key, const char *data)
{
    return (hub_frame_t){.kind = kind,
                         .number = number,
                         .key = key,
                         .key_bytes = (uint32_t)strlen(key),
                         .data = data,
                         .data_bytes = (uint32_t)strlen(data)};
}

static void frames_arrive_in_order(void **state)
{
    hub_frame_t put = frame_of(HUB_PUT, 0, "key", "value"), get = frame_of(HUB_GET, -7, "", "");
    hub_frame_t none;
    (void)state;
    assert_true(wefti_hub_stream_send(&ends[0], &put));
    assert_true(wefti_hub_stream_send(&ends[0], &get));
    assert_true(wefti_hub_stream_read(&ends[1]));
    expect_frame(HUB_PUT, 0, "key", "value");
    expect_frame(HUB_GET, -7, "", "");
    assert_int_equal(wefti_hub_stream_next(&ends[1], &none), 0);
    wefti_hub_stream_close(&ends[0]);
    assert_false(wefti_hub_stream_read(&ends[1]));
}

/* Byte by byte: a frame is there when its last byte is, and not before. */
static void a_cut_frame_waits_for_the_rest(void **state)
{
    hub_frame_t put = frame_of(HUB_PUT, 3, "a key", "some data"), none;
    uint8_t bytes[64];
    (void)state;
    assert_true(wefti_hub_stream_send(&ends[0], &put));
    ssize_t count = recv(ends[1].fd, bytes, sizeof(bytes), 0);
    for (ssize_t i = 0; i < count; i++) {
        assert_int_equal(wefti_hub_stream_next(&ends[1], &none), 0);
        assert_int_equal(send(ends[0].fd, bytes + i, 1, 0), 1);
        assert_true(wefti_hub_stream_read(&ends[1]));
    }
    expect_frame(HUB_PUT, 3, "a key", "some data");
}

static void refuses_impossible_lengths(void **state)
{
    static const uint32_t heads[][4] = {{HUB_PUT, 0, HUB_KEY_MOST + 1, 0},
                                        {HUB_PUT, 0, 0, HUB_DATA_MOST + 1},
                                        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}};
    hub_frame_t frame;
    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        ends[1].in_from = ends[1].in_to = 0;
        assert_int_equal(send(ends[0].fd, heads[i], sizeof(heads[i]), 0), sizeof(heads[i]));
        assert_true(wefti_hub_stream_read(&ends[1]));
        assert_int_equal(wefti_hub_stream_next(&ends[1], &frame), -1);
    }
}

/* More than the socket takes at once. */
static void a_long_frame_is_sent_bit_by_bit(void **state)
{
    enum { BYTES = 5000000 };
    hub_frame_t frame = {.kind = HUB_VALUE, .data_bytes = BYTES}, got;
    uint8_t *data = weft_alloc(BYTES);
    (void)state;
    for (int i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    frame.data = data;
    assert_true(wefti_hub_stream_send(&ends[0], &frame));
    assert_false(wefti_hub_stream_is_flushed(&ends[0]));
    int found = 0;
    while (found == 0) {
        assert_true(wefti_hub_stream_flush(&ends[0]));
        assert_true(wefti_hub_stream_read(&ends[1]));
        found = wefti_hub_stream_next(&ends[1], &got);
    }
    assert_int_equal(found, 1);
    assert_int_equal(got.data_bytes, BYTES);
    assert_memory_equal(got.data, data, BYTES);
    weft_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_arrive_in_order, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(a_cut_frame_waits_for_the_rest, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(refuses_impossible_lengths, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(a_long_frame_is_sent_bit_by_bit, open_pair, close_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
