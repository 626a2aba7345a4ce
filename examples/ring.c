/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A token goes once round a ring of processes: MPI_Send, MPI_Recv and neighbours by rank
 * arithmetic. Every rank adds its number and signs a list; rank 0 checks both when the token is
 * back.
 *
 *   mpicc -o ring ring.c && mpirun -np 5 ./ring
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

#define SUM_TAG  1
#define LIST_TAG 2

/* All ranks but 0 receive the token, sign it and pass it on. The list has one entry for each rank
 * before this one. */
static void pass_on(int rank, int ranks, int *list)
{
    int sum;

    MPI_Recv(&sum, 1, MPI_INT, rank - 1, SUM_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(list, ranks, MPI_INT, rank - 1, LIST_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    sum += rank;
    list[rank] = rank;
    MPI_Send(&sum, 1, MPI_INT, (rank + 1) % ranks, SUM_TAG, MPI_COMM_WORLD);
    MPI_Send(list, rank + 1, MPI_INT, (rank + 1) % ranks, LIST_TAG, MPI_COMM_WORLD);
}

/* Rank 0 sends the token and waits for it. The send is nonblocking, since a single rank is its own
 * neighbour. */
static int start(int ranks, int *list)
{
    int first[1] = {0}, zero = 0, sum = -1, signed_by, is_right;
    MPI_Request requests[2];
    MPI_Status status;

    MPI_Isend(&zero, 1, MPI_INT, 1 % ranks, SUM_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(first, 1, MPI_INT, 1 % ranks, LIST_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(&sum, 1, MPI_INT, ranks - 1, SUM_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(list, ranks, MPI_INT, ranks - 1, LIST_TAG, MPI_COMM_WORLD, &status);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);

    MPI_Get_count(&status, MPI_INT, &signed_by);
    is_right = sum == ranks * (ranks - 1) / 2 && signed_by == ranks;
    for (int i = 0; i < signed_by; i++)
        is_right &= list[i] == i;
    printf("the token came back with the sum %d, signed by %d of %d ranks: %s\n", sum, signed_by,
           ranks, is_right ? "correct" : "WRONG");
    return is_right;
}

int main(int argc, char **argv)
{
    int rank, ranks, *list, is_right = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    list = calloc((size_t)ranks, sizeof(*list));
    if (list == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        is_right = start(ranks, list);
    else
        pass_on(rank, ranks, list);
    free(list);
    MPI_Finalize();
    return !is_right;
}
