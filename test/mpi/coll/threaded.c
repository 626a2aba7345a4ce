/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of several threads at the same time, each on its own communicator, with a user's
 * function that calls MPI.
 */
#include "expect.h"
#include "memory_kinds.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 60, DEVICE_ROUNDS = 20, LENGTH = 700 };

static int rounds = ROUNDS;

static MPI_Op multiply_op;

/* The product modulo a prime, element by element at distances of the extent. */
static void multiply(void *in, void *inout, int *length, MPI_Datatype *type)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *length; i++) {
        long *left = (long *)((char *)in + i * extent),
             *right = (long *)((char *)inout + i * extent);
        *right = *left * *right % 65521;
    }
}

static long operand(int rank, int round, int index)
{
    return 1 + (rank * 31 + round * 7 + index) % 65520;
}

static long product(int round, int index)
{
    long value = 1;
    for (int rank = 0; rank < expect_size; rank++)
        value = value * operand(rank, round, index) % 65521;
    return value;
}

static void put_operands(char kind, long *to, int round)
{
    long content[LENGTH];
    for (int i = 0; i < LENGTH; i++)
        content[i] = operand(expect_rank, round, i);
    memory_put(kind, to, content, sizeof(content));
}

static void run_round(int round, MPI_Comm comm, char kind, long *own, long *all)
{
    MPI_Request request;
    long content[LENGTH];
    int root = round % expect_size;
    put_operands(kind, own, round);
    if (round % 2 == 0) {
        MPI_Allreduce(own, all, LENGTH, MPI_LONG, multiply_op, comm);
    } else {
        MPI_Iallreduce(own, all, LENGTH, MPI_LONG, multiply_op, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    memory_get(kind, content, all, sizeof(content));
    EXPECT(content[round % LENGTH], product(round, round % LENGTH));
    EXPECT(content[LENGTH - 1], product(round, LENGTH - 1));
    MPI_Bcast(own, LENGTH, MPI_LONG, root, comm);
    memory_get(kind, content, own, sizeof(content));
    EXPECT(content[3], operand(root, round, 3));
    MPI_Barrier(comm);
}

static void *run(void *argument)
{
    MPI_Comm comm = *(MPI_Comm *)argument;
    char kind = memory.kinds == NULL ? 'H' : memory.kinds[0];
    memory_enter();
    long *own = memory_take(kind, LENGTH * sizeof(long)),
         *all = memory_take(kind, LENGTH * sizeof(long));
    for (int round = 0; round < rounds; round++)
        run_round(round, comm, kind, own, all);
    memory_give(kind, own);
    memory_give(kind, all);
    return NULL;
}

int main(int argc, char **argv)
{
    MPI_Comm comms[THREADS];
    pthread_t threads[THREADS];
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    memory_begin(expect_rank);
    if (memory.kinds != NULL)
        rounds = DEVICE_ROUNDS;
    EXPECT(provided, MPI_THREAD_MULTIPLE);
    MPI_Op_create(multiply, 1, &multiply_op);
    for (int i = 0; i < THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        pthread_create(&threads[i], NULL, run, &comms[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&comms[i]);
    }
    MPI_Op_free(&multiply_op);
    return expect_end();
}
