/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuning table: which lines are valid, when a table is complete, and which line is chosen. */
#include "devcoll/devcoll.h"
#include "devcoll/method.h"
#include "coll/device_calls.h"
#include "coll/tuning.h"
#include "base/config.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/weft_tuning_XXXXXX";

/* Opens a table of `lines`, followed by `rest`, which makes it complete. */
static void open_with(const char *lines, const char *rest)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(lines, file);
    fputs(rest, file);
    fclose(file);
    weft_config.COLL_TUNING = path;
    weft_tuning_close();
    weft_tuning_open();
}

static const char *choice(weft_coll_t coll, int ranks, size_t bytes)
{
    return weft_tuning_choose(&(weft_tuning_query_t){.coll = coll, .ranks = ranks, .bytes = bytes})
        .algorithm->name;
}

static void built_in_table_serves_every_call(void **state)
{
    const int ranks[] = {1, 2, 3, 5, 33, 1000};
    (void)state;
    weft_config.COLL_TUNING = "";
    weft_tuning_close();
    weft_tuning_open();
    for (int coll = 0; coll < WEFT_COLLS; coll++) {
        for (int i = 0; i < 6; i++) {
            for (size_t bytes = 0; bytes < 1 << 26; bytes = bytes * 8 + 7) {
                for (unsigned has = 0; has < 8; has++) {
                    weft_tuning_query_t query = {.coll = (weft_coll_t)coll,
                                                 .is_oversubscribed = (has & 4) != 0,
                                                 .ranks = ranks[i],
                                                 .bytes = bytes,
                                                 .has = has & 3};
                    const weft_algorithm_t *algorithm = weft_tuning_choose(&query).algorithm;
                    assert_non_null(algorithm->name);
                    assert_int_equal(algorithm->needs & ~query.has, 0);
                }
            }
        }
    }
}

/* If the built-in table had a bad line, the line in front of it would not be valid either. */
static void built_in_table_has_no_bad_line(void **state)
{
    (void)state;
    open_with("barrier any any any flat\n", weft_tuning_text);
    assert_string_equal(choice(WEFT_BARRIER, 2, 0), "flat");
}

static void first_line_that_fits_is_taken(void **state)
{
    (void)state;
    open_with("bcast any <=4 <2K binomial # small\n"
              "\n"
              "\t bcast\tany >=9 any  binomial\n"
              "bcast any any >=1M binomial\n"
              "bcast any any any flat\n"
              "# bcast any any any binomial\n",
              weft_tuning_text);
    assert_string_equal(choice(WEFT_BCAST, 4, 2047), "binomial");
    assert_string_equal(choice(WEFT_BCAST, 4, 2048), "flat");
    assert_string_equal(choice(WEFT_BCAST, 5, 0), "flat");
    assert_string_equal(choice(WEFT_BCAST, 8, 0), "flat");
    assert_string_equal(choice(WEFT_BCAST, 9, 4096), "binomial");
    assert_string_equal(choice(WEFT_BCAST, 5, (1 << 20) - 1), "flat");
    assert_string_equal(choice(WEFT_BCAST, 5, 1 << 20), "binomial");
}

static void ranges_have_both_bounds(void **state)
{
    (void)state;
    open_with("bcast any 3..5 2K..8K binomial\nbcast any any any flat\n", weft_tuning_text);
    assert_string_equal(choice(WEFT_BCAST, 3, 2048), "binomial");
    assert_string_equal(choice(WEFT_BCAST, 5, 8191), "binomial");
    assert_string_equal(choice(WEFT_BCAST, 2, 2048), "flat");
    assert_string_equal(choice(WEFT_BCAST, 6, 2048), "flat");
    assert_string_equal(choice(WEFT_BCAST, 4, 2047), "flat");
    assert_string_equal(choice(WEFT_BCAST, 4, 8192), "flat");
}

/* ---- rows for devices ---- */

enum { FAST, SLOW, SURE, ALL = 1 << FAST | 1 << SLOW | 1 << SURE };

/* Methods that stand for those of src/devcoll. */
static void open_devices(const char *lines, const char *rest)
{
    static const char *const names[] = {"fast", "slow", "sure", NULL};
    static const weft_device_calls_t calls = {.methods = names};
    weft_device_calls = &calls;
    open_with(lines, rest);
    weft_device_calls = NULL;
}

static int method(weft_coll_t coll, int ranks, size_t bytes, unsigned possible)
{
    return weft_tuning_choose_method(coll, ranks, bytes, possible).method;
}

