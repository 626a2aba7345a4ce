/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * freed [gone]: rank 0 frees more shared memory than it can announce to the others, which have
 * begun to finalize (or whose processes have ended). The job must end nevertheless.
 */
#include "device_memory.h"
#include "expect.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* The library finds freed memory when it meets other memory. */
static void replace_all(void)
{
    for (int i = 0; i < PIECES; i++)
        memory_give(&pieces[i]);
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = memory_take(DEVICE, BYTES);
        MPI_Sendrecv_replace(pieces[i].at, BYTES, MPI_BYTE, 0, 0, 0, 0, MPI_COMM_SELF,
                             MPI_STATUS_IGNORE);
    }
}

static void await_end_of(int process)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, process, 0), .events = POLLIN};
    while (end.fd >= 0 && poll(&end, 1, -1) != 1)
        continue;
    close(end.fd);
}

static void await_others(const int *processes)
{
    for (int rank = 1; rank < expect_size; rank++)
        await_end_of(processes[rank]);
}

int main(int argc, char **argv)
{
    int process = (int)getpid();
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    int *processes = calloc((size_t)expect_size, sizeof(*processes));
    MPI_Gather(&process, 1, MPI_INT, processes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (expect_rank == 0)
        send_all();
    else
        receive_all();
    MPI_Barrier(MPI_COMM_WORLD);
    if (expect_rank == 0 && argc > 1)
        await_others(processes);
    if (expect_rank == 0)
        replace_all();
    int failed = expect_end();
    for (int i = 0; expect_rank == 0 && i < PIECES; i++)
        memory_give(&pieces[i]);
    memory_end();
    free(processes);
    return failed;
}
