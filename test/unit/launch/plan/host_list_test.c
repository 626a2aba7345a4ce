/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/plan/host_list.h"

#include "base/fail.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* "a:2/4 b:0/0": names, slots, most */
static void describe(const wl_host_list_t *list, char out[512])
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < list->count; i++)
        used += (size_t)snprintf(out + used, 512 - used, "%s%s:%d/%d", i > 0 ? " " : "",
                                 list->hosts[i].name, list->hosts[i].slots, list->hosts[i].most);
}

static void expect_words(const char *words, const char *expected)
{
    wl_host_list_t list = {0};
    char text[512];
    if (wl_host_list_add(&list, words) != MPI_SUCCESS)
        fail_msg("%s: %s", words, weft_fail_text());
    describe(&list, text);
    assert_string_equal(text, expected);
    wl_host_list_release(&list);
}

static void expect_refusal(const char *words, const char *expected)
{
    wl_host_list_t list = {0};
    if (wl_host_list_add(&list, words) == MPI_SUCCESS)
        fail_msg("accepted: %s", words);
    if (strstr(weft_fail_text(), expected) == NULL)
        fail_msg("%s: \"%s\", expected \"%s\"", words, weft_fail_text(), expected);
    wl_host_list_release(&list);
}

static void reads_words(void **state)
{
    (void)state;
    expect_words("a", "a:0/0");
    expect_words("a:2,b,c:11", "a:2/0 b:0/0 c:11/0");
    expect_words("a,,b,", "a:0/0 b:0/0");
    expect_words("a,b,a", "a:2/0 b:0/0");
    expect_words("a:3,a:4,a", "a:8/0");
    expect_words("fd00::7", "fd00::7:0/0");
    expect_words("n[1-3]", "n1:0/0 n2:0/0 n3:0/0");
    expect_words("n[08-10,3]x:2,m", "n08x:2/0 n09x:2/0 n10x:2/0 n3x:2/0 m:0/0");
    expect_words("r[1-2]n[1-2]", "r1n1:0/0 r1n2:0/0 r2n1:0/0 r2n2:0/0");
    expect_words("n[0000000007]", "n0000000007:0/0");
    expect_words("n[999999999999999999]", "n999999999999999999:0/0");
    expect_words("a:1048576", "a:1048576/0");
}

static void refuses_words(void **state)
{
    (void)state;
    expect_refusal("a:x", "number of slots is \"x\"");
    expect_refusal("a:0", "number of slots is \"0\"");
    expect_refusal(":3", "without a host");
    expect_refusal("n[1-", "bracket");
    expect_refusal("n[2-1]", "brackets want numbers");
    expect_refusal("n[]", "brackets want numbers");
    expect_refusal("n[1-+2]", "brackets want numbers");
    expect_refusal("n[1][", "bracket");
    expect_refusal("n]", "bracket");
    expect_refusal("n][1]", "bracket");
    expect_refusal("-oProxyCommand=x", "no name of a host");
    expect_refusal("a;b", "no name of a host");
}

/* Numbers that make no sense are refused before there are hosts of them. */
static void refuses_absurd_numbers(void **state)
{
    (void)state;
    expect_refusal("n[9223372036854775807]",
                   "\"n[9223372036854775807]\" the brackets want numbers");
    expect_refusal("n[9223372036854775808]", "at most 18 digits");
    expect_refusal("n[00000000000000000000000000000000001]", "at most 18 digits");
    expect_refusal("n[0-999999999999999999]", "more than 1048576 hosts");
    expect_refusal("n[1-1048577]", "\"n[1-1048577]\" stands for more than 1048576 hosts");
    expect_refusal("n[1-1048576,7]", "more than 1048576 hosts");
    expect_refusal("n[1-9999][1-9999]", "more than 1048576 hosts");
    expect_refusal("n[1,1][1,1][1,1][1,1][1,1][1,1][1,1][1,1][1,1]",
                   "more than 8 pairs of brackets");
    expect_refusal("a:1048577", "number of slots is \"1048577\"; it wants 1 to 1048576");
    expect_refusal("a:2147483647,a", "it wants 1 to 1048576");
    expect_refusal("a:1048576,b,a", "a gets 1048577 slots in all; at most 1048576 are possible");
}

/* Quadratic work would take hours for so many. */
static void takes_many_hosts(void **state)
{
    enum { MANY = 999 * 999 };
    wl_host_list_t list = {0}, copy = {0}, slots = {0};
    (void)state;
    assert_int_equal(wl_host_list_add(&list, "a[1-999]b[1-999],a999b999"), MPI_SUCCESS);
    assert_int_equal(list.count, MANY);
    assert_string_equal(list.hosts[MANY - 2].name, "a999b998");
    assert_int_equal(list.hosts[MANY - 2].slots, 0);
    assert_int_equal(list.hosts[MANY - 1].slots, 2);
    assert_int_equal(wl_host_list_copy(&list, &copy), MPI_SUCCESS);
    assert_int_equal(copy.count, MANY);
    assert_int_equal(copy.hosts[MANY - 1].slots, 2);
    assert_int_equal(wl_host_list_add(&slots, "c,a[1-999]b[1-999]:5"), MPI_SUCCESS);
    wl_host_list_take_slots(&copy, &slots);
    assert_int_equal(copy.hosts[0].slots, 5);
    assert_int_equal(copy.hosts[MANY - 2].slots, 5);
    assert_int_equal(copy.hosts[MANY - 1].slots, 2);
    wl_host_list_release(&list);
    wl_host_list_release(&copy);
    wl_host_list_release(&slots);
}

