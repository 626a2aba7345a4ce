/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct item {
    int value;
    weft_link_t link;
} item_t;

static void keeps_the_order(void **state)
{
    weft_list_t list;
    item_t items[] = {{.value = 1}, {.value = 2}, {.value = 3}};
    (void)state;
    weft_list_init(&list);
    for (int i = 0; i < 3; i++)
        weft_list_append(&list, &items[i].link);
    for (int i = 0; i < 3; i++)
        assert_int_equal(WEFT_ELEMENT(weft_list_pop(&list), item_t, link)->value, i + 1);
    assert_true(weft_list_is_empty(&list));
    assert_null(weft_list_pop(&list));
}

static void removes_from_the_middle_and_twice(void **state)
{
    weft_list_t list;
    item_t items[] = {{.value = 1}, {.value = 2}, {.value = 3}};
    (void)state;
    weft_list_init(&list);
    for (int i = 0; i < 3; i++)
        weft_list_append(&list, &items[i].link);
    weft_list_remove(&items[1].link);
    weft_list_remove(&items[1].link);
    assert_ptr_equal(weft_list_pop(&list), &items[0].link);
    assert_ptr_equal(weft_list_pop(&list), &items[2].link);
    assert_true(weft_list_is_empty(&list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order),
        cmocka_unit_test(removes_from_the_middle_and_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
