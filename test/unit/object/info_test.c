/* SPDX-License-Identifier: BSD-3-Clause */
#include "object/info.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { KEYS = 40 };

static weft_info_t *make(void)
{
    weft_info_t *info;
    assert_int_equal(weft_info_create(&info), MPI_SUCCESS);
    for (int i = 0; i < KEYS; i++) {
        char key[16], value[16];
        snprintf(key, sizeof(key), "k%d", i);
        snprintf(value, sizeof(value), "v%d", i);
        assert_int_equal(weft_info_set(info, key, value), MPI_SUCCESS);
    }
    return info;
}

static void keeps_the_order(void **state)
{
    (void)state;
    weft_info_t *info = make();
    assert_int_equal(weft_info_set(info, "k5", "new"), MPI_SUCCESS);
    assert_int_equal(weft_info_delete(info, "k0"), MPI_SUCCESS);
    assert_int_equal(weft_info_delete(info, "k39"), MPI_SUCCESS);
    assert_int_equal(info->count, KEYS - 2);
    assert_string_equal(info->entries[4].key, "k5");
    assert_string_equal(info->entries[4].value, "new");
    assert_string_equal(info->entries[KEYS - 3].key, "k38");
    assert_int_equal(weft_info_delete(info, "k0"), MPI_ERR_INFO_NOKEY);
    weft_info_release(info);
}

static void copies(void **state)
{
    (void)state;
    weft_info_t *info = make(), *copy, *empty;
    assert_int_equal(weft_info_dup(info, &copy), MPI_SUCCESS);
    weft_info_release(info);
    assert_string_equal(weft_info_get(copy, "k17"), "v17");
    assert_null(weft_info_get(copy, "v17"));
    weft_info_release(copy);
    assert_int_equal(weft_info_dup(NULL, &empty), MPI_SUCCESS);
    assert_int_equal(empty->count, 0);
    weft_info_release(empty);
}

static void knows_handles(void **state)
{
    (void)state;
    weft_info_t *info = make();
    MPI_Info handle = weft_info_handle(info);
    assert_ptr_equal(weft_info_of(handle), info);
    weft_info_release(info);
    assert_null(weft_info_of(handle));
    assert_null(weft_info_of(MPI_INFO_NULL));
    assert_ptr_equal(weft_info_of(MPI_INFO_ENV), &weft_info_env);
    assert_ptr_equal(weft_info_handle(&weft_info_env), MPI_INFO_ENV);
}

static void describes_the_process(void **state)
{
    (void)state;
    const weft_info_t *env = weft_info_of(MPI_INFO_ENV);
    assert_non_null(weft_info_get(env, "command"));
    assert_non_null(weft_info_get(env, "host"));
    assert_non_null(weft_info_get(env, "arch"));
    assert_non_null(weft_info_get(env, "wdir"));
    assert_null(weft_info_get(env, "maxprocs")); /* MPI does not run */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order),
        cmocka_unit_test(copies),
        cmocka_unit_test(knows_handles),
        cmocka_unit_test(describes_the_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