static int add_file(const char *content, wl_host_list_t *list)
{
    char path[] = "/tmp/weft-hosts-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
    int err = wl_host_list_add_file(list, path);
    unlink(path);
    return err;
}

static void expect_file(const char *content, const char *expected)
{
    wl_host_list_t list = {0};
    char text[512];
    if (add_file(content, &list) != MPI_SUCCESS)
        fail_msg("%s: %s", content, weft_fail_text());
    describe(&list, text);
    assert_string_equal(text, expected);
    wl_host_list_release(&list);
}

static void expect_file_refusal(const char *content, const char *expected)
{
    wl_host_list_t list = {0};
    if (add_file(content, &list) == MPI_SUCCESS)
        fail_msg("accepted: %s", content);
    if (strstr(weft_fail_text(), expected) == NULL)
        fail_msg("%s: \"%s\", expected \"%s\"", content, weft_fail_text(), expected);
    wl_host_list_release(&list);
}

static void reads_files_of_both_dialects(void **state)
{
    (void)state;
    expect_file("# mine\n\na:2\n  b\r\nc:4 # more\n", "a:2/0 b:0/0 c:4/0");
    expect_file("a slots=2 max_slots=4\nb\tmax-slots=3  slots=1\nc", "a:2/4 b:1/3 c:0/0");
    expect_file("n[1-2] slots=3\n", "n1:3/0 n2:3/0");
    expect_file("a max_slots=2\na max_slots=3\n", "a:2/5");
}

static void refuses_absurd_numbers_in_files(void **state)
{
    (void)state;
    expect_file_refusal(
        "a slots=99999999999\n",
        "\"slots=99999999999\" the number of slots is \"99999999999\"; it wants 1 to");
    expect_file_refusal("a max_slots=2147483647\na max_slots=2\n", "it wants 1 to 1048576");
    expect_file_refusal("a max_slots=1048576\na max_slots=1\n",
                        "a gets 1048577 max_slots in all; at most 1048576 are possible");
}

/* "n[1000,1002,...]": 2000 nodes take more than 10000 letters, as in a large allocation of Slurm.
 */
static void write_long_word(char *out, size_t bytes)
{
    size_t used = (size_t)snprintf(out, bytes, "n[");
    for (int i = 0; i < 2000; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%d", i > 0 ? "," : "", 1000 + 2 * i);
    snprintf(out + used, bytes - used, "]:3");
}

static void expect_long_list(const wl_host_list_t *list)
{
    assert_int_equal(list->count, 2000);
    assert_string_equal(list->hosts[1999].name, "n4998");
    assert_int_equal(list->hosts[1999].slots, 3);
}

static void reads_words_of_any_length(void **state)
{
    char words[16384], path[] = "/tmp/weft-hosts-XXXXXX";
    wl_host_list_t list = {0}, file = {0};
    (void)state;
    write_long_word(words, sizeof(words));
    if (wl_host_list_add(&list, words) != MPI_SUCCESS)
        fail_msg("%s", weft_fail_text());
    expect_long_list(&list);
    int fd = mkstemp(path);
    assert_int_equal(write(fd, words, strlen(words)), strlen(words));
    close(fd);
    int err = wl_host_list_add_file(&file, path);
    unlink(path);
    if (err != MPI_SUCCESS)
        fail_msg("%s", weft_fail_text());
    expect_long_list(&file);
    wl_host_list_release(&list);
    wl_host_list_release(&file);
}

/* The text behind the 1023rd letter of a comment is not a host. */
static void reads_lines_of_any_length(void **state)
{
    char content[2048];
    (void)state;
    size_t used = (size_t)snprintf(content, sizeof(content), "a # ");
    memset(content + used, 'x', 1500);
    snprintf(content + used + 1500, sizeof(content) - used - 1500, "\nb\n");
    expect_file(content, "a:0/0 b:0/0");
}

static void takes_slots_from_a_file(void **state)
{
    wl_host_list_t list = {0}, file = {0};
    char text[512];
    (void)state;
    wl_host_list_add(&list, "b,c:1");
    wl_host_list_add(&file, "a:9,b:4,c:5");
    wl_host_list_take_slots(&list, &file);
    describe(&list, text);
    assert_string_equal(text, "b:4/0 c:1/0");
    wl_host_list_release(&list);
    wl_host_list_release(&file);
}

static void knows_this_host(void **state)
{
    char name[256] = "";
    (void)state;
    gethostname(name, sizeof(name) - 1);
    assert_true(wl_is_this_host("localhost"));
    assert_true(wl_is_this_host("127.0.0.1"));
    assert_true(wl_is_this_host(name));
    assert_false(wl_is_this_host("192.0.2.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_words),
        cmocka_unit_test(refuses_words),
        cmocka_unit_test(refuses_absurd_numbers),
        cmocka_unit_test(refuses_absurd_numbers_in_files),
        cmocka_unit_test(takes_many_hosts),
        cmocka_unit_test(reads_files_of_both_dialects),
        cmocka_unit_test(reads_words_of_any_length),
        cmocka_unit_test(reads_lines_of_any_length),
        cmocka_unit_test(takes_slots_from_a_file),
        cmocka_unit_test(knows_this_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
