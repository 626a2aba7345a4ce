/* SPDX-License-Identifier: BSD-3-Clause */
/* A message of more than 2 GiB, contiguous by a large count, and strided by a derived type. */
#include "../expect.h"

#include <stdlib.h>

static const MPI_Count bytes = (MPI_Count)2200 * 1024 * 1024;

static char at(MPI_Count i)
{
    return (char)(i * 7 + (i >> 20));
}

static void check(const char *in, MPI_Count count)
{
    MPI_Count wide;
    (void)wide;
    for (MPI_Count i = 0; i < bytes; i += 4093)
        EXPECT(in[i], at(i));
    EXPECT(count, bytes);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    char *memory = malloc((size_t)bytes);
    MPI_Datatype page;
    MPI_Type_contiguous(1024 * 1024, MPI_CHAR, &page);
    MPI_Type_commit(&page);
    if (expect_rank == 0) {
        for (MPI_Count i = 0; i < bytes; i++)
            memory[i] = at(i);
        MPI_Send_c(memory, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Send(memory, 2200, page, 1, 1, MPI_COMM_WORLD);
    } else if (expect_rank == 1) {
        MPI_Status status;
        MPI_Count count;
        int narrow;
        MPI_Recv_c(memory, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count_c(&status, MPI_CHAR, &count);
        check(memory, count);
        MPI_Get_count(&status, MPI_CHAR, &narrow);
        EXPECT(narrow, MPI_UNDEFINED);
        MPI_Recv(memory, 2200, page, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, page, &narrow);
        EXPECT(narrow, 2200);
        MPI_Get_elements_x(&status, page, &count);
        check(memory, count);
    }
    MPI_Type_free(&page);
    free(memory);
    return expect_end();
}
