/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 first sends to rank 2 when the host of rank 2 has vanished: calls must return an error.
 * The file argv[1] is made when all ranks have started, and argv[2] appears when the host has
 * vanished. The exit codes are those of lost.c: 42 after the expected error, 43 after another
 * one. */
#include <mpi.h>

#include <stdio.h>
#include <unistd.h>

enum { TOLD = 42, TOLD_SOMETHING_ELSE = 43 };

static void judge(int err, const char *call)
{
    int error_class;
    MPI_Error_class(err, &error_class);
    if (error_class == MPI_ERR_OTHER)
        return;
    fprintf(stderr, "rank 0: %s: error class %d, expected %d\n", call, error_class, MPI_ERR_OTHER);
    MPI_Abort(MPI_COMM_WORLD, TOLD_SOMETHING_ELSE);
}

int main(int argc, char **argv)
{
    int rank, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank != 0 || argc < 3)
        MPI_Recv(&number, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE); /* never */
    fclose(fopen(argv[1], "w"));
    while (access(argv[2], F_OK) != 0)
        ;
    judge(MPI_Ssend(&number, 1, MPI_INT, 2, 1, MPI_COMM_WORLD), "MPI_Ssend");
    judge(MPI_Send(&number, 1, MPI_INT, 2, 1, MPI_COMM_WORLD), "MPI_Send after it");
    MPI_Request request;
    MPI_Send_init(&number, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, &request);
    judge(MPI_Start(&request), "MPI_Start");
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* the request was not started */
    MPI_Request_free(&request);
    judge(MPI_Recv(&number, 1, MPI_INT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          "MPI_Recv after it");
    MPI_Abort(MPI_COMM_WORLD, TOLD);
}
