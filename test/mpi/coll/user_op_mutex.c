/* SPDX-License-Identifier: BSD-3-Clause */
/* A user's operation may take a lock that another thread holds while it calls MPI, for example an
 * interpreter's lock. So the library calls operations without its own lock. */
#include "../expect.h"
#include "memory_kinds.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ROUNDS = 200, DEVICE_ROUNDS = 30, COUNT = 3000 };

static int rounds = ROUNDS;

static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_over;
static MPI_Comm other;

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int size;
    pthread_mutex_lock(&interpreter);
    MPI_Type_size(*type, &size);
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((const int *)in)[i];
    pthread_mutex_unlock(&interpreter);
}

static void *call_mpi(void *argument)
{
    while (!is_over) {
        int rank;
        pthread_mutex_lock(&interpreter);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        pthread_mutex_unlock(&interpreter);
    }
    return argument;
}

static void check_sums(char kind, const int *sums)
{
    static _Thread_local int content[COUNT];
    memory_get(kind, content, sums, sizeof(content));
    for (int i = 0; i < COUNT; i++)
        EXPECT(content[i], expect_size * (expect_size - 1) / 2 + i * expect_size);
}

static int *operands(char kind)
{
    static _Thread_local int content[COUNT];
    int *in = memory_take(kind, sizeof(content));
    for (int i = 0; i < COUNT; i++)
        content[i] = expect_rank + i;
    memory_put(kind, in, content, sizeof(content));
    return in;
}

/* A reduction that begins in one thread may continue in the other one, which polls for its own. */
static void *reduce(void *argument)
{
    MPI_Op op;
    MPI_Comm comm = argument == NULL ? MPI_COMM_WORLD : other;
    memory_enter();
    char kind = memory.kinds == NULL ? 'H' : memory.kinds[0];
    int *in = operands(kind), *out = operands(kind), *later = operands(kind);
    MPI_Op_create(add, 1, &op);
    for (int round = 0; round < rounds; round++) {
        MPI_Request request;
        MPI_Iallreduce(in, later, COUNT, MPI_INT, op, comm, &request);
        MPI_Allreduce(in, out, COUNT, MPI_INT, op, comm);
        check_sums(kind, out);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_sums(kind, later);
    }
    MPI_Op_free(&op);
    memory_give(kind, in);
    memory_give(kind, out);
    memory_give(kind, later);
    return argument;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t caller, reducer;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    memory_begin(expect_rank);
    if (memory.kinds != NULL)
        rounds = DEVICE_ROUNDS;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    pthread_create(&caller, NULL, call_mpi, NULL);
    pthread_create(&reducer, NULL, reduce, &other);
    reduce(NULL);
    pthread_join(reducer, NULL);
    is_over = true;
    pthread_join(caller, NULL);
    MPI_Comm_free(&other);
    return expect_end();
}
