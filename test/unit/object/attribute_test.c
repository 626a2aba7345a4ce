/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes whose callbacks change the list that is being walked, and keyvals that are freed. */
#include "object/attribute.h"

#include "object/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static weft_attributes_t *list;
static const weft_attribute_owner_t owner = {WEFT_KIND_COMM, MPI_COMM_SELF, &list};

static int keys[3], deletions;
static void *order[8];

static int note(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    order[deletions++] = value;
    return MPI_SUCCESS;
}

/* Deletes the first attribute of the list while the last is being deleted. */
static int delete_another(MPI_Comm comm, int key, void *value, void *extra)
{
    note(comm, key, value, extra);
    assert_int_equal(weft_attribute_delete(owner, keys[0]), MPI_SUCCESS);
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int key, void *value, void *extra)
{
    note(comm, key, value, extra);
    return deletions == 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void create(int index, MPI_Comm_delete_attr_function *delete)
{
    weft_keyval_args_t args = {
        .kind = WEFT_KIND_COMM, .copy.comm = MPI_COMM_NULL_COPY_FN, .delete.comm = delete};
    assert_int_equal(weft_keyval_create(&args, &keys[index]), MPI_SUCCESS);
}

static void create_all(MPI_Comm_delete_attr_function *last)
{
    deletions = 0;
    create(0, note);
    create(1, note);
    create(2, last);
    for (long i = 0; i < 3; i++)
        assert_int_equal(weft_attribute_set(owner, keys[i], (void *)(i + 1)), MPI_SUCCESS);
}

static void free_all(void)
{
    for (int i = 0; i < 3; i++)
        assert_int_equal(weft_keyval_free(WEFT_KIND_COMM, keys[i]), MPI_SUCCESS);
}

static void assert_deleted(int count, const long values[])
{
    assert_int_equal(deletions, count);
    for (int i = 0; i < count; i++)
        assert_int_equal((long)order[i], values[i]);
}

static void deletes_the_last_first(void **state)
{
    (void)state;
    create_all(note);
    assert_int_equal(weft_attributes_delete_all(owner), MPI_SUCCESS);
    assert_deleted(3, (long[]){3, 2, 1});
    assert_null(list);
    free_all();
}

static void survives_callbacks_that_delete(void **state)
{
    (void)state;
    create_all(delete_another);
    assert_int_equal(weft_attributes_delete_all(owner), MPI_SUCCESS);
    assert_deleted(3, (long[]){3, 1, 2});
    assert_null(list);
    free_all();
}

static void stops_at_a_refusal_and_goes_on(void **state)
{
    (void)state;
    create_all(refuse);
    assert_int_equal(weft_attributes_delete_all(owner), MPI_ERR_OTHER);
    assert_deleted(1, (long[]){3});
    assert_int_equal(weft_attributes_delete_all(owner), MPI_SUCCESS);
    assert_deleted(4, (long[]){3, 3, 2, 1});
    free_all();
}

static void keeps_a_freed_keyval_while_used(void **state)
{
    void *value;
    bool is_set;
    (void)state;
    create_all(note);
    free_all();
    free_all(); /* other copies of the numbers; the attributes keep their references */
    assert_int_equal(weft_attribute_get(owner, keys[0], &value, &is_set), MPI_SUCCESS);
    assert_true(is_set);
    assert_int_equal(weft_attribute_delete(owner, keys[0]), MPI_SUCCESS);
    assert_int_equal(weft_attribute_get(owner, keys[0], &value, &is_set), MPI_ERR_KEYVAL);
    assert_int_equal(weft_keyval_free(WEFT_KIND_COMM, keys[0]), MPI_ERR_KEYVAL);
    assert_int_equal(weft_attributes_delete_all(owner), MPI_SUCCESS);
    assert_null(list);
}

static void knows_kinds_apart(void **state)
{
    weft_attributes_t *types = NULL;
    weft_attribute_owner_t type = {WEFT_KIND_TYPE, MPI_INT, &types};
    (void)state;
    create(0, note);
    assert_int_equal(weft_attribute_set(type, keys[0], NULL), MPI_ERR_KEYVAL);
    assert_int_equal(weft_attribute_set(owner, MPI_TAG_UB, NULL), MPI_ERR_KEYVAL);
    assert_int_equal(weft_attribute_set(owner, MPI_KEYVAL_INVALID, NULL), MPI_ERR_KEYVAL);
    assert_int_equal(weft_keyval_free(WEFT_KIND_COMM, keys[0]), MPI_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deletes_the_last_first),
        cmocka_unit_test(survives_callbacks_that_delete),
        cmocka_unit_test(stops_at_a_refusal_and_goes_on),
        cmocka_unit_test(keeps_a_freed_keyval_while_used),
        cmocka_unit_test(knows_kinds_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
