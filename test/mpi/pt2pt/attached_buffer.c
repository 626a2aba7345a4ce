/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_free and MPI_Comm_disconnect detach the buffer of a communicator: when they return, all
 * messages have left it, and its memory is the program's again. A flush waits for the messages, and
 * the buffer stays attached; one of the process and one of a communicator are apart. */
#include "../expect.h"

#include <stdlib.h>

enum { MESSAGES = 20, BYTES = 1 << 20, ROOM = MESSAGES * (BYTES + MPI_BSEND_OVERHEAD) };

static char *buffer, *sent, *got;

static void exchange(MPI_Comm comm, MPI_Request *requests)
{
    int next = (expect_rank + 1) % expect_size;
    int before = (expect_rank + expect_size - 1) % expect_size;
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Irecv(got + (size_t)i * BYTES, BYTES, MPI_BYTE, before, i, comm, &requests[i]);
        memset(sent, 1 + i, BYTES);
        MPI_Bsend(sent, BYTES, MPI_BYTE, next, i, comm);
    }
}

static void free_with_buffer(int (*end)(MPI_Comm *), void *memory, int bytes)
{
    MPI_Comm comm;
    MPI_Request requests[MESSAGES];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_attach_buffer(comm, memory, bytes);
    exchange(comm, requests);
    EXPECT(end(&comm), MPI_SUCCESS);
    memset(buffer, 0x55, ROOM);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; i++) {
        EXPECT(got[(size_t)i * BYTES], 1 + i);
        EXPECT(memcmp(got + (size_t)i * BYTES, got + (size_t)i * BYTES + 1, BYTES - 1), 0);
    }
}

/* comm MPI_COMM_NULL: the buffer of the process. */
static void attach(MPI_Comm comm, void *memory, int bytes)
{
    EXPECT(comm == MPI_COMM_NULL ? MPI_Buffer_attach(memory, bytes)
                                 : MPI_Comm_attach_buffer(comm, memory, bytes),
           MPI_SUCCESS);
}

static void flush(MPI_Comm comm, int how)
{
    MPI_Request request;
    int flag = 0;
    if (how == 0) {
        EXPECT(comm == MPI_COMM_NULL ? MPI_Buffer_flush() : MPI_Comm_flush_buffer(comm),
               MPI_SUCCESS);
        return;
    }
    EXPECT(comm == MPI_COMM_NULL ? MPI_Buffer_iflush(&request)
                                 : MPI_Comm_iflush_buffer(comm, &request),
           MPI_SUCCESS);
    while (how == 1 && !flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (how == 2)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(request == MPI_REQUEST_NULL, 1);
}

static void flush_and_use_again(MPI_Comm comm, MPI_Comm owner, void *memory, int bytes)
{
    MPI_Request requests[MESSAGES];
    void *got_memory;
    int got_bytes = -1;
    attach(owner, memory, bytes);
    for (int how = 0; how < 3; how++) {
        flush(owner, how); /* nothing is in it */
        exchange(comm, requests);
        flush(owner, how);
        if (bytes > 0)
            memset(buffer, 0x55, ROOM); /* no message is in it any more */
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MESSAGES; i++)
            EXPECT(memcmp(got + (size_t)i * BYTES, got + (size_t)i * BYTES + 1, BYTES - 1), 0);
        EXPECT(got[BYTES], 2);
    }
    EXPECT(owner == MPI_COMM_NULL ? MPI_Buffer_detach(&got_memory, &got_bytes)
                                  : MPI_Comm_detach_buffer(comm, &got_memory, &got_bytes),
           MPI_SUCCESS);
    EXPECT(got_memory == memory, 1);
    EXPECT(got_bytes, bytes);
}

static void test_buffer_errors(MPI_Comm comm)
{
    MPI_Count wide;
    void *memory;
    int bytes;
    EXPECT_ERROR(MPI_Comm_flush_buffer(MPI_COMM_NULL), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Comm_iflush_buffer(comm, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Buffer_iflush(NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Comm_attach_buffer(comm, NULL, 100), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Comm_attach_buffer(comm, buffer, -1), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Comm_detach_buffer(comm, &memory, &bytes), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Bsend(sent, 1, MPI_BYTE, 0, 0, comm), MPI_ERR_BUFFER);
    attach(comm, buffer, 100);
    EXPECT_ERROR(MPI_Comm_attach_buffer(comm, sent, 100), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Bsend(sent, 101, MPI_BYTE, 0, 0, comm), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Comm_detach_buffer(comm, NULL, &bytes), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Comm_detach_buffer_c(comm, &memory, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Comm_detach_buffer_c(comm, &memory, &wide), MPI_SUCCESS);
    EXPECT(wide, 100);
}

static void test_flushes(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    flush_and_use_again(comm, comm, buffer, ROOM);
    flush_and_use_again(comm, comm, MPI_BUFFER_AUTOMATIC, 0);
    flush_and_use_again(comm, MPI_COMM_NULL, buffer, ROOM);
    flush_and_use_again(comm, MPI_COMM_NULL, MPI_BUFFER_AUTOMATIC, 0);
    test_buffer_errors(comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    buffer = malloc(ROOM);
    sent = malloc(BYTES);
    got = malloc((size_t)MESSAGES * BYTES);
    free_with_buffer(MPI_Comm_free, buffer, ROOM);
    free_with_buffer(MPI_Comm_disconnect, buffer, ROOM);
    free_with_buffer(MPI_Comm_free, MPI_BUFFER_AUTOMATIC, 0);
    test_flushes();
    free(buffer);
    free(sent);
    free(got);
    return expect_end();
}
