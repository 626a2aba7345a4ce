/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disagree HOW: after some collectives in which all ranks agree, rank 1 calls another one than the
 * others, or one with other arguments. HOW is
 *
 *   name   MPI_Reduce among MPI_Allreduce      root   a broadcast from another root
 *   size   twice as many elements              op     another operation
 *   type   elements of another type            form   MPI_Ibarrier among MPI_Barrier
 *   order  nonblocking ones in another order   init   persistent ones in another order
 *   comm   on a communicator with a name
 *   last   MPI_Ibcast from rank 1, which nobody else calls, before MPI_Finalize
 *   none   the calls of all ranks agree
 */
#include <mpi.h>

#include <string.h>

static int is_odd;
static const char *how;

static int is(const char *word)
{
    return strcmp(how, word) == 0;
}

static void begin_two(MPI_Request requests[2])
{
    static int number, sum;
    MPI_Comm world = MPI_COMM_WORLD;
    for (int i = 0; i < 2; i++) {
        int is_first = (i == 0) != is_odd;
        if (is("order") && is_first)
            MPI_Ibarrier(world, &requests[i]);
        else if (is("order"))
            MPI_Iallreduce(&number, &sum, 1, MPI_INT, MPI_SUM, world, &requests[i]);
        else if (is_first)
            MPI_Barrier_init(world, MPI_INFO_NULL, &requests[i]);
        else
            MPI_Bcast_init(&number, 1, MPI_INT, 0, world, MPI_INFO_NULL, &requests[i]);
    }
}

static void call(MPI_Comm comm)
{
    int in[4] = {0}, out[4];
    MPI_Request requests[2];
    if (is("name") && is_odd)
        MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, comm);
    else if (is("root"))
        MPI_Bcast(in, 1, MPI_INT, is_odd, comm);
    else if (is("size"))
        MPI_Bcast(in, 1 + is_odd, MPI_INT, 0, comm);
    else if (is("type"))
        MPI_Allreduce(in, out, 1, is_odd ? MPI_FLOAT : MPI_INT, MPI_SUM, comm);
    else if (is("form") && is_odd)
        MPI_Ibarrier(comm, requests);
    else if (is("form"))
        MPI_Barrier(comm);
    else if (is("order") || is("init"))
        begin_two(requests);
    else
        MPI_Allreduce(in, out, 1, MPI_INT, is_odd && !is("none") ? MPI_MAX : MPI_SUM, comm);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcast(int *number)
{
    MPI_Request request;
    MPI_Ibcast(number, 1, MPI_INT, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, number = 3, sum, all[64];
    MPI_Comm ring;
    MPI_Init(&argc, &argv);
    how = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    is_odd = rank == 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &ring);
    MPI_Comm_set_name(ring, "the ring");
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgather(&number, 1, MPI_INT, all, 4, MPI_BYTE, ring);
    if (!is("last"))
        call(is("comm") ? ring : MPI_COMM_WORLD);
    else if (is_odd)
        broadcast(&number);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
