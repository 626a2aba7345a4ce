/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_free and MPI_Comm_disconnect detach the buffer of a communicator: when they return, all
 * messages have left it, and its memory is the program's again. */
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
    free(buffer);
    free(sent);
    free(got);
    return expect_end();
}
