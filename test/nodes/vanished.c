/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 sends to rank 1, whose host vanishes once the file argv[1] exists: a call returns an
 * error. The exit codes are those of lost.c: 42 after the expected error, 43 after another one. */
#include <mpi.h>

#include <stdio.h>

enum { TOLD = 42, TOLD_SOMETHING_ELSE = 43 };

int main(int argc, char **argv)
{
    int rank, number = 0, err = MPI_SUCCESS, error_class = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (long round = 0; err == MPI_SUCCESS; round++) {
        if (rank == 0)
            err = MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        if (err == MPI_SUCCESS)
            err = MPI_Recv(&number, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1 && err == MPI_SUCCESS)
            err = MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        if (round == 0 && rank == 0 && argc > 1)
            fclose(fopen(argv[1], "w"));
    }
    if (rank == 1)
        MPI_Recv(&number, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE); /* never: cut off */
    MPI_Error_class(err, &error_class);
    MPI_Abort(MPI_COMM_WORLD, error_class == MPI_ERR_OTHER ? TOLD : TOLD_SOMETHING_ELSE);
}
