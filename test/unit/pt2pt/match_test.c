/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue compared with a plain one that is searched from the front. */
#include "pt2pt/match.h"

#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ENTRIES = 3000 };

static weft_match_entry_t entries[ENTRIES];
static int in_queue[ENTRIES]; /* indices, in order */
static int count;
static unsigned seed;

static int pick(int below)
{
    seed = seed * 1103515245u + 12345u;
    return (int)(seed >> 16) % below;
}

static weft_match_key_t random_key(bool with_wildcards)
{
    weft_match_key_t key = {(uint32_t)pick(3) * 2, pick(5), pick(6)};
    if (with_wildcards && pick(4) == 0)
        key.source = MPI_ANY_SOURCE;
    if (with_wildcards && pick(4) == 0)
        key.tag = MPI_ANY_TAG;
    return key;
}

static bool fits(weft_match_key_t a, weft_match_key_t b)
{
    return a.context == b.context &&
           (a.source == b.source || a.source == MPI_ANY_SOURCE || b.source == MPI_ANY_SOURCE) &&
           (a.tag == b.tag || a.tag == MPI_ANY_TAG || b.tag == MPI_ANY_TAG);
}

static int find_plainly(weft_match_key_t key)
{
    for (int i = 0; i < count; i++) {
        if (fits(entries[in_queue[i]].key, key))
            return i;
    }
    return -1;
}

static void check_find(weft_match_queue_t *queue, weft_match_key_t key)
{
    int at = find_plainly(key);
    weft_match_entry_t *expected = at < 0 ? NULL : &entries[in_queue[at]];
    weft_match_entry_t *found = weft_match_find(queue, key);
    if (found != expected)
        fail_msg("seed %u: key (%u, %d, %d): entry %td, not %td", seed, key.context, key.source,
                 key.tag, found == NULL ? -1 : found - entries,
                 expected == NULL ? -1 : expected - entries);
}

static void remove_at(weft_match_queue_t *queue, int at)
{
    weft_match_remove(queue, &entries[in_queue[at]]);
    for (int i = at; i + 1 < count; i++)
        in_queue[i] = in_queue[i + 1];
    count--;
}

static void grow_and_shrink(bool holds_messages)
{
    weft_match_queue_t queue;
    weft_match_init(&queue, holds_messages);
    count = 0;
    seed = 1;
    for (int lap = 0; lap < 6; lap++) {
        int most = lap % 2 == 0 ? 12 : ENTRIES;
        for (int i = 0; i < most; i++) {
            entries[i].key = random_key(!holds_messages);
            weft_match_add(&queue, &entries[i]);
            in_queue[count++] = i;
            if (i % 7 == 0)
                check_find(&queue, random_key(holds_messages));
        }
        while (count > 0) {
            check_find(&queue, random_key(holds_messages));
            remove_at(&queue, pick(3) == 0 ? pick(count) : 0);
        }
        assert_int_equal(queue.count, 0);
        check_find(&queue, random_key(holds_messages));
    }
    weft_match_close(&queue);
}

static void test_receives(void **state)
{
    (void)state;
    grow_and_shrink(false);
}

static void test_messages(void **state)
{
    (void)state;
    grow_and_shrink(true);
}

/* Entries that are found in their order need no bins, however many there are. A search that passes
 * many makes bins for all of them, in place of what the queue had before, until it is empty. */
static void test_begins_bins(void **state)
{
    weft_match_queue_t queue;
    (void)state;
    weft_match_init(&queue, false);
    for (int lap = 0; lap < 3; lap++) {
        int most = lap == 1 ? ENTRIES : ENTRIES / 10;
        count = 0;
        for (int i = 0; i < most; i++) {
            entries[i].key = (weft_match_key_t){2, i % 3, i};
            weft_match_add(&queue, &entries[i]);
            in_queue[count++] = i;
        }
        while (count > most / 2) {
            check_find(&queue, entries[in_queue[0]].key);
            check_find(&queue, entries[in_queue[WEFT_MATCH_FRONT - 1]].key);
            assert_false(queue.is_binned);
            remove_at(&queue, 0);
        }
        while (count > 0) {
            check_find(&queue, entries[in_queue[count - 1]].key);
            check_find(&queue, (weft_match_key_t){2, 0, ENTRIES});
            assert_true(queue.is_binned);
            remove_at(&queue, count / 2);
        }
        assert_false(queue.is_binned);
    }
    weft_match_close(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receives),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_begins_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
