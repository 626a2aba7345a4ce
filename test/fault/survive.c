/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that die while all are in operations of one kind, and survivors that go on:
 *
 *     survive OPERATION VICTIMS SEED
 *
 * In each round one rank kills itself at a random moment, while all repeat the operation until it
 * fails at them. Then they revoke the communicator, shrink it, check it, and the next round goes on
 * with what is left. Results that come without an error have to be right. Prints nothing when all
 * is well.
 */
#include "dying.h"

#include <mpi.h>
#include <mpix.h>

#include <string.h>

enum { SMALL = 3, LONG = 14000, LARGE = 40000, MOMENT_US = 4000 };

static unsigned long long state;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % below;
}

/* ---- operations: each returns the first error ---- */

typedef struct place {
    MPI_Comm comm;
    int rank, size, round;
} place_t;

static int value_of(int rank, int round, int i)
{
    return rank * 7 + round * 3 + i;
}

static void fill(int *data, int count, int rank, int round)
{
    for (int i = 0; i < count; i++)
        data[i] = value_of(rank, round, i);
}

static void check_from(const int *data, int count, int rank, int round)
{
    for (int i = 0; i < count; i++)
        check(data[i] == value_of(rank, round, i), "element %d from rank %d is %d, not %d", i, rank,
              data[i], value_of(rank, round, i));
}

static void check_sum(const int *data, int count, const place_t *at)
{
    for (int i = 0; i < count; i++) {
        int sum = 0;
        for (int rank = 0; rank < at->size; rank++)
            sum += value_of(rank, at->round, i);
        check(data[i] == sum, "element %d of a sum is %d, not %d", i, data[i], sum);
    }
}

static int out[64 * SMALL + LARGE], in[64 * SMALL + LARGE];

static int do_barrier(const place_t *at)
{
    return MPI_Barrier(at->comm);
}

static int sum_of(const place_t *at, int count)
{
    fill(out, count, at->rank, at->round);
    int err = MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, at->comm);
    if (err == MPI_SUCCESS)
        check_sum(in, count, at);
    return err;
}

static int do_allreduce(const place_t *at)
{
    return sum_of(at, SMALL);
}

static int do_allreduce_large(const place_t *at)
{
    return sum_of(at, LARGE);
}

static int do_bcast(const place_t *at)
{
    int root = at->round % at->size;
    fill(in, LARGE, at->rank, at->round);
    int err = MPI_Bcast(in, LARGE, MPI_INT, root, at->comm);
    if (err == MPI_SUCCESS)
        check_from(in, LARGE, root, at->round);
    return err;
}

static int do_alltoall(const place_t *at)
{
    for (int i = 0; i < at->size; i++)
        fill(out + i * SMALL, SMALL, at->rank, at->round + i);
    int err = MPI_Alltoall(out, SMALL, MPI_INT, in, SMALL, MPI_INT, at->comm);
    for (int i = 0; err == MPI_SUCCESS && i < at->size; i++)
        check_from(in + i * SMALL, SMALL, i, at->round + at->rank);
    return err;
}

static int do_gather_scatter(const place_t *at)
{
    int root = at->round % at->size;
    fill(out, SMALL, at->rank, at->round);
    int err = MPI_Gather(out, SMALL, MPI_INT, in, SMALL, MPI_INT, root, at->comm);
    if (err != MPI_SUCCESS)
        return err;
    err = MPI_Scatter(in, SMALL, MPI_INT, out, SMALL, MPI_INT, root, at->comm);
    if (err == MPI_SUCCESS)
        check_from(out, SMALL, at->rank, at->round);
    return err;
}

static int do_scan(const place_t *at)
{
    fill(out, SMALL, at->rank, at->round);
    return MPI_Scan(out, in, SMALL, MPI_INT, MPI_SUM, at->comm);
}

static int do_reduce_scatter(const place_t *at)
{
    fill(out, SMALL * at->size, at->rank, at->round);
    return MPI_Reduce_scatter_block(out, in, SMALL, MPI_INT, MPI_SUM, at->comm);
}

