/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributed arrays: each rank sends its share, rank 0 receives the whole; contents and errors. */
#include "expect.h"

#include <stdlib.h>

enum { ROWS = 23, COLUMNS = 31 };

/* Rank 0 receives the shares of all ranks, each as what it is. */
static void collect(MPI_Datatype (*make)(int rank), const int *mine, int *all)
{
    MPI_Datatype share = make(expect_rank);
    MPI_Request request;
    MPI_Isend(mine, 1, share, 0, 0, MPI_COMM_WORLD, &request);
    for (int rank = 0; expect_rank == 0 && rank < expect_size; rank++) {
        MPI_Datatype theirs = make(rank);
        MPI_Recv(all, 1, theirs, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&theirs);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&share);
}

static MPI_Datatype rows_and_columns(int rank)
{
    const int sizes[] = {ROWS, COLUMNS}, forms[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC},
              arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, processes[] = {1, expect_size};
    MPI_Datatype type;
    MPI_Type_create_darray(expect_size, rank, 2, sizes, forms, arguments, processes, MPI_ORDER_C,
                           MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype blocks_of_rows(int rank)
{
    const MPI_Count sizes[] = {COLUMNS, ROWS};
    const int forms[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
              arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG},
              processes[] = {1, expect_size};
    MPI_Datatype type;
    MPI_Type_create_darray_c(expect_size, rank, 2, sizes, forms, arguments, processes,
                             MPI_ORDER_FORTRAN, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

static void test_shares(MPI_Datatype (*make)(int rank))
{
    int mine[ROWS * COLUMNS], all[ROWS * COLUMNS];
    memset(all, 0, sizeof(all));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        mine[i] = i + 1;
    collect(make, mine, all);
    for (int i = 0; expect_rank == 0 && i < ROWS * COLUMNS; i++)
        EXPECT(all[i], i + 1);
}

static const int sizes[] = {8, 9, 10}, dargs[] = {4, 2, MPI_DISTRIBUTE_DFLT_DARG},
                 psizes[] = {2, 3, 1},
                 forms[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
static const MPI_Count wide_sizes[] = {8, 9, 10};

static void test_contents(void)
{
    const int expected[] = {6, 4, 3, 8, 9, 10, 17, 18, 16, 4, 2, 19, 2, 3, 1, 0xC};
    int integers[16], counts[3], combiner;
    MPI_Aint addresses[1];
    MPI_Datatype type, inner[1];
    MPI_Type_create_darray(6, 4, 3, sizes, forms, dargs, psizes, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &combiner);
    EXPECT(counts[0], 16);
    EXPECT(counts[1], 0);
    EXPECT(counts[2], 1);
    EXPECT(combiner, MPI_COMBINER_DARRAY);
    MPI_Type_get_contents(type, 16, 0, 1, integers, addresses, inner);
    for (int i = 0; i < 16; i++)
        EXPECT(integers[i], expected[i]);
    EXPECT(inner[0] == MPI_DOUBLE, 1);
    MPI_Type_free(&type);
}

static void test_wide_contents(void)
{
    const int expected[] = {6, 4, 3, 17, 18, 16, 4, 2, 19, 2, 3, 1, 0xF};
    int integers[13], narrow[3], combiner;
    MPI_Count counts[4], large[3];
    MPI_Datatype type, row, inner[1];
    MPI_Type_contiguous(3, MPI_CHAR, &row);
    MPI_Type_create_darray_c(6, 4, 3, wide_sizes, forms, dargs, psizes, MPI_ORDER_FORTRAN, row,
                             &type);
    EXPECT_ERROR(MPI_Type_get_envelope(type, &narrow[0], &narrow[1], &narrow[2], &combiner),
                 MPI_ERR_TYPE);
    MPI_Type_get_envelope_c(type, &counts[0], &counts[1], &counts[2], &counts[3], &combiner);
    EXPECT(counts[0], 13);
    EXPECT(counts[1], 0);
    EXPECT(counts[2], 3);
    EXPECT(counts[3], 1);
    EXPECT(combiner, MPI_COMBINER_DARRAY);
    MPI_Type_get_contents_c(type, 13, 0, 3, 1, integers, NULL, large, inner);
    for (int i = 0; i < 13; i++)
        EXPECT(integers[i], expected[i]);
    for (int i = 0; i < 3; i++)
        EXPECT(large[i], wide_sizes[i]);
    EXPECT(inner[0] == row, 1);
    MPI_Type_free(&inner[0]);
    MPI_Type_free(&row);
    MPI_Type_free(&type);
}

static void test_errors(void)
{
    const int O = MPI_ORDER_C;
    MPI_Datatype type, out = MPI_DATATYPE_NULL, null = MPI_DATATYPE_NULL;
    EXPECT_ERROR(MPI_Type_create_darray(6, 6, 3, sizes, forms, dargs, psizes, O, MPI_INT, &out),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_darray(5, 0, 3, sizes, forms, dargs, psizes, O, MPI_INT, &out),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_darray(6, 0, -1, sizes, forms, dargs, psizes, O, MPI_INT, &out),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_darray(6, 0, 3, NULL, forms, dargs, psizes, O, MPI_INT, &out),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_darray(6, 0, 3, sizes, NULL, dargs, psizes, O, MPI_INT, &out),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_darray(6, 0, 3, sizes, forms, NULL, psizes, O, MPI_INT, &out),
                 MPI_ERR_ARG);
    EXPECT_ERROR(
        MPI_Type_create_darray_c(6, 0, 3, wide_sizes, forms, dargs, NULL, O, MPI_INT, &out),
        MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_darray(6, 0, 3, sizes, forms, dargs, psizes, 7, MPI_INT, &out),
                 MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Type_create_darray(6, 0, 3, sizes, forms, dargs, psizes, O, null, &out),
                 MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Type_create_darray(6, 0, 3, sizes, forms, dargs, psizes, O, MPI_INT, NULL),
                 MPI_ERR_ARG);
    EXPECT(out == MPI_DATATYPE_NULL, 1);
    MPI_Type_create_darray(6, 5, 3, sizes, forms, dargs, psizes, O, MPI_INT, &type);
    EXPECT_ERROR(MPI_Send(sizes, 1, type, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_begin();
    test_shares(rows_and_columns);
    test_shares(blocks_of_rows);
    test_contents();
    test_wide_contents();
    test_errors();
    return expect_end();
}
