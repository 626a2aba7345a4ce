/* SPDX-License-Identifier: BSD-3-Clause */
/* The faster way is found, kept, and found again when it changes; a disturbed trial does not last.
 */
#include "shm/path_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BYTES = 1 << 20, MANY = 5000, FEW = 40 };

static weft_path_choice_t choice;

static int open_choice(void **state)
{
    (void)state;
    choice = (weft_path_choice_t){0};
    return 0;
}

/* Send messages that take `read_ns` or `stream_ns`; how many of them were streams. */
static int run(int messages, int64_t read_ns, int64_t stream_ns)
{
    weft_path_kind_t *kind = weft_path_kind(&choice, WEFT_APART, BYTES);
    int streams = 0;
    for (int i = 0; i < messages; i++) {
        weft_path_t path = weft_path_choose(kind);
        weft_path_run_t run = {path, 1, BYTES, path == WEFT_PATH_READ ? read_ns : stream_ns};
        weft_path_note(kind, &run);
        streams += path == WEFT_PATH_STREAM;
    }
    return streams;
}

static void test_faster_is_taken(void **state)
{
    (void)state;
    assert_in_range(run(MANY, 1000, 1500), FEW, MANY / 20);
    open_choice(state);
    assert_in_range(run(MANY, 1500, 1000), MANY - MANY / 20, MANY - FEW);
}

static void test_far_slower_is_tried_seldom(void **state)
{
    (void)state;
    assert_in_range(run(MANY, 1000, 10000), 1, FEW);
}

/* It is found all the same where the expectation is wrong. */
static void test_expected_reading(void **state)
{
    (void)state;
    weft_path_expect_reading(choice.kinds[0], WEFT_COPY_PLACES * WEFT_PATH_SIZES);
    assert_int_equal(run(16383, 1500, 1000), 0);
    assert_in_range(run(MANY, 1500, 1000), MANY - MANY / 20, MANY);
    open_choice(state);
    weft_path_expect_reading(choice.kinds[0], WEFT_COPY_PLACES * WEFT_PATH_SIZES);
    run(FEW, 1000, 1500);
    weft_path_forget(choice.kinds[0], WEFT_COPY_PLACES * WEFT_PATH_SIZES, WEFT_PATH_STREAM);
    assert_int_equal(run(16383, 1000, 1500), 0);
    assert_in_range(run(20 * MANY, 1000, 1500), 1, FEW);
}

static void test_change_is_noticed(void **state)
{
    (void)state;
    run(MANY, 1000, 2000);
    assert_in_range(run(MANY, 2000, 1000), MANY / 2, MANY - FEW);
}

/* All first tries of one way were disturbed. */
static void test_disturbed_trial(void **state)
{
    (void)state;
    run(8, 1000, 100000);
    assert_in_range(run(20 * MANY, 1000, 500), 10 * MANY, 20 * MANY);
}

/* A stream is slow when the ones before it were not streams, since the ring has left the caches. */
static void test_cold_ring(void **state)
{
    (void)state;
    static const int64_t stream_ns[] = {1500, 1100, 500};
    weft_path_kind_t *kind = weft_path_kind(&choice, WEFT_APART, BYTES);
    int in_a_row = 0, streams = 0;
    for (int i = 0; i < MANY; i++) {
        weft_path_t path = weft_path_choose(kind);
        weft_path_run_t run = {path, 1, BYTES, 1000};
        if (path == WEFT_PATH_STREAM)
            run.ns = stream_ns[in_a_row < 2 ? in_a_row : 2];
        weft_path_note(kind, &run);
        in_a_row = path == WEFT_PATH_STREAM ? in_a_row + 1 : 0;
        streams += path == WEFT_PATH_STREAM;
    }
    assert_in_range(streams, MANY - MANY / 20, MANY - FEW);
}

/* Where one stream draws a hundred messages after it, the share of slow ones is as small. */
static void test_long_tries(void **state)
{
    (void)state;
    weft_path_kind_t *kind = weft_path_kind(&choice, WEFT_APART, BYTES);
    int read = 0, streamed = 0;
    while (read < 20 * MANY) {
        weft_path_t path = weft_path_choose(kind);
        weft_path_run_t run = {path, 1, BYTES, 1000};
        if (path == WEFT_PATH_STREAM)
            run = (weft_path_run_t){path, 100, 100 * (size_t)BYTES, 150000};
        weft_path_note(kind, &run);
        read += path == WEFT_PATH_READ;
        streamed += path == WEFT_PATH_STREAM ? 100 : 0;
    }
    assert_in_range(streamed, MANY / 10, MANY);
}

/* Streams that never end, and so are never noted, are not taken for fast. */
static void test_unfinished(void **state)
{
    (void)state;
    weft_path_kind_t *kind = weft_path_kind(&choice, WEFT_APART, BYTES);
    int streams = 0;
    for (int i = 0; i < MANY; i++) {
        weft_path_t path = weft_path_choose(kind);
        weft_path_run_t run = {path, 1, BYTES, 1000};
        if (path == WEFT_PATH_READ)
            weft_path_note(kind, &run);
        streams += path == WEFT_PATH_STREAM;
    }
    assert_in_range(streams, 1, MANY / 10);
}

static void test_forgotten(void **state)
{
    (void)state;
    run(MANY, 1000, 10000);
    weft_path_forget(choice.kinds[0], WEFT_COPY_PLACES * WEFT_PATH_SIZES, WEFT_PATH_STREAM);
    assert_in_range(run(100, 1000, 500), 90, 100);
}

static void test_kinds_are_apart(void **state)
{
    (void)state;
    run(MANY, 1000, 2000);
    assert_ptr_not_equal(weft_path_kind(&choice, WEFT_APART, BYTES),
                         weft_path_kind(&choice, WEFT_BEHIND, BYTES));
    assert_int_equal(weft_path_kind(&choice, WEFT_BEHIND, BYTES)->messages, 0);
    assert_int_equal(weft_path_kind(&choice, WEFT_APART, BYTES - 1)->messages, 0);
    assert_ptr_equal(weft_path_kind(&choice, WEFT_APART, 2 * BYTES),
                     weft_path_kind(&choice, WEFT_APART, BYTES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_faster_is_taken, open_choice),
        cmocka_unit_test_setup(test_far_slower_is_tried_seldom, open_choice),
        cmocka_unit_test_setup(test_expected_reading, open_choice),
        cmocka_unit_test_setup(test_change_is_noticed, open_choice),
        cmocka_unit_test_setup(test_disturbed_trial, open_choice),
        cmocka_unit_test_setup(test_cold_ring, open_choice),
        cmocka_unit_test_setup(test_long_tries, open_choice),
        cmocka_unit_test_setup(test_unfinished, open_choice),
        cmocka_unit_test_setup(test_forgotten, open_choice),
        cmocka_unit_test_setup(test_kinds_are_apart, open_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
