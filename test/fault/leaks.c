/* SPDX-License-Identifier: BSD-3-Clause */
/* leaks none|some: a program that gives everything back, or that keeps some of each kind. */
#include <mpi.h>
#include <string.h>

static int rank, size;

static void make_types(int frees)
{
    MPI_Datatype pair, other, got[1];
    int integers[1];
    MPI_Aint addresses[1];
    for (int i = 0; i < 2; i++) { /* twice the same, which the list adds up */
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_dup(pair, &other);
        MPI_Type_commit(&other);
        MPI_Type_get_contents(other, 0, 0, 1, integers, addresses, got);
        if (frees)
            MPI_Type_free(&got[0]);
        MPI_Type_free(&pair); /* the library still has it */
        MPI_Type_free(&other);
    }
}

static void make_comms(int frees)
{
    MPI_Comm copy, half;
    MPI_Group group, nobody;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(copy, rank % 2, 0, &half);
    MPI_Comm_group(half, &group);
    MPI_Group_difference(group, group, &nobody);
    MPI_Group_free(&nobody);
    MPI_Comm_free(&copy);
    if (frees) {
        MPI_Group_free(&group);
        MPI_Comm_free(&half);
    }
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void make_op(int frees)
{
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    if (frees)
        MPI_Op_free(&op);
}

/* Each rank sends three messages to the next; one is matched, and two are received or left. */
static void exchange(int frees)
{
    int data[4] = {0};
    MPI_Message message;
    MPI_Request request, sends[3], never;
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int i = 0; i < 3; i++)
        MPI_Isend(data, 1, MPI_INT, next, i == 0 ? 4 : 5, MPI_COMM_WORLD, &sends[i]);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    MPI_Mprobe(previous, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Irecv(data, 1, MPI_INT, previous, 6, MPI_COMM_WORLD, &never);
    MPI_Recv_init(data, 1, MPI_INT, previous, 7, MPI_COMM_WORLD, &request);
    if (!frees)
        return;
    MPI_Mrecv(data, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Recv(data, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(data, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Cancel(&never);
    MPI_Request_free(&never);
    MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int frees = argc < 2 || strcmp(argv[1], "none") == 0;
    make_types(frees);
    make_comms(frees);
    make_op(frees);
    exchange(frees);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
