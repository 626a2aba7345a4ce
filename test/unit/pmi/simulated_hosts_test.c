/* SPDX-License-Identifier: BSD-3-Clause */
/* WEFT_SIMULATE_HOSTS: which ranks share a host. */
#include "pmi/bootstrap_private.h"

#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MOST = 16 };

static weft_pmi_job_t job_of(int rank, int size)
{
    return (weft_pmi_job_t){
        .rank = rank, .size = size, .local_size = size, .hostname = "real", .id = "weft-1"};
}

/* The hosts of `size` ranks, as each of them has them. */
static void expect_hosts(const char *text, int size, const int expected[])
{
    int node_of[RANKS_MOST];
    weft_config.SIMULATE_HOSTS = text;
    for (int rank = 0; rank < size; rank++) {
        weft_pmi_job_t job = job_of(rank, size);
        int here = 0;
        assert_int_equal(weft_pmi_simulate_hosts(&job), MPI_SUCCESS);
        assert_true(weft_pmi_simulates());
        weft_pmi_simulated_nodes(size, node_of);
        assert_memory_equal(node_of, expected, (size_t)size * sizeof(int));
        for (int other = 0; other < size; other++) {
            if (expected[other] != expected[rank])
                continue;
            assert_int_equal(job.local_ranks[here], other);
            if (other == rank)
                assert_int_equal(job.local_rank, here);
            here++;
        }
        assert_int_equal(job.local_size, here);
        assert_string_equal(job.machine, "real");
        assert_int_equal(strncmp(job.id, "weft-1.h", 8), 0);
        weft_pmi_end_simulation();
        assert_false(weft_pmi_simulates());
    }
}

static void a_number_makes_blocks(void **state)
{
    (void)state;
    expect_hosts("1", 3, (int[]){0, 0, 0});
    expect_hosts("2", 7, (int[]){0, 0, 0, 0, 1, 1, 1});
    expect_hosts("3", 7, (int[]){0, 0, 0, 1, 1, 2, 2});
    expect_hosts("5", 5, (int[]){0, 1, 2, 3, 4});
    expect_hosts("4", 16, (int[]){0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
}

static void a_list_is_repeated(void **state)
{
    (void)state;
    expect_hosts("0,1", 5, (int[]){0, 1, 0, 1, 0});
    expect_hosts("4,4,2", 7, (int[]){4, 4, 2, 4, 4, 2, 4});
    expect_hosts("0,0,1,2,2", 3, (int[]){0, 0, 1});
}

static void refuses_what_is_no_host(void **state)
{
    static const char *const texts[] = {"0", "8", "-1", "0,7", "0,-1", "x", ",", "0;1", "0,,1"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        weft_pmi_job_t job = job_of(0, 7);
        weft_config.SIMULATE_HOSTS = texts[i];
        if (weft_pmi_simulate_hosts(&job) != MPI_ERR_OTHER)
            fail_msg("WEFT_SIMULATE_HOSTS=%s was taken", texts[i]);
        assert_non_null(strstr(weft_fail_text(), texts[i]));
        assert_false(weft_pmi_simulates());
    }
    weft_pmi_job_t job = job_of(0, 7);
    job.local_size = 4;
    weft_config.SIMULATE_HOSTS = "2";
    assert_int_equal(weft_pmi_simulate_hosts(&job), MPI_ERR_OTHER);
    weft_config.SIMULATE_HOSTS = "";
    assert_int_equal(weft_pmi_simulate_hosts(&job), MPI_SUCCESS);
    assert_int_equal(job.local_size, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_makes_blocks),
        cmocka_unit_test(a_list_is_repeated),
        cmocka_unit_test(refuses_what_is_no_host),
    };
    weft_config_read();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