/* A table in which every collective has a row, with the rows `lines` for devices. */
static const char *complete_with(const char *lines)
{
    static char text[2000];
    snprintf(text, sizeof(text), "%s", lines);
    for (int coll = 0; coll < WEFT_COLLS; coll++) {
        const weft_algorithm_t *its = weft_coll_algorithms((weft_coll_t)coll);
        while (its->needs != 0)
            its++;
        size_t length = strlen(text);
        snprintf(text + length, sizeof(text) - length, "%s any any any %s\n",
                 weft_coll_name((weft_coll_t)coll), its->name);
    }
    return text;
}

static void rows_for_devices_choose_methods(void **state)
{
    (void)state;
    open_devices(
        complete_with(
            "device bcast <=4 <1M fast\ndevice any any any slow\ndevice any any any sure\n"),
        "");
    assert_int_equal(method(WEFT_BCAST, 4, 1000, ALL), FAST);
    assert_int_equal(method(WEFT_BCAST, 5, 1000, ALL), SLOW);
    assert_int_equal(method(WEFT_BCAST, 4, 1 << 20, ALL), SLOW);
    assert_int_equal(method(WEFT_REDUCE, 4, 1000, ALL), SLOW);
    assert_int_equal(method(WEFT_BCAST, 4, 1000, 1 << SURE), SURE);
    assert_int_equal(weft_tuning_choose_method(WEFT_BCAST, 8, 1000, ALL).line, 2);
    assert_int_equal(method(WEFT_BCAST, 4, 1000, 0), -1);
    assert_int_equal(weft_tuning_choose_method(WEFT_BCAST, 8, 1000, 0).line, 0);
}

/* The built-in rows for devices stay valid where the user's table has none. */
static void rows_for_devices_replace_the_built_in_ones(void **state)
{
    (void)state;
    weft_devcoll_open();
    open_with(complete_with(""), "");
    int first = weft_tuning_choose_method(WEFT_BCAST, 2, 8, ~0u).line;
    assert_true(first > 5);
    open_with("device bcast <=4 any p2p\ndevice any any any staged\n", weft_tuning_text);
    assert_int_equal(method(WEFT_BCAST, 4, 1 << 20, ~0u), WEFT_METHOD_P2P);
    assert_int_equal(weft_tuning_choose_method(WEFT_BCAST, 8, 1 << 20, ~0u).line, 2);
    open_with(complete_with("device any any any staged\n"), "");
    assert_int_equal(method(WEFT_BCAST, 4, 1 << 20, ~0u & ~(1u << WEFT_METHOD_STAGED)), -1);
    weft_devcoll_close();
}

static void bad_rows_for_devices_are_not_taken(void **state)
{
    static const char *const lines[] = {
        "device bcst any any fast\n",        "device any any any quick\n",
        "device any <4 any fast\n",          "device any any <=4 fast\n",
        "device any any any fast,radix=2\n", "device any any fast\n",
        "device any any any any fast\n",     "device\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[2200];
        snprintf(text, sizeof(text), "bcast any any any binomial\n%s%s", lines[i],
                 complete_with(""));
        open_devices(text, "");
        if (strcmp(choice(WEFT_BCAST, 2, 0), "flat") != 0)
            fail_msg("this line was taken: %s", lines[i]);
    }
    char good[2200];
    snprintf(good, sizeof(good), "bcast any any any binomial\ndevice any any any fast\n%s",
             complete_with(""));
    open_devices(good, "");
    assert_string_equal(choice(WEFT_BCAST, 2, 0), "binomial");
}

static void cores_are_told_apart(void **state)
{
    (void)state;
    open_with("barrier short any any flat\nbarrier enough any any dissemination\n",
              weft_tuning_text);
    weft_tuning_query_t query = {.coll = WEFT_BARRIER, .ranks = 2};
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "dissemination");
    query.is_oversubscribed = true;
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "flat");
}

static void several_nodes_are_told_apart(void **state)
{
    (void)state;
    open_with("allreduce nodes <=8 any sliced,radix=5,segment=64K\nallreduce nodes any any model\n"
              "allreduce short any any flat\n",
              weft_tuning_text);
    weft_tuning_query_t query = {.coll = WEFT_ALLREDUCE,
                                 .ranks = 8,
                                 .bytes = 8,
                                 .nodes = 4,
                                 .least = 2,
                                 .most = 2,
                                 .has = WEFT_NEEDS_ORDER,
                                 .fabric = "efa"};
    weft_choice_t choice = weft_tuning_choose(&query);
    assert_string_equal(choice.algorithm->name, "sliced");
    assert_true(choice.radix == 5 && choice.segment_bytes == 65536 && choice.line == 1 &&
                !choice.is_modelled);
    query.has = 0; /* the algorithm requires one of these */
    choice = weft_tuning_choose(&query);
    assert_true(choice.is_modelled && choice.line == 2 && choice.estimate_us > 0);
    assert_int_equal(choice.algorithm->needs, 0);
    query.nodes = 1;
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "recursive_multiplying");
    query.is_oversubscribed = true;
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "flat");
}