static int do_iallreduce(const place_t *at)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    fill(out, SMALL, at->rank, at->round);
    int err = MPI_Iallreduce(out, in, SMALL, MPI_INT, MPI_SUM, at->comm, &requests[0]);
    if (err != MPI_SUCCESS)
        return err;
    err = MPI_Ibarrier(at->comm, &requests[1]);
    if (err != MPI_SUCCESS) {
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        return err;
    }
    err = MPI_Waitall(2, requests, statuses);
    if (err != MPI_ERR_IN_STATUS)
        return err;
    return statuses[0].MPI_ERROR != MPI_SUCCESS ? statuses[0].MPI_ERROR : statuses[1].MPI_ERROR;
}

static int do_persistent(const place_t *at)
{
    MPI_Request request;
    fill(out, SMALL, at->rank, at->round);
    int err =
        MPI_Allreduce_init(out, in, SMALL, MPI_INT, MPI_SUM, at->comm, MPI_INFO_NULL, &request);
    if (err != MPI_SUCCESS)
        return err;
    for (int i = 0; err == MPI_SUCCESS && i < 5; i++) {
        err = MPI_Start(&request);
        if (err == MPI_SUCCESS)
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    return err;
}

static int ring_with(const place_t *at, int count, int is_sync)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int next = (at->rank + 1) % at->size, previous = (at->rank + at->size - 1) % at->size;
    fill(out, count, at->rank, at->round);
    int err = MPI_Irecv(in, count, MPI_INT, previous, 1, at->comm, &requests[0]);
    if (err != MPI_SUCCESS)
        return err;
    err = is_sync ? MPI_Issend(out, count, MPI_INT, next, 1, at->comm, &requests[1])
                  : MPI_Isend(out, count, MPI_INT, next, 1, at->comm, &requests[1]);
    if (err != MPI_SUCCESS) {
        MPIX_Comm_revoke(at->comm);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        return err;
    }
    int index, last = MPI_SUCCESS;
    err = MPI_Waitany(2, requests, &index, &statuses[0]);
    if (err != MPI_SUCCESS)
        MPIX_Comm_revoke(at->comm);
    last = MPI_Wait(&requests[1 - index], &statuses[1]);
    if (err == MPI_SUCCESS && last == MPI_SUCCESS)
        check_from(in, count, previous, at->round);
    return err != MPI_SUCCESS ? err : last;
}

static int do_ring(const place_t *at)
{
    return ring_with(at, SMALL, 0);
}

/* Unasked, in several packets. */
static int do_ring_long(const place_t *at)
{
    return ring_with(at, LONG, 0);
}

static int do_ring_large(const place_t *at)
{
    return ring_with(at, LARGE, 0);
}

static int do_ring_sync(const place_t *at)
{
    return ring_with(at, SMALL, 1);
}

static int do_sendrecv(const place_t *at)
{
    int next = (at->rank + 1) % at->size, previous = (at->rank + at->size - 1) % at->size;
    fill(out, LARGE, at->rank, at->round);
    int err = MPI_Sendrecv(out, LARGE, MPI_INT, next, 2, in, LARGE, MPI_INT, previous, 2, at->comm,
                           MPI_STATUS_IGNORE);
    if (err == MPI_SUCCESS)
        check_from(in, LARGE, previous, at->round);
    return err;
}

