/* SPDX-License-Identifier: BSD-3-Clause */
/* bulk [rounds]: messages of all sizes up to some MiB, around a ring of ranks, must arrive in order
 * and complete. Prints nothing. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 6, LARGEST = 3 << 20 };

static int rank, size;
static unsigned char *out[AT_ONCE], *in[AT_ONCE];

static unsigned char content(int source, int round, int number, size_t at)
{
    return (unsigned char)(source * 31 + round * 7 + number * 13 + at % 251);
}

static int bytes_of(int round, int number)
{
    unsigned random = (unsigned)(round * AT_ONCE + number) * 2654435761u >> 8;
    return number % 2 == 0 ? (int)(random % 200) : (int)(random % LARGEST);
}

static void check(int source, int round, int number)
{
    int bytes = bytes_of(round, number);
    for (int at = 0; at < bytes; at++) {
        if (in[number][at] == content(source, round, number, (size_t)at))
            continue;
        fprintf(stderr,
                "rank %d: round %d, message %d of rank %d: byte %d of %d is %d, expected %d\n",
                rank, round, number, source, at, bytes, in[number][at],
                content(source, round, number, (size_t)at));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void exchange(int round)
{
    MPI_Request requests[2 * AT_ONCE];
    int from = (rank + size - 1) % size, to = (rank + 1) % size;
    for (int i = 0; i < AT_ONCE; i++)
        MPI_Irecv(in[i], bytes_of(round, i), MPI_BYTE, from, 5, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < AT_ONCE; i++) {
        for (int at = 0; at < bytes_of(round, i); at++)
            out[i][at] = content(rank, round, i, (size_t)at);
        MPI_Isend(out[i], bytes_of(round, i), MPI_BYTE, to, 5, MPI_COMM_WORLD,
                  &requests[AT_ONCE + i]);
    }
    MPI_Waitall(2 * AT_ONCE, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < AT_ONCE; i++)
        check(from, round, i);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 6;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < AT_ONCE; i++) {
        out[i] = malloc(LARGEST);
        in[i] = malloc(LARGEST);
    }
    for (int round = 0; round < rounds; round++)
        exchange(round);
    for (int i = 0; i < AT_ONCE; i++) {
        free(out[i]);
        free(in[i]);
    }
    MPI_Finalize();
    return 0;
}