static void crowded_nodes_are_told_apart(void **state)
{
    (void)state;
    open_with("barrier crowded:efa any any shared\nbarrier crowded <=8 any two_level_tree\nbarrier "
              "nodes any any two_level\n",
              weft_tuning_text);
    weft_tuning_query_t query = {
        .coll = WEFT_BARRIER, .ranks = 8, .nodes = 4, .least = 2, .most = 2, .fabric = "efa"};
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "two_level");
    query.any_is_oversubscribed = true;
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "shared");
    query.fabric = "tcp";
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "two_level_tree");
    query.ranks = 9;
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "two_level");
    query.nodes = 1;
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "dissemination");
}

/* The built-in table has an algorithm for every call over nodes, whatever flags the call
 * fulfils. */
static void every_call_over_nodes_is_served(void **state)
{
    const int shapes[][3] = {{2, 1, 1}, {3, 1, 4}, {16, 8, 8}, {16384, 64, 64}, {5, 2, 100}};
    (void)state;
    open_with("", weft_tuning_text);
    for (int coll = 0; coll < WEFT_COLLS; coll++) {
        for (int i = 0; i < 5; i++) {
            for (size_t bytes = 0; bytes < 1 << 26; bytes = bytes * 20 + 7) {
                for (unsigned has = 0; has < 32; has++) {
                    weft_tuning_query_t query = {.coll = (weft_coll_t)coll,
                                                 .ranks = shapes[i][0] * shapes[i][1],
                                                 .bytes = bytes,
                                                 .nodes = shapes[i][0],
                                                 .least = shapes[i][1],
                                                 .most = shapes[i][2],
                                                 .has = has,
                                                 .fabric = "tcp;ofi_rxm"};
                    weft_choice_t choice = weft_tuning_choose(&query);
                    assert_non_null(choice.algorithm);
                    assert_int_equal(choice.algorithm->needs & ~has, 0);
                }
            }
        }
    }
}

static void users_constants_are_taken(void **state)
{
    (void)state;
    open_with(weft_tuning_text, "fabric efa 1 0.1 0.1 1000 1K\nfabric mine 2 0.1 0.1 1000 1K\n");
    assert_true(weft_fabric_of("efa").net.latency_us == 1 && weft_fabric_is_known("mine"));
    /* this table is not complete */
    open_with("fabric mine 2 0.1 0.1 1000 1K\n", "barrier any any any flat\n");
    assert_false(weft_fabric_is_known("mine"));
    assert_true(weft_fabric_of("efa").net.latency_us > 1);
}

static void needs_are_met(void **state)
{
    (void)state;
    open_with("allreduce any any any two_shot\nallreduce any any any flat\n", weft_tuning_text);
    weft_tuning_query_t query = {.coll = WEFT_ALLREDUCE, .ranks = 4, .bytes = 8};
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "flat");
    query.has = WEFT_NEEDS_COUNT;
    assert_string_equal(weft_tuning_choose(&query).algorithm->name, "two_shot");
}

/* Whatever the table says: rows of other algorithms are passed over, and so are those of the
 * model. */
static void folds_are_found(void **state)
{
    (void)state;
    open_with("allreduce any any >=1K ring\nallreduce any any any recursive_multiplying,radix=4\n"
              "reduce nodes any any model\nreduce any any any binomial\n",
              weft_tuning_text);
    for (int coll = WEFT_REDUCE; coll < WEFT_COLLS; coll++) {
        for (int at = 0; at < 64; at++) {
            weft_tuning_query_t query = {.coll = (weft_coll_t)coll,
                                         .must_fold = true,
                                         .has = at % 2 == 0 ? 0 : ~0u,
                                         .ranks = at % 4 < 2 ? 6 : 96,
                                         .bytes = (size_t)1 << 3 * (at / 8),
                                         .fabric = "efa"};
            query.nodes = at % 8 < 4 ? 1 : 3;
            query.least = query.most = query.ranks / query.nodes;
            const weft_algorithm_t *its = weft_tuning_choose(&query).algorithm;
            assert_true((its->has & WEFT_HAS_FOLD) != 0 && (its->needs & ~query.has) == 0);
        }
    }
}

