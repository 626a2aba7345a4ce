/* SPDX-License-Identifier: BSD-3-Clause */
/* WEFT_NODES, by which one host stands for several. */
#include "runtime/nodes.h"

#include "runtime/process.h"
#include "runtime/world.h"
#include "base/config.h"
#include "mpi.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 6 };

/* The bytes that weft_nodes_open() logs. */
static size_t open_and_count(void)
{
    char log[4096];
    int ends[2], own = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    dup2(ends[1], STDERR_FILENO);
    int err = weft_nodes_open();
    dup2(own, STDERR_FILENO);
    ssize_t bytes = read(ends[0], log, sizeof(log));
    close(ends[0]);
    close(ends[1]);
    close(own);
    assert_int_equal(err, MPI_SUCCESS);
    return bytes < 0 ? 0 : (size_t)bytes;
}

static void the_list_is_repeated(void **unused)
{
    static const int expected[RANKS] = {0, 0, 1, 0, 0, 1};
    (void)unused;
    weft_config.NODES = "4,4,2";
    assert_int_equal(open_and_count(), 0);
    assert_int_equal(weft_nodes_count(), 2);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(weft_node_of(rank), expected[rank]);
    weft_nodes_close();
}

/* Each communicator opens the nodes, so it is said once, and then all ranks are on one host. */
static void a_wrong_list_is_told_once(void **unused)
{
    (void)unused;
    weft_config.NODES = "0,1,17";
    assert_int_not_equal(open_and_count(), 0);
    assert_int_equal(open_and_count(), 0);
    assert_int_equal(weft_nodes_count(), 1);
    assert_int_equal(weft_node_first(0), 0);
    assert_int_equal(weft_node_last(0), RANKS - 1);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(weft_node_of(rank), 0);
    weft_nodes_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_list_is_repeated),
                                       cmocka_unit_test(a_wrong_list_is_told_once)};
    weft_config_read();
    weft_world.size = weft_world.local_size = RANKS;
    if (weft_processes_open(RANKS, 0) != MPI_SUCCESS)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
