/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every way to send and to receive, in the form with int counts and in the wide one, once: each
 * rank sends to the next around a ring. Ready sends follow a barrier after the receives.
 */
#include "expect.h"

#include <stdlib.h>

enum { COUNT = 3, TAG = 4 };

static int next, before, turn;
static int out[COUNT], in[COUNT];
static MPI_Request receive = MPI_REQUEST_NULL;

static void fill(void)
{
    turn++;
    for (int i = 0; i < COUNT; i++) {
        out[i] = 1000 * expect_rank + 10 * turn + i;
        in[i] = -1;
    }
}

/* The receive is there before any rank sends. */
static void open(void)
{
    fill();
    MPI_Irecv_c(in, COUNT, MPI_INT, before, TAG, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void expect_arrived(const MPI_Status *status)
{
    MPI_Count count;
    MPI_Get_count_c(status, MPI_INT, &count);
    EXPECT(count, COUNT);
    EXPECT(status->MPI_SOURCE, before);
    EXPECT(status->MPI_TAG, TAG);
    for (int i = 0; i < COUNT; i++)
        EXPECT(in[i], 1000 * before + 10 * turn + i);
}

static void close_with(MPI_Request *send)
{
    MPI_Status status;
    MPI_Wait(&receive, &status);
    expect_arrived(&status);
    if (send != NULL)
        MPI_Wait(send, MPI_STATUS_IGNORE);
}

#define TO_NEXT MPI_INT, next, TAG, MPI_COMM_WORLD

/* A blocking call and its three other forms. */
#define TRY_MODE(Mode, mode)                                                                       \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        open();                                                                                    \
        EXPECT(MPI_##Mode##send(out, COUNT, TO_NEXT), MPI_SUCCESS);                                \
        close_with(NULL);                                                                          \
        open();                                                                                    \
        EXPECT(MPI_##Mode##send_c(out, COUNT, TO_NEXT), MPI_SUCCESS);                              \
        close_with(NULL);                                                                          \
        open();                                                                                    \
        EXPECT(MPI_I##mode##send(out, COUNT, TO_NEXT, &request), MPI_SUCCESS);                     \
        close_with(&request);                                                                      \
        open();                                                                                    \
        EXPECT(MPI_I##mode##send_c(out, COUNT, TO_NEXT, &request), MPI_SUCCESS);                   \
        close_with(&request);                                                                      \
        try_persistent(MPI_##Mode##send_init, MPI_##Mode##send_init_c);                            \
    } while (0)

typedef int (*init_fn_t)(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                         MPI_Comm comm, MPI_Request *request);
typedef int (*init_c_fn_t)(const void *buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
                           MPI_Comm comm, MPI_Request *request);

static void try_persistent(init_fn_t init, init_c_fn_t init_c)
{
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        MPI_Request request;
        EXPECT(is_wide ? init_c(out, COUNT, TO_NEXT, &request)
                       : init(out, COUNT, TO_NEXT, &request),
               MPI_SUCCESS);
        for (int start = 0; start < 2; start++) {
            open();
            EXPECT(MPI_Start(&request), MPI_SUCCESS);
            close_with(&request);
        }
        MPI_Request_free(&request);
    }
}

/* A standard send blocks on no rank before the next has come: the receives are there. */
static void try_standard(void)
{
    MPI_Request request;
    open();
    EXPECT(MPI_Send_c(out, COUNT, TO_NEXT), MPI_SUCCESS);
    close_with(NULL);
    open();
    EXPECT(MPI_Isend_c(out, COUNT, TO_NEXT, &request), MPI_SUCCESS);
    close_with(&request);
    try_persistent(MPI_Send_init, MPI_Send_init_c);
}

static void try_receives(void)
{
    MPI_Request request, requests[2];
    MPI_Message message;
    MPI_Status status;
    for (int way = 0; way < 4; way++) {
        int is_there;
        fill();
        MPI_Isend(out, COUNT, TO_NEXT, &request);
        if (way < 2)
            MPI_Mprobe(before, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        else
            do
                MPI_Improbe(before, TAG, MPI_COMM_WORLD, &is_there, &message, MPI_STATUS_IGNORE);
            while (!is_there);
        if (way % 2 == 0) {
            EXPECT(MPI_Mrecv_c(in, COUNT, MPI_INT, &message, &status), MPI_SUCCESS);
        } else {
            EXPECT(MPI_Imrecv_c(in, COUNT, MPI_INT, &message, &receive), MPI_SUCCESS);
            MPI_Wait(&receive, &status);
        }
        EXPECT(message == MPI_MESSAGE_NULL, 1);
        expect_arrived(&status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Recv_init_c(in, COUNT, MPI_INT, before, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init_c(out, COUNT, TO_NEXT, &requests[1]);
    for (int start = 0; start < 2; start++) {
        MPI_Status statuses[2];
        fill();
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        expect_arrived(&statuses[0]);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    fill();
    MPI_Isend(out, COUNT, TO_NEXT, &request);
    EXPECT(MPI_Recv_c(in, COUNT, MPI_INT, before, TAG, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    expect_arrived(&status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void try_exchanges(void)
{
    MPI_Status status;
    MPI_Request request;
    fill();
    EXPECT(MPI_Sendrecv_c(out, COUNT, MPI_INT, next, TAG, in, COUNT, MPI_INT, before, TAG,
                          MPI_COMM_WORLD, &status),
           MPI_SUCCESS);
    expect_arrived(&status);
    fill();
    EXPECT(MPI_Isendrecv_c(out, COUNT, MPI_INT, next, TAG, in, COUNT, MPI_INT, before, TAG,
                           MPI_COMM_WORLD, &request),
           MPI_SUCCESS);
    MPI_Wait(&request, &status);
    expect_arrived(&status);
    for (int way = 0; way < 2; way++) {
        fill();
        memcpy(in, out, sizeof(in));
        if (way == 0) {
            EXPECT(MPI_Sendrecv_replace_c(in, COUNT, MPI_INT, next, TAG, before, TAG,
                                          MPI_COMM_WORLD, &status),
                   MPI_SUCCESS);
        } else {
            EXPECT(MPI_Isendrecv_replace_c(in, COUNT, MPI_INT, next, TAG, before, TAG,
                                           MPI_COMM_WORLD, &request),
                   MPI_SUCCESS);
            MPI_Wait(&request, &status);
        }
        expect_arrived(&status);
    }
}

/* With a buffer of the process, then with one of the communicator. */
static void try_buffered(void)
{
    MPI_Count bytes = 4 * (COUNT * (MPI_Count)sizeof(int) + MPI_BSEND_OVERHEAD), given;
    char *buffer = malloc((size_t)bytes);
    void *back;
    EXPECT(MPI_Buffer_attach_c(buffer, bytes), MPI_SUCCESS);
    TRY_MODE(B, b);
    EXPECT(MPI_Buffer_detach_c(&back, &given), MPI_SUCCESS);
    EXPECT(back == buffer, 1);
    EXPECT(given, bytes);
    EXPECT(MPI_Comm_attach_buffer_c(MPI_COMM_WORLD, buffer, bytes), MPI_SUCCESS);
    TRY_MODE(B, b);
    EXPECT(MPI_Comm_detach_buffer_c(MPI_COMM_WORLD, &back, &given), MPI_SUCCESS);
    EXPECT(back == buffer, 1);
    EXPECT(given, bytes);
    free(buffer);
}

static void try_packing(void)
{
    MPI_Count size, position = 0;
    int sum[COUNT] = {1, 2, 3}, small;
    char packed[64];
    EXPECT(MPI_Pack_size_c(COUNT, MPI_INT, MPI_COMM_WORLD, &size), MPI_SUCCESS);
    MPI_Pack_size(COUNT, MPI_INT, MPI_COMM_WORLD, &small);
    EXPECT(size, small);
    fill();
    MPI_Pack_c(out, COUNT, MPI_INT, packed, sizeof(packed), &position, MPI_COMM_WORLD);
    EXPECT(position <= size, 1);
    position = 0;
    MPI_Unpack_c(packed, sizeof(packed), &position, in, COUNT, MPI_INT, MPI_COMM_WORLD);
    EXPECT(memcmp(in, out, sizeof(in)), 0);
    EXPECT(MPI_Reduce_local_c(out, sum, COUNT, MPI_INT, MPI_SUM), MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++)
        EXPECT(sum[i], out[i] + i + 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    next = (expect_rank + 1) % expect_size;
    before = (expect_rank + expect_size - 1) % expect_size;
    try_standard();
    TRY_MODE(S, s);
    TRY_MODE(R, r);
    try_buffered();
    try_receives();
    try_exchanges();
    try_packing();
    return expect_end();
}
