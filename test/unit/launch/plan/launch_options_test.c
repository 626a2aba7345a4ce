/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/launch_options.h"

#include "base/fail.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS_MOST = 32 };

/* A command line in writable memory, as main gets it. */
typedef struct line {
    char text[512];
    char *words[WORDS_MOST];
    int count;
} line_t;

static void split(const char *text, line_t *out)
{
    strncpy(out->text, text, sizeof(out->text) - 1);
    out->text[sizeof(out->text) - 1] = '\0';
    out->count = 0;
    for (char *word = strtok(out->text, " "); word != NULL; word = strtok(NULL, " "))
        out->words[out->count++] = word;
    out->words[out->count] = NULL;
}

static int parse(const char *text, line_t *line, wl_job_plan_t *plan)
{
    split(text, line);
    return wl_options_parse(line->count, line->words, plan);
}

static void accept(const char *text, line_t *line, wl_job_plan_t *plan)
{
    int err = parse(text, line, plan);
    if (err != MPI_SUCCESS)
        fail_msg("%s: %s", text, weft_fail_text());
}

static void refuse(const char *text, const char *expected)
{
    line_t line;
    wl_job_plan_t plan;
    if (parse(text, &line, &plan) == MPI_SUCCESS)
        fail_msg("accepted: %s", text);
    if (strstr(weft_fail_text(), expected) == NULL)
        fail_msg("%s: \"%s\", expected \"%s\"", text, weft_fail_text(), expected);
    wl_job_plan_release(&plan);
}

static void reads_one_program(void **state)
{
    line_t line;
    wl_job_plan_t plan;
    (void)state;
    accept("/usr/bin/mpirun -n 4 ./a -n 5 --x", &line, &plan);
    assert_string_equal(plan.launcher, "mpirun");
    assert_int_equal(plan.app_count, 1);
    assert_int_equal(plan.apps[0].count, 4);
    assert_string_equal(plan.apps[0].arguments[0], "./a");
    assert_string_equal(plan.apps[0].arguments[1], "-n");
    assert_string_equal(plan.apps[0].arguments[3], "--x");
    assert_null(plan.apps[0].arguments[4]);
    wl_job_plan_release(&plan);
}

static void knows_all_ways_to_write_an_option(void **state)
{
    static const char *const texts[] = {"m -n 7 a",  "m --n 7 a",   "m -np 7 a",    "m --np=7 a",
                                        "m -np=7 a", "m -c 7 -- a", "m -n 2 -n 7 a"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        line_t line;
        wl_job_plan_t plan;
        accept(texts[i], &line, &plan);
        assert_int_equal(plan.apps[0].count, 7);
        assert_string_equal(plan.apps[0].arguments[0], "a");
        wl_job_plan_release(&plan);
    }
}

static void reads_several_programs(void **state)
{
    line_t line;
    wl_job_plan_t plan;
    (void)state;
    accept("m -l -n 2 -wdir /x a 1 : -n 3 -env K V b : c 2 3", &line, &plan);
    assert_int_equal(plan.app_count, 3);
    assert_true(plan.tags_lines);
    assert_string_equal(plan.apps[0].directory, "/x");
    assert_null(plan.apps[0].arguments[2]);
    assert_int_equal(plan.apps[1].count, 3);
    assert_string_equal(wl_variables_get(&plan.apps[1].rules.set, "K"), "V");
    assert_null(plan.apps[1].directory);
    assert_int_equal(plan.apps[2].count, 0);
    assert_string_equal(plan.apps[2].arguments[2], "3");
    wl_job_plan_release(&plan);
}

static void reads_variables(void **state)
{
    line_t line;
    wl_job_plan_t plan;
    (void)state;
    accept("m -x A=1=2 --x=B=3 -genv C 4 -x A=5 -genvlist P,Q a", &line, &plan);
    assert_string_equal(wl_variables_get(&plan.rules.set, "A"), "5");
    assert_string_equal(wl_variables_get(&plan.rules.set, "B"), "3");
    assert_string_equal(wl_variables_get(&plan.rules.set, "C"), "4");
    assert_int_equal(plan.rules.set.count, 3);
    assert_int_equal(plan.rules.inheritance, WL_INHERIT_LISTED);
    assert_string_equal(plan.rules.list, "P,Q");
    wl_job_plan_release(&plan);
}

static void reads_hosts(void **state)
{
    line_t line;
    wl_job_plan_t plan;
    (void)state;
    accept("m -host a:2,b -map-by node a : --launch-agent x -H c --map-by=ppr:3:node b", &line,
           &plan);
    assert_int_equal(plan.apps[0].hosts.count, 2);
    assert_string_equal(plan.apps[0].hosts.hosts[0].name, "a");
    assert_int_equal(plan.apps[0].hosts.hosts[0].slots, 2);
    assert_int_equal(plan.apps[0].hosts.hosts[1].slots, 0);
    assert_string_equal(plan.apps[1].hosts.hosts[0].name, "c");
    assert_int_equal(plan.placement_rules.per_host, 3);
    assert_true(plan.placement_rules.is_by_node);
    assert_string_equal(plan.route.agent, "x");
    wl_job_plan_release(&plan);
    accept("m --mca plm_rsh_agent y -map-by :OVERSUBSCRIBE a", &line, &plan);
    assert_string_equal(plan.route.agent, "y");
    assert_string_equal(plan.ignored, "");
    wl_job_plan_release(&plan);
}

static void notes_what_has_no_effect(void **state)
{
    line_t line;
    wl_job_plan_t plan;
    (void)state;
    accept("m --bind-to core -map-by core --mca a b -bind-to none --report-bindings a", &line,
           &plan);
    assert_string_equal(plan.ignored, "-map-by, --report-bindings");
    assert_true(plan.is_unbound);
    wl_job_plan_release(&plan);
}

static void refuses_with_a_reason(void **state)
{
    (void)state;
    refuse("m", "no program");
    refuse("m -n 3", "no program");
    refuse("m a : -n 3", "no program");
    refuse("m -n", "wants N");
    refuse("m -n 4x a", "from 1 to");
    refuse("m -n 99999999999 a", "from 1 to");
    refuse("m -genv A", "wants NAME VALUE");
    refuse("m -genv A=B C a", "no name of a variable");
    refuse("m -x =B a", "NAME=VALUE");
    refuse("m --oversubscrib a", "the nearest is --oversubscribe");
    refuse("m --genvnone=1 a", "takes no value");
    refuse("m --host a:0 a", "number of slots is");
    refuse("m --map-by ppr:x a", "ppr:4:node");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_one_program),
        cmocka_unit_test(knows_all_ways_to_write_an_option),
        cmocka_unit_test(reads_several_programs),
        cmocka_unit_test(reads_variables),
        cmocka_unit_test(reads_hosts),
        cmocka_unit_test(notes_what_has_no_effect),
        cmocka_unit_test(refuses_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
