/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that is blocked in a receive on one communicator need not be woken for messages on
 * another one, which belongs to another VCI. But what it has begun there goes on meanwhile: each
 * round has operations on `other`, which one side can end only if the other side goes on with them
 * while it is blocked on `own`. Messages go from even ranks to the next odd ones, and back.
 */
#include "../expect.h"

#include <stdbool.h>
#include <stdlib.h>

enum { ROUNDS = 20, MESSAGES = 600, LONG_INTS = 1 << 18, OTHER_TAG = 3, OWN_TAG = 4 };

static MPI_Comm own, other;
static int partner;
static int many[MESSAGES], *long_data;

static void release_partner(void)
{
    MPI_Send(NULL, 0, MPI_INT, partner, OWN_TAG, own);
}

static void block_on_own(void)
{
    MPI_Recv(NULL, 0, MPI_INT, partner, OWN_TAG, own, MPI_STATUS_IGNORE);
}

/* More short messages than there is room for. */
static void test_short_messages(bool blocks)
{
    MPI_Request requests[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        many[i] = blocks ? -1 : i;
        if (blocks)
            MPI_Irecv(&many[i], 1, MPI_INT, partner, OTHER_TAG, other, &requests[i]);
        else
            MPI_Send(&many[i], 1, MPI_INT, partner, OTHER_TAG, other);
    }
    if (!blocks) {
        release_partner();
        return;
    }
    block_on_own();
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; i++)
        EXPECT(many[i], i);
}

/* The sender waits until the receive has its message, or its data. */
static void test_answered_send(bool blocks, int count, bool is_synchronous)
{
    MPI_Request request;
    long_data[count - 1] = blocks ? -1 : 7;
    if (blocks) {
        MPI_Irecv(long_data, count, MPI_INT, partner, OTHER_TAG, other, &request);
        block_on_own();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT(long_data[count - 1], 7);
        return;
    }
    if (is_synchronous)
        MPI_Ssend(long_data, count, MPI_INT, partner, OTHER_TAG, other);
    else
        MPI_Send(long_data, count, MPI_INT, partner, OTHER_TAG, other);
    release_partner();
}

/* The blocked side sends. */
static void test_pending_send(bool blocks, int count)
{
    MPI_Request request;
    long_data[count - 1] = blocks ? 8 : -1;
    if (blocks) {
        MPI_Isend(long_data, count, MPI_INT, partner, OTHER_TAG, other, &request);
        block_on_own();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Recv(long_data, count, MPI_INT, partner, OTHER_TAG, other, MPI_STATUS_IGNORE);
    EXPECT(long_data[count - 1], 8);
    release_partner();
}

/* The same with more short messages than there is room for. */
static void test_pending_messages(bool blocks)
{
    MPI_Request requests[MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        many[i] = blocks ? i : -1;
        if (blocks)
            MPI_Isend(&many[i], 1, MPI_INT, partner, OTHER_TAG, other, &requests[i]);
    }
    if (blocks) {
        block_on_own();
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        return;
    }
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Recv(&many[i], 1, MPI_INT, partner, OTHER_TAG, other, MPI_STATUS_IGNORE);
        EXPECT(many[i], i);
    }
    release_partner();
}

/* A message for which no receive was begun is kept meanwhile, and found later. */
static void test_unexpected_messages(bool blocks)
{
    int value = 9;
    MPI_Message message;
    if (!blocks) {
        MPI_Send(&value, 1, MPI_INT, partner, OTHER_TAG, other);
        release_partner();
        return;
    }
    value = -1;
    block_on_own();
    MPI_Mprobe(partner, OTHER_TAG, other, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    EXPECT(value, 9);
}

static void test_all(bool blocks)
{
    test_short_messages(blocks);
    test_answered_send(blocks, 1, true);
    test_answered_send(blocks, 3000, false);
    test_answered_send(blocks, LONG_INTS, false);
    test_pending_send(blocks, 3000);
    test_pending_send(blocks, LONG_INTS);
    test_pending_messages(blocks);
    test_unexpected_messages(blocks);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    EXPECT(provided, MPI_THREAD_MULTIPLE);
    expect_begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    long_data = calloc(LONG_INTS, sizeof(int));
    partner = expect_rank ^ 1;
    for (int i = 0; i < ROUNDS && partner < expect_size; i++) {
        test_all(expect_rank % 2 == 1);
        test_all(expect_rank % 2 == 0);
    }
    free(long_data);
    MPI_Comm_free(&own);
    MPI_Comm_free(&other);
    return expect_end();
}
