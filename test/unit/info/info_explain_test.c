/* SPDX-License-Identifier: BSD-3-Clause */
/* weft_info --explain: every method for device memory has a line of its own, and the line names the
 * tuning table's choice. (The program's objects are in no library, so its sources are included
 * here.) */
#include "info/info_explain.c"
#include "info/info_options.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static char text[10000];

/* Writes into `text` what the program prints for these words. */
static int explain(int count, char **words)
{
    fflush(stdout);
    int screen = dup(1);
    FILE *file = tmpfile();
    assert_non_null(file);
    dup2(fileno(file), 1);
    int code = weft_info_explain(count, words);
    fflush(stdout);
    dup2(screen, 1);
    close(screen);
    rewind(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    return code;
}

static char *words_for_device[] = {NULL, NULL, NULL, (char *)"device"};

static void explain_call(const char *coll, const char *ranks, const char *bytes)
{
    words_for_device[0] = (char *)coll;
    words_for_device[1] = (char *)ranks;
    words_for_device[2] = (char *)bytes;
    assert_int_equal(explain(4, words_for_device), 0);
}

/* The line of method `index` names `name`. */
static void expect_method(int index, const char *name)
{
    char start[80], wanted[40];
    snprintf(start, sizeof(start), "%s:", weft_device_methods[index]->where);
    snprintf(wanted, sizeof(wanted), " %s: line ", name);
    const char *line = strstr(text, start);
    const char *end = line == NULL ? NULL : strchr(line, '\n');
    const char *found = line == NULL ? NULL : strstr(line, wanted);
    if (found == NULL || found > end)
        fail_msg("\"%s ... %s\" is not in: %s", start, wanted, text);
}

static void every_method_has_a_line(void **state)
{
    (void)state;
    explain_call("allreduce", "8", "64K");
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, WEFT_METHODS);
    /* multicast is possible, but the table chooses ll */
    expect_method(WEFT_METHOD_MULTICAST, "ll");
    expect_method(WEFT_METHOD_LL, "ll");
    expect_method(WEFT_METHOD_DIRECT, "direct");
    expect_method(WEFT_METHOD_HIERARCHICAL, "hierarchical");
    expect_method(WEFT_METHOD_P2P, "p2p");
    expect_method(WEFT_METHOD_STAGED, "staged");
}

static void bytes_decide(void **state)
{
    (void)state;
    explain_call("allreduce", "8", "64M");
    expect_method(WEFT_METHOD_MULTICAST, "multicast");
    expect_method(WEFT_METHOD_LL, "direct");
    explain_call("bcast", "8", "8");
    expect_method(WEFT_METHOD_HIERARCHICAL, "staged");
    expect_method(WEFT_METHOD_P2P, "staged");
}

/* Multicast is for allreduces and for the halves of them, and for broadcasts; neither multicast nor
 * ll does scans. */
static void methods_know_some_collectives(void **state)
{
    static const char *const known[] = {
        "allreduce", "reduce",    "reduce_scatter", "reduce_scatter_block",
        "bcast",     "allgather", "allgatherv"};
    static const char *const unknown[] = {"alltoall", "gather", "scatter"};
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        explain_call(known[i], "8", "64M");
        expect_method(WEFT_METHOD_MULTICAST, "multicast");
    }
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        explain_call(unknown[i], "8", "64M");
        expect_method(WEFT_METHOD_MULTICAST, "direct");
    }
    explain_call("scan", "8", "64K");
    expect_method(WEFT_METHOD_MULTICAST, "direct");
    expect_method(WEFT_METHOD_LL, "direct");
}

static void hosts_have_their_own_lines(void **state)
{
    char *one[] = {(char *)"bcast", (char *)"16", (char *)"64K"};
    char *several[] = {(char *)"allreduce", (char *)"64", (char *)"8", (char *)"16", (char *)"efa"};
    (void)state;
    assert_int_equal(explain(3, one), 0);
    assert_non_null(strstr(text, "enough cores:"));
    assert_non_null(strstr(text, "cores short:"));
    assert_null(strstr(text, "The model"));
    assert_int_equal(explain(5, several), 0);
    assert_non_null(strstr(text, "several nodes:"));
    assert_non_null(strstr(text, "The model, for efa:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_has_a_line),
        cmocka_unit_test(bytes_decide),
        cmocka_unit_test(methods_know_some_collectives),
        cmocka_unit_test(hosts_have_their_own_lines),
    };
    weft_config_read();
    weft_config.COLL_TUNING = "";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
