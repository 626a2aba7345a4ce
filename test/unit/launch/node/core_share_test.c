/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares are disjoint, cover everything, differ by one at most, and stay within what is allowed. */
#define _GNU_SOURCE
#include "launch/node/core_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_shares(const cpu_set_t *allowed, int ranks)
{
    cpu_set_t all, share, common;
    int least = CPU_SETSIZE, most = 0;
    CPU_ZERO(&all);
    for (int rank = 0; rank < ranks; rank++) {
        assert_true(wl_core_share(allowed, rank, ranks, &share));
        CPU_AND(&common, &all, &share);
        assert_int_equal(CPU_COUNT(&common), 0);
        CPU_OR(&all, &all, &share);
        least = CPU_COUNT(&share) < least ? CPU_COUNT(&share) : least;
        most = CPU_COUNT(&share) > most ? CPU_COUNT(&share) : most;
    }
    assert_true(CPU_EQUAL(&all, allowed));
    assert_true(most - least <= 1);
}

static void test_shares(void **state)
{
    (void)state;
    cpu_set_t allowed, ignored;
    CPU_ZERO(&allowed);
    for (int cores = 1; cores <= 37; cores++) {
        CPU_SET(cores * 3 % 101, &allowed);
        for (int ranks = 1; ranks <= cores; ranks++)
            check_shares(&allowed, ranks);
        assert_false(wl_core_share(&allowed, 0, cores + 1, &ignored));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
