/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes: callbacks and their order, copies, errors of callbacks, predefined ones, the end of
 * MPI. */
#include "../expect.h"

#include <limits.h>
#include <stdlib.h>

static int rank, size;

/* The callbacks note the values in the order in which they are deleted. */
static long deleted[16];
static int deletions, copies;

static int note_delete(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    int got;
    (void)keyval;
    EXPECT_TEXT((const char *)extra_state, "extra");
    MPI_Comm_rank(comm, &got); /* callbacks may call MPI */
    deleted[deletions++] = (long)value;
    return MPI_SUCCESS;
}

/* The copy of n is n + 100; negative values are not copied. */
static int copy_positive(MPI_Comm comm, int keyval, void *extra_state, void *value_in,
                         void *value_out, int *flag)
{
    (void)comm;
    (void)keyval;
    EXPECT_TEXT((const char *)extra_state, "extra");
    copies++;
    *flag = (long)value_in > 0;
    *(void **)value_out = (void *)((long)value_in + 100);
    return MPI_SUCCESS;
}

static int is_refusing;

static int refuse_delete(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    (void)comm;
    (void)keyval;
    (void)extra_state;
    (void)value;
    return is_refusing ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static int refuse_copy(MPI_Comm comm, int keyval, void *extra_state, void *value_in,
                       void *value_out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)extra_state;
    (void)value_in;
    (void)value_out;
    (void)flag;
    return MPI_ERR_NAME;
}

static void check_value(MPI_Comm comm, int keyval, int is_expected, long expected)
{
    void *value = (void *)-1L;
    int is_set = -1;
    MPI_Comm_get_attr(comm, keyval, &value, &is_set);
    EXPECT(is_set, is_expected);
    if (is_set == 1)
        EXPECT((long)value, expected);
}

static void test_order(void)
{
    int keys[4];
    MPI_Comm from, copy;
    deletions = copies = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &from);
    for (int i = 0; i < 4; i++) {
        MPI_Comm_create_keyval(copy_positive, note_delete, &keys[i], "extra");
        MPI_Comm_set_attr(from, keys[i], (void *)(long)(i == 2 ? -2 : i + 1));
    }
    MPI_Comm_set_attr(from, keys[1], (void *)20L); /* deletes 2, and becomes the last one set */
    EXPECT(deletions, 1);
    EXPECT(deleted[0], 2);
    MPI_Comm_dup(from, &copy);
    EXPECT(copies, 4);
    check_value(copy, keys[0], 1, 101);
    check_value(copy, keys[1], 1, 120);
    check_value(copy, keys[2], 0, 0);
    MPI_Comm_delete_attr(copy, keys[0]);
    check_value(copy, keys[0], 0, 0);
    for (int i = 0; i < 4; i++)
        MPI_Comm_free_keyval(&keys[i]);
    EXPECT(keys[0], MPI_KEYVAL_INVALID);
    MPI_Comm_free(&from);
    MPI_Comm_free(&copy);
    const long expected[] = {2, 101, 20, 4, -2, 1, 120, 104};
    EXPECT(deletions, 8);
    for (int i = 0; i < 8; i++)
        EXPECT(deleted[i], expected[i]);
}

static void test_ready_made(void)
{
    int dup, null;
    MPI_Comm from, copy;
    MPI_Request request;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &null, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &from);
    MPI_Comm_set_attr(from, dup, (void *)7L);
    MPI_Comm_set_attr(from, null, (void *)8L);
    MPI_Comm_idup(from, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_value(copy, dup, 1, 7);
    check_value(copy, null, 0, 0);
    int kept = dup;
    MPI_Comm_free_keyval(&dup);
    check_value(from, kept, 1, 7); /* a keyval lives while an attribute uses it */
    MPI_Comm_delete_attr(from, kept);
    MPI_Comm_free_keyval(&null);
    MPI_Comm_free(&from);
    MPI_Comm_free(&copy);
}

static void test_refusals(void)
{
    int stubborn, private;
    MPI_Comm from, copy = MPI_COMM_NULL;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_delete, &stubborn, NULL);
    MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &private, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &from);
    MPI_Comm_set_errhandler(from, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(from, stubborn, (void *)1L);
    is_refusing = 1;
    EXPECT_ERROR(MPI_Comm_delete_attr(from, stubborn), MPI_ERR_INTERN);
    EXPECT_ERROR(MPI_Comm_set_attr(from, stubborn, NULL), MPI_ERR_INTERN);
    EXPECT_ERROR(MPI_Comm_free(&from), MPI_ERR_INTERN);
    check_value(from, stubborn, 1, 1);
    MPI_Comm_set_attr(from, private, NULL);
    EXPECT_ERROR(MPI_Comm_dup(from, &copy), MPI_ERR_NAME);
    EXPECT(copy, MPI_COMM_NULL);
    int sum, one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, from); /* no rank is still in the dup */
    EXPECT(sum, size);
    MPI_Comm_free_keyval(&stubborn);
    MPI_Comm_free_keyval(&private);
    is_refusing = 0;
    MPI_Comm_free(&from);
}

