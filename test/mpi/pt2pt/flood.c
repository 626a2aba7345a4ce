/* SPDX-License-Identifier: BSD-3-Clause */
/* A sender that floods a receiver which waits for something else is slowed down: the receiver's
 * memory stays within bounds, and everything arrives in order. */
#include "../expect.h"

#include <sys/resource.h>

#ifdef __SANITIZE_THREAD__
enum { MOST_KIB = 1000 * 1024 }; /* includes the memory that the sanitizer itself uses */
#else
enum { MOST_KIB = 200 * 1024 };
#endif

enum { BYTES = 4096, MESSAGES = 60000 }; /* 240 MB; the bound is 64 MB by default */

static char buffer[BYTES];

static void flood(int last)
{
    int done = 1;
    for (int i = 0; i < MESSAGES; i++) {
        buffer[0] = (char)i;
        MPI_Send(buffer, BYTES, MPI_CHAR, last, 1, MPI_COMM_WORLD);
        if (i == MESSAGES / 2)
            MPI_Send(&done, 1, MPI_INT, last, 2, MPI_COMM_WORLD);
    }
}

static void receive_late(void)
{
    MPI_Request other;
    int got, flag = 0;
    MPI_Irecv(&got, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &other);
    /* MPI_Test makes progress and so takes messages in, until the sender has to wait. */
    for (int i = 0; i < 20000 && !flag; i++)
        MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Recv(buffer, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(buffer[0], (char)i);
    }
    if (!flag)
        MPI_Wait(&other, MPI_STATUS_IGNORE);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    EXPECT(usage.ru_maxrss < MOST_KIB, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    if (expect_size > 1) {
        if (expect_rank == 0)
            flood(expect_size - 1);
        if (expect_rank == expect_size - 1)
            receive_late();
    }
    return expect_end();
}
