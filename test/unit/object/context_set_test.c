/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/context_set.h"

#include "base/memory.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { NUMBERS = 3000, STEPS = 300000, MANY = 100000 };

/* Against an array of flags; the contexts are near each other. */
static void is_a_set(void **state)
{
    static bool expected[NUMBERS];
    weft_context_set_t set = {.count = 0};
    size_t count = 0;
    unsigned random = 1;
    (void)state;
    for (int i = 0; i < STEPS; i++) {
        random = random * 1664525u + 1013904223u;
        unsigned number = (random >> 8) % NUMBERS;
        /* The set grows and shrinks by turns. */
        bool is_adding = (random >> 28) < (i / 20000 % 2 == 0 ? 12u : 4u);
        assert_int_equal(weft_context_set_has(&set, 2 * number), expected[number]);
        if (is_adding && !expected[number])
            assert_int_equal(weft_context_set_add(&set, 2 * number), MPI_SUCCESS);
        if (!is_adding)
            weft_context_set_remove(&set, 2 * number);
        count = count + (is_adding && !expected[number]) - (!is_adding && expected[number]);
        expected[number] = is_adding;
        assert_int_equal(set.count, count);
    }
    for (unsigned number = 0; number < NUMBERS; number++)
        assert_int_equal(weft_context_set_has(&set, 2 * number), expected[number]);
    weft_context_set_clear(&set);
    assert_int_equal(set.count, 0);
}

static void knows_the_ends_of_the_range(void **state)
{
    const uint32_t contexts[] = {0, 2, 0x7ffffffe, 0x80000000, 0xfffffffe};
    weft_context_set_t set = {.count = 0};
    (void)state;
    for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++) {
        assert_false(weft_context_set_has(&set, contexts[i]));
        assert_int_equal(weft_context_set_add(&set, contexts[i]), MPI_SUCCESS);
        assert_true(weft_context_set_has(&set, contexts[i]));
    }
    for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++)
        weft_context_set_remove(&set, contexts[i]);
    assert_int_equal(set.count, 0);
    weft_context_set_remove(&set, 2);
    weft_context_set_clear(&set);
}

/* Memory follows the number of contexts, both ways. */
static void gives_memory_back(void **state)
{
    weft_context_set_t set = {.count = 0};
    size_t before = weft_memory_in_use();
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(weft_context_set_add(&set, 2 * i), MPI_SUCCESS);
    assert_true(weft_memory_in_use() - before < 8 * sizeof(uint32_t) * MANY);
    for (uint32_t i = 0; i < MANY - 10; i++)
        weft_context_set_remove(&set, 2 * i);
    assert_true(weft_memory_in_use() - before < 1000);
    for (uint32_t i = MANY - 10; i < MANY; i++)
        assert_true(weft_context_set_has(&set, 2 * i));
    weft_context_set_clear(&set);
    assert_int_equal(weft_memory_in_use(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_a_set),
        cmocka_unit_test(knows_the_ends_of_the_range),
        cmocka_unit_test(gives_memory_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
