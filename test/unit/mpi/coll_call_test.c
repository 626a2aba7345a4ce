/* SPDX-License-Identifier: BSD-3-Clause */
/* The checks of the collectives: which arguments pass, and the error texts for the others. */
#include "mpi/coll_call.h"

#include "base/fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const weft_comm_t comm = {.rank = 1, .size = 3};
static int data[16];

static void expect_failure(int err, int expected, const char *text)
{
    assert_int_equal(err, expected);
    assert_string_equal(weft_fail_text(), text);
    weft_fail_clear();
}

static int check(weft_coll_side_t side)
{
    return weft_check_side(&side, &weft_recv_names, &comm);
}

static void blocks(void **state)
{
    (void)state;
    assert_int_equal(check(weft_block(data, 4, MPI_INT)), MPI_SUCCESS);
    assert_int_equal(check(weft_block(NULL, 0, MPI_INT)), MPI_SUCCESS);
    expect_failure(check(weft_block(data, -2, MPI_INT)), MPI_ERR_COUNT,
                   "recvcount is -2, but must be at least 0");
    expect_failure(check(weft_block(data, 1, MPI_DATATYPE_NULL)), MPI_ERR_TYPE,
                   "recvtype is MPI_DATATYPE_NULL");
    expect_failure(check(weft_block(NULL, 1, MPI_INT)), MPI_ERR_BUFFER,
                   "recvbuf is NULL, but data are to be found there");
    expect_failure(check(weft_block(MPI_IN_PLACE, 1, MPI_INT)), MPI_ERR_BUFFER,
                   "recvbuf is MPI_IN_PLACE, which is not allowed here");
}

static void arrays(void **state)
{
    int counts[3] = {1, 0, 2}, bad_counts[3] = {1, 2, -1}, zeros[3] = {0}, displs[3] = {0, 1, 2};
    MPI_Count wide_counts[3] = {0, -7, 0};
    MPI_Aint wide_displs[3] = {0};
    (void)state;
    assert_int_equal(check(weft_slices(data, counts, displs, MPI_INT)), MPI_SUCCESS);
    assert_int_equal(check(weft_slices(NULL, zeros, displs, MPI_INT)), MPI_SUCCESS);
    expect_failure(check(weft_slices(data, bad_counts, displs, MPI_INT)), MPI_ERR_COUNT,
                   "recvcounts[2] is -1, but must be at least 0");
    expect_failure(check(weft_slices_c(data, wide_counts, wide_displs, MPI_INT)), MPI_ERR_COUNT,
                   "recvcounts[1] is -7, but must be at least 0");
    expect_failure(check(weft_slices(data, NULL, displs, MPI_INT)), MPI_ERR_ARG,
                   "recvcounts is NULL, but must have 3 entries");
    expect_failure(check(weft_slices(data, counts, NULL, MPI_INT)), MPI_ERR_ARG,
                   "displs is NULL, but must have 3 entries");
    expect_failure(check(weft_slices(data, zeros, displs, MPI_DATATYPE_NULL)), MPI_ERR_TYPE,
                   "recvtype is MPI_DATATYPE_NULL");
    expect_failure(check(weft_slices(NULL, counts, displs, MPI_INT)), MPI_ERR_BUFFER,
                   "recvbuf is NULL, but data are to be found there");
    expect_failure(check(weft_slices(MPI_IN_PLACE, counts, displs, MPI_INT)), MPI_ERR_BUFFER,
                   "recvbuf is MPI_IN_PLACE, which is not allowed here");
}

static void arrays_of_types(void **state)
{
    int counts[3] = {1, 0, 2}, displs[3] = {0, 4, 8};
    MPI_Datatype types[3] = {MPI_INT, MPI_DATATYPE_NULL, MPI_INT},
                 bad[3] = {MPI_INT, MPI_INT, MPI_DATATYPE_NULL};
    (void)state;
    assert_int_equal(check(weft_pieces(data, counts, displs, types)), MPI_SUCCESS);
    expect_failure(check(weft_pieces(data, counts, displs, bad)), MPI_ERR_TYPE,
                   "recvtypes[2] is MPI_DATATYPE_NULL");
    expect_failure(check(weft_pieces(data, counts, displs, NULL)), MPI_ERR_ARG,
                   "recvtypes is NULL, but must have 3 entries");
}

static void own_blocks(void **state)
{
    int counts[3] = {9, 2, 9}, displs[3] = {0, 2, 4};
    weft_coll_call_t same = {.send = weft_block(data, 2, MPI_INT),
                             .recv = weft_block(data + 4, 8, MPI_BYTE)};
    weft_coll_call_t other = {.send = weft_block(data, 2, MPI_INT),
                              .recv = weft_block(data + 4, 2, MPI_DOUBLE)};
    weft_coll_call_t alias = {.send = weft_block(data, 2, MPI_INT),
                              .recv = weft_block(data, 2, MPI_INT)};
    weft_coll_call_t apart = {.send = weft_block(data, 2, MPI_INT),
                              .recv = weft_slices(data, counts, displs, MPI_INT)};
    (void)state;
    assert_int_equal(weft_check_own_block(&same, &comm), MPI_SUCCESS);
    assert_int_equal(weft_check_own_block(&apart, &comm), MPI_SUCCESS);
    expect_failure(weft_check_own_block(&other, &comm), MPI_ERR_TRUNCATE,
                   "rank 1 sends itself 8 bytes, but receives 16 from itself");
    expect_failure(weft_check_own_block(&alias, &comm), MPI_ERR_BUFFER,
                   "sendbuf and recvbuf are the same; use MPI_IN_PLACE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks),
        cmocka_unit_test(arrays),
        cmocka_unit_test(arrays_of_types),
        cmocka_unit_test(own_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
