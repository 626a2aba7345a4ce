/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages about as long as those that go unasked, in one packet or in several: received before and
 * after they come, probed, with derived types, cut off, and with other messages between them. Each
 * rank sends to the next around a ring, also to itself.
 */
#include "../expect.h"

#include <stdlib.h>

enum { MOST = 200 * 1024, ROUNDS = 3 };

static const int sizes[] = {16319, 16320, 16321, 16384, 16385, 32640, 32641,      49000,
                            65535, 65536, 65537, 65600, 80000, 99999, 128 * 1024, MOST};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int next, before, turn;
static unsigned char *out, *in[SIZES];
static MPI_Request receives[SIZES], sends[SIZES];

static unsigned char byte_of(int rank, int size_index, int at)
{
    return (unsigned char)(at * 7 + at / 251 + rank * 31 + size_index * 5 + turn * 3);
}

/* Messages of one turn have one buffer each; this is the one of size `i`. */
static unsigned char *fill(int i)
{
    unsigned char *bytes = out + (size_t)i * MOST;
    for (int at = 0; at < sizes[i]; at++)
        bytes[at] = byte_of(expect_rank, i, at);
    return bytes;
}

static void send_all(void)
{
    for (int i = 0; i < SIZES; i++)
        MPI_Isend(fill(i), sizes[i], MPI_BYTE, next, i, MPI_COMM_WORLD, &sends[i]);
}

static void expect_bytes(const unsigned char *bytes, int i, int count)
{
    int wrong = 0;
    for (int at = 0; at < count; at++)
        wrong += bytes[at] != byte_of(before, i, at);
    EXPECT(wrong, 0);
}

static void expect_status(const MPI_Status *status, int i)
{
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    EXPECT(count, sizes[i]);
    EXPECT(status->MPI_SOURCE, before);
    EXPECT(status->MPI_TAG, i);
}

static void expect_all(MPI_Status statuses[])
{
    for (int i = 0; i < SIZES; i++) {
        expect_status(&statuses[i], i);
        expect_bytes(in[i], i, sizes[i]);
    }
    MPI_Waitall(SIZES, sends, MPI_STATUSES_IGNORE);
    turn++;
}

/* The receives are there; every second one would take any message. */
static void test_posted(void)
{
    MPI_Status statuses[SIZES];
    for (int i = 0; i < SIZES; i++)
        MPI_Irecv(in[i], MOST, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : before, i, MPI_COMM_WORLD,
                  &receives[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    send_all();
    MPI_Waitall(SIZES, receives, statuses);
    expect_all(statuses);
}

/* They come one by one, while messages are under way, and in another order. */
static void test_unexpected(void)
{
    MPI_Status statuses[SIZES];
    send_all();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = SIZES; i-- > 0;)
        MPI_Recv(in[i], sizes[i], MPI_BYTE, before, i, MPI_COMM_WORLD, &statuses[i]);
    expect_all(statuses);
}

static void test_probed(void)
{
    MPI_Status statuses[SIZES];
    send_all();
    for (int i = 0; i < SIZES; i++) {
        MPI_Message message;
        MPI_Mprobe(before, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &statuses[i]);
        expect_status(&statuses[i], i);
        MPI_Imrecv(in[i], sizes[i], MPI_BYTE, &message, &receives[i]);
    }
    MPI_Waitall(SIZES, receives, statuses);
    expect_all(statuses);
}

/* A message of blocks arrives in blocks of another size. */
static void test_derived(void)
{
    MPI_Datatype from, to;
    for (int i = 0; i < SIZES; i++) {
        int pairs = sizes[i] / 6;
        MPI_Type_vector(pairs * 2, 3, 4, MPI_BYTE, &from);
        MPI_Type_vector(pairs, 6, 7, MPI_BYTE, &to);
        MPI_Type_commit(&from);
        MPI_Type_commit(&to);
        unsigned char *blocks = malloc(2 * MOST), *got = calloc(2, MOST);
        for (int at = 0; at < pairs * 6; at++)
            blocks[at / 3 * 4 + at % 3] = byte_of(expect_rank, i, at);
        if (turn % 2 == 0)
            MPI_Irecv(got, 1, to, before, 0, MPI_COMM_WORLD, &receives[0]);
        MPI_Isend(blocks, 1, from, next, 0, MPI_COMM_WORLD, &sends[0]);
        if (turn % 2 != 0)
            MPI_Irecv(got, 1, to, before, 0, MPI_COMM_WORLD, &receives[0]);
        MPI_Wait(&receives[0], MPI_STATUS_IGNORE);
        MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
        int wrong = 0;
        for (int at = 0; at < pairs * 6; at++)
            wrong += got[at / 6 * 7 + at % 6] != byte_of(before, i, at);
        for (int at = 6; at < pairs * 7; at += 7)
            wrong += got[at] != 0;
        EXPECT(wrong, 0);
        free(blocks);
        free(got);
        MPI_Type_free(&from);
        MPI_Type_free(&to);
        turn++;
    }
}

/* Of a message that is too long its beginning is received. */
static void test_truncated(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < SIZES; i++) {
        int room = sizes[i] / 2 + i;
        memset(in[i], 0, (size_t)MOST);
        MPI_Isend(fill(i), sizes[i], MPI_BYTE, next, i, MPI_COMM_WORLD, &sends[i]);
        EXPECT_ERROR(MPI_Recv(in[i], room, MPI_BYTE, before, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     MPI_ERR_TRUNCATE);
        expect_bytes(in[i], i, room);
        EXPECT(in[i][room], 0);
        MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    turn++;
}

/* Short messages of the same tag keep their places between the long ones. */
static void test_order(void)
{
    MPI_Request between[SIZES];
    int numbers[SIZES], number;
    for (int i = 0; i < SIZES; i++) {
        numbers[i] = i;
        MPI_Isend(fill(i), sizes[i], MPI_BYTE, next, 0, MPI_COMM_WORLD, &sends[i]);
        MPI_Isend(&numbers[i], 1, MPI_INT, next, 0, MPI_COMM_WORLD, &between[i]);
    }
    for (int i = 0; i < SIZES; i++) {
        MPI_Recv(in[i], sizes[i], MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_bytes(in[i], i, sizes[i]);
        MPI_Recv(&number, 1, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(number, i);
    }
    MPI_Waitall(SIZES, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(SIZES, between, MPI_STATUSES_IGNORE);
    turn++;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    next = (expect_rank + 1) % expect_size;
    before = (expect_rank + expect_size - 1) % expect_size;
    out = malloc((size_t)SIZES * MOST);
    for (int i = 0; i < SIZES; i++)
        in[i] = malloc(MOST + 1);
    for (int round = 0; round < ROUNDS; round++) {
        test_posted();
        test_unexpected();
        test_probed();
        test_derived();
        test_truncated();
        test_order();
    }
    free(out);
    for (int i = 0; i < SIZES; i++)
        free(in[i]);
    return expect_end();
}
