/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of several sizes between all pairs, under MPI_ERRORS_RETURN, until an operation of the
 * network fails: then the call returns an error, and so do the next ones. Ends the job with code 42
 * after the expected error; with 43 and a message after another error or wrong data. Prints nothing
 * and returns 0 if nothing fails. `survivor any`: receives are from MPI_ANY_SOURCE. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 12, LARGEST = 300000, TOLD = 42, WRONG = 43 };

static int rank, size, *out, *in;

static void check_error(int err, const char *call)
{
    int error_class;
    MPI_Error_class(err, &error_class);
    if (error_class == MPI_ERR_OTHER)
        return;
    fprintf(stderr, "rank %d: %s: error class %d, expected %d\n", rank, call, error_class,
            MPI_ERR_OTHER);
    MPI_Abort(MPI_COMM_WORLD, WRONG);
}

/* The error of the first call that failed names the reason; later calls with the same rank fail as
 * well, and do not hang. */
static void end(int err, int peer, const char *call)
{
    int number = 0;
    check_error(err, call);
    for (int i = 0; i < 2; i++) {
        err = MPI_Recv(&number, 1, MPI_INT, peer, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check_error(err, "a receive after it");
    }
    MPI_Abort(MPI_COMM_WORLD, TOLD);
}

static void check_data(int from, int count, int round)
{
    for (int i = 0; i < count; i++) {
        if (in[i] == from * 1000 + round + i)
            continue;
        fprintf(stderr, "rank %d: element %d of %d from rank %d is %d, expected %d\n", rank, i,
                count, from, in[i], from * 1000 + round + i);
        MPI_Abort(MPI_COMM_WORLD, WRONG);
    }
}

static void exchange(int distance, int count, int round, int is_any)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int to = (rank + distance) % size, from = (rank + size - distance) % size;
    int source =
        is_any ? MPI_ANY_SOURCE : from; /* of an error of any it is not known who is lost */
    for (int i = 0; i < count; i++) {
        out[i] = rank * 1000 + round + i;
        in[i] = -1;
    }
    int err = MPI_Irecv(in, count, MPI_INT, source, distance, MPI_COMM_WORLD, &requests[0]);
    if (err != MPI_SUCCESS)
        end(err, source, "MPI_Irecv");
    err = MPI_Isend(out, count, MPI_INT, to, distance, MPI_COMM_WORLD, &requests[1]);
    if (err != MPI_SUCCESS)
        end(err, to, "MPI_Isend");
    for (int i = 1; i >= 0; i--) {
        err = MPI_Wait(&requests[i], &statuses[i]);
        if (err != MPI_SUCCESS)
            end(err, i == 0 ? source : to, "MPI_Wait");
    }
    check_data(from, count, round);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 100, 3000, LARGEST};
    int is_any = argc > 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = malloc(LARGEST * sizeof(int));
    in = malloc(LARGEST * sizeof(int));
    for (int round = 0; round < ROUNDS; round++) {
        for (int distance = 1; distance < size; distance++)
            exchange(distance, counts[round % 4], round, is_any);
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
