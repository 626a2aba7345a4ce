/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last rank finalizes and goes; then the others free many allocations that it has mapped, which it
 * does not hear of any more: they still come to the end of MPI_Finalize.
 */
#include "device_memory.h"
#include "expect.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ALLOCATIONS = 1500, BYTES = 64 };

static void await_end_of(int process)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, process, 0), .events = POLLIN};
    while (end.fd >= 0 && poll(&end, 1, -1) != 1)
        continue;
}

int main(int argc, char **argv)
{
    static CUdeviceptr memory[ALLOCATIONS];
    CUdeviceptr other;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    int last = expect_size - 1, process = (int)getpid();
    MPI_Bcast(&process, 1, MPI_INT, last, MPI_COMM_WORLD);
    CU(cuMemAlloc(&other, BYTES));
    for (int i = 0; i < ALLOCATIONS; i++) {
        CU(cuMemAlloc(&memory[i], BYTES));
        MPI_Sendrecv((void *)memory[i], BYTES, MPI_BYTE, (expect_rank + 1) % expect_size, 0, (void *)other, BYTES, MPI_BYTE,
                     (expect_rank + last) % expect_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (expect_rank == last)
        return expect_end();
    await_end_of(process);
    for (int i = 0; i < ALLOCATIONS; i++)
        CU(cuMemFree(memory[i]));
    /* The library sees what was freed when it learns of other memory. */
    for (int i = 0; i < ALLOCATIONS; i++) {
        CU(cuMemAlloc(&memory[i], 2 * BYTES));
        MPI_Sendrecv((void *)memory[i], BYTES, MPI_BYTE, 0, 0, (void *)other, BYTES, MPI_BYTE, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    }
    return expect_end();
}
