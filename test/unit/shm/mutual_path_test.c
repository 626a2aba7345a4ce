/* SPDX-License-Identifier: BSD-3-Clause */
/* Two ranks that send to each other take one way, streams first and then the faster one; ranks that
 * do not, take their own. */
#include "shm/mutual_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { BYTES = 1 << 20, SMALL = 1 << 17, MANY = 5000, FEW = 40 };

static weft_mutual_choice_t choice;
static weft_mutual_path_t pair;
static weft_shown_path_t shown[WEFT_PATH_SIZES];
static int64_t now_ns;

static int open_choice(void **state)
{
    (void)state;
    weft_mutual_open(&choice);
    pair = (weft_mutual_path_t){0};
    for (int size = 0; size < WEFT_PATH_SIZES; size++)
        atomic_init(&shown[size], 0);
    now_ns = 1000000;
    return 0;
}

static weft_path_t shown_way(size_t bytes)
{
    weft_path_t path;
    assert_true(weft_mutual_is_shown(shown, bytes, &path));
    return path;
}

static weft_path_t shown_or_stream(void)
{
    weft_path_t path;
    return weft_mutual_is_shown(shown, BYTES, &path) ? path : WEFT_PATH_STREAM;
}

static void exchange(size_t bytes, int messages, int64_t ns)
{
    for (int i = 0; i < messages; i++) {
        weft_mutual_begin(&choice, &pair, shown_way(bytes), bytes, now_ns);
        assert_true(weft_mutual_is_on(&pair));
        now_ns += ns;
        weft_mutual_count(&pair, bytes, now_ns);
    }
    weft_mutual_end(&pair, shown, &choice, now_ns);
    assert_false(weft_mutual_is_on(&pair));
}

/* Runs of four messages that overlap; how many of them were streams. */
static int run(int runs, int64_t read_ns, int64_t stream_ns)
{
    int streams = 0;
    for (int i = 0; i < runs; i++) {
        weft_mutual_note_overlap(&choice, &pair, shown);
        weft_path_t path = shown_way(BYTES);
        streams += path == WEFT_PATH_STREAM;
        exchange(BYTES, 4, path == WEFT_PATH_READ ? read_ns : stream_ns);
    }
    return streams;
}

static void nothing_is_shown_at_first(void **state)
{
    (void)state;
    weft_path_t path;
    assert_false(weft_mutual_is_shown(shown, BYTES, &path));
    assert_false(weft_mutual_is_on(&pair));
}

static void streams_come_first(void **state)
{
    (void)state;
    weft_mutual_note_overlap(&choice, &pair, shown);
    assert_int_equal(shown_way(SMALL), WEFT_PATH_STREAM);
    assert_int_equal(shown_way(BYTES), WEFT_PATH_STREAM);
}

static void the_faster_way_is_taken(void **state)
{
    assert_in_range(run(MANY, 1500, 1000), MANY - MANY / 20, MANY - FEW);
    open_choice(state);
    assert_in_range(run(MANY, 1000, 1500), FEW, MANY / 20);
}

static void sizes_are_apart(void **state)
{
    (void)state;
    run(MANY, 1000, 2000);
    assert_int_equal(shown_way(SMALL), WEFT_PATH_STREAM);
    assert_int_equal(choice.kinds[weft_path_size_class(SMALL)].messages, 0);
}

/* What a run has come to is shown when it ends, not in its midst. */
static void a_run_takes_one_way(void **state)
{
    (void)state;
    run(FEW, 1000, 2000);
    weft_mutual_note_overlap(&choice, &pair, shown);
    weft_path_t path = shown_way(BYTES);
    weft_mutual_begin(&choice, &pair, path, BYTES, now_ns);
    for (int i = 0; i < MANY; i++) {
        assert_false(weft_mutual_count(&pair, BYTES, now_ns));
        weft_mutual_begin(&choice, &pair, path, BYTES, now_ns);
        weft_mutual_note_overlap(&choice, &pair, shown);
        assert_int_equal(shown_way(BYTES), path);
    }
    assert_int_equal(pair.run.messages, MANY);
}

