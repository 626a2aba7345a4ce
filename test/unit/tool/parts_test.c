/* SPDX-License-Identifier: BSD-3-Clause */
/* What the folders have for tools fits together: every variable of the configuration has a category
 * and a value of its list, every row of every table is complete, names are unique. */
#include "mpi/tool_parts.h"
#include "tool/cvar.h"
#include "base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void variables_have_a_category(void **unused)
{
    (void)unused;
    for (int i = 0; i < weft_config_rows(); i++) {
        weft_config_row_t row = weft_config_row(i);
        assert_int_not_equal(weft_category_keyed(row.area), WEFT_CATEGORY_COUNT);
        assert_int_equal(weft_cvar(i)->category, weft_category_keyed(row.area));
        if (row.kind == WEFT_CONFIG_TEXT && strchr(row.unit, '|') != NULL &&
            row.fallback[0] != '\0')
            assert_non_null(weft_cvar(i)->items); /* its default is among its words */
    }
}

static void categories_have_unique_names(void **unused)
{
    (void)unused;
    for (int i = 0; i < WEFT_CATEGORY_COUNT; i++)
        assert_int_equal(weft_category_named(weft_category_name((weft_category_t)i)), i);
}

static void rows_are_complete(void **unused)
{
    (void)unused;
    for (int i = 0; i < weft_pvar_count(); i++) {
        const weft_pvar_t *pvar = weft_pvar(i);
        assert_non_null(pvar->name);
        assert_non_null(pvar->help);
        assert_non_null(pvar->read);
        assert_true(pvar->verbosity >= MPI_T_VERBOSITY_USER_BASIC);
        assert_true(pvar->is_of_comm || pvar->elements == NULL);
        assert_int_equal(pvar->pvar_class == MPI_T_PVAR_CLASS_HIGHWATERMARK,
                         pvar->high_water != NULL);
        assert_int_equal(pvar->pvar_class == MPI_T_PVAR_CLASS_STATE, pvar->items != NULL);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(pvar->name, weft_pvar(k)->name);
    }
}

static void events_are_complete(void **unused)
{
    (void)unused;
    for (int i = 0; i < weft_event_count(); i++) {
        const weft_event_type_t *type = weft_event_type(i);
        const weft_event_element_t *last = &type->elements[type->names->count - 1];
        size_t bytes = last->type == MPI_INT ? sizeof(int) : sizeof(unsigned long long);
        assert_true(last->offset + bytes <= type->bytes);
        assert_string_equal(type->name, type->names->name);
        assert_non_null(type->help);
    }
}

static int row_named(const char *name)
{
    int i = 0;
    while (strcmp(weft_config_row(i).name, name) != 0)
        i++;
    return i;
}

static void a_value_is_set_or_refused(void **unused)
{
    (void)unused;
    int tuning = row_named("COLL_TUNING"), seconds = row_named("TIMEOUT");
    assert_int_equal(weft_config_set(seconds, "0"), MPI_ERR_ARG);
    assert_int_equal(weft_config.TIMEOUT, 60);
    assert_int_equal(weft_config_set(seconds, "61"), MPI_SUCCESS);
    assert_int_equal(weft_config.TIMEOUT, 61);
    assert_string_equal(weft_config_row(seconds).value, "61");
    assert_false(weft_config_row(seconds).is_set);
    char text[] = "one";
    assert_int_equal(weft_config_set(tuning, text), MPI_SUCCESS);
    text[0] = 'X'; /* it was copied */
    assert_string_equal(weft_config.COLL_TUNING, "one");
    assert_int_equal(weft_config_set(tuning, "two"), MPI_SUCCESS);
    assert_string_equal(weft_config.COLL_TUNING, "two");
    assert_int_equal(weft_config_set(tuning, ""), MPI_SUCCESS);
}

static int open_all(void **unused)
{
    (void)unused;
    const weft_tool_parts_t *parts = weft_tool_parts();
    return parts == NULL || weft_tool_open(parts) != MPI_SUCCESS;
}

static int close_all(void **unused)
{
    (void)unused;
    return weft_tool_close() != MPI_SUCCESS || weft_tool_is_open();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_have_a_category), cmocka_unit_test(categories_have_unique_names),
        cmocka_unit_test(rows_are_complete), cmocka_unit_test(events_are_complete),
        cmocka_unit_test(a_value_is_set_or_refused)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
