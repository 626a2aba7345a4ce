/* SPDX-License-Identifier: BSD-3-Clause */
#include "pmi/bootstrap_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
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

/* Forget every launcher, then set NAME=VALUE, ... up to NULL. */
static void surround(const char *first, ...)
{
    static const char *const names[] = {"WEFT_RANK_PROCESS",
                                        "WEFT_NO_SERVER",
                                        "PMIX_NAMESPACE",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "PMI_FD",
                                        "PMI_PORT",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_ID",
                                        "SLURM_NTASKS",
                                        "SLURM_JOB_ID",
                                        "RANK",
                                        "WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "WEFT_NOTES"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    va_list rest;
    va_start(rest, first);
    for (const char *text = first; text != NULL; text = va_arg(rest, const char *)) {
        char name[64];
        size_t length = strcspn(text, "=");
        memcpy(name, text, length);
        name[length] = '\0';
        setenv(name, text + length + 1, 1);
    }
    va_end(rest);
}

static void expect_server(bool expected)
{
    bool has_server = !expected;
    assert_int_equal(weft_pmi_find_server(&has_server), MPI_SUCCESS);
    assert_int_equal(has_server, expected);
}

static void expect_refusal(const char *text)
{
    bool has_server;
    assert_int_equal(weft_pmi_find_server(&has_server), MPI_ERR_OTHER);
    if (strstr(weft_fail_text(), text) == NULL)
        fail_msg("\"%s\", expected \"%s\"", weft_fail_text(), text);
}

static void takes_a_server(void **state)
{
    (void)state;
    surround("PMIX_NAMESPACE=job", "PMIX_RANK=2", NULL);
    expect_server(true);
    surround("PMIX_NAMESPACE=job", "PMIX_RANK=2", "SLURM_PROCID=2", "SLURM_STEP_ID=0",
             "SLURM_STEP_NUM_TASKS=4", NULL);
    expect_server(true);
}

static void takes_a_shell_for_a_singleton(void **state)
{
    (void)state;
    surround(NULL);
    expect_server(false);
    surround("SLURM_JOB_ID=7", "SLURM_NTASKS=4", NULL); /* salloc */
    expect_server(false);
    surround("SLURM_JOB_ID=7", "SLURM_NTASKS=4", "SLURM_PROCID=0", NULL); /* sbatch */
    expect_server(false);
    surround("SLURM_PROCID=0", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=1", NULL);
    expect_server(false);
    surround("PMI_RANK=0", "PMI_SIZE=1", "PMI_FD=5", NULL);
    expect_server(false);
}

static void refuses_to_be_one_of_many_singletons(void **state)
{
    (void)state;
    surround("SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4", NULL);
    expect_refusal("srun --mpi=pmix");
    surround("SLURM_PROCID=1", "SLURM_STEP_ID=0", "SLURM_NTASKS=2", NULL);
    expect_refusal("task 1 of 2");
    surround("PMI_RANK=1", "PMI_SIZE=3", "PMI_FD=5", NULL);
    expect_refusal("PMI-1");
    surround("PMI_PORT=host:5", NULL);
    expect_refusal("PMI_SIZE is not set");
    surround("WEFT_NO_SERVER=the reason", NULL);
    expect_refusal("no PMIx server for MPI programs: the reason");
}

static void expect_ranks(bool expected, int rank, int size)
{
    weft_environment_ranks_t ranks;
    bool is_there = !expected;
    assert_int_equal(weft_pmi_read_ranks(&ranks, &is_there), MPI_SUCCESS);
    assert_int_equal(is_there, expected);
    if (expected) {
        assert_int_equal(ranks.rank, rank);
        assert_int_equal(ranks.size, size);
    }
}

static void expect_bad_ranks(const char *text)
{
    weft_environment_ranks_t ranks;
    bool is_there;
    assert_int_equal(weft_pmi_read_ranks(&ranks, &is_there), MPI_ERR_OTHER);
    if (strstr(weft_fail_text(), text) == NULL)
        fail_msg("\"%s\", expected \"%s\"", weft_fail_text(), text);
}

static void reads_ranks_of_the_environment(void **state)
{
    (void)state;
    surround(NULL);
    expect_ranks(false, 0, 0);
    surround("MASTER_ADDR=host", "MASTER_PORT=1", NULL);
    expect_ranks(false, 0, 0);
    surround("RANK=2", "WORLD_SIZE=5", NULL);
    expect_ranks(true, 2, 5);
    surround("WORLD_SIZE=1", NULL);
    expect_ranks(false, 0, 0);
    /* of a launcher, which has its own way */
    surround("RANK=2", "WORLD_SIZE=5", "PMIX_NAMESPACE=job", NULL);
    expect_ranks(false, 0, 0);
    surround("RANK=2", "WEFT_NOTES=3:4:job", NULL);
    expect_ranks(false, 0, 0);
    surround("RANK=2", "WORLD_SIZE=5", "PMIX_NAMESPACE=job", "PMIX_RANK=2", NULL);
    expect_server(true);
    weft_config.BOOTSTRAP = "environment"; /* unless it is named */
    expect_ranks(true, 2, 5);
    weft_config.BOOTSTRAP = "";
    /* Ranks that need no launcher are not refused because of one. */
    surround("RANK=1", "WORLD_SIZE=2", "SLURM_PROCID=1", "SLURM_STEP_ID=0",
             "SLURM_STEP_NUM_TASKS=4", NULL);
    expect_server(false);
}

static void refuses_half_of_the_ranks_variables(void **state)
{
    (void)state;
    surround("RANK=0", NULL);
    expect_bad_ranks("RANK is set, but WORLD_SIZE is not");
    surround("WORLD_SIZE=2", NULL);
    expect_bad_ranks("WORLD_SIZE is set, but RANK is not");
    surround("RANK=2", "WORLD_SIZE=2", NULL);
    expect_bad_ranks("RANK is 2; expected is 0 to 1, as WORLD_SIZE is 2");
    surround("RANK=-1", "WORLD_SIZE=2", NULL);
    expect_bad_ranks("RANK is -1");
    surround("RANK=1x", "WORLD_SIZE=2", NULL);
    expect_bad_ranks("RANK is 1x");
    surround("RANK=0", "WORLD_SIZE=0", NULL);
    expect_bad_ranks("WORLD_SIZE is 0; expected is 1 or more");
    surround("RANK=0", "WORLD_SIZE=99999999999", NULL);
    expect_bad_ranks("WORLD_SIZE is 99999999999");
}

/* A program that a rank runs inherits the rank's variables, but is another process. */
static void refuses_to_join_twice(void **state)
{
    char own[64];
    (void)state;
    surround("PMIX_NAMESPACE=a/job", "PMIX_RANK=3", "WEFT_RANK_PROCESS=a/job/3/1", NULL);
    expect_refusal("started by rank 3 (process 1) of a running MPI program");
    snprintf(own, sizeof(own), "WEFT_RANK_PROCESS=job/3/%d", (int)getpid());
    surround("PMIX_NAMESPACE=job", "PMIX_RANK=3", own, NULL);
    expect_server(true);
    surround("PMIX_NAMESPACE=job", "PMIX_RANK=3", "WEFT_RANK_PROCESS=other/3/1", NULL);
    expect_server(true);
    surround("PMIX_NAMESPACE=job", "PMIX_RANK=3", "WEFT_RANK_PROCESS=job/33/1", NULL);
    expect_server(true);
    surround("PMIX_NAMESPACE=job", "PMIX_RANK=3", "WEFT_RANK_PROCESS=job/3/", NULL);
    expect_server(true);
    surround("WEFT_RANK_PROCESS=job/3/1", NULL);
    expect_server(false);
    surround("PMIX_NAMESPACE=job", "PMIX_RANK=3", NULL);
    weft_pmi_mark_process("job", 3);
    expect_server(true);
    assert_non_null(getenv("WEFT_RANK_PROCESS"));
    weft_pmi_unmark_process();
    assert_null(getenv("WEFT_RANK_PROCESS"));
}

static void is_its_own_peer(void **state)
{
    weft_pmi_job_t job;
    char *blob;
    size_t bytes;
    (void)state;
    surround(NULL);
    assert_int_equal(weft_pmi_open(&job), MPI_SUCCESS);
    assert_true(job.is_singleton);
    assert_int_equal(job.size, 1);
    assert_int_equal(job.local_size, 1);
    assert_int_equal(job.local_ranks[0], 0);
    assert_int_equal(weft_pmi_put("a", "old", 4), MPI_SUCCESS);
    assert_int_equal(weft_pmi_put("a", "newer", 6), MPI_SUCCESS);
    assert_int_equal(weft_pmi_put("b", NULL, 0), MPI_SUCCESS);
    assert_int_equal(weft_pmi_fence(), MPI_SUCCESS);
    assert_int_equal(weft_pmi_fence_ranks(job.local_ranks, 1), MPI_SUCCESS);
    assert_int_equal(weft_pmi_get(0, "a", (void **)&blob, &bytes), MPI_SUCCESS);
    assert_int_equal(bytes, 6);
    assert_string_equal(blob, "newer");
    weft_free(blob);
    assert_int_equal(weft_pmi_get(0, "b", (void **)&blob, &bytes), MPI_SUCCESS);
    assert_int_equal(bytes, 0);
    weft_free(blob);
    assert_int_equal(weft_pmi_get(0, "c", (void **)&blob, &bytes), MPI_ERR_OTHER);
    assert_int_equal(weft_pmi_close(), MPI_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_a_server),
        cmocka_unit_test(takes_a_shell_for_a_singleton),
        cmocka_unit_test(refuses_to_be_one_of_many_singletons),
        cmocka_unit_test(refuses_to_join_twice),
        cmocka_unit_test(reads_ranks_of_the_environment),
        cmocka_unit_test(refuses_half_of_the_ranks_variables),
        cmocka_unit_test(is_its_own_peer),
    };
    weft_config_read();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
