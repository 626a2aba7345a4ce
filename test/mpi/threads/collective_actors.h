/* SPDX-License-Identifier: BSD-3-Clause */
/* Actors of thread_pairs.c: collectives of all forms, on the thread's own communicator. */
#ifndef TEST_MPI_COLLECTIVE_ACTORS_H
#define TEST_MPI_COLLECTIVE_ACTORS_H

#include "stage.h"

/* How many ints a collective has for each rank. */
static int stage_vector(stage_t *stage)
{
    static const int counts[] = {1, 5, 400, 3000};
    return counts[stage_draw(stage, 4)];
}

/* The sum of the i-th values of ranks 0 to `ranks` - 1. */
static int sum_of(const stage_t *stage, int ranks, int i)
{
    unsigned sum = 0;
    for (int rank = 0; rank < ranks; rank++)
        sum += (unsigned)stage_value(stage, rank, i);
    return (int)sum;
}

static void check_sums(const stage_t *stage, const int *data, int count, int ranks)
{
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += data[i] != sum_of(stage, ranks, i);
    CHECK(stage, wrong, 0);
}

static void check_blocks(const stage_t *stage, const int *data, int count)
{
    for (int rank = 0; rank < stage->size; rank++)
        stage_check_data(stage, data + rank * count, count, rank);
}

/* Block `rank` of all ranks' vectors, as this rank gets it by an alltoall. */
static void check_transposed(const stage_t *stage, const int *data, int count)
{
    int wrong = 0;
    for (int rank = 0; rank < stage->size; rank++)
        for (int i = 0; i < count; i++)
            wrong += data[rank * count + i] != stage_value(stage, rank, stage->rank * count + i);
    CHECK(stage, wrong, 0);
}

static void bcast_and_barrier(stage_t *stage)
{
    int count = stage_vector(stage), root = stage_draw(stage, stage->size);
    memset(stage->in, 0, (size_t)count * sizeof(int));
    if (stage->rank == root)
        stage_fill(stage, stage->in, count);
    MPI_Bcast(stage->in, count, MPI_INT, root, stage->own);
    stage_check_data(stage, stage->in, count, root);
    MPI_Barrier(stage->own);
}

static void reduce_all_forms(stage_t *stage)
{
    int count = stage_vector(stage), root = stage_draw(stage, stage->size);
    stage_fill(stage, stage->out, count);
    MPI_Reduce(stage->out, stage->in, count, MPI_INT, MPI_SUM, root, stage->own);
    if (stage->rank == root)
        check_sums(stage, stage->in, count, stage->size);
    MPI_Allreduce(MPI_IN_PLACE, stage->out, count, MPI_INT, MPI_SUM, stage->own);
    check_sums(stage, stage->out, count, stage->size);
}

static void reduce_and_scatter(stage_t *stage)
{
    int count = stage_vector(stage), wrong = 0, counts[MOST_RANKS];
    for (int i = 0; i < stage->size; i++)
        counts[i] = count;
    stage_fill(stage, stage->out, count * stage->size);
    MPI_Reduce_scatter_block(stage->out, stage->in, count, MPI_INT, MPI_SUM, stage->own);
    MPI_Reduce_scatter(stage->out, stage->in + count, counts, MPI_INT, MPI_SUM, stage->own);
    for (int i = 0; i < 2 * count; i++)
        wrong += stage->in[i] != sum_of(stage, stage->size, stage->rank * count + i % count);
    CHECK(stage, wrong, 0);
}

static void scan_and_exscan(stage_t *stage)
{
    int count = stage_vector(stage);
    stage_fill(stage, stage->out, count);
    MPI_Scan(stage->out, stage->in, count, MPI_INT, MPI_SUM, stage->own);
    check_sums(stage, stage->in, count, stage->rank + 1);
    MPI_Exscan(stage->out, stage->in, count, MPI_INT, MPI_SUM, stage->own);
    if (stage->rank > 0)
        check_sums(stage, stage->in, count, stage->rank);
}

