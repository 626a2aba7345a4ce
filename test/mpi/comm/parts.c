/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of some ranks: split, split_type, create, create_group. */
#include "../expect.h"

#include <limits.h>
#include <stdlib.h>

static int rank, size;

/* All members of `comm` agree on the sum of their ranks in MPI_COMM_WORLD. */
static void check_sum(MPI_Comm comm, int expected)
{
    int sum = -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum, expected);
}

static int sum_of(int first, int step)
{
    int sum = 0;
    for (int i = first; i < size; i += step)
        sum += i;
    return sum;
}

static void test_colors(void)
{
    MPI_Comm part;
    int got, members = (size - rank % 3 + 2) / 3;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &part);
    MPI_Comm_size(part, &got);
    EXPECT(got, members);
    MPI_Comm_rank(part, &got);
    EXPECT(got, members - 1 - rank / 3);
    check_sum(part, sum_of(rank % 3, 3));
    MPI_Comm_free(&part);
}

static void test_equal_keys(void)
{
    MPI_Comm all;
    int got;
    MPI_Comm_split(MPI_COMM_WORLD, 5, 0, &all);
    MPI_Comm_compare(MPI_COMM_WORLD, all, &got);
    EXPECT(got, MPI_CONGRUENT);
    MPI_Comm_free(&all);
    MPI_Comm_split(MPI_COMM_WORLD, INT_MAX, rank % 2 == 0 ? INT_MAX : INT_MIN, &all);
    MPI_Comm_rank(all, &got);
    EXPECT(got, rank % 2 == 1 ? rank / 2 : size / 2 + rank / 2);
    MPI_Comm_free(&all);
}

static void test_undefined(void)
{
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, 0, &part);
    EXPECT(part == MPI_COMM_NULL, rank % 2 == 1);
    if (part != MPI_COMM_NULL) {
        check_sum(part, sum_of(0, 2));
        MPI_Comm_free(&part);
    }
}

/* Contexts that were reserved and not needed are given back: many splits, always with the same
 * leader. */
static void test_many_splits(void)
{
    for (int i = 0; i < 200; i++) {
        MPI_Comm part;
        MPI_Comm_split(MPI_COMM_WORLD, rank < i % size + 1 ? 0 : 1, 0, &part);
        if (i % 50 == 0)
            check_sum(part,
                      rank <= i % size ? (i % size) * (i % size + 1) / 2 : sum_of(i % size + 1, 1));
        MPI_Comm_free(&part);
    }
}

static void test_types(void)
{
    const int here = expect_ranks_here(size), before = expect_ranks_here(rank) - 1;
    MPI_Comm part;
    MPI_Info info;
    int got;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part);
    MPI_Comm_size(part, &got);
    EXPECT(got, here);
    MPI_Comm_free(&part);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part);
    EXPECT(part != MPI_COMM_NULL || here == size, 1);
    if (part != MPI_COMM_NULL) { /* on one host it depends on where the ranks are bound */
        MPI_Comm_size(part, &got);
        EXPECT(here == size ? got < size : got == here, 1);
        MPI_Comm_free(&part);
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, -rank, info, &part);
    MPI_Comm_rank(part, &got);
    EXPECT(got, here - 1 - before);
    MPI_Comm_free(&part);
    MPI_Info_free(&info);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &part);
    EXPECT(part, MPI_COMM_NULL);
}

/* Two groups at once, even and odd ranks; each rank names its own. */
static void test_create(void)
{
    MPI_Group world, own;
    MPI_Comm part, none;
    int got, range[1][3] = {{rank % 2, size - 1, 2}};
    if (range[0][0] > range[0][1])
        range[0][1] = range[0][0];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &own);
    MPI_Comm_create(MPI_COMM_WORLD, own, &part);
    MPI_Comm_rank(part, &got);
    EXPECT(got, rank / 2);
    check_sum(part, sum_of(rank % 2, 2));
    MPI_Comm_free(&part);
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &none);
    EXPECT(none, MPI_COMM_NULL);
    MPI_Group_free(&own);
    MPI_Group_free(&world);
}

/* Only the members call: the last `count` ranks, in reverse, for each count. */
static void test_create_group(void)
{
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int count = 1; count <= size; count++) {
        int got, range[1][3] = {{size - 1, size - count, -1}};
        MPI_Group own;
        MPI_Comm part;
        if (rank < size - count)
            continue;
        MPI_Group_range_incl(world, 1, range, &own);
        MPI_Comm_create_group(MPI_COMM_WORLD, own, INT_MAX - count, &part);
        MPI_Comm_rank(part, &got);
        EXPECT(got, size - 1 - rank);
        check_sum(part, sum_of(size - count, 1));
        MPI_Comm_free(&part);
        MPI_Group_free(&own);
    }
    MPI_Group_free(&world);
}

/* A split of a split of a communicator in reverse order. */
static void test_nesting(void)
{
    MPI_Comm turned, half, quarter;
    int got, half_rank;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    MPI_Comm_split(turned, rank % 2, 0, &half);
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_split(half, half_rank % 2, 0, &quarter);
    MPI_Comm_free(&turned);
    MPI_Comm_free(&half);
    MPI_Comm_rank(quarter, &got);
    EXPECT(got, half_rank / 2);
    int smallest, in = half_rank;
    MPI_Allreduce(&in, &smallest, 1, MPI_INT, MPI_MIN, quarter);
    EXPECT(smallest, half_rank % 2);
    MPI_Comm_free(&quarter);
}

static void test_errors(void)
{
    MPI_Comm out = MPI_COMM_NULL, world;
    MPI_Group group;
    int got;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Comm_split(world, -7, 0, &out), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Comm_split_type(world, 12, 0, MPI_INFO_NULL, &out), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Comm_create_group(world, MPI_GROUP_EMPTY, -1, &out), MPI_ERR_TAG);
    EXPECT_ERROR(MPI_Comm_create(world, MPI_GROUP_NULL, &out), MPI_ERR_GROUP);
    EXPECT_ERROR(MPI_Comm_remote_size(world, &got), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Comm_remote_group(world, &group), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Comm_dup(MPI_COMM_NULL, &out), MPI_ERR_COMM);
    EXPECT(out, MPI_COMM_NULL);
    if (size > 1) {
        MPI_Comm alone = MPI_COMM_SELF;
        MPI_Comm_group(world, &group);
        EXPECT_ERROR(MPI_Comm_create(alone, group, &out), MPI_ERR_GROUP);
        MPI_Group_free(&group);
    }
    MPI_Comm_free(&world);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_begin();
    rank = expect_rank;
    size = expect_size;
    test_colors();
    test_equal_keys();
    test_undefined();
    test_many_splits();
    test_types();
    test_create();
    test_create_group();
    test_nesting();
    test_errors();
    return expect_end();
}