/* Rank 0 receives from any source, by three kinds of calls; the others send, and wait for it. */
static int do_any_source(const place_t *at)
{
    int err = MPI_SUCCESS;
    if (at->rank != 0) {
        fill(out, SMALL, at->rank, at->round);
        err = MPI_Send(out, SMALL, MPI_INT, 0, 3, at->comm);
        return err != MPI_SUCCESS ? err
                                  : MPI_Recv(in, 0, MPI_INT, 0, 4, at->comm, MPI_STATUS_IGNORE);
    }
    for (int i = 1; err == MPI_SUCCESS && i < at->size; i++) {
        MPI_Status status;
        MPI_Request request;
        if (i % 3 == 0) {
            err = MPI_Recv(in, SMALL, MPI_INT, MPI_ANY_SOURCE, 3, at->comm, &status);
        } else if (i % 3 == 1) {
            err = MPI_Irecv(in, SMALL, MPI_INT, MPI_ANY_SOURCE, 3, at->comm, &request);
            if (err == MPI_SUCCESS)
                err = MPI_Wait(&request, &status);
            if (err == MPIX_ERR_PROC_FAILED_PENDING) {
                check(request != MPI_REQUEST_NULL, "a pending request is gone");
                MPI_Cancel(&request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        } else {
            err = MPI_Probe(MPI_ANY_SOURCE, 3, at->comm, &status);
            if (err == MPI_SUCCESS)
                err = MPI_Recv(in, SMALL, MPI_INT, status.MPI_SOURCE, 3, at->comm, &status);
        }
        if (err == MPI_SUCCESS)
            check_from(in, SMALL, status.MPI_SOURCE, at->round);
    }
    for (int i = 1; err == MPI_SUCCESS && i < at->size; i++)
        err = MPI_Send(NULL, 0, MPI_INT, i, 4, at->comm);
    return err;
}

static int do_neighbors(const place_t *at)
{
    MPI_Comm grid;
    int dims[1] = {at->size}, periods[1] = {1};
    int err = MPI_Cart_create(at->comm, 1, dims, periods, 0, &grid);
    if (err != MPI_SUCCESS)
        return err;
    for (int i = 0; err == MPI_SUCCESS && i < 5; i++) {
        fill(out, 2 * SMALL, at->rank, at->round);
        err = MPI_Neighbor_alltoall(out, SMALL, MPI_INT, in, SMALL, MPI_INT, grid);
    }
    if (err != MPI_SUCCESS)
        MPIX_Comm_revoke(grid);
    MPI_Comm_free(&grid);
    return err;
}

/* Made before anybody dies: of the ranks that are even, or odd; and of both. */
static MPI_Comm part = MPI_COMM_NULL, inter = MPI_COMM_NULL;

static void make_parts(MPI_Comm comm, int rank)
{
    MPI_Comm_split(comm, rank % 2, 0, &part);
    MPI_Intercomm_create(part, 0, comm, 1 - rank % 2, 5, &inter);
}

static void free_parts(void)
{
    MPI_Comm_free(&part);
    MPI_Comm_free(&inter);
}

static int do_inter(const place_t *at)
{
    fill(out, SMALL, at->rank, at->round);
    int err = MPI_Allreduce(out, in, SMALL, MPI_INT, MPI_SUM, inter);
    if (err == MPI_SUCCESS)
        err = MPI_Barrier(inter);
    if (err != MPI_SUCCESS)
        MPIX_Comm_revoke(inter);
    return err;
}

static int do_merge(const place_t *at)
{
    MPI_Comm merged;
    int err = MPI_Intercomm_merge(inter, at->rank % 2, &merged);
    if (err != MPI_SUCCESS)
        MPIX_Comm_revoke(inter);
    else
        MPI_Comm_free(&merged);
    return err;
}

/* Leaders, whose messages are in `comm`, and all others wait for ranks of both groups. */
static int do_inter_create(const place_t *at)
{
    MPI_Comm made;
    int err = MPI_Intercomm_create(part, 0, at->comm, 1 - at->rank % 2, 5, &made);
    if (err == MPI_SUCCESS)
        return MPI_Comm_free(&made);
    MPIX_Comm_revoke(part);
    MPIX_Comm_revoke(at->comm);
    return err;
}

/* Who goes on to the next one without the others could wait for ever: no communicator could be
 * revoked. */
static int are_all_good(const place_t *at, int err)
{
    int flag = err == MPI_SUCCESS;
    int agreed = MPIX_Comm_agree(at->comm, &flag);
    if (err != MPI_SUCCESS || flag != 0)
        return err != MPI_SUCCESS ? err : agreed;
    return MPIX_ERR_PROC_FAILED;
}

static int do_from_group(const place_t *at)
{
    MPI_Comm made;
    MPI_Group group;
    MPI_Comm_group(at->comm, &group);
    int err = MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
    if (err == MPI_SUCCESS)
        MPI_Comm_free(&made);
    MPI_Group_free(&group);
    return are_all_good(at, err);
}

static int do_from_groups(const place_t *at)
{
    MPI_Comm made;
    MPI_Group own, other;
    int leader = at->size > 3 ? at->rank % 2 : 0; /* both groups have as many */
    int other_leader = at->size > 3 ? 1 - leader : 0;
    MPI_Comm_group(part, &own);
    MPI_Comm_remote_group(inter, &other);
    int err = MPI_Intercomm_create_from_groups(own, leader, other, other_leader, "parts",
                                               MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
    if (err == MPI_SUCCESS)
        MPI_Comm_free(&made);
    MPI_Group_free(&own);
    MPI_Group_free(&other);
    return are_all_good(at, err);
}

static int do_dup(const place_t *at)
{
    MPI_Comm copy;
    int err = MPI_Comm_dup(at->comm, &copy);
    if (err == MPI_SUCCESS)
        MPI_Comm_free(&copy);
    return err;
}

static int do_partitioned(const place_t *at)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int next = (at->rank + 1) % at->size, previous = (at->rank + at->size - 1) % at->size;
    fill(out, 4 * SMALL, at->rank, at->round);
    int err =
        MPI_Precv_init(in, 4, SMALL, MPI_INT, previous, 6, at->comm, MPI_INFO_NULL, &requests[0]);
    if (err == MPI_SUCCESS)
        err =
            MPI_Psend_init(out, 4, SMALL, MPI_INT, next, 6, at->comm, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; err == MPI_SUCCESS && i < 2; i++)
        err = MPI_Start(&requests[i]);
    for (int i = 0; err == MPI_SUCCESS && i < 4; i++)
        err = MPI_Pready(i, requests[1]);
    for (int i = 0; i < 2; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        if (err != MPI_SUCCESS)
            MPIX_Comm_revoke(at->comm);
        int last = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        err = err != MPI_SUCCESS ? err : last;
        MPI_Request_free(&requests[i]);
    }
    if (err == MPI_SUCCESS)
        check_from(in, 4 * SMALL, previous, at->round);
    return err;
}

/* All survivors see the same flags and the same error. */
static int do_agree(const place_t *at)
{
    int flag = ~(1 << at->rank);
    int err = MPIX_Comm_agree(at->comm, &flag);
    for (int rank = 0; err == MPI_SUCCESS && rank < at->size; rank++)
        check((flag >> rank & 1) == 0, "rank %d is missed in flag %x without an error", rank, flag);
    int mine = flag, all = flag;
    int second = MPIX_Comm_agree(at->comm, &all);
    check(all == mine || second != MPI_SUCCESS, "flags differ: %x, and %x of all", mine, all);
    return err != MPI_SUCCESS ? err : second;
}

static int do_iagree(const place_t *at)
{
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int flags[3], err = MPI_SUCCESS;
    for (int i = 0; i < 3; i++) {
        flags[i] = ~(1 << at->rank) & ~(1 << (20 + i));
        MPIX_Comm_iagree(at->comm, &flags[i], &requests[i]);
    }
    if (MPI_Waitall(3, requests, statuses) == MPI_SUCCESS)
        return MPI_SUCCESS;
    for (int i = 0; i < 3; i++) {
        check((flags[i] >> (20 + i) & 1) == 0, "flag %d is %x", i, flags[i]);
        err = err != MPI_SUCCESS ? err : statuses[i].MPI_ERROR;
    }
    return err;
}

/* It works all the time, so it ends when somebody is missing. */
static int do_shrink(const place_t *at)
{
    MPI_Comm made;
    int size, err = MPIX_Comm_shrink(at->comm, &made);
    check(err == MPI_SUCCESS, "a shrink fails with %d", err);
    MPI_Comm_size(made, &size);
    MPI_Comm_free(&made);
    return size == at->size ? MPI_SUCCESS : MPIX_ERR_PROC_FAILED;
}

static const struct {
    const char *name;
    int (*run)(const place_t *at);
} operations[] = {
    {"barrier", do_barrier},
    {"allreduce", do_allreduce},
    {"allreduce_large", do_allreduce_large},
    {"bcast", do_bcast},
    {"alltoall", do_alltoall},
    {"gather_scatter", do_gather_scatter},
    {"scan", do_scan},
    {"reduce_scatter", do_reduce_scatter},
    {"iallreduce", do_iallreduce},
    {"persistent", do_persistent},
    {"ring", do_ring},
    {"ring_long", do_ring_long},
    {"ring_large", do_ring_large},
    {"ring_sync", do_ring_sync},
    {"sendrecv", do_sendrecv},
    {"any_source", do_any_source},
    {"neighbors", do_neighbors},
    {"inter", do_inter},
    {"merge", do_merge},
    {"inter_create", do_inter_create},
    {"from_group", do_from_group},
    {"from_groups", do_from_groups},
    {"dup", do_dup},
    {"partitioned", do_partitioned},
    {"agree", do_agree},
    {"iagree", do_iagree},
    {"shrink", do_shrink},
};
enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* ---- rounds ---- */

static void check_class(int err)
{
    int error_class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(err, &error_class);
    MPI_Error_string(err, text, &length);
    check(error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_REVOKED ||
              error_class == MPIX_ERR_PROC_FAILED_PENDING,
          "the error is of class %d: %s", error_class, text);
}

static void repeat(const char *name, place_t *at)
{
    int err = MPI_SUCCESS, i = 0;
    while (strcmp(operations[i].name, name) != 0)
        i++;
    for (at->round = 0; err == MPI_SUCCESS; at->round++)
        err = operations[i].run(at);
    check_class(err);
}

/* The ranks of MPI_COMM_WORLD go on in their order, and only the victim is missing. */
static void check_shrunk(MPI_Comm comm, int old_size)
{
    int rank, size, ranks[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    check(size == old_size - 1, "%d ranks are left of %d", size, old_size);
    int err = MPI_Allgather(&world_rank, 1, MPI_INT, ranks, 1, MPI_INT, comm);
    check(err == MPI_SUCCESS, "an allgather of survivors fails with %d", err);
    check(ranks[rank] == world_rank, "rank %d of the survivors is %d", rank, ranks[rank]);
    for (int i = 1; i < size; i++)
        check(ranks[i - 1] < ranks[i], "the order is lost: %d before %d", ranks[i - 1], ranks[i]);
}

static void check_failed(MPI_Comm comm)
{
    MPI_Group failed, group;
    int count, zero = 0, translated, is_revoked;
    MPIX_Comm_get_failed(comm, &failed);
    MPI_Group_size(failed, &count);
    check(count == 1, "%d ranks have failed, not 1", count);
    MPI_Comm_group(comm, &group);
    MPI_Group_translate_ranks(failed, 1, &zero, group, &translated);
    check(translated != MPI_UNDEFINED, "the failed rank is not in the communicator");
    MPI_Group_free(&failed);
    MPI_Group_free(&group);
    MPIX_Comm_is_revoked(comm, &is_revoked);
    check(is_revoked, "the communicator is not revoked");
}

static MPI_Comm play(const char *name, MPI_Comm comm, unsigned victim, unsigned moment_us)
{
    MPI_Comm made;
    place_t at = {.comm = comm};
    int flag = 1;
    MPI_Comm_rank(comm, &at.rank);
    MPI_Comm_size(comm, &at.size);
    make_parts(comm, at.rank);
    /* All have checked the communicator. */
    check(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS, "survivors cannot agree");
    if (at.rank == (int)victim)
        die_soon(moment_us);
    repeat(name, &at);
    free_parts();
    MPIX_Comm_revoke(comm);
    int err = MPI_Barrier(comm);
    check(err == MPIX_ERR_REVOKED, "a barrier after the revocation gives %d", err);
    err = MPIX_Comm_shrink(comm, &made);
    check(err == MPI_SUCCESS, "the shrink fails with %d", err);
    check_failed(comm);
    check_shrunk(made, at.size);
    MPI_Comm_free(&comm);
    return made;
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    check(argc == 4, "usage: survive OPERATION VICTIMS SEED");
    state = strtoull(argv[3], NULL, 10);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < atoi(argv[2]); i++) {
        int size;
        MPI_Comm_size(comm, &size);
        unsigned victim = draw((unsigned)size), moment_us = draw(MOMENT_US);
        comm = play(argv[1], comm, victim, moment_us);
    }
    MPI_Comm_free(&comm);
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
