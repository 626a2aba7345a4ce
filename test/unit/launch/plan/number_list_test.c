/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of numbers in a word: what is written is read again, and large regular lists stay short. */
#include "launch/plan/number_list.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 16384, EACH = 64, RANKS = HOSTS * EACH, SHORT_ENOUGH = 1000 };

/* The length of the word. */
static size_t expect_return(const int *numbers, int count)
{
    wl_byte_queue_t word = {0};
    int read_count;
    assert_true(wl_number_list_write(numbers, count, &word));
    size_t length = strlen(wl_queue_front(&word));
    int *read = wl_number_list_read(wl_queue_front(&word), &read_count);
    assert_non_null(read);
    assert_int_equal(read_count, count);
    assert_memory_equal(read, numbers, (size_t)count * sizeof(int));
    weft_free(read);
    wl_queue_release(&word);
    return length;
}

static void expect_word(const int *numbers, int count, const char *expected)
{
    wl_byte_queue_t word = {0};
    assert_true(wl_number_list_write(numbers, count, &word));
    assert_string_equal(wl_queue_front(&word), expected);
    wl_queue_release(&word);
}

static void writes_runs(void **unused)
{
    (void)unused;
    expect_word((int[]){5}, 1, "5");
    expect_word((int[]){0, 0, 1}, 3, "0x2,1");
    expect_word((int[]){0, 0, 1, 1, 2}, 5, "0-1x2,2");
    expect_word((int[]){0, 1, 2, 0, 1, 2, 9}, 7, "0-2,0-2,9");
    expect_word((int[]){3, 2, 1}, 3, "3,2,1");
}

static void reads_what_was_written(void **unused)
{
    int numbers[200];
    (void)unused;
    srand(7);
    for (int round = 0; round < 2000; round++) {
        int count = 1 + rand() % 200, most = 1 + rand() % 5;
        for (int i = 0; i < count; i++)
            numbers[i] = i > 0 && rand() % 3 > 0 ? numbers[i - 1] + rand() % 2 : rand() % most;
        expect_return(numbers, count);
    }
}

static void a_million_ranks_fit(void **unused)
{
    (void)unused;
    int *numbers = weft_alloc_array(RANKS, sizeof(*numbers));
    for (int i = 0; i < RANKS; i++)
        numbers[i] = i / EACH;
    assert_true(expect_return(numbers, RANKS) < SHORT_ENOUGH);
    for (int i = 0; i < RANKS; i++)
        numbers[i] = i % HOSTS;
    assert_true(expect_return(numbers, RANKS) < SHORT_ENOUGH);
    weft_free(numbers);
}

static void refuses_nonsense(void **unused)
{
    static const char *const words[] = {
        "",           "x",  "1-",    "2-1", "-1",
        "1x0",        "1x", "1-2-3", "1 2", "0-2000000000x2000000000",
        "99999999999"};
    (void)unused;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        int count;
        int *read = wl_number_list_read(words[i], &count);
        if (read != NULL)
            fail_msg("\"%s\" was read as %d numbers", words[i], count);
        weft_free(read);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_runs),
        cmocka_unit_test(reads_what_was_written),
        cmocka_unit_test(a_million_ranks_fit),
        cmocka_unit_test(refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
