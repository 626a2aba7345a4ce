/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/nodes.h"

#include "runtime/process.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "mpi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 6 };

static int hosts[RANKS], asked;

static int tell_hosts(int *node_of)
{
    asked++;
    memcpy(node_of, hosts, sizeof(hosts));
    return MPI_SUCCESS;
}

static int tell_nothing(int *node_of)
{
    (void)node_of;
    return weft_fail(MPI_ERR_OTHER, "nobody knows");
}

static weft_wireup_t wireup = {.find_nodes = tell_hosts};

static void hosts_are_numbered_by_their_first_rank(void **unused)
{
    static const int given[RANKS] = {4, 4, 2, 4, 0, 2}, expected[RANKS] = {0, 0, 1, 0, 2, 1};
    (void)unused;
    memcpy(hosts, given, sizeof(hosts));
    asked = 0;
    assert_int_equal(weft_nodes_open(), MPI_SUCCESS);
    assert_int_equal(weft_nodes_open(), MPI_SUCCESS);
    assert_int_equal(asked, 1);
    assert_int_equal(weft_nodes_count(), 3);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(weft_node_of(rank), expected[rank]);
    assert_int_equal(weft_node_first(1), 2);
    assert_int_equal(weft_node_last(0), 3);
    assert_int_equal(weft_node_last(1), 5);
    weft_nodes_close();
}

static void it_fails_where_the_launcher_tells_nothing(void **unused)
{
    (void)unused;
    wireup.find_nodes = tell_nothing;
    assert_int_equal(weft_nodes_open(), MPI_ERR_OTHER);
    wireup.find_nodes = tell_hosts;
    assert_int_equal(weft_nodes_open(), MPI_SUCCESS);
    weft_nodes_close();
}

static void one_host_is_not_asked_for(void **unused)
{
    (void)unused;
    asked = 0;
    weft_world.local_size = RANKS;
    assert_true(weft_nodes_is_one());
    assert_int_equal(weft_nodes_open(), MPI_SUCCESS);
    assert_int_equal(asked, 0);
    assert_int_equal(weft_nodes_count(), 1);
    assert_int_equal(weft_node_last(0), RANKS - 1);
    weft_world.local_size = 2;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_numbered_by_their_first_rank),
        cmocka_unit_test(it_fails_where_the_launcher_tells_nothing),
        cmocka_unit_test(one_host_is_not_asked_for),
    };
    weft_world.size = RANKS;
    weft_world.local_size = 2;
    weft_world.wireup = &wireup;
    if (weft_processes_open(RANKS, 0) != MPI_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
