/* SPDX-License-Identifier: BSD-3-Clause */
/* Many more ranks than cores: each sends to rank 0, which receives from any source; then sums, and
 * messages from all to all. */
#include "../mpi/expect.h"

#include <stdlib.h>

enum { ROUNDS = 5, COUNT = 100 };

static void say_hello(void)
{
    int *seen = calloc((size_t)expect_size, sizeof(int)), from = expect_rank;
    MPI_Status status;
    if (expect_rank != 0)
        MPI_Send(&from, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    for (int i = 1; expect_rank == 0 && i < expect_size; i++) {
        MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        EXPECT(from, status.MPI_SOURCE);
        EXPECT(seen[from]++, 0);
    }
    free(seen);
}

static void add(void)
{
    int in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = expect_rank * i;
    MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        EXPECT(out[i], expect_size * (expect_size - 1) / 2 * i);
}

static void exchange(void)
{
    size_t total = (size_t)expect_size * COUNT;
    int *in = malloc(total * sizeof(int)), *out = malloc(total * sizeof(int));
    for (size_t i = 0; i < total; i++)
        out[i] = expect_rank * 1000 + (int)(i / COUNT);
    MPI_Alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, MPI_COMM_WORLD);
    for (size_t i = 0; i < total; i++)
        EXPECT(in[i], (int)(i / COUNT) * 1000 + expect_rank);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    for (int round = 0; round < ROUNDS; round++) {
        say_hello();
        add();
        exchange();
    }
    return expect_end();
}
