/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 loses its connection to rank 1: with MPI_ERRORS_RETURN a call returns an error, and so do
 * the calls after it. `lost probes`: the call is a probe that waits. Ends the job with code 42
 * after the expected error, with 43 after another one. */
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

static int exchange(int number)
{
    return MPI_Sendrecv(&number, 1, MPI_INT, 1, 1, &number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
}

static int exchange_by_probe(int number)
{
    MPI_Message message;
    int err = MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (err == MPI_SUCCESS && number % 2 == 0)
        err = MPI_Probe(1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (err == MPI_SUCCESS)
        err = MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    return err == MPI_SUCCESS ? MPI_Mrecv(&number, 1, MPI_INT, &message, MPI_STATUS_IGNORE) : err;
}

static void judge_later_calls(void)
{
    MPI_Message message;
    int number = 0, flag;
    judge(MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD));
    judge(MPI_Recv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    judge(MPI_Probe(1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    judge(MPI_Iprobe(1, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    judge(MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    judge(MPI_Improbe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    int rank, number = 0, err = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        for (int i = 0; i < MESSAGES && err == MPI_SUCCESS; i++)
            err = argc > 1 ? exchange_by_probe(i) : exchange(i);
        judge(err);
        judge_later_calls();
        MPI_Abort(MPI_COMM_WORLD, TOLD);
    }
    while (rank == 1) {
        MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