static void gather_and_scatter(stage_t *stage)
{
    int count = stage_vector(stage), root = stage_draw(stage, stage->size);
    stage_fill(stage, stage->out, count);
    MPI_Gather(stage->out, count, MPI_INT, stage->in, count, MPI_INT, root, stage->own);
    if (stage->rank == root)
        check_blocks(stage, stage->in, count);
    memset(stage->out, 0, (size_t)count * sizeof(int));
    MPI_Scatter(stage->in, count, MPI_INT, stage->out, count, MPI_INT, root, stage->own);
    stage_check_data(stage, stage->out, count, stage->rank);
}

/* Rank r has r + 1 ints. */
static void gather_uneven(stage_t *stage)
{
    int counts[MOST_RANKS], places[MOST_RANKS], total = 0;
    for (int i = 0; i < stage->size; i++) {
        counts[i] = i + 1;
        places[i] = total;
        total += counts[i];
    }
    stage_fill(stage, stage->out, stage->rank + 1);
    MPI_Allgatherv(stage->out, stage->rank + 1, MPI_INT, stage->in, counts, places, MPI_INT,
                   stage->own);
    for (int i = 0; i < stage->size; i++)
        stage_check_data(stage, stage->in + places[i], counts[i], i);
    memset(stage->out, 0, sizeof(int) * (size_t)(stage->rank + 1));
    MPI_Scatterv(stage->in, counts, places, MPI_INT, stage->out, stage->rank + 1, MPI_INT, 0,
                 stage->own);
    stage_check_data(stage, stage->out, stage->rank + 1, stage->rank);
    MPI_Gatherv(stage->out, stage->rank + 1, MPI_INT, stage->in, counts, places, MPI_INT, 0,
                stage->own);
}

static void exchange_with_all(stage_t *stage)
{
    int count = stage_vector(stage), counts[MOST_RANKS], places[MOST_RANKS];
    for (int i = 0; i < stage->size; i++) {
        counts[i] = count;
        places[i] = i * count;
    }
    stage_fill(stage, stage->out, count);
    MPI_Allgather(stage->out, count, MPI_INT, stage->in, count, MPI_INT, stage->own);
    check_blocks(stage, stage->in, count);
    stage_fill(stage, stage->out, count * stage->size);
    MPI_Alltoall(stage->out, count, MPI_INT, stage->in, count, MPI_INT, stage->own);
    check_transposed(stage, stage->in, count);
    memset(stage->in, 0, (size_t)(count * stage->size) * sizeof(int));
    MPI_Alltoallv(stage->out, counts, places, MPI_INT, stage->in, counts, places, MPI_INT,
                  stage->own);
    check_transposed(stage, stage->in, count);
}

/* Several at once, completed in another order. */
static void begin_collectives(stage_t *stage)
{
    enum { COUNT = 600 };
    MPI_Request requests[4];
    int *gathered = stage->in, *sums = stage->in + 20000, *told = stage->in + 30000, index;
    stage_fill(stage, stage->out, COUNT);
    memset(told, 0, COUNT * sizeof(int));
    if (stage->rank == 0)
        stage_fill(stage, told, COUNT);
    MPI_Iallgather(stage->out, COUNT, MPI_INT, gathered, COUNT, MPI_INT, stage->own, &requests[0]);
    MPI_Ibcast(told, COUNT, MPI_INT, 0, stage->own, &requests[1]);
    MPI_Iallreduce(stage->out, sums, COUNT, MPI_INT, MPI_SUM, stage->own, &requests[2]);
    MPI_Ibarrier(stage->own, &requests[3]);
    MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++)
        MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
    check_blocks(stage, gathered, COUNT);
    check_sums(stage, sums, COUNT, stage->size);
    stage_check_data(stage, told, COUNT, 0);
}

