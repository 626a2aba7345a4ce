/* SPDX-License-Identifier: BSD-3-Clause */
/* Info objects, before, during and after MPI; MPI_INFO_ENV. */
#include "../expect.h"

#include <stdlib.h>

static void check_key(MPI_Info info, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL];
    int bytes = sizeof(value), is_there;
    MPI_Info_get_string(info, key, &bytes, value, &is_there);
    EXPECT_TEXT(is_there ? value : "missing", expected);
    if (is_there)
        EXPECT(bytes, strlen(expected) + 1);
}

static void test_entries(void)
{
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY];
    int count;
    MPI_Info_create(&info);
    for (int i = 0; i < 20; i++) {
        char name[16], value[8];
        snprintf(name, sizeof(name), "key%d", i);
        snprintf(value, sizeof(value), "%d", i * i);
        MPI_Info_set(info, name, value);
    }
    MPI_Info_set(info, "key3", "three");
    MPI_Info_delete(info, "key0");
    MPI_Info_dup(info, &copy);
    MPI_Info_free(&info);
    EXPECT(info, MPI_INFO_NULL);
    MPI_Info_get_nkeys(copy, &count);
    EXPECT(count, 19);
    MPI_Info_get_nthkey(copy, 2, key);
    EXPECT_TEXT(key, "key3");
    check_key(copy, "key3", "three");
    check_key(copy, "key19", "361");
    check_key(copy, "key0", "missing");
    MPI_Info_free(&copy);
}

static void test_lengths(void)
{
    MPI_Info info;
    char value[8] = "???????";
    int bytes = 4, length, is_there;
    MPI_Info_create(&info);
    MPI_Info_set(info, "name", "weaver");
    MPI_Info_get_string(info, "name", &bytes, value, &is_there);
    EXPECT_TEXT(value, "wea");
    EXPECT(bytes, 7);
    bytes = 0;
    MPI_Info_get_string(info, "name", &bytes, NULL, &is_there);
    EXPECT(bytes, 7);
    MPI_Info_get_valuelen(info, "name", &length, &is_there);
    EXPECT(is_there ? length : -1, 6);
    MPI_Info_get(info, "name", 2, value, &is_there);
    EXPECT_TEXT(value, "we");
    MPI_Info_get(info, "none", 2, value, &is_there);
    EXPECT(is_there, 0);
    EXPECT_TEXT(value, "we");
    MPI_Info_free(&info);
}

static void test_errors(void)
{
    MPI_Info info, null = MPI_INFO_NULL, env = MPI_INFO_ENV;
    char longer[MPI_MAX_INFO_VAL + 1];
    int got;
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    MPI_Info_create(&info);
    EXPECT_ERROR(MPI_Info_set(info, longer, "1"), MPI_ERR_INFO_KEY);
    EXPECT_ERROR(MPI_Info_set(info, "", "1"), MPI_ERR_INFO_KEY);
    EXPECT_ERROR(MPI_Info_set(info, NULL, "1"), MPI_ERR_INFO_KEY);
    EXPECT_ERROR(MPI_Info_set(info, "key", longer), MPI_ERR_INFO_VALUE);
    EXPECT_ERROR(MPI_Info_set(info, "key", NULL), MPI_ERR_INFO_VALUE);
    EXPECT_ERROR(MPI_Info_delete(info, "key"), MPI_ERR_INFO_NOKEY);
    EXPECT_ERROR(MPI_Info_get_nthkey(info, 0, longer), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Info_get_nkeys(MPI_INFO_NULL, &got), MPI_ERR_INFO);
    EXPECT_ERROR(MPI_Info_free(&null), MPI_ERR_INFO);
    EXPECT_ERROR(MPI_Info_free(&env), MPI_ERR_INFO);
    EXPECT_ERROR(MPI_Info_set(MPI_INFO_ENV, "key", "1"), MPI_ERR_INFO);
    MPI_Info_free(&info);
}

static void test_environment(char *argv[])
{
    MPI_Info info;
    char size_text[16];
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(size_text, sizeof(size_text), "%d", size);
    check_key(MPI_INFO_ENV, "command", argv[0]);
    check_key(MPI_INFO_ENV, "argv", "one two");
    check_key(MPI_INFO_ENV, "maxprocs", size_text);
    check_key(MPI_INFO_ENV, "thread_level", "MPI_THREAD_FUNNELED");
    char *words[] = {"loom", "fast"};
    MPI_Info_create_env(2, words, &info);
    check_key(info, "command", "loom");
    check_key(info, "argv", "fast");
    MPI_Info_free(&info);
}

static void test_abi(void)
{
    MPI_Info info;
    int is_set, yes = 1, no = 0, got_yes = -1, got_no = -1;
    MPI_Abi_get_info(&info);
    check_key(info, "mpi_count_size", "8");
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_info(&info);
    EXPECT(info, MPI_INFO_NULL);
    MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set);
    EXPECT(is_set, 0);
    MPI_Abi_set_fortran_booleans(4, &yes, &no);
    MPI_Abi_get_fortran_booleans(4, &got_yes, &got_no, &is_set);
    EXPECT(is_set && got_yes == yes && got_no == no, 1);
    EXPECT_ERROR(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_integer_size", "3");
    EXPECT_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    MPI_Info_set(info, "mpi_integer_size", "4");
    EXPECT(MPI_Abi_set_fortran_info(info), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI);
    MPI_Info_free(&info);
    EXPECT(MPI_Abi_get_fortran_info(&info), MPI_SUCCESS);
    check_key(info, "mpi_integer_size", "4");
    MPI_Info_free(&info);
}

/* Every key of one, with the same value in the other. */
static void check_same(MPI_Info one, MPI_Info other)
{
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL + 1];
    int keys, other_keys, is_there;
    MPI_Info_get_nkeys(one, &keys);
    MPI_Info_get_nkeys(other, &other_keys);
    EXPECT(keys, other_keys);
    for (int i = 0; i < keys; i++) {
        MPI_Info_get_nthkey(one, i, key);
        MPI_Info_get(one, key, MPI_MAX_INFO_VAL, value, &is_there);
        check_key(other, key, value);
    }
}

/* Info objects of MPI_Info_create_env by the first MPI call of the program, and by later ones:
 * before, during and after MPI. */
static void test_created(int argc, char *argv[])
{
    static MPI_Info first = MPI_INFO_NULL;
    MPI_Info with_words, without;
    MPI_Info_create_env(argc, argv, &with_words);
    MPI_Info_create_env(0, NULL, &without);
    if (first == MPI_INFO_NULL)
        MPI_Info_dup(with_words, &first);
    check_same(first, with_words);
    check_same(first, without);
    MPI_Info_free(&with_words);
    MPI_Info_free(&without);
}

int main(int argc, char *argv[])
{
    int granted;
    test_entries();
    test_created(argc, argv);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_entries();
    test_lengths();
    test_errors();
    test_environment(argv);
    test_abi();
    test_created(argc, argv);
    MPI_Finalize();
    test_entries();
    test_created(argc, argv);
    return expect_failures != 0;
}