static void test_predefined(void)
{
    int *value = NULL, is_set = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &is_set);
    EXPECT(is_set, 1);
    EXPECT(*value, INT_MAX);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &is_set);
    EXPECT(is_set && *value, expect_ranks_here(size) == size); /* one host, one clock */
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &is_set);
    EXPECT(is_set ? *value : 0, MPI_PROC_NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &is_set);
    EXPECT(!is_set || *value >= size, 1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &is_set);
    EXPECT(is_set ? *value : 0, MPI_ERR_LASTCODE);
    EXPECT_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, value), MPI_ERR_KEYVAL);
    EXPECT_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_IO), MPI_ERR_KEYVAL);
}

/* No error: programs delete what they may have set (p4est does). The callback is not called. */
static void test_deleting_what_is_not_set(void)
{
    int key, type_key;
    deletions = 0;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_delete, &key, "extra");
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    EXPECT_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Type_delete_attr(MPI_INT, type_key), MPI_SUCCESS);
    EXPECT(deletions, 0);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)5L);
    EXPECT_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
    EXPECT(deletions, 1);
    MPI_Comm_free_keyval(&key);
    MPI_Type_free_keyval(&type_key);
}

static void test_errors(void)
{
    int key, type_key, none = MPI_KEYVAL_INVALID, is_set;
    void *value;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    EXPECT_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, type_key, NULL), MPI_ERR_KEYVAL);
    EXPECT_ERROR(MPI_Type_set_attr(MPI_INT, key, NULL), MPI_ERR_KEYVAL);
    EXPECT_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, none, &value, &is_set), MPI_ERR_KEYVAL);
    EXPECT_ERROR(MPI_Comm_free_keyval(&type_key), MPI_ERR_KEYVAL);
    EXPECT_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, type_key), MPI_ERR_KEYVAL);
    MPI_Type_set_attr(MPI_INT, type_key, (void *)3L);
    MPI_Type_get_attr(MPI_INT, type_key, &value, &is_set);
    EXPECT(is_set ? (long)value : 0, 3);
    EXPECT(MPI_Type_delete_attr(MPI_INT, type_key), MPI_SUCCESS);
    MPI_Type_get_attr(MPI_INT, type_key, &value, &is_set);
    EXPECT(is_set, 0);
    MPI_Comm_free_keyval(&key);
    MPI_Type_free_keyval(&type_key);
}

/* Programs keep copies of a keyval, and free each. */
static void test_freed_twice(void)
{
    int key, copy, is_set;
    void *value;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    copy = key;
    MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)5L);
    EXPECT_ERROR(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    EXPECT(key, MPI_KEYVAL_INVALID);
    key = copy;
    EXPECT_ERROR(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    EXPECT(key, MPI_KEYVAL_INVALID);
    EXPECT_ERROR(MPI_Comm_get_attr(MPI_COMM_SELF, copy, &value, &is_set), MPI_SUCCESS);
    EXPECT(is_set ? (long)value : 0, 5);
    EXPECT_ERROR(MPI_Comm_delete_attr(MPI_COMM_SELF, copy), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Comm_free_keyval(&copy), MPI_ERR_KEYVAL);
}

static int note_type_delete(MPI_Datatype type, int keyval, void *value, void *extra_state)
{
    (void)type;
    (void)keyval;
    (void)extra_state;
    deleted[deletions++] = (long)value;
    return MPI_SUCCESS;
}

static void test_types(void)
{
    int key, is_set = 0;
    void *value = NULL;
    MPI_Datatype pair, copy;
    deletions = 0;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, note_type_delete, &key, NULL);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_set_attr(pair, key, (void *)5L);
    MPI_Type_dup(pair, &copy);
    MPI_Type_free(&pair);
    MPI_Type_get_attr(copy, key, &value, &is_set);
    EXPECT(is_set ? (long)value : 0, 5);
    MPI_Type_free(&copy);
    EXPECT(deletions, 2);
    MPI_Type_free_keyval(&key);
}

/* Called by MPI_Finalize, the last one set first, while MPI still works (section 11.2.4). */
static int at_end(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    static long previous = 3;
    int is_over, got;
    (void)keyval;
    (void)extra_state;
    MPI_Finalized(&is_over);
    EXPECT(is_over, 0);
    MPI_Comm_compare(comm, MPI_COMM_SELF, &got);
    EXPECT(got, MPI_IDENT);
    EXPECT((long)value, --previous);
    deletions++;
    return MPI_SUCCESS;
}

static void set_for_the_end(void)
{
    for (long i = 0; i < 3; i++) {
        int key;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)i);
        MPI_Comm_free_keyval(&key);
    }
}

int main(void)
{
    int granted;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &granted);
    expect_begin();
    rank = expect_rank;
    size = expect_size;
    test_order();
    test_ready_made();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_refusals();
    test_predefined();
    test_freed_twice();
    test_deleting_what_is_not_set();
    test_errors();
    test_types();
    deletions = 0;
    set_for_the_end();
    MPI_Finalize();
    EXPECT(deletions, 3);
    return expect_failures != 0;
}
