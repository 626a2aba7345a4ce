/* SPDX-License-Identifier: BSD-3-Clause */
/* Shares are disjoint, cover everything, differ by one at most, and stay within what is allowed. */
#include "launch/node/core_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static weft_cpus_t common(const weft_cpus_t *a, const weft_cpus_t *b)
{
    weft_cpus_t result;
    for (int i = 0; i < WEFT_CPU_WORDS; i++)
        result.words[i] = a->words[i] & b->words[i];
    return result;
}

static void check_shares(const weft_cpus_t *allowed, int ranks)
{
    weft_cpus_t all = {{0}}, share;
    int least = 64 * WEFT_CPU_WORDS, most = 0;
    for (int rank = 0; rank < ranks; rank++) {
        assert_true(wl_core_share(allowed, rank, ranks, &share));
        weft_cpus_t twice = common(&all, &share);
        int count = weft_cpus_count(&share);
        assert_int_equal(weft_cpus_count(&twice), 0);
        weft_cpus_add(&all, &share);
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    assert_memory_equal(&all, allowed, sizeof(all));
    assert_true(most - least <= 1);
}

/* The numbers go beyond the 1,024 that a cpu_set_t has room for. */
static void test_shares(void **state)
{
    weft_cpus_t allowed = {{0}}, ignored;
    (void)state;
    for (int cores = 1; cores <= 37; cores++) {
        weft_cpus_put(&allowed, cores * 301 % (64 * WEFT_CPU_WORDS));
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
