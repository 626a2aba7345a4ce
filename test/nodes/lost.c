/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 loses its connection to rank 1: with MPI_ERRORS_RETURN a call returns an error, and so do
 * the calls after it. Ends the job with code 42 after the expected error, with 43 after another
 * one. */
#include <mpi.h>

#include <stdio.h>

enum { MESSAGES = 1000, TOLD = 42, TOLD_SOMETHING_ELSE = 43 };

static void judge(int err)
{
    int error_class;
    MPI_Error_class(err, &error_class);
    if (error_class != MPI_ERR_OTHER) {
        printf("error class %d, expected %d\n", error_class, MPI_ERR_OTHER);
        MPI_Abort(MPI_COMM_WORLD, TOLD_SOMETHING_ELSE);
    }
}

int main(int argc, char **argv)
{
    int rank, number = 0, err = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        for (int i = 0; i < MESSAGES && err == MPI_SUCCESS; i++)
            err = MPI_Sendrecv(&i, 1, MPI_INT, 1, 1, &number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE);
        judge(err);
        judge(MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
        judge(MPI_Recv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        MPI_Abort(MPI_COMM_WORLD, TOLD);
    }
    while (rank == 1) {
        MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