static void *wait_for_one(void *argument)
{
    MPI_Wait(argument, MPI_STATUS_IGNORE);
    return NULL;
}

/* Begun by this thread and completed by another. */
static void end_collective_elsewhere(stage_t *stage)
{
    int count = stage_vector(stage);
    MPI_Request request;
    stage_fill(stage, stage->out, count * stage->size);
    MPI_Ialltoall(stage->out, count, MPI_INT, stage->in, count, MPI_INT, stage->own, &request);
    pthread_join(stage_helper(wait_for_one, &request), NULL);
    check_transposed(stage, stage->in, count);
}

static void start_persistent_collectives(stage_t *stage)
{
    int count = stage_vector(stage);
    MPI_Request requests[2];
    MPI_Allreduce_init(stage->out, stage->in, count, MPI_INT, MPI_SUM, stage->own, MPI_INFO_NULL,
                       &requests[0]);
    MPI_Allgather_init(stage->out, count, MPI_INT, stage->in + count, count, MPI_INT, stage->own,
                       MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 2; i++) {
        stage_fill(stage, stage->out, count);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        check_sums(stage, stage->in, count, stage->size);
        check_blocks(stage, stage->in + count, count);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* The operands in the order of ranks: x, y -> 3 x + y; calls MPI. */
static void fold(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const unsigned *x = in;
    unsigned *y = inout;
    int bytes = 0;
    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *length && bytes == (int)sizeof(*x); i++)
        y[i] += 3 * x[i];
}

static void reduce_by_function(stage_t *stage)
{
    int count = stage_vector(stage), wrong = 0;
    MPI_Op op;
    MPI_Op_create(fold, 0, &op);
    stage_fill(stage, stage->out, count);
    MPI_Allreduce(stage->out, stage->in, count, MPI_INT, op, stage->own);
    for (int i = 0; i < count; i++) {
        unsigned expected = (unsigned)stage_value(stage, 0, i);
        for (int rank = 1; rank < stage->size; rank++)
            expected = 3 * expected + (unsigned)stage_value(stage, rank, i);
        wrong += (unsigned)stage->in[i] != expected;
    }
    CHECK(stage, wrong, 0);
    MPI_Op_free(&op);
}

/* The neighbours on a ring: the left one first. */
static void exchange_with_neighbors(stage_t *stage)
{
    int count = stage_vector(stage), periods = 1;
    MPI_Comm ring;
    MPI_Request request;
    MPI_Cart_create(stage->own, 1, &stage->size, &periods, 0, &ring);
    stage_fill(stage, stage->out, count);
    MPI_Neighbor_allgather(stage->out, count, MPI_INT, stage->in, count, MPI_INT, ring);
    stage_check_data(stage, stage->in, count, stage->left);
    stage_check_data(stage, stage->in + count, count, stage->right);
    memset(stage->in, 0, 2 * sizeof(int) * (size_t)count);
    MPI_Ineighbor_allgather(stage->out, count, MPI_INT, stage->in, count, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    stage_check_data(stage, stage->in, count, stage->left);
    stage_check_data(stage, stage->in + count, count, stage->right);
    MPI_Comm_free(&ring);
}

static const actor_t collective_actors[] = {
    {"bcast_and_barrier", bcast_and_barrier, 0},
    {"reduce_all_forms", reduce_all_forms, 0},
    {"reduce_and_scatter", reduce_and_scatter, 0},
    {"scan_and_exscan", scan_and_exscan, 0},
    {"gather_and_scatter", gather_and_scatter, 0},
    {"gather_uneven", gather_uneven, 0},
    {"exchange_with_all", exchange_with_all, 0},
    {"begin_collectives", begin_collectives, 0},
    {"end_collective_elsewhere", end_collective_elsewhere, 0},
    {"start_persistent_collectives", start_persistent_collectives, 0},
    {"reduce_by_function", reduce_by_function, 0},
    {"exchange_with_neighbors", exchange_with_neighbors, 0},
};

#endif
