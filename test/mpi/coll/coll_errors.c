/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wrong arguments of collectives are reported as errors of the right class, by both forms, before
 * anything is sent: the next collective works.
 */
#include "expect.h"

enum { MOST_RANKS = 16 };

static int rank, size;
static int in[4 * MOST_RANKS], out[4 * MOST_RANKS];
static int counts[MOST_RANKS], displs[MOST_RANKS];
static MPI_Datatype types[MOST_RANKS];
static const MPI_Comm world = MPI_COMM_WORLD;

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

/* Checks the class of a blocking call and of its nonblocking and persistent forms, which must not
 * change the request. */
#define FAILS(expected, blocking, nonblocking, ...)                                                \
    do {                                                                                           \
        MPI_Request request = (MPI_Request)&request;                                               \
        EXPECT(class_of(blocking(__VA_ARGS__)), expected);                                         \
        EXPECT(class_of(nonblocking(__VA_ARGS__, &request)), expected);                            \
        EXPECT(class_of(blocking##_init(__VA_ARGS__, MPI_INFO_NULL, &request)), expected);         \
        EXPECT(request == (MPI_Request)&request, 1);                                               \
    } while (0)

static void test_communicators(void)
{
    MPI_Request unused;
    EXPECT(class_of(MPI_Barrier(MPI_COMM_NULL)), MPI_ERR_COMM);
    FAILS(MPI_ERR_COMM, MPI_Bcast, MPI_Ibcast, in, 1, MPI_INT, 0, MPI_COMM_NULL);
    FAILS(MPI_ERR_COMM, MPI_Allreduce, MPI_Iallreduce, in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL);
    EXPECT(class_of(MPI_Ibarrier(world, NULL)), MPI_ERR_ARG);
    EXPECT(class_of(MPI_Barrier_init(world, MPI_INFO_NULL, NULL)), MPI_ERR_ARG);
    EXPECT(class_of(MPI_Barrier_init(world, (MPI_Info)&world, &unused)), MPI_ERR_INFO);
}

static void test_roots(void)
{
    FAILS(MPI_ERR_ROOT, MPI_Bcast, MPI_Ibcast, in, 1, MPI_INT, size, world);
    FAILS(MPI_ERR_ROOT, MPI_Bcast, MPI_Ibcast, in, 1, MPI_INT, -1, world);
    FAILS(MPI_ERR_ROOT, MPI_Gather, MPI_Igather, in, 1, MPI_INT, out, 1, MPI_INT, size, world);
    FAILS(MPI_ERR_ROOT, MPI_Scatter, MPI_Iscatter, in, 1, MPI_INT, out, 1, MPI_INT, MPI_ROOT,
          world);
    FAILS(MPI_ERR_ROOT, MPI_Reduce, MPI_Ireduce, in, out, 1, MPI_INT, MPI_SUM, MPI_PROC_NULL,
          world);
}

static void test_counts(void)
{
    FAILS(MPI_ERR_COUNT, MPI_Bcast, MPI_Ibcast, in, -1, MPI_INT, 0, world);
    FAILS(MPI_ERR_COUNT, MPI_Gather, MPI_Igather, in, 1, MPI_INT, out, -1, MPI_INT, rank, world);
    FAILS(MPI_ERR_COUNT, MPI_Allgather, MPI_Iallgather, in, -1, MPI_INT, out, 1, MPI_INT, world);
    FAILS(MPI_ERR_COUNT, MPI_Reduce, MPI_Ireduce, in, out, -1, MPI_INT, MPI_SUM, 0, world);
    FAILS(MPI_ERR_COUNT, MPI_Exscan, MPI_Iexscan, in, out, -1, MPI_INT, MPI_SUM, world);
    FAILS(MPI_ERR_COUNT, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, out, -1, MPI_INT,
          MPI_SUM, world);
    counts[size - 1] = -1;
    FAILS(MPI_ERR_COUNT, MPI_Gatherv, MPI_Igatherv, in, 1, MPI_INT, out, counts, displs, MPI_INT,
          rank, world);
    FAILS(MPI_ERR_COUNT, MPI_Scatterv, MPI_Iscatterv, in, counts, displs, MPI_INT, out, 1, MPI_INT,
          rank, world);
    FAILS(MPI_ERR_COUNT, MPI_Allgatherv, MPI_Iallgatherv, in, 1, MPI_INT, out, counts, displs,
          MPI_INT, world);
    FAILS(MPI_ERR_COUNT, MPI_Alltoallv, MPI_Ialltoallv, in, counts, displs, MPI_INT, out, counts,
          displs, MPI_INT, world);
    FAILS(MPI_ERR_COUNT, MPI_Alltoallw, MPI_Ialltoallw, in, counts, displs, types, out, counts,
          displs, types, world);
    FAILS(MPI_ERR_COUNT, MPI_Reduce_scatter, MPI_Ireduce_scatter, in, out, counts, MPI_INT, MPI_SUM,
          world);
    counts[size - 1] = 1;
    FAILS(MPI_ERR_ARG, MPI_Allgatherv, MPI_Iallgatherv, in, 1, MPI_INT, out, NULL, displs, MPI_INT,
          world);
    FAILS(MPI_ERR_ARG, MPI_Allgatherv, MPI_Iallgatherv, in, 1, MPI_INT, out, counts, NULL, MPI_INT,
          world);
    FAILS(MPI_ERR_ARG, MPI_Reduce_scatter, MPI_Ireduce_scatter, in, out, NULL, MPI_INT, MPI_SUM,
          world);
}

static void test_types(void)
{
    MPI_Datatype fresh;
    MPI_Type_contiguous(2, MPI_INT, &fresh);
    FAILS(MPI_ERR_TYPE, MPI_Bcast, MPI_Ibcast, in, 1, MPI_DATATYPE_NULL, 0, world);
    FAILS(MPI_ERR_TYPE, MPI_Bcast, MPI_Ibcast, in, 1, fresh, 0, world);
    FAILS(MPI_ERR_TYPE, MPI_Alltoall, MPI_Ialltoall, in, 1, MPI_INT, out, 1, fresh, world);
    FAILS(MPI_ERR_TYPE, MPI_Allreduce, MPI_Iallreduce, in, out, 1, fresh, MPI_SUM, world);
    types[0] = MPI_DATATYPE_NULL;
    FAILS(MPI_ERR_TYPE, MPI_Alltoallw, MPI_Ialltoallw, in, counts, displs, types, out, counts,
          displs, types, world);
    types[0] = MPI_INT;
    MPI_Type_free(&fresh);
}

static void test_operations(void)
{
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    FAILS(MPI_ERR_OP, MPI_Allreduce, MPI_Iallreduce, in, out, 1, MPI_INT, MPI_OP_NULL, world);
    FAILS(MPI_ERR_OP, MPI_Allreduce, MPI_Iallreduce, in, out, 1, MPI_DOUBLE, MPI_BAND, world);
    FAILS(MPI_ERR_OP, MPI_Reduce, MPI_Ireduce, in, out, 1, pair, MPI_SUM, 0, world);
    FAILS(MPI_ERR_OP, MPI_Scan, MPI_Iscan, in, out, 1, MPI_INT, MPI_REPLACE, world);
    FAILS(MPI_ERR_OP, MPI_Scan, MPI_Iscan, in, out, 1, MPI_INT, MPI_MINLOC, world);
    MPI_Type_free(&pair);
}

static void test_buffers(void)
{
    int other = (rank + 1) % size;
    FAILS(MPI_ERR_BUFFER, MPI_Bcast, MPI_Ibcast, NULL, 1, MPI_INT, 0, world);
    if (rank > 0) { /* rank 0 receives nothing */
        FAILS(MPI_ERR_BUFFER, MPI_Exscan, MPI_Iexscan, in, NULL, 1, MPI_INT, MPI_SUM, world);
        FAILS(MPI_ERR_BUFFER, MPI_Exscan, MPI_Iexscan, in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM,
              world);
        FAILS(MPI_ERR_BUFFER, MPI_Exscan, MPI_Iexscan, in, in, 1, MPI_INT, MPI_SUM, world);
    }
    FAILS(MPI_ERR_BUFFER, MPI_Bcast, MPI_Ibcast, MPI_IN_PLACE, 1, MPI_INT, 0, world);
    FAILS(MPI_ERR_BUFFER, MPI_Gather, MPI_Igather, in, 1, MPI_INT, NULL, 1, MPI_INT, rank, world);
    FAILS(MPI_ERR_BUFFER, MPI_Gather, MPI_Igather, in, 1, MPI_INT, in, 1, MPI_INT, rank, world);
    FAILS(MPI_ERR_BUFFER, MPI_Allgather, MPI_Iallgather, in, 1, MPI_INT, in, 1, MPI_INT, world);
    FAILS(MPI_ERR_BUFFER, MPI_Alltoall, MPI_Ialltoall, in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT,
          world);
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce, MPI_Iallreduce, in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM,
          world);
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce, MPI_Iallreduce, in, in, 1, MPI_INT, MPI_SUM, world);
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce, MPI_Iallreduce, MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM,
          world);
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce, MPI_Iallreduce, NULL, out, 1, MPI_INT, MPI_SUM, world);
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_scatter, MPI_Ireduce_scatter, in, in, counts, MPI_INT, MPI_SUM,
          world);
    FAILS(MPI_ERR_TRUNCATE, MPI_Allgather, MPI_Iallgather, in, 2, MPI_INT, out, 1, MPI_INT, world);
    FAILS(MPI_ERR_TRUNCATE, MPI_Scatter, MPI_Iscatter, in, 2, MPI_INT, out, 1, MPI_INT, rank,
          world);
    if (size == 1)
        return;
    FAILS(MPI_ERR_BUFFER, MPI_Gather, MPI_Igather, MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, other,
          world);
    FAILS(MPI_ERR_BUFFER, MPI_Scatter, MPI_Iscatter, in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT,
          other, world);
    FAILS(MPI_ERR_BUFFER, MPI_Reduce, MPI_Ireduce, MPI_IN_PLACE, out, 1, MPI_INT, MPI_SUM, other,
          world);
}

/* Arguments that look wrong but are right. */
static void test_what_is_allowed(void)
{
    MPI_Datatype at_in;
    MPI_Aint address;
    int one = 1;
    MPI_Get_address(in, &address);
    MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &at_in);
    MPI_Type_commit(&at_in);
    in[0] = rank;
    EXPECT(MPI_Bcast(MPI_BOTTOM, 1, at_in, size - 1, world), MPI_SUCCESS);
    EXPECT(in[0], size - 1);
    EXPECT(MPI_Bcast(NULL, 0, MPI_INT, 0, world), MPI_SUCCESS);
    EXPECT(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, world), MPI_SUCCESS);
    EXPECT(MPI_Allreduce(in, in, 0, MPI_INT, MPI_SUM, world), MPI_SUCCESS);
    EXPECT(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, world), MPI_SUCCESS);
    MPI_Type_free(&at_in);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    rank = expect_rank;
    size = expect_size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = i;
        types[i] = MPI_INT;
    }
    test_communicators();
    test_roots();
    test_counts();
    test_types();
    test_operations();
    test_buffers();
    test_what_is_allowed();
    int one = 1, all = 0;
    EXPECT(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, world), MPI_SUCCESS);
    EXPECT(all, size);
    return expect_end();
}
