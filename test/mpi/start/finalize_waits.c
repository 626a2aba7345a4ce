/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Finalize waits for a send whose request the program has freed, with MPI_THREAD_MULTIPLE, and
 * leaves no lock held for the functions that work afterwards. */
#include "../expect.h"

enum { BYTES = 1 << 20, ASKS = 100000 };

static char buf[BYTES];

int main(int argc, char **argv)
{
    int provided, flag;
    MPI_Request request;
    MPI_Info info;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    if (expect_rank == 0) {
        memset(buf, 7, BYTES);
        MPI_Isend(buf, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    } else if (expect_rank == 1) {
        for (int i = 0; i < ASKS; i++) /* let rank 0 sleep in MPI_Finalize */
            MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(buf, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(buf[BYTES - 1], 7);
    }
    int failed = expect_end();
    MPI_Info_create(&info);
    MPI_Info_free(&info);
    return failed;
}
