/* SPDX-License-Identifier: BSD-3-Clause */
/* Long moves of two ranks, so many that they take both routes, the wall and messages, and change
 * over in the midst of others: each call has its own data, one rank may be ahead, other collectives
 * and messages come between, and communicators come and go. Argument: the rounds. */
#include "../expect.h"

#include <stdlib.h>

enum { LONG = 70000, LONGER = 600000, MANY_CALLS = 600, CALLS = 120 };

static MPI_Comm pair;
static int rank;
static unsigned char *out, *in;

static unsigned char value_of(int call, int from, int to)
{
    return (unsigned char)(call * 7 + from * 3 + to);
}

static void fill(unsigned char *at, int bytes, unsigned char value)
{
    memset(at, 0xee, (size_t)bytes);
    at[0] = at[bytes / 2] = at[bytes - 1] = value;
}

static void expect_block(const unsigned char *at, int bytes, unsigned char value)
{
    EXPECT(at[0], value);
    EXPECT(at[1], 0xee);
    EXPECT(at[bytes / 2], value);
    EXPECT(at[bytes - 1], value);
}

static void test_bcast(int call, int bytes)
{
    int root = call % 7 == 0;
    if (rank == root)
        fill(out, bytes, value_of(call, root, 0));
    MPI_Bcast(rank == root ? out : in, bytes, MPI_BYTE, root, pair);
    if (rank != root)
        expect_block(in, bytes, value_of(call, root, 0));
}

static void test_gather(int call, int bytes)
{
    int root = call % 2;
    unsigned char *own = rank == root ? in + (size_t)rank * (size_t)bytes : out;
    fill(own, bytes, value_of(call, rank, 0));
    MPI_Gather(rank == root ? MPI_IN_PLACE : out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, pair);
    for (int i = 0; rank == root && i < 2; i++)
        expect_block(in + (size_t)i * (size_t)bytes, bytes, value_of(call, i, 0));
}

static void test_scatter(int call, int bytes)
{
    int root = call % 3 == 0;
    for (int i = 0; rank == root && i < 2; i++)
        fill(out + (size_t)i * (size_t)bytes, bytes, value_of(call, root, i));
    MPI_Scatter(out, bytes, MPI_BYTE, in, bytes / 4, MPI_INT, root, pair);
    expect_block(in, bytes, value_of(call, root, rank));
}

static void test_allgather(int call, int bytes)
{
    fill(out, bytes, value_of(call, rank, 0));
    MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, pair);
    for (int i = 0; i < 2; i++)
        expect_block(in + (size_t)i * (size_t)bytes, bytes, value_of(call, i, 0));
}

static void test_alltoall(int call, int bytes)
{
    for (int i = 0; i < 2; i++)
        fill(in + (size_t)i * (size_t)bytes, bytes, value_of(call, rank, i));
    MPI_Alltoall(MPI_IN_PLACE, bytes, MPI_BYTE, in, bytes, MPI_BYTE, pair);
    for (int i = 0; i < 2; i++)
        expect_block(in + (size_t)i * (size_t)bytes, bytes, value_of(call, i, rank));
}

/* Sums of two unsigned bytes, which may be in place. */
static void test_allreduce(int call, int bytes)
{
    unsigned char *from = call % 2 == 0 ? out : in;
    fill(from, bytes, value_of(call, rank, 0));
    memset(&from[1], 0x11, 2);
    MPI_Allreduce(call % 2 == 0 ? out : MPI_IN_PLACE, in, bytes, MPI_UNSIGNED_CHAR, MPI_SUM, pair);
    unsigned char sum = (unsigned char)(value_of(call, 0, 0) + value_of(call, 1, 0));
    EXPECT(in[0], sum);
    EXPECT(in[1], 0x22);
    EXPECT(in[3], (unsigned char)(2 * 0xee));
    EXPECT(in[bytes / 2], sum);
    EXPECT(in[bytes - 1], sum);
}

typedef void (*move_fn)(int call, int bytes);
static const move_fn moves[] = {test_bcast,     test_gather,   test_scatter,
                                test_allgather, test_alltoall, test_allreduce};
enum { MOVES = sizeof(moves) / sizeof(moves[0]) };

static void test_each(void)
{
    for (int i = 0; i < MOVES; i++) {
        for (int call = 0; call < MANY_CALLS; call++)
            moves[i](call, LONG);
        for (int call = 0; call < CALLS; call++)
            moves[i](call, LONGER);
    }
}

/* A small call between two moves, of any kind. */
static void come_between(int call)
{
    int mine = call, sum = 0, got = -1;
    MPI_Request request;
    if (call % 5 == 0)
        MPI_Barrier(pair);
    if (call % 3 == 0) {
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, pair);
        EXPECT(sum, 2 * call);
    }
    if (call % 11 == 0) {
        MPI_Ibcast(&mine, 1, MPI_INT, 0, pair, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, 3, &got, 1, MPI_INT, 1 - rank, 3, pair,
                 MPI_STATUS_IGNORE);
    EXPECT(got, call);
}

static void test_mixed(void)
{
    for (int call = 0; call < MANY_CALLS; call++) {
        moves[call % MOVES](call, call % 4 == 0 ? LONGER : LONG);
        if (call % 2 == 0)
            come_between(call);
    }
}

/* A wall that was used before shows nothing of that. */
static void test_communicators(int first)
{
    MPI_Comm whole = pair;
    for (int i = 0; i < 20; i++) {
        MPI_Comm_split(whole, 0, i % 2 == 0 ? rank : -rank, &pair);
        MPI_Comm_rank(pair, &rank);
        for (int call = 0; call < CALLS; call++)
            moves[(first + i) % MOVES](call, LONGER);
        MPI_Comm_free(&pair);
        MPI_Comm_rank(whole, &rank);
    }
    pair = whole;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Comm_split(MPI_COMM_WORLD, expect_rank / 2, -expect_rank, &pair);
    int size;
    MPI_Comm_size(pair, &size);
    MPI_Comm_rank(pair, &rank);
    out = malloc(2 * LONGER);
    in = malloc(2 * LONGER);
    memset(out, 0xee, 2 * LONGER);
    for (int round = 0; size == 2 && round < rounds; round++) {
        test_each();
        test_mixed();
        test_communicators(round);
    }
    free(out);
    free(in);
    MPI_Comm_free(&pair);
    return expect_end();
}
