/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives by kernels that wait for each other (way "flags"): are they taken where each rank has a device of its own,
 * and are their results right? The simulated driver counts the kernels; on another one only results are looked at.
 * Arguments: taken or not-taken, counts...
 */
#include "expect.h"
#include "memory_kinds.h"

#include <stdbool.h>
#include <stdlib.h>

/* Streams that run late make ranks go alone, until they have learnt to wait. */
enum { ROUNDS_MOST = 50, ROUNDS_WITHOUT = 6, STEP = 100000, UNTOUCHED = -1, MANY = 10000, ALLREDUCES = 3 };

static MPI_Comm comm;
static int rank, size, root, count;
static int *in, *out;      /* of the device: size * (count + size) integers */
static int *sent, *wanted; /* what lies in `in`, and what has to lie in `out` at the end */
static int *got;

static int total(void)
{
    return size * (count + size);
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

/* ---- the collectives: each says what it leaves, and does it ---- */

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

/* Rank r has count + r. */
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

/* Rank r sends r + count + 1 to each. */
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

/* ---- whether kernels ran ---- */

static unsigned long (*launches_of)(const char *prefix); /* NULL: not the simulated driver */

static unsigned long launches(void)
{
    return launches_of == NULL ? 0 : launches_of("weft_exchange");
}

static bool all_are(bool claim)
{
    int own = claim, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

static int try_once(void (*collective)(void))
{
    int wrong = 0;
    size_t bytes = (size_t)total() * sizeof(int);
    for (int i = 0; i < total(); i++) {
        sent[i] = value(rank, i);
        wanted[i] = got[i] = UNTOUCHED;
    }
    memory_put('D', in, sent, bytes);
    memory_put('D', out, got, bytes);
    collective();
    memory_get('D', got, out, bytes);
    for (int i = 0; i < total(); i++)
        wrong += got[i] != wanted[i];
    return wrong;
}

static void check(const char *name, void (*collective)(void), bool is_taken)
{
    char what[64];
    bool is_over = false;
    snprintf(what, sizeof(what), "%s of %d integers: wrong ones", name, count);
    int rounds = is_taken && launches_of != NULL ? ROUNDS_MOST : ROUNDS_WITHOUT;
    for (int round = 0; round < rounds && !is_over; round++) {
        unsigned long before = launches();
        root = round % size;
        expect_equal(try_once(collective), 0, what, __FILE__, __LINE__);
        is_over = all_are(launches() > before);
    }
    snprintf(what, sizeof(what), "%s of %d integers: by flags", name, count);
    if (launches_of != NULL)
        expect_equal(is_over, is_taken, what, __FILE__, __LINE__);
}

/* Of many elements only allreduces go by flags. */
static void check_all(bool is_taken)
{
    static const struct {
        const char *name;
        void (*collective)(void);
    } all[] = {{"allreduce", allreduce}, {"allreduce in place", allreduce_in_place}, {"iallreduce", allreduce_later},
               {"reduce", reduce}, {"reduce_scatter_block", reduce_scatter_block},
               {"reduce_scatter", reduce_scatter}, {"bcast", bcast}, {"allgather", allgather}, {"gather", gather},
               {"scatter", scatter}, {"alltoall", alltoall}, {"allgatherv", allgatherv},
               {"bcast in pieces", bcast_in_pieces}};
    for (size_t i = 0; i < (count < MANY ? sizeof(all) / sizeof(all[0]) : ALLREDUCES); i++)
        check(all[i].name, all[i].collective, is_taken);
}

static void check_count(bool is_taken)
{
    size_t bytes = (size_t)total() * sizeof(int);
    in = memory_take('D', bytes);
    out = memory_take('D', bytes);
    sent = malloc(bytes);
    wanted = malloc(bytes);
    got = malloc(bytes);
    check_all(is_taken);
    memory_give('D', in);
    memory_give('D', out);
    free(sent);
    free(wanted);
    free(got);
}

/* On the communicator of all, and on one without the first rank, whose order is turned round. */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    bool is_taken = strcmp(argv[1], "taken") == 0;
    *(void **)&launches_of = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fakeLaunches");
    for (int part = 0; part < 2; part++) {
        MPI_Comm_split(MPI_COMM_WORLD, part == 0 || expect_rank > 0, part == 0 ? 0 : -expect_rank, &comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (int i = 2; i < argc && size > 1; i++) {
            count = atoi(argv[i]);
            check_count(is_taken);
        }
        MPI_Comm_free(&comm);
    }
    return expect_end();
}