/* However many messages were sent at once. A second one comes soon, and then none for long. */
static void a_try_is_short(void **state)
{
    (void)state;
    for (int i = 0; i < FEW && shown_or_stream() == WEFT_PATH_STREAM; i++)
        run(1, 4000, 1000);
    assert_int_equal(shown_way(BYTES), WEFT_PATH_READ);
    int messages = 1;
    weft_mutual_begin(&choice, &pair, WEFT_PATH_READ, BYTES, now_ns);
    while (!weft_mutual_count(&pair, BYTES, now_ns))
        assert_in_range(++messages, 1, FEW);
    now_ns += messages * 4000;
    weft_mutual_end(&pair, shown, &choice, now_ns);
    assert_int_equal(shown_way(BYTES), WEFT_PATH_STREAM);
    assert_int_equal(run(FEW, 4000, 1000), FEW - 1);
    assert_int_equal(run(FEW, 4000, 1000), FEW);
}

/* The ring has left the caches: two messages of 1 MiB are slow, those that are measured fast. */
static void a_try_begins_with_cold_memory(void **state)
{
    (void)state;
    run(1, 4000, 1000);
    assert_int_equal(shown_way(BYTES), WEFT_PATH_READ);
    bool is_over = false;
    for (int i = 0; !is_over; i++) {
        weft_mutual_begin(&choice, &pair, WEFT_PATH_READ, BYTES, now_ns);
        now_ns += i < 2 ? 5000 : 500;
        is_over = weft_mutual_count(&pair, BYTES, now_ns);
        assert_in_range(i, 0, FEW);
    }
    weft_mutual_end(&pair, shown, &choice, now_ns);
    assert_int_equal(weft_path_faster(&choice.kinds[weft_path_size_class(BYTES)]), WEFT_PATH_READ);
}

/* As where the pages of a large ring were touched. */
static void a_run_may_be_measured_anew(void **state)
{
    (void)state;
    const weft_path_kind_t *kind = &choice.kinds[weft_path_size_class(BYTES)];
    weft_mutual_note_overlap(&choice, &pair, shown);
    weft_mutual_begin(&choice, &pair, WEFT_PATH_STREAM, BYTES, now_ns);
    now_ns += 1000000;
    weft_mutual_count(&pair, BYTES, now_ns);
    weft_mutual_restart(&pair, now_ns);
    now_ns += 2048;
    weft_mutual_count(&pair, BYTES, now_ns);
    weft_mutual_end(&pair, shown, &choice, now_ns);
    assert_int_equal(kind->noted[WEFT_PATH_STREAM], 1);
    assert_true(kind->samples[WEFT_PATH_STREAM][0] == 2);
    assert_int_equal(kind->messages, 2); /* the second, and the next one, which was chosen for */
}

/* A failed message has no bytes; nothing is learnt of it. */
static void an_empty_run_is_not_noted(void **state)
{
    (void)state;
    weft_mutual_note_overlap(&choice, &pair, shown);
    weft_mutual_begin(&choice, &pair, WEFT_PATH_STREAM, BYTES, now_ns);
    weft_mutual_count(&pair, 0, now_ns);
    weft_mutual_end(&pair, shown, &choice, now_ns);
    assert_int_equal(choice.kinds[weft_path_size_class(BYTES)].noted[WEFT_PATH_STREAM], 0);
}

static void belief_ends_without_overlap(void **state)
{
    (void)state;
    weft_path_t path;
    int runs = 0;
    weft_mutual_note_overlap(&choice, &pair, shown);
    while (weft_mutual_is_shown(shown, BYTES, &path)) {
        exchange(BYTES, 1, 1000);
        assert_in_range(++runs, 1, FEW);
    }
    assert_in_range(runs, 2, FEW);
    assert_false(weft_mutual_is_shown(shown, SMALL, &path));
    weft_mutual_note_overlap(&choice, &pair, shown);
    assert_true(weft_mutual_is_shown(shown, BYTES, &path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_shown_at_first, open_choice),
        cmocka_unit_test_setup(streams_come_first, open_choice),
        cmocka_unit_test_setup(the_faster_way_is_taken, open_choice),
        cmocka_unit_test_setup(sizes_are_apart, open_choice),
        cmocka_unit_test_setup(a_run_takes_one_way, open_choice),
        cmocka_unit_test_setup(a_try_is_short, open_choice),
        cmocka_unit_test_setup(a_try_begins_with_cold_memory, open_choice),
        cmocka_unit_test_setup(a_run_may_be_measured_anew, open_choice),
        cmocka_unit_test_setup(an_empty_run_is_not_noted, open_choice),
        cmocka_unit_test_setup(belief_ends_without_overlap, open_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
