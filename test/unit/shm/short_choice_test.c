/* SPDX-License-Identifier: BSD-3-Clause */
/* Short messages take the faster way; late receivers are not waited for. */
#include "shm/short_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BYTES = 65536, SMALL = 20000, MANY = 20000, FEW = 300 };

static weft_short_choice_t choice;
static weft_short_pair_t pair;
static weft_short_shown_t shown[WEFT_SHORT_SIZES];
static weft_short_try_t tries[WEFT_SHORT_SIZES];
static int64_t now_ns;

static int open_choice(void **state)
{
    (void)state;
    weft_short_open(&choice);
    pair = (weft_short_pair_t){0};
    memset(tries, 0, sizeof(tries));
    weft_short_give_up(shown);
    now_ns = 1000000;
    return 0;
}

/* Messages one after the other, each sent when the last had come, in the way that is shown; how
 * many of them were read. */
static int run(int messages, size_t bytes, int64_t read_ns, int64_t ring_ns)
{
    int read = 0;
    for (int i = 0; i < messages; i++) {
        bool is_read = weft_short_is_asked(shown, tries, bytes);
        weft_short_message_t message = {is_read ? WEFT_PATH_READ : WEFT_PATH_STREAM, bytes, now_ns,
                                        now_ns + (is_read ? read_ns : ring_ns)};
        now_ns = message.here_ns + 100;
        weft_short_note(&choice, &pair, shown, &message);
        read += is_read;
    }
    return read;
}

static void the_ring_comes_first(void **state)
{
    (void)state;
    assert_false(weft_short_is_asked(shown, tries, BYTES));
    assert_false(weft_short_is_asked(shown, tries, SMALL));
}

/* Where that is expected, messages are read from the first one on, and the ring is tried late;
 * where it turns out to be the faster one it is taken. */
static void reading_comes_first_where_it_is_expected(void **state)
{
    enum { LATE = 16384 };
    (void)state;
    weft_short_expect_reading(&choice);
    weft_short_show_reading(shown);
    assert_int_equal(run(LATE - 100, BYTES, 5000, 9000), LATE - 100);
    assert_in_range(run(LATE, BYTES, 5000, 9000), LATE - 32, LATE - 4);
    run(2 * LATE, BYTES, 9000, 5000);
    assert_in_range(run(MANY, BYTES, 9000, 5000), 0, MANY / 10);
}

/* What tries show says nothing of messages of one packet, of which none is a try. */
static void tries_do_not_count(void **state)
{
    enum { LATE = 16384 };
    (void)state;
    assert_false(weft_short_is_read(shown));
    weft_short_expect_reading(&choice);
    weft_short_show_reading(shown);
    int tried = 0;
    for (int i = 0; i < 2 * LATE; i++) {
        assert_true(weft_short_is_read(shown));
        tried += run(1, SMALL, 5000, 9000) == 0;
    }
    assert_in_range(tried, 4, LATE / 10);
    run(4 * LATE, SMALL, 9000, 5000);
    assert_false(weft_short_is_read(shown));
}

static void the_faster_way_is_taken(void **state)
{
    assert_in_range(run(MANY, BYTES, 5000, 9000), MANY - MANY / 10, MANY - 16);
    assert_false(weft_short_is_asked(shown, tries, SMALL));
    open_choice(state);
    assert_in_range(run(MANY, BYTES, 9000, 5000), 16, MANY / 10);
}

static void it_is_found_soon(void **state)
{
    (void)state;
    run(FEW, BYTES, 5000, 9000);
    assert_in_range(run(FEW, BYTES, 5000, 9000), FEW / 2, FEW);
}

/* Messages that are sent at once wait for one another; that time counts once. */
static void a_window_counts_once(void **state)
{
    (void)state;
    int64_t began_ns = now_ns;
    for (int i = 1; i <= 64; i++) {
        weft_short_message_t message = {WEFT_PATH_STREAM, BYTES, began_ns, began_ns + i * 6400};
        weft_short_note(&choice, &pair, shown, &message);
    }
    const weft_path_kind_t *kind = &choice.kinds[weft_short_size_class(BYTES)];
    assert_in_range(kind->noted[WEFT_PATH_STREAM], 8, 16);
    for (int i = 0; i < WEFT_PATH_SAMPLES; i++)
        assert_in_range((int)kind->samples[WEFT_PATH_STREAM][i], 99, 101);
}

/* Some messages are on their way when another way is shown, and go the old one. */
static void another_way_comes_late(void **state)
{
    enum { BEHIND = 40 };
    bool ways[BEHIND] = {0};
    int read = 0;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        bool is_read = ways[i % BEHIND];
        ways[i % BEHIND] = weft_short_is_asked(shown, tries, BYTES);
        weft_short_message_t message = {is_read ? WEFT_PATH_READ : WEFT_PATH_STREAM, BYTES, now_ns,
                                        now_ns + (is_read ? 5000 : 9000)};
        now_ns = message.here_ns;
        weft_short_note(&choice, &pair, shown, &message);
        read += is_read;
    }
    assert_in_range(read, MANY * 2 / 3, MANY - BEHIND);
}

enum { BURST = 32 }; /* messages that each of two ranks sends before it receives any */

/* Two ranks exchange messages; what goes through a ring is filled before anything is copied out of
 * the other one. How many were read. */
