/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives by kernels that wait for each other (method "ll"): are they used where each rank has
 * a device of its own, and are their results right?
 */
#include "method_taken.h"

enum { STEP = 100000, UNTOUCHED = -1, MANY = 10000, ALLREDUCES = 3 };

static int *in, *out;      /* on the device: size * (count + size) integers */
static int *sent, *wanted; /* the content of `in`, and the content expected of `out` at the end */
static int *got;

static int total(void)
{
    return size * (count + size);
}

static size_t buffer_bytes(void)
{
    return (size_t)total() * sizeof(int);
}

static int value(int of_rank, int index)
{
    return of_rank * STEP + index;
}

static int sum(int index)
{
    int result = 0;
    for (int i = 0; i < size; i++)
        result += value(i, index);
    return result;
}

/* ---- the collectives: each sets the expected result, and calls MPI ---- */

static void want_sums(int first, int many)
{
    for (int i = 0; i < many; i++)
        wanted[i] = sum(first + i);
}

static void allreduce(void)
{
    want_sums(0, count);
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
}

static void allreduce_in_place(void)
{
    want_sums(0, count);
    memory_put('D', out, sent, (size_t)count * sizeof(int));
    MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_INT, MPI_SUM, comm);
}

static void allreduce_later(void)
{
    MPI_Request request;
    want_sums(0, count);
    MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void reduce(void)
{
    if (rank == root)
        want_sums(0, count);
    MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm);
}

static void reduce_scatter_block(void)
{
    want_sums(rank * count, count);
    MPI_Reduce_scatter_block(in, out, count, MPI_INT, MPI_SUM, comm);
}

/* Rank r receives count + r elements. */
static void reduce_scatter(void)
{
    int counts[64];
    for (int i = 0; i < size; i++)
        counts[i] = count + i;
    want_sums(rank * count + rank * (rank - 1) / 2, count + rank);
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
}

static void bcast(void)
{
    for (int i = 0; i < count; i++)
        wanted[i] = value(root, i);
    memory_put('D', out, sent, (size_t)count * sizeof(int));
    MPI_Bcast(out, count, MPI_INT, root, comm);
}

static void want_gathered(void)
{
    for (int i = 0; i < size * count; i++)
        wanted[i] = value(i / count, i % count);
}

static void allgather(void)
{
    want_gathered();
    MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
}

static void gather(void)
{
    if (rank == root)
        want_gathered();
    MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, root, comm);
}

static void scatter(void)
{
    for (int i = 0; i < count; i++)
        wanted[i] = value(root, rank * count + i);
    MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, root, comm);
}

static void alltoall(void)
{
    for (int i = 0; i < size * count; i++)
        wanted[i] = value(i / count, rank * count + i % count);
    MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, comm);
}

/* Rank r sends r + count + 1 elements to each. */
static void allgatherv(void)
{
    int counts[64], places[64], place = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = count + (i + 1) % size;
        places[i] = place;
        for (int j = 0; j < counts[i]; j++)
            wanted[place++] = value(i, j);
    }
    MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, comm);
}

/* Every other integer. */
static void bcast_in_pieces(void)
{
    MPI_Datatype pieces;
    MPI_Type_vector((count + 1) / 2, 1, 2, MPI_INT, &pieces);
    MPI_Type_commit(&pieces);
    for (int i = 0; i < count; i++)
        wanted[i] = value(i % 2 == 0 ? root : rank, i);
    memory_put('D', out, sent, (size_t)count * sizeof(int));
    MPI_Bcast(out, 1, pieces, root, comm);
    MPI_Type_free(&pieces);
}

typedef struct call {
    const char *name;
    void (*collective)(void);
} call_t;

static int try_once(const void *call)
{
    int wrong = 0;
    size_t bytes = buffer_bytes();
    for (int i = 0; i < total(); i++) {
        sent[i] = value(rank, i);
        wanted[i] = got[i] = UNTOUCHED;
    }
    memory_put('D', in, sent, bytes);
    memory_put('D', out, got, bytes);
    ((const call_t *)call)->collective();
    memory_get('D', got, out, bytes);
    for (int i = 0; i < total(); i++)
        wrong += got[i] != wanted[i];
    return wrong;
}

/* With many elements only allreduces use ll. */
static void check_all(const buffers_t *buffers, bool is_taken)
{
    static const call_t all[] = {{"allreduce", allreduce},
                                 {"allreduce in place", allreduce_in_place},
                                 {"iallreduce", allreduce_later},
                                 {"reduce", reduce},
                                 {"reduce_scatter_block", reduce_scatter_block},
                                 {"reduce_scatter", reduce_scatter},
                                 {"bcast", bcast},
                                 {"allgather", allgather},
                                 {"gather", gather},
                                 {"scatter", scatter},
                                 {"alltoall", alltoall},
                                 {"allgatherv", allgatherv},
                                 {"bcast in pieces", bcast_in_pieces}};
    in = buffers->in, out = buffers->out;
    sent = buffers->sent, wanted = buffers->wanted, got = buffers->got;
    for (size_t i = 0; i < (count < MANY ? sizeof(all) / sizeof(all[0]) : ALLREDUCES); i++)
        check_method(all[i].name, try_once, &all[i], is_taken);
}

int main(int argc, char **argv)
{
    static const method_t ll = {"ll", "weft_exchange", buffer_bytes, check_all};
    return check_taken(&ll, argc, argv);
}
