/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types whose data overlap: they can be sent, packed and received no element of, and are refused
 * for receives of all kinds. Types whose blocks only interleave are taken.
 */
#include "expect.h"

enum { ROOM = 4096 };

static char data[ROOM], back[ROOM];

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype make_indexed(void)
{
    static const int lengths[] = {2, 1, 2}, places[] = {4, 0, 5}; /* 4 5, 0, 5 6 */
    MPI_Datatype type;
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    return committed(type);
}

static MPI_Datatype make_repeated(void)
{
    MPI_Datatype type;
    MPI_Type_vector(3, 1, 0, MPI_INT, &type);
    return committed(type);
}

static MPI_Datatype make_close(void)
{
    MPI_Datatype type;
    MPI_Type_create_hvector(3, 2, 7, MPI_INT, &type);
    return committed(type);
}

/* Rows of 3 that begin every 8 bytes, planes of them: the second plane lies on the first. */
static MPI_Datatype make_planes(void)
{
    MPI_Datatype row, type;
    MPI_Type_create_hvector(4, 1, 8, MPI_INT, &row);
    MPI_Type_create_hvector(3, 1, 16, row, &type);
    MPI_Type_free(&row);
    return committed(type);
}

static MPI_Datatype make_union(void)
{
    static const int lengths[] = {1, 1};
    static const MPI_Aint places[] = {0, 4};
    static const MPI_Datatype members[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype type;
    MPI_Type_create_struct(2, lengths, places, (MPI_Datatype *)members, &type);
    return committed(type);
}

/* A 4 x 4 matrix of int, transposed: columns that begin 4 bytes apart. */
static MPI_Datatype make_transposed(void)
{
    MPI_Datatype column, narrow, type;
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, 4, &narrow);
    MPI_Type_contiguous(4, narrow, &type);
    MPI_Type_free(&column);
    MPI_Type_free(&narrow);
    return committed(type);
}

/* 2 and 3 and 1 ints in a struct, the first last in memory. */
static MPI_Datatype make_mixed(void)
{
    static const int lengths[] = {2, 3, 1}, places[] = {9, 0, 4};
    MPI_Datatype type;
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    return committed(type);
}

/* The class of the error of a receive from nobody, blocking or not, of `count` elements. */
static void expect_receives(int count, MPI_Datatype type, int expected)
{
    MPI_Request request;
    EXPECT_ERROR(MPI_Recv(back, count, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 expected);
    int error = MPI_Irecv(back, count, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    EXPECT_ERROR(error, expected);
    if (error == MPI_SUCCESS)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    error = MPI_Recv_init(back, count, type, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    EXPECT_ERROR(error, expected);
    if (error == MPI_SUCCESS)
        MPI_Request_free(&request);
    EXPECT_ERROR(MPI_Sendrecv(data, 0, MPI_INT, MPI_PROC_NULL, 1, back, count, type, MPI_PROC_NULL,
                              1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 expected);
}

static void expect_collectives(MPI_Datatype type, int expected)
{
    int size, counts[1] = {1}, displs[1] = {0};
    MPI_Type_size(type, &size);
    EXPECT_ERROR(MPI_Allgather(data, size, MPI_BYTE, back, 1, type, MPI_COMM_SELF), expected);
    EXPECT_ERROR(MPI_Alltoall(data, size, MPI_BYTE, back, 1, type, MPI_COMM_SELF), expected);
    EXPECT_ERROR(MPI_Gatherv(data, size, MPI_BYTE, back, counts, displs, type, 0, MPI_COMM_SELF),
                 expected);
    EXPECT_ERROR(MPI_Alltoallw(data, &size, displs, &(MPI_Datatype){MPI_BYTE}, back, counts, displs,
                               &type, MPI_COMM_SELF),
                 expected);
}

/* All of it may be sent: to this rank itself, as bytes. */
static void expect_sent(MPI_Datatype type)
{
    int size, position = 0;
    MPI_Type_size(type, &size);
    EXPECT(MPI_Sendrecv(data, 1, type, 0, 2, back, size, MPI_BYTE, 0, 2, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE),
           MPI_SUCCESS);
    EXPECT(MPI_Pack(data, 1, type, back, ROOM, &position, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT(position, size);
}

int main(int argc, char **argv)
{
    MPI_Datatype (*const overlapping[])(void) = {make_indexed, make_repeated, make_close,
                                                 make_planes, make_union};
    MPI_Datatype (*const sound[])(void) = {make_transposed, make_mixed};
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5; i++) {
        MPI_Datatype type = overlapping[i]();
        expect_receives(1, type, MPI_ERR_TYPE);
        expect_receives(0, type, MPI_SUCCESS);
        expect_collectives(type, MPI_ERR_TYPE);
        expect_sent(type);
        MPI_Type_free(&type);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Datatype type = sound[i]();
        expect_receives(1, type, MPI_SUCCESS);
        expect_collectives(type, MPI_SUCCESS);
        expect_sent(type);
        MPI_Type_free(&type);
    }
    return expect_end();
}
