/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of MPI_COMM_WORLD's ranks: made, compared, translated; bad ranks and ranges. */
#include "../expect.h"

#include <stdlib.h>

static int rank, size;
static MPI_Group world;

static int *all_ranks(int step)
{
    int *ranks = malloc((size_t)size * sizeof(int));
    for (int i = 0; i < size; i++)
        ranks[i] = step > 0 ? i : size - 1 - i;
    return ranks;
}

static void test_orders(void)
{
    int *reversed = all_ranks(-1), *back = malloc((size_t)size * sizeof(int));
    MPI_Group turned, again;
    int got;
    MPI_Group_incl(world, size, reversed, &turned);
    MPI_Group_rank(turned, &got);
    EXPECT(got, size - 1 - rank);
    MPI_Group_compare(world, turned, &got);
    EXPECT(got, size == 1 ? MPI_IDENT : MPI_SIMILAR);
    MPI_Group_translate_ranks(world, size, reversed, turned, back);
    for (int i = 0; i < size; i++)
        EXPECT(back[i], i);
    MPI_Group_incl(turned, size, reversed, &again);
    MPI_Group_compare(world, again, &got);
    EXPECT(got, MPI_IDENT);
    int proc_null = MPI_PROC_NULL;
    MPI_Group_translate_ranks(world, 1, &proc_null, turned, &got);
    EXPECT(got, MPI_PROC_NULL);
    MPI_Group_free(&again);
    MPI_Group_free(&turned);
    EXPECT(turned, MPI_GROUP_NULL);
    free(reversed);
    free(back);
}

/* The even ranks and the first half. */
static void test_sets(void)
{
    MPI_Group even, half, both, either, rest;
    int even_range[1][3] = {{0, size - 1, 2}}, half_range[1][3] = {{size / 2, 0, -1}};
    int count, half_size = size / 2 + 1, got;
    MPI_Group_range_incl(world, 1, even_range, &even);
    MPI_Group_range_incl(world, 1, half_range, &half);
    MPI_Group_size(half, &count);
    EXPECT(count, half_size);
    MPI_Group_rank(half, &got);
    EXPECT(got, rank <= size / 2 ? size / 2 - rank : MPI_UNDEFINED);
    MPI_Group_intersection(even, half, &both);
    MPI_Group_size(both, &count);
    EXPECT(count, size / 2 / 2 + 1);
    MPI_Group_union(even, half, &either);
    MPI_Group_size(either, &count);
    EXPECT(count, (size + 1) / 2 + half_size - (size / 2 / 2 + 1));
    MPI_Group_difference(world, even, &rest);
    MPI_Group_size(rest, &count);
    EXPECT(count, size / 2);
    if (size == 1)
        EXPECT(rest, MPI_GROUP_EMPTY);
    MPI_Group_free(&even);
    MPI_Group_free(&half);
    MPI_Group_free(&both);
    MPI_Group_free(&either);
    MPI_Group_free(&rest);
}

static void test_exclusion(void)
{
    MPI_Group rest, range_rest, same;
    int got, first = 0, all[1][3] = {{0, size - 1, 1}};
    MPI_Group_excl(world, 1, &first, &rest);
    MPI_Group_size(rest, &got);
    EXPECT(got, size - 1);
    MPI_Group_rank(rest, &got);
    EXPECT(got, rank == 0 ? MPI_UNDEFINED : rank - 1);
    MPI_Group_range_excl(world, 1, all, &range_rest);
    EXPECT(range_rest, MPI_GROUP_EMPTY);
    MPI_Group_excl(world, 0, NULL, &same);
    MPI_Group_compare(world, same, &got);
    EXPECT(got, MPI_IDENT);
    MPI_Group_compare(world, MPI_GROUP_EMPTY, &got);
    EXPECT(got, MPI_UNEQUAL);
    MPI_Group_free(&rest);
    MPI_Group_free(&range_rest);
    MPI_Group_free(&same);
}

static void test_errors(void)
{
    MPI_Group out = MPI_GROUP_NULL;
    int twice[2] = {0, 0}, outside = size, got;
    int no_stride[1][3] = {{0, 0, 0}}, away[1][3] = {{1, 0, 1}}, beyond[1][3] = {{0, size, 1}};
    EXPECT_ERROR(MPI_Group_incl(world, 2, twice, &out), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Group_incl(world, 1, &outside, &out), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Group_excl(world, -1, twice, &out), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Group_range_incl(world, 1, no_stride, &out), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Group_range_incl(world, 1, away, &out), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Group_range_excl(world, 1, beyond, &out), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Group_translate_ranks(world, 1, &outside, world, &got), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Group_size(MPI_GROUP_NULL, &got), MPI_ERR_GROUP);
    EXPECT(out, MPI_GROUP_NULL);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    expect_begin();
    rank = expect_rank;
    size = expect_size;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    test_orders();
    test_sets();
    test_exclusion();
    test_errors();
    MPI_Group_free(&world);
    return expect_end();
}