static int exchange(int bursts, int64_t read_ns, int64_t fill_ns, int64_t empty_ns)
{
    int read = 0;
    for (int i = 0; i < bursts; i++) {
        bool ways[BURST];
        int64_t sent_ns = now_ns - 1;
        for (int k = 0; k < BURST; k++) {
            weft_short_leads(&pair, BYTES);
            ways[k] = weft_short_is_asked(shown, tries, BYTES);
            now_ns += ways[k] ? 0 : fill_ns;
        }
        for (int k = 0; k < BURST; k++) {
            now_ns += ways[k] ? read_ns : empty_ns;
            weft_short_message_t message = {ways[k] ? WEFT_PATH_READ : WEFT_PATH_STREAM, BYTES,
                                            sent_ns, now_ns};
            weft_short_note(&choice, &pair, shown, &message);
            read += ways[k];
        }
    }
    return read;
}

/* The time to fill the other one's ring as well, which few messages do not show. */
static void an_exchange_counts_all_its_time(void **state)
{
    enum { BURSTS = 400, ALL = BURSTS * BURST };
    assert_in_range(exchange(BURSTS, 5000, 4000, 3000), ALL - ALL / 10, ALL);
    open_choice(state);
    assert_in_range(exchange(BURSTS, 9000, 4000, 3000), 16, ALL / 10);
}

/* A try is 80 messages, so it comes late where the ring is a large one; but it comes. */
static void an_exchange_keeps_to_a_large_ring(void **state)
{
    enum { BURSTS = 1000 / BURST };
    (void)state;
    weft_short_expect_ring(&choice);
    assert_int_equal(exchange(BURSTS, 5000, 4000, 3000), 0);
    exchange(BURSTS, 5000, 4000, 3000);
    assert_int_equal(exchange(BURSTS, 5000, 4000, 3000), BURSTS * BURST);
    open_choice(state);
    weft_short_expect_reading(&choice);
    weft_short_expect_ring(&choice);
    for (int i = WEFT_SHORT_SIZES; i < WEFT_SHORT_KINDS; i++)
        assert_true(choice.kinds[i].next_try > 1024);
}

/* And says nothing about messages that go one way. */
static void exchanges_are_apart(void **state)
{
    (void)state;
    exchange(100, 5000, 4000, 3000);
    for (int i = 0; i < WEFT_SHORT_SIZES; i++)
        assert_int_equal(choice.kinds[i].noted[WEFT_PATH_READ], 0);
    run(FEW, BYTES, 5000, 3000);
    assert_in_range(run(FEW, BYTES, 5000, 3000), 0, FEW / 10);
}

static void clocks_that_disagree_teach_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < MANY; i++) {
        weft_short_message_t message = {WEFT_PATH_STREAM, BYTES, now_ns + 1000000, now_ns};
        weft_short_note(&choice, &pair, shown, &message);
    }
    assert_int_equal(choice.kinds[weft_short_size_class(BYTES)].noted[WEFT_PATH_STREAM], 0);
}

static void a_leader_leads_while_it_receives(void **state)
{
    (void)state;
    assert_false(weft_short_leads(&pair, BYTES));
    run(FEW, BYTES, 5000, 9000);
    assert_true(weft_short_leads(&pair, BYTES));
    assert_false(weft_short_leads(&pair, SMALL));
    int sends = 0;
    while (weft_short_leads(&pair, BYTES))
        assert_in_range(++sends, 1, FEW);
}

static int sends_until_next_wait(weft_short_wait_t *wait)
{
    int sends = 0;
    while (!weft_short_may_wait(wait))
        sends++;
    return sends;
}

static void late_receivers_are_avoided(void **state)
{
    (void)state;
    weft_short_wait_t wait = {0};
    assert_int_equal(sends_until_next_wait(&wait), 0);
    weft_short_note_wait(&wait, 10000);
    assert_int_equal(sends_until_next_wait(&wait), 0);
    weft_short_note_wait(&wait, 1000000); /* once may be a disturbance */
    assert_int_equal(sends_until_next_wait(&wait), 0);
    int last = 1, sends = 0;
    for (int i = 0; i < 5; i++, last = sends) {
        weft_short_note_wait(&wait, 1000000);
        sends = sends_until_next_wait(&wait);
        assert_in_range(sends, 2 * last, MANY);
    }
    assert_in_range(last, 200, MANY);
    for (int i = 0; i < 100; i++)
        weft_short_note_wait(&wait, 10000);
    weft_short_note_wait(&wait, 1000000);
    assert_int_equal(sends_until_next_wait(&wait), 0);
    weft_short_note_wait(&wait, 1000000);
    assert_in_range(sends_until_next_wait(&wait), 1, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_ring_comes_first, open_choice),
        cmocka_unit_test_setup(reading_comes_first_where_it_is_expected, open_choice),
        cmocka_unit_test_setup(tries_do_not_count, open_choice),
        cmocka_unit_test_setup(the_faster_way_is_taken, open_choice),
        cmocka_unit_test_setup(it_is_found_soon, open_choice),
        cmocka_unit_test_setup(a_window_counts_once, open_choice),
        cmocka_unit_test_setup(another_way_comes_late, open_choice),
        cmocka_unit_test_setup(an_exchange_counts_all_its_time, open_choice),
        cmocka_unit_test_setup(an_exchange_keeps_to_a_large_ring, open_choice),
        cmocka_unit_test_setup(exchanges_are_apart, open_choice),
        cmocka_unit_test_setup(clocks_that_disagree_teach_nothing, open_choice),
        cmocka_unit_test_setup(a_leader_leads_while_it_receives, open_choice),
        cmocka_unit_test_setup(late_receivers_are_avoided, open_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
