/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of several packets that need not be asked for: whichever way they take, a standard send
 * of one ends before its receive is posted, a synchronous one does not, and order, probes, derived
 * types and receives that are too short are as for any other message.
 */
#include "expect.h"

#include <stdlib.h>

enum { ROUNDS = 300, MOST = 65536, STEP = 4096, TAG = 7, GO = 8, TESTS = 3000 };

/* Those of up to 16 KiB are several packets if they answer a long message. */
static const int sizes[] = {17000, 8192, 32768, 10001, 40001, 16384, MOST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int next, before;
static unsigned char out[SIZES][MOST], in[MOST];

static unsigned char value_of(int rank, int round, int i)
{
    return (unsigned char)(rank * 31 + round * 7 + i / 97 + i);
}

static void fill(unsigned char *buffer, int bytes, int round)
{
    for (int i = 0; i < bytes; i++)
        buffer[i] = value_of(expect_rank, round, i);
}

static void expect_data_of(int rank, int bytes, int round)
{
    int wrong = 0;
    for (int i = 0; i < bytes; i++)
        wrong += in[i] != value_of(rank, round, i);
    EXPECT(wrong, 0);
    memset(in, 0, sizeof(in));
}

static void expect_data(int bytes, int round)
{
    expect_data_of(before, bytes, round);
}

/* All ranks at once, so that both ways are tried. */
static void exchange_around_the_ring(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        int bytes = sizes[round % SIZES];
        fill(out[0], bytes, round);
        MPI_Irecv(in, MOST, MPI_BYTE, before, TAG, MPI_COMM_WORLD, &request);
        MPI_Send(out[0], bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect_data(bytes, round);
    }
}

/* One after the other, so that the receiver waits. */
static void pass_around_the_ring(void)
{
    if (expect_size == 1)
        return;
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = sizes[round % SIZES];
        fill(out[0], bytes, round);
        if (expect_rank == 0)
            MPI_Send(out[0], bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
        MPI_Recv(in, MOST, MPI_BYTE, before, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_data(bytes, round);
        if (expect_rank != 0)
            MPI_Send(out[0], bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
    }
}

/* Two ranks answer each other, with blocking sends; the answers are scattered in memory. */
static void answer_each_other(void)
{
    static unsigned char wide[2 * MOST];
    MPI_Datatype every_other;
    int other = expect_rank ^ 1;
    if (other >= expect_size)
        return;
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < MOST; i++)
        wide[2 * i] = value_of(expect_rank, 0, i);
    for (int round = 0; round < ROUNDS / 3; round++) {
        int bytes = sizes[round % SIZES];
        if (expect_rank % 2 == 0) {
            fill(out[0], bytes, round);
            MPI_Send(out[0], bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
            MPI_Recv(in, MOST, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            expect_data_of(other, bytes, 0);
        } else {
            MPI_Recv(in, MOST, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            expect_data_of(other, bytes, round);
            MPI_Send(wide, bytes, every_other, other, TAG, MPI_COMM_WORLD);
        }
    }
    MPI_Type_free(&every_other);
}

/* Whoever has the turn; the receiver waits in one of three ways, and looks first in some rounds. */
static void receive_in_turn(int other, int bytes, int round)
{
    MPI_Request request;
    MPI_Status status;
    int count;
    if (round % 3 == 0)
        MPI_Probe(other, TAG, MPI_COMM_WORLD, &status);
    if (round % 3 == 1) {
        MPI_Irecv(in, MOST, MPI_BYTE, other, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
    } else {
        MPI_Recv(in, MOST, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &status);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    EXPECT(count, bytes);
    EXPECT(status.MPI_TAG, TAG);
    expect_data_of(other, bytes, round);
}

/* Lengths around those of one line, and of the shared place that near ranks use once it is known
 * that they are (runtime/slots.h); now and then both send at once. */
static void pass_back_and_forth(void)
{
    static const int lengths[] = {0,    48,   49,   64,    65,    2032,  2033, 2048,
                                  4096, 8191, 8192, 16384, 16496, 16497, 17000};
    int other = expect_rank ^ 1, count = sizeof(lengths) / sizeof(lengths[0]);
    if (other >= expect_size)
        return;
    for (int round = 0; round < TESTS; round++) {
        int is_late = round > TESTS / 3, both = is_late && round % 31 == 0;
        int bytes = is_late ? lengths[round % count] : 4096, sends = (expect_rank ^ round) & 1;
        MPI_Request request = MPI_REQUEST_NULL;
        fill(out[0], bytes, round);
        if (both)
            MPI_Isend(out[0], bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request);
        else if (sends)
            MPI_Send(out[0], bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        if (both || !sends)
            receive_in_turn(other, bytes, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* No rank receives before it has sent. A short one between two others keeps its place. */
static void send_before_receiving(void)
{
    for (int round = 0; round < ROUNDS / 3; round++) {
        int bytes = sizes[round % SIZES];
        fill(out[0], bytes, round);
        fill(out[1], 100, round + 1);
        MPI_Send(out[0], bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
        MPI_Send(out[1], 100, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
        MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_data(bytes, round);
        MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_data(100, round + 1);
    }
}

/* Receivers that wait in a collective make progress, too. */
static void send_before_a_barrier(void)
{
    for (int round = 0; round < ROUNDS / 3; round++) {
        int bytes = sizes[round % SIZES];
        fill(out[0], bytes, round);
        if (expect_rank > 0)
            MPI_Send(out[0], bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (expect_rank == 0)
            MPI_Send(out[0], bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
        MPI_Recv(in, MOST, MPI_BYTE, before, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_data(bytes, round);
    }
}

/* The same with sends that are tested, and buffers that are changed after them. */
static void test_before_receiving(void)
{
    for (int round = 0; round < ROUNDS / 3; round++) {
        MPI_Request request;
        int bytes = sizes[round % SIZES], is_over = 0;
        fill(out[0], bytes, round);
        MPI_Isend(out[0], bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD, &request);
        while (!is_over)
            MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
        memset(out[0], 255, (size_t)bytes);
        MPI_Recv(in, MOST, MPI_BYTE, before, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_data(bytes, round);
    }
}

static void expect_count(const MPI_Status *status, int bytes)
{
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    EXPECT(count, bytes);
    EXPECT(status->MPI_SOURCE, before);
}

/* All are sent, and taken from the last to the first. */
static void probe(void)
{
    MPI_Status status;
    MPI_Message message;
    for (int i = 0; i < SIZES; i++) {
        fill(out[i], sizes[i], i);
        MPI_Send(out[i], sizes[i], MPI_BYTE, next, i, MPI_COMM_WORLD);
    }
    for (int i = SIZES - 1; i >= 0; i--) {
        MPI_Mprobe(before, i, MPI_COMM_WORLD, &message, &status);
        expect_count(&status, sizes[i]);
        MPI_Mrecv(in, MOST, MPI_BYTE, &message, &status);
        expect_count(&status, sizes[i]);
        expect_data(sizes[i], i);
    }
}

static void receive_too_little(void)
{
    MPI_Comm comm;
    MPI_Status status;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < SIZES; i++) {
        fill(out[i], sizes[i], i);
        MPI_Send(out[i], sizes[i], MPI_BYTE, next, TAG, comm);
        EXPECT_ERROR(MPI_Recv(in, STEP, MPI_BYTE, before, TAG, comm, &status), MPI_ERR_TRUNCATE);
        expect_data(STEP, i);
    }
    MPI_Comm_free(&comm);
}

/* Every other byte of a buffer: it cannot be read in one run. */
static void send_every_other_byte(void)
{
    enum { COUNT = 20000 };
    static unsigned char wide[2 * COUNT], wide_in[2 * COUNT];
    MPI_Datatype type;
    MPI_Type_vector(COUNT, 1, 2, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 2 * COUNT; i++)
        wide[i] = i % 2 == 0 ? value_of(expect_rank, 0, i / 2) : 0;
    MPI_Send(wide, 1, type, next, TAG, MPI_COMM_WORLD);
    MPI_Recv(in, MOST, MPI_BYTE, before, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_data(COUNT, 0);
    fill(out[0], COUNT, 0);
    MPI_Send(out[0], COUNT, MPI_BYTE, next, TAG, MPI_COMM_WORLD);
    MPI_Recv(wide_in, 1, type, before, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += wide_in[2 * i] != value_of(before, 0, i) || wide_in[2 * i + 1] != 0;
    EXPECT(wrong, 0);
    MPI_Type_free(&type);
}

/* A standard send ends, though no rank ever receives the message. */
static void leave_unreceived(void)
{
    static unsigned char unreceived[MOST];
    MPI_Request request;
    MPI_Isend(unreceived, 40000, MPI_BYTE, next, TAG, MPI_COMM_WORLD, &request);
    EXPECT(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

/* A synchronous send is not over before it is matched, however often the receiver polls. */
static void synchronous(void)
{
    MPI_Request send, go, receive;
    int is_over = 0;
    fill(out[0], MOST, 3);
    MPI_Irecv(NULL, 0, MPI_BYTE, before, GO, MPI_COMM_WORLD, &go);
    MPI_Issend(out[0], MOST, MPI_BYTE, next, TAG, MPI_COMM_WORLD, &send);
    for (int i = 0; i < TESTS && !is_over; i++)
        MPI_Test(&send, &is_over, MPI_STATUS_IGNORE);
    EXPECT(is_over, 0);
    MPI_Send(NULL, 0, MPI_BYTE, next, GO, MPI_COMM_WORLD);
    MPI_Wait(&go, MPI_STATUS_IGNORE);
    MPI_Irecv(in, MOST, MPI_BYTE, before, TAG, MPI_COMM_WORLD, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    expect_data(MOST, 3);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* "unasked": these messages go unasked with this number of ranks. */
int main(int argc, char **argv)
{
    int is_unasked = argc > 1 && strcmp(argv[1], "unasked") == 0;
    MPI_Init(&argc, &argv);
    expect_begin();
    next = (expect_rank + 1) % expect_size;
    before = (expect_rank + expect_size - 1) % expect_size;
    exchange_around_the_ring();
    pass_around_the_ring();
    answer_each_other();
    pass_back_and_forth();
    if (is_unasked) {
        send_before_receiving();
        send_before_a_barrier();
        test_before_receiving();
        probe();
        receive_too_little();
        send_every_other_byte();
    }
    synchronous();
    if (is_unasked)
        leave_unreceived();
    MPI_Finalize();
    return expect_failures != 0;
}
