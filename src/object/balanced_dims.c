/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/balanced_dims.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    FACTORS_MOST = 32,    /* further ones are 1: no int is a product of more primes */
    DIVISORS_MOST = 1600, /* of 2,095,133,040 */
};

typedef struct search {
    int divisors[DIVISORS_MOST], divisor_count; /* of the whole product, ascending */
    int count;
    int trial[FACTORS_MOST], best[FACTORS_MOST];
    int best_gap; /* between the first and the last factor of `best` */
} search_t;

static int ascending_ints(const void *a, const void *b)
{
    int one = *(const int *)a, two = *(const int *)b;
    return (one > two) - (one < two);
}

static void list_divisors(search_t *search, int product)
{
    for (int i = 1; i <= product / i; i++) {
        if (product % i != 0)
            continue;
        search->divisors[search->divisor_count++] = i;
        if (i != product / i)
            search->divisors[search->divisor_count++] = product / i;
    }
    qsort(search->divisors, (size_t)search->divisor_count, sizeof(int), ascending_ints);
}

/* base to the power of `count`, or `most` + 1 if that is more than `most`. */
static long power_up_to(int base, int count, int most)
{
    long product = 1;
    for (int i = 0; i < count && product <= most; i++)
        product *= base;
    return product <= most ? product : (long)most + 1;
}

/* The last of `count` descending factors of `product` is not above this. */
static int last_at_most(const search_t *search, int product, int count)
{
    int i = search->divisor_count - 1;
    while (i > 0 && power_up_to(search->divisors[i], count, product) > product)
        i--;
    return search->divisors[i];
}

static void take_last(search_t *search, int factor)
{
    int gap = search->trial[0] - factor;
    if (gap >= search->best_gap)
        return;
    search->trial[search->count - 1] = factor;
    search->best_gap = gap;
    memcpy(search->best, search->trial, sizeof(search->best));
}

/* Try all descending factors from the one with number `at` on, whose product is `rest` and of which
 * none is above `most`. */
static void try_factors(search_t *search, int at, int rest, int most)
{
    int left = search->count - at;
    for (int i = 0; i < search->divisor_count && search->divisors[i] <= most; i++) {
        int factor = search->divisors[i];
        /* The largest of the factors that are left is at least the root of their product. */
        if (rest % factor != 0 || power_up_to(factor, left, rest - 1) < rest)
            continue;
        search->trial[at] = factor;
        if (left == 1)
            take_last(search, factor);
        else if (search->trial[0] - last_at_most(search, rest / factor, left - 1) <
                 search->best_gap)
            try_factors(search, at + 1, rest / factor, factor);
        else if (at == 0) /* a larger first factor leaves a wider gap */
            return;
    }
}

void weft_balance_dims(int nodes, int count, int *factors)
{
    search_t search = {.count = count < FACTORS_MOST ? count : FACTORS_MOST, .best_gap = INT_MAX};
    list_divisors(&search, nodes);
    try_factors(&search, 0, nodes, nodes);
    memcpy(factors, search.best, (size_t)search.count * sizeof(int));
    for (int i = search.count; i < count; i++)
        factors[i] = 1;
}
