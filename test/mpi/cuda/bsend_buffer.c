/* SPDX-License-Identifier: BSD-3-Clause */
/* A buffer for buffered sends that lies in device memory: messages from the host and from the
 * device go through it, and MPI_Buffer_detach gives it back. */
#include "expect.h"
#include "memory_kinds.h"

enum { NUMBERS = 5000, ROOM = 2 * (NUMBERS * (int)sizeof(int) + MPI_BSEND_OVERHEAD) };

static void exchange(int *sent, int tag)
{
    static int got[NUMBERS];
    int next = (expect_rank + 1) % expect_size;
    int before = (expect_rank + expect_size - 1) % expect_size;
    EXPECT(MPI_Bsend(sent, NUMBERS, MPI_INT, next, tag, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT(MPI_Recv(got, NUMBERS, MPI_INT, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
           MPI_SUCCESS);
    for (int i = 0; i < NUMBERS; i++)
        EXPECT(got[i], before * NUMBERS + i);
}

int main(int argc, char **argv)
{
    static int numbers[NUMBERS];
    void *detached = NULL;
    int size = 0;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = expect_rank * NUMBERS + i;
    int *on_device = memory_take('D', sizeof(numbers));
    memory_put('D', on_device, numbers, sizeof(numbers));
    void *buffer = memory_take('D', ROOM);
    EXPECT(MPI_Buffer_attach(buffer, ROOM), MPI_SUCCESS);
    exchange(numbers, 1);
    exchange(on_device, 2);
    EXPECT(MPI_Buffer_detach(&detached, &size), MPI_SUCCESS);
    EXPECT(detached == buffer, 1);
    EXPECT(size, ROOM);
    memory_give('D', buffer);
    memory_give('D', on_device);
    MPI_Finalize();
    return 0;
}
