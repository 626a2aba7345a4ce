/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 frees far more memory that was sent than the others, who have begun to finalize, can hear of: the job
 * ends nevertheless. */
#include "device_memory.h"
#include "expect.h"

enum { PIECES = 1500, BYTES = 40000 };

static memory_t pieces[PIECES];

static void send_all(void)
{
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = memory_take(DEVICE, BYTES);
        for (int dest = 1; dest < expect_size; dest++)
            MPI_Send(pieces[i].at, BYTES, MPI_BYTE, dest, i, MPI_COMM_WORLD);
    }
}

static void receive_all(void)
{
    memory_t in = memory_take(DEVICE, BYTES);
    for (int i = 0; i < PIECES; i++) {
        MPI_Status status;
        int bytes;
        MPI_Recv(in.at, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        EXPECT(bytes, BYTES);
    }
    memory_give(&in);
}

/* What is freed is found when other memory is seen. */
static void replace_all(void)
{
    for (int i = 0; i < PIECES; i++)
        memory_give(&pieces[i]);
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = memory_take(DEVICE, BYTES);
        MPI_Sendrecv_replace(pieces[i].at, BYTES, MPI_BYTE, 0, 0, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    if (expect_rank == 0)
        send_all();
    else
        receive_all();
    MPI_Barrier(MPI_COMM_WORLD);
    if (expect_rank == 0)
        replace_all();
    int failed = expect_end();
    for (int i = 0; expect_rank == 0 && i < PIECES; i++)
        memory_give(&pieces[i]);
    memory_end();
    return failed;
}
