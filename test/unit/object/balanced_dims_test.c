/* SPDX-License-Identifier: BSD-3-Clause */
/* Factors that are as close to each other as possible, against a search through all products. */
#include "object/balanced_dims.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { COUNT_MOST = 5 };

/* The least gap of all products of `count` factors, none above `most`, after the first factor. */
static int least_gap(int first, int rest, int count, int most)
{
    int least = INT_MAX;
    if (count == 1)
        return rest <= most ? first - rest : INT_MAX;
    for (int factor = 1; factor <= most && factor <= rest; factor++) {
        if (rest % factor != 0)
            continue;
        int gap = least_gap(first > 0 ? first : factor, rest / factor, count - 1, factor);
        least = gap < least ? gap : least;
    }
    return least;
}

static void expect_product(const int *factors, int count, int nodes)
{
    long product = 1;
    for (int i = 0; i < count; i++) {
        assert_true(factors[i] >= 1);
        assert_true(i == 0 || factors[i] <= factors[i - 1]);
        product *= factors[i];
    }
    assert_int_equal(product, nodes);
}

static void no_product_is_closer(void **state)
{
    (void)state;
    for (int nodes = 1; nodes <= 400; nodes++) {
        for (int count = 2; count <= COUNT_MOST; count++) {
            int factors[COUNT_MOST];
            weft_balance_dims(nodes, count, factors);
            expect_product(factors, count, nodes);
            assert_int_equal(factors[0] - factors[count - 1], least_gap(0, nodes, count, nodes));
        }
    }
}

static void one_dimension_takes_all(void **state)
{
    int factor;
    (void)state;
    weft_balance_dims(17, 1, &factor);
    assert_int_equal(factor, 17);
}

static void many_dimensions_are_one(void **state)
{
    int factors[100];
    (void)state;
    weft_balance_dims(6, 100, factors);
    expect_product(factors, 100, 6);
    assert_int_equal(factors[0], 3);
    assert_int_equal(factors[1], 2);
    assert_int_equal(factors[99], 1);
}

/* A prime, a power of two, the number with most divisors: the search must end soon. */
static void large_numbers_are_no_trouble(void **state)
{
    static const int large[] = {INT_MAX, 1 << 30, 2095133040, 2147483629};
    (void)state;
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
        for (int count = 1; count <= 32; count++) {
            int factors[32];
            weft_balance_dims(large[i], count, factors);
            expect_product(factors, count, large[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_product_is_closer),
        cmocka_unit_test(one_dimension_takes_all),
        cmocka_unit_test(many_dimensions_are_one),
        cmocka_unit_test(large_numbers_are_no_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
