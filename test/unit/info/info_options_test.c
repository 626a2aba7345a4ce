/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of weft_info's command line: numbers, lists of numbers and collectives. A refused word
 * is named on stderr, with its value. (The program's objects are in no library, so its source is
 * included here.) */
#include "info/info_options.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- stderr in a file ---- */

static char words[1000];
static int screen = -1;
static FILE *caught;

static void catch_words(void)
{
    fflush(stderr);
    screen = dup(2);
    caught = tmpfile();
    assert_non_null(caught);
    dup2(fileno(caught), 2);
}

static const char *caught_words(void)
{
    fflush(stderr);
    dup2(screen, 2);
    close(screen);
    rewind(caught);
    size_t length = fread(words, 1, sizeof(words) - 1, caught);
    words[length] = '\0';
    fclose(caught);
    return words;
}

static void expect_words(const char *text, const char *part)
{
    const char *said = caught_words();
    if (strstr(said, part) == NULL || strchr(said, '\n') != strrchr(said, '\n'))
        fail_msg("\"%s\": one line with \"%s\" was expected, not: %s", text, part, said);
}

/* ---- numbers ---- */

static void numbers_with_units(void **state)
{
    static const struct {
        const char *text;
        size_t value;
    } good[] = {{"0", 0},        {"8", 8},   {"64K", 65536},
                {"1M", 1 << 20}, {"007", 7}, {"1024M", 1 << 30}};
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        size_t value = 12345;
        assert_true(weft_info_number("BYTES", good[i].text, 1 << 30, &value));
        assert_int_equal(value, good[i].value);
    }
}

static void bad_numbers_are_named(void **state)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1k",
                                      "1KK",
                                      "1.5",
                                      "8,",
                                      ",8",
                                      "1025",
                                      "2K",
                                      "99999999999999999999",
                                      "99999999999999999M",
                                      "0x10"};
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t value = 12345;
        char part[80];
        snprintf(part, sizeof(part), "RANKS is %s; expected are numbers up to 1024", bad[i]);
        catch_words();
        bool is_taken = weft_info_number("RANKS", bad[i], 1024, &value);
        expect_words(bad[i], part);
        assert_false(is_taken);
        assert_int_equal(value, 12345);
    }
}

static void one_number_is_no_list(void **state)
{
    size_t value = 12345;
    (void)state;
    catch_words();
    bool is_taken = weft_info_number("RANKS", "1,2", 1024, &value);
    expect_words("1,2", "RANKS is 1,2; expected is one number");
    assert_false(is_taken);
    assert_int_equal(value, 12345);
}

static void lists_have_an_end(void **state)
{
    char text[8 * WEFT_INFO_LIST_MAX] = "";
    weft_info_list_t list;
    (void)state;
    assert_true(weft_info_numbers("NODES", "16,1024,2K", 4096, &list));
    assert_int_equal(list.count, 3);
    assert_int_equal(list.values[0], 16);
    assert_int_equal(list.values[1], 1024);
    assert_int_equal(list.values[2], 2048);
    for (int i = 1; i <= WEFT_INFO_LIST_MAX; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i > 1 ? "," : "", i);
    assert_true(weft_info_numbers("NODES", text, 4096, &list));
    assert_int_equal(list.count, WEFT_INFO_LIST_MAX);
    assert_int_equal(list.values[WEFT_INFO_LIST_MAX - 1], WEFT_INFO_LIST_MAX);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), ",1");
    catch_words();
    bool is_taken = weft_info_numbers("NODES", text, 4096, &list);
    expect_words(text, "NODES is 1,2,3");
    assert_false(is_taken);
}

/* ---- collectives ---- */

static void collectives_by_name(void **state)
{
    (void)state;
    for (int i = 0; i < WEFT_COLLS; i++) {
        weft_coll_t coll = WEFT_COLLS;
        assert_true(weft_info_coll(weft_coll_name((weft_coll_t)i), &coll));
        assert_int_equal(coll, i);
    }
}

static void the_nearest_collective_is_named(void **state)
{
    static const char *const pairs[][2] = {
        {"alreduce", "allreduce"}, {"bariers", "barrier"}, {"exscans", "exscan"}};
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char part[80];
        weft_coll_t coll = WEFT_COLLS;
        snprintf(part, sizeof(part), "no collective %s; the nearest is %s", pairs[i][0],
                 pairs[i][1]);
        catch_words();
        bool is_taken = weft_info_coll(pairs[i][0], &coll);
        expect_words(pairs[i][0], part);
        assert_false(is_taken);
        assert_int_equal(coll, WEFT_COLLS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_with_units),    cmocka_unit_test(bad_numbers_are_named),
        cmocka_unit_test(one_number_is_no_list), cmocka_unit_test(lists_have_an_end),
        cmocka_unit_test(collectives_by_name),   cmocka_unit_test(the_nearest_collective_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
