/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/placement.h"

#include "base/fail.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* "a:0,1 b:2" */
static void describe(const wl_placement_t *placement, char out[512])
{
    size_t used = 0;
    for (int i = 0; i < placement->host_count; i++) {
        const wl_placed_host_t *host = &placement->hosts[i];
        used += (size_t)snprintf(out + used, 512 - used, "%s%s", i > 0 ? " " : "", host->name);
        for (int k = 0; k < host->count; k++) {
            used +=
                (size_t)snprintf(out + used, 512 - used, "%c%d", k > 0 ? ',' : ':', host->ranks[k]);
            assert_int_equal(placement->host_of[host->ranks[k]], i);
            assert_int_equal(placement->local_rank[host->ranks[k]], k);
        }
    }
}

static int place(const char *words, int count, const wl_placement_rules_t *rules,
                 wl_placement_t *out)
{
    wl_host_list_t hosts = {0};
    assert_int_equal(wl_host_list_add(&hosts, words), MPI_SUCCESS);
    wl_placement_part_t part = {&hosts, count};
    int err = wl_placement_make(&part, 1, rules, out);
    wl_host_list_release(&hosts);
    return err;
}

static void expect(const char *words, int count, wl_placement_rules_t rules, const char *expected)
{
    wl_placement_t placement;
    char text[512];
    if (place(words, count, &rules, &placement) != MPI_SUCCESS)
        fail_msg("%s: %s", words, weft_fail_text());
    describe(&placement, text);
    assert_string_equal(text, expected);
    wl_placement_release(&placement);
}

static void fills_slots_in_order(void **state)
{
    const wl_placement_rules_t rules = {0}, two = {.per_host = 2};
    (void)state;
    expect("a:2,b:1", 1, rules, "a:0");
    expect("a:2,b:1", 3, rules, "a:0,1 b:2");
    expect("a:2,b:1", 5, rules, "a:0,1,3,4 b:2");
    expect("a,b,c", 7, rules, "a:0,3,6 b:1,4 c:2,5");
    expect("a:5,b,c", 6, two, "a:0,1 b:2,3 c:4,5");
}

static void takes_turns_by_node(void **state)
{
    const wl_placement_rules_t rules = {.is_by_node = true};
    (void)state;
    expect("a:2,b:1", 5, rules, "a:0,2,3 b:1,4");
    expect("a:1,b:3", 4, rules, "a:0 b:1,2,3");
}

static void obeys_limits(void **state)
{
    wl_placement_rules_t strict = {.no_oversubscription = true}, rules = {0};
    wl_placement_t placement;
    (void)state;
    assert_int_equal(place("a:2,b:1", 4, &strict, &placement), MPI_ERR_SPAWN);
    assert_non_null(strstr(weft_fail_text(), "3 slots"));
    wl_host_list_t hosts = {0};
    wl_host_list_add(&hosts, "a:1,b:1");
    hosts.hosts[0].most = 2;
    hosts.hosts[1].most = 4;
    wl_placement_part_t part = {&hosts, 6};
    char text[512];
    assert_int_equal(wl_placement_make(&part, 1, &rules, &placement), MPI_SUCCESS);
    describe(&placement, text);
    assert_string_equal(text, "a:0,2 b:1,3,4,5");
    wl_placement_release(&placement);
    part.count = 7;
    assert_int_equal(wl_placement_make(&part, 1, &rules, &placement), MPI_ERR_SPAWN);
    wl_host_list_release(&hosts);
}

static void places_programs_one_after_the_other(void **state)
{
    const wl_placement_rules_t rules = {0};
    wl_host_list_t both = {0}, one = {0};
    wl_placement_t placement;
    char text[512];
    (void)state;
    wl_host_list_add(&both, "a:2,b:2");
    wl_host_list_add(&one, "c,b:3");
    const wl_placement_part_t parts[] = {{&both, 1}, {&both, 2}, {&one, 3}};
    assert_int_equal(wl_placement_make(parts, 3, &rules, &placement), MPI_SUCCESS);
    describe(&placement, text);
    assert_string_equal(text, "a:0,1 b:2,4,5 c:3");
    wl_placement_release(&placement);
    wl_host_list_release(&both);
    wl_host_list_release(&one);
}

/* Quadratic work would take hours for so many. */
static void places_ranks_on_many_hosts(void **state)
{
    enum { HOSTS = 999 * 999 };
    const wl_placement_rules_t by_slot = {0}, by_node = {.is_by_node = true};
    wl_placement_t placement;
    (void)state;
    assert_int_equal(place("a[1-999]b[1-999]", HOSTS + 1, &by_slot, &placement), MPI_SUCCESS);
    assert_int_equal(placement.host_count, HOSTS);
    assert_int_equal(placement.host_of[HOSTS - 1], HOSTS - 1);
    assert_int_equal(placement.host_of[HOSTS], 0);
    wl_placement_release(&placement);
    assert_int_equal(place("a[1-999]b[1-999]", HOSTS, &by_node, &placement), MPI_SUCCESS);
    assert_int_equal(placement.host_of[HOSTS - 1], HOSTS - 1);
    wl_placement_release(&placement);
}

static void rebuilds_only_what_is_sound(void **state)
{
    static const int host_of[] = {0, 1, 0}, wrong[] = {0, 2, 0};
    char first[] = "a", second[] = "b", *names[] = {first, second}, text[512];
    wl_placement_t placement;
    (void)state;
    assert_int_equal(wl_placement_rebuild(host_of, 3, names, 2, &placement), MPI_SUCCESS);
    describe(&placement, text);
    assert_string_equal(text, "a:0,2 b:1");
    wl_placement_release(&placement);
    assert_int_equal(wl_placement_rebuild(wrong, 3, names, 2, &placement), MPI_ERR_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_slots_in_order),
        cmocka_unit_test(takes_turns_by_node),
        cmocka_unit_test(obeys_limits),
        cmocka_unit_test(places_programs_one_after_the_other),
        cmocka_unit_test(places_ranks_on_many_hosts),
        cmocka_unit_test(rebuilds_only_what_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