static void bad_lines_put_the_built_in_table_in_force(void **state)
{
    static const char *const lines[] = {
        "barier any any any flat\n",
        "barrier some any any flat\n",
        "barrier any <4 any flat\n",
        "barrier any =4 any flat\n",
        "barrier any <=four any flat\n",
        "barrier any 4..2 any flat\n",
        "barrier any 2..any any flat\n",
        "barrier any 2..99999999999 any flat\n",
        "barrier any any 64K..8K flat\n",
        "barrier any any 8K.64K flat\n",
        "barrier any any 8K.. flat\n",
        "barrier any <=-4 any flat\n",
        "barrier any <=99999999999 any flat\n",
        "barrier any any <=4 flat\n",
        "barrier any any >4 flat\n",
        "barrier any any <4G flat\n",
        "barrier any any <-4 flat\n",
        "barrier any any <99999999999999999999 flat\n",
        "barrier any any >=99999999999999999M flat\n",
        "barrier any any any ring\n",
        "barrier any any any flat,radix=4\n",
        "barrier any any any dissemination,radix=1\n",
        "barrier any any any dissemination,radix=65\n",
        "barrier any any any dissemination,radix=\n",
        "barrier any any any dissemination,segment=64K\n",
        "barrier any any any dissemination,radix=4,\n",
        "barrier any any any model,radix=4\n",
        "gatherv any any any model\n",
        "fabric efa 1 1\n",
        "memory 1\n",
        "barrier any any flat\n",
        "barrier any any any flat flat\n",
        "barrier\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text), "bcast any any any binomial\n%s", lines[i]);
        open_with(text, weft_tuning_text);
        if (strcmp(choice(WEFT_BCAST, 2, 0), "flat") != 0)
            fail_msg("this line was taken: %s", lines[i]);
    }
}

/* Opens a table with a line for every collective. The line of allreduce names `algorithm`; ""
 * leaves allreduce out. */
static void open_incomplete(const char *algorithm)
{
    char text[2000] = "bcast any any any binomial\n";
    for (int coll = 0; coll < WEFT_COLLS; coll++) {
        const char *name = weft_coll_name((weft_coll_t)coll);
        const char *its = strcmp(name, "barrier") == 0     ? "dissemination"
                          : strcmp(name, "allreduce") == 0 ? algorithm
                          : strcmp(name, "bcast") == 0 || strcmp(name, "reduce") == 0 ? "binomial"
                          : strstr(name, "scan") != NULL                              ? "doubling"
                          : strstr(name, "all") != NULL || strstr(name, "reduce") != NULL ? "direct"
                                                                                          : "flat";
        size_t length = strlen(text);
        if (its[0] != '\0')
            snprintf(text + length, sizeof(text) - length, "%s any any any %s\n", name, its);
    }
    open_with(text, "");
}

static void incomplete_tables_are_not_taken(void **state)
{
    (void)state;
    open_incomplete("flat");
    assert_string_equal(choice(WEFT_BCAST, 2, 0), "binomial");
    assert_string_equal(weft_tuning_table(), path);
    open_incomplete("two_shot"); /* this algorithm cannot do few elements */
    assert_string_equal(choice(WEFT_BCAST, 2, 0), "flat");
    assert_string_equal(weft_tuning_table(), "the built-in tuning.conf");
    open_incomplete("");
    assert_string_equal(choice(WEFT_BCAST, 2, 0), "flat");
    open_with("", "");
    assert_string_equal(choice(WEFT_BCAST, 2, 0), "flat");
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    weft_config.COLL_TUNING = "/nowhere/at/all";
    weft_tuning_close();
    weft_tuning_open();
    assert_string_equal(choice(WEFT_BCAST, 2, 0), "flat");
    weft_config.COLL_TUNING = "/tmp";
    weft_tuning_close();
    weft_tuning_open();
    assert_string_equal(choice(WEFT_BCAST, 2, 0), "flat");
}

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    weft_log_threshold = WEFT_ERROR; /* the warnings are expected */
    return file < 0 || close(file);
}

static int remove_file(void **state)
{
    (void)state;
    weft_tuning_close();
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_table_serves_every_call),
        cmocka_unit_test(built_in_table_has_no_bad_line),
        cmocka_unit_test(first_line_that_fits_is_taken),
        cmocka_unit_test(ranges_have_both_bounds),
        cmocka_unit_test(rows_for_devices_choose_methods),
        cmocka_unit_test(rows_for_devices_replace_the_built_in_ones),
        cmocka_unit_test(bad_rows_for_devices_are_not_taken),
        cmocka_unit_test(cores_are_told_apart),
        cmocka_unit_test(several_nodes_are_told_apart),
        cmocka_unit_test(crowded_nodes_are_told_apart),
        cmocka_unit_test(every_call_over_nodes_is_served),
        cmocka_unit_test(users_constants_are_taken),
        cmocka_unit_test(needs_are_met),
        cmocka_unit_test(folds_are_found),
        cmocka_unit_test(bad_lines_put_the_built_in_table_in_force),
        cmocka_unit_test(incomplete_tables_are_not_taken),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
