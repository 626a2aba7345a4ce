/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of matching (MPI 5.0 section 3.5): wildcards, ten thousand receives and messages that
 * wait and are matched in another order. */
#include "../expect.h"

#include <stdlib.h>

enum { MANY = 10000 };

static int values[MANY];
static MPI_Request requests[MANY];

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Messages of one sender with one tag arrive in order, whichever way they are received. */
static void test_order(void)
{
    if (expect_rank == 0) {
        for (int i = 0; i < 300; i++)
            MPI_Send(&i, 1, MPI_INT, expect_size - 1, i % 3, MPI_COMM_WORLD);
    }
    if (expect_rank == expect_size - 1) {
        int next[3] = {0, 1, 2};
        for (int i = 0; i < 300; i++) {
            int got;
            MPI_Status status;
            int tag = i % 7 == 0 ? MPI_ANY_TAG : -1;
            if (tag != MPI_ANY_TAG) {
                MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
                tag = status.MPI_TAG;
            }
            MPI_Recv(&got, 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
            EXPECT(got, next[status.MPI_TAG]);
            next[status.MPI_TAG] += 3;
            EXPECT(status.MPI_SOURCE, 0);
        }
    }
}

/* Receives are posted first, half of them with wildcards; the messages come in reverse. */
static void test_posted(void)
{
    int last = expect_size - 1;
    if (expect_rank == last) {
        for (int i = 0; i < MANY; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                      &requests[i]);
    }
    barrier();
    if (expect_rank == 0) {
        for (int i = MANY; i-- > 0;) {
            int value = i * 3;
            MPI_Request request;
            MPI_Isend(&value, 1, MPI_INT, last, i, MPI_COMM_WORLD, &request);
            if (last != 0)
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            else
                MPI_Request_free(&request);
        }
    }
    if (expect_rank == last) {
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++)
            EXPECT(values[i], i * 3);
    }
}

/* Messages come first; they are received in reverse, with and without wildcards. */
static void test_unexpected(void)
{
    int last = expect_size - 1;
    if (expect_rank == 0) {
        for (int i = 0; i < MANY; i++) {
            values[i] = i;
            MPI_Isend(&values[i], 1, MPI_INT, last, i, MPI_COMM_WORLD, &requests[i]);
        }
    }
    if (expect_rank == last) {
        MPI_Status status;
        MPI_Probe(0, MANY - 1, MPI_COMM_WORLD, &status); /* all messages have arrived */
        for (int i = MANY; i-- > 0;) {
            int got;
            MPI_Recv(&got, 1, MPI_INT, i % 2 ? 0 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &status);
            EXPECT(got, i);
            EXPECT(status.MPI_TAG, i);
        }
    }
    if (expect_rank == 0)
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

/* Receives from any source, of messages from every rank. */
static void test_any_source(void)
{
    if (expect_rank == 0) {
        long long sum = 0;
        for (int i = 1; i < expect_size; i++) {
            int got;
            MPI_Status status;
            MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            EXPECT(got, status.MPI_SOURCE * 10);
            EXPECT(status.MPI_TAG, status.MPI_SOURCE + 100);
            sum += got;
        }
        EXPECT(sum, 10LL * expect_size * (expect_size - 1) / 2);
    } else {
        int value = expect_rank * 10;
        MPI_Send(&value, 1, MPI_INT, 0, expect_rank + 100, MPI_COMM_WORLD);
    }
}

enum { LONG_ROUNDS = 40, LONG_MOST = 100000 };

static int long_bytes(int round)
{
    static const int sizes[] = {3000, 8, 16000, LONG_MOST, 40000, 2048};
    return sizes[round % 6];
}

static char long_data[LONG_MOST];

/* The first byte of a message and its last one differ with the sender and the round. */
static char long_first(int source, int round)
{
    return (char)(source + round);
}

static char long_last(int source, int round)
{
    return (char)(source - round - 1);
}

/* Long messages of all ranks at once, received one after the other, or looked for before. Those
 * that come while a receive ends stay where they are, and none is lost. */
static void test_long_from_any(void)
{
    int next[64] = {0};
    if (expect_rank != 0) {
        for (int round = 0; round < LONG_ROUNDS; round++) {
            long_data[0] = long_first(expect_rank, round);
            long_data[long_bytes(round) - 1] = long_last(expect_rank, round);
            MPI_Send(long_data, long_bytes(round), MPI_CHAR, 0, round, MPI_COMM_WORLD);
        }
        return;
    }
    for (int i = 0; i < LONG_ROUNDS * (expect_size - 1); i++) {
        MPI_Status status;
        int flag = i % 3 != 0, bytes;
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        MPI_Recv(long_data, LONG_MOST, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
        int source = status.MPI_SOURCE, round = next[source]++;
        MPI_Get_count(&status, MPI_CHAR, &bytes);
        EXPECT(status.MPI_TAG, round);
        EXPECT(bytes, long_bytes(round));
        EXPECT(long_data[0], long_first(source, round));
        EXPECT(long_data[bytes - 1], long_last(source, round));
    }
    for (int source = 1; source < expect_size; source++)
        EXPECT(next[source], LONG_ROUNDS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    test_posted();
    barrier();
    test_unexpected();
    barrier();
    if (expect_size > 1)
        test_order();
    barrier();
    test_any_source();
    barrier();
    test_long_from_any();
    return expect_end();
}
