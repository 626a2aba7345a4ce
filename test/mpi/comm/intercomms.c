/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intercommunicators: groups and ranks, messages between the groups, copies, parts, merging in all
 * orders, being freed while messages are under way, creating many, and wrong arguments, which fail
 * at all members of a group.
 */
#include "expect.h"

#include <stdlib.h>

enum { TAG = 23, MANY = 200 };

static int side, local_rank, local_size, remote_size;
static MPI_Comm local, inter;

static int first_of(int of_side)
{
    return of_side == 0 ? 0 : expect_size / 2;
}

/* The rank in the world of a remote rank. */
static int world_rank(int remote)
{
    return first_of(1 - side) + remote;
}

/* The last rank of each side leads it; what only leaders must give is wrong at all others. */
static void make_inter(void)
{
    int is_leader, sizes[2] = {expect_size / 2, expect_size - expect_size / 2};
    side = expect_rank >= first_of(1);
    local_size = sizes[side];
    remote_size = sizes[1 - side];
    local_rank = expect_rank - first_of(side);
    is_leader = local_rank == local_size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &local);
    EXPECT(MPI_Intercomm_create(local, local_size - 1, is_leader ? MPI_COMM_WORLD : MPI_COMM_NULL,
                                is_leader ? world_rank(remote_size - 1) : -7, TAG, &inter),
           MPI_SUCCESS);
}

/* ---- what it is ---- */

static void expect_ranks(MPI_Comm comm, int own, int size, int remote)
{
    int value, flag = 0;
    MPI_Comm_test_inter(comm, &flag);
    EXPECT(flag, 1);
    MPI_Comm_rank(comm, &value);
    EXPECT(value, own);
    MPI_Comm_size(comm, &value);
    EXPECT(value, size);
    MPI_Comm_remote_size(comm, &value);
    EXPECT(value, remote);
}

static void test_groups(void)
{
    MPI_Group own, remote, world;
    int zero = 0, rank, result;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(inter, &own);
    MPI_Comm_remote_group(inter, &remote);
    MPI_Group_translate_ranks(own, 1, &zero, world, &rank);
    EXPECT(rank, first_of(side));
    MPI_Group_translate_ranks(remote, 1, &zero, world, &rank);
    EXPECT(rank, first_of(1 - side));
    MPI_Group_size(remote, &rank);
    EXPECT(rank, remote_size);
    MPI_Comm_compare(inter, inter, &result);
    EXPECT(result, MPI_IDENT);
    MPI_Comm_compare(inter, local, &result);
    EXPECT(result, MPI_UNEQUAL);
    MPI_Topo_test(inter, &result);
    EXPECT(result, MPI_UNDEFINED);
    MPI_Group_free(&own);
    MPI_Group_free(&remote);
    MPI_Group_free(&world);
    expect_ranks(inter, local_rank, local_size, remote_size);
}

/* ---- messages ---- */

/* Each rank sends to all of the other group, and receives from any. */
static void test_messages(MPI_Comm comm)
{
    int *out = malloc(sizeof(int) * (size_t)remote_size), got, count;
    MPI_Request *requests = malloc(sizeof(MPI_Request) * (size_t)remote_size);
    MPI_Status status;
    for (int i = 0; i < remote_size; i++) {
        out[i] = 100 * expect_rank + i;
        MPI_Isend(&out[i], 1, MPI_INT, i, TAG, comm, &requests[i]);
    }
    for (int i = 0; i < remote_size; i++) {
        MPI_Probe(MPI_ANY_SOURCE, TAG, comm, &status);
        int source = status.MPI_SOURCE;
        EXPECT(source >= 0 && source < remote_size, 1);
        MPI_Recv(&got, 1, MPI_INT, i % 2 == 0 ? source : MPI_ANY_SOURCE, TAG, comm, &status);
        EXPECT(got, 100 * world_rank(status.MPI_SOURCE) + local_rank);
        MPI_Get_count(&status, MPI_INT, &count);
        EXPECT(count, 1);
    }
    MPI_Waitall(remote_size, requests, MPI_STATUSES_IGNORE);
    if (local_rank < remote_size && local_rank < local_size) {
        int peer = local_rank, mine = 3 * expect_rank;
        MPI_Sendrecv(&mine, 1, MPI_INT, peer, 5, &got, 1, MPI_INT, peer, 5, comm, &status);
        EXPECT(got, 3 * world_rank(peer));
        EXPECT(status.MPI_SOURCE, peer);
    }
    MPI_Send(&got, 1, MPI_INT, MPI_PROC_NULL, TAG, comm);
    free(out);
    free(requests);
}

static void expect_sum(MPI_Comm comm, int its_remote_size)
{
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum, its_remote_size);
}

/* ---- copies and parts ---- */

static int copies;

static int count_copy(MPI_Comm from, int keyval, void *extra, void *value, void *out, int *flag)
{
    (void)keyval, (void)extra;
    EXPECT(from == inter, 1);
    copies++;
    *(void **)out = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static void test_copies(void)
{
    MPI_Comm copy, later;
    MPI_Request request;
    int keyval, result;
    MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(inter, keyval, &copies);
    EXPECT(MPI_Comm_dup(inter, &copy), MPI_SUCCESS);
    EXPECT(MPI_Comm_idup(inter, &later, &request), MPI_SUCCESS);
    expect_sum(inter, remote_size); /* meanwhile */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(copies, 2);
    MPI_Comm_compare(inter, copy, &result);
    EXPECT(result, MPI_CONGRUENT);
    expect_ranks(copy, local_rank, local_size, remote_size);
    test_messages(copy);
    test_messages(later);
    expect_sum(later, remote_size);
    MPI_Comm_delete_attr(inter, keyval);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_free(&copy);
    EXPECT(MPI_Comm_disconnect(&later), MPI_SUCCESS);
    EXPECT(later == MPI_COMM_NULL, 1);
}

/* How many of `size` ranks have the parity of `rank`. */
static int count_parity(int size, int parity)
{
    return (size + 1 - parity) / 2;
}

/* By parity, in reverse order. */
static void test_split(void)
{
    MPI_Comm part;
    int parity = local_rank % 2, own = count_parity(local_size, parity);
    int remote = count_parity(remote_size, parity);
    EXPECT(MPI_Comm_split(inter, parity, -local_rank, &part), MPI_SUCCESS);
    EXPECT(part == MPI_COMM_NULL, remote == 0); /* the other group has none of this colour */
    if (part != MPI_COMM_NULL) {
        expect_ranks(part, own - 1 - local_rank / 2, own, remote);
        expect_sum(part, remote);
        MPI_Comm_free(&part);
    }
    EXPECT(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part), MPI_SUCCESS);
    if (part != MPI_COMM_NULL) /* on several hosts */
        MPI_Comm_free(&part);
    EXPECT(MPI_Comm_split(inter, side == 0 ? 0 : MPI_UNDEFINED, 0, &part), MPI_SUCCESS);
    EXPECT(part == MPI_COMM_NULL, 1);
}

/* Of the first rank of each group, and of nobody of one of them. */
static void test_create(void)
{
    MPI_Comm pair;
    MPI_Group own, first;
    int zero = 0;
    MPI_Comm_group(inter, &own);
    MPI_Group_incl(own, 1, &zero, &first);
    EXPECT(MPI_Comm_create(inter, first, &pair), MPI_SUCCESS);
    EXPECT(pair != MPI_COMM_NULL, local_rank == 0);
    if (pair != MPI_COMM_NULL) {
        expect_ranks(pair, 0, 1, 1);
        expect_sum(pair, 1);
        MPI_Comm_free(&pair);
    }
    EXPECT(MPI_Comm_create(inter, side == 0 ? MPI_GROUP_EMPTY : first, &pair), MPI_SUCCESS);
    EXPECT(pair == MPI_COMM_NULL, 1);
    MPI_Group_free(&own);
    MPI_Group_free(&first);
}

static void test_merge(void)
{
    for (int high_side = 0; high_side < 2; high_side++) {
        MPI_Comm all;
        int flag, rank, size, is_high = side == high_side;
        EXPECT(MPI_Intercomm_merge(inter, is_high, &all), MPI_SUCCESS);
        MPI_Comm_test_inter(all, &flag);
        EXPECT(flag, 0);
        MPI_Comm_rank(all, &rank);
        MPI_Comm_size(all, &size);
        EXPECT(size, expect_size);
        EXPECT(rank, is_high ? remote_size + local_rank : local_rank);
        expect_sum(all, expect_size);
        MPI_Comm_free(&all);
    }
    /* When both say the same, the groups come in some order, which all see alike. */
    MPI_Comm all;
    int rank, first;
    MPI_Intercomm_merge(inter, 1, &all);
    MPI_Comm_rank(all, &rank);
    first = rank - local_rank;
    EXPECT(first == 0 || first == remote_size, 1);
    MPI_Comm_free(&all);
}

/* ---- life ---- */

static void test_freeing(void)
{
    MPI_Comm copy;
    MPI_Request requests[2];
    int one = 1, sum = 0, peer = local_rank % remote_size;
    static int out[50000], in[50000]; /* not eager */
    MPI_Comm_dup(inter, &copy);
    if (local_rank < remote_size && expect_size % 2 == 0) {
        MPI_Irecv(in, 50000, MPI_INT, peer, 1, copy, &requests[0]);
        out[49999] = expect_rank;
        MPI_Send(out, 0, MPI_INT, peer, 2, copy);
        MPI_Isend(out, 50000, MPI_INT, peer, 1, copy, &requests[1]);
        MPI_Recv(NULL, 0, MPI_INT, peer, 2, copy, MPI_STATUS_IGNORE);
    } else {
        requests[0] = requests[1] = MPI_REQUEST_NULL;
    }
    MPI_Request reduction;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy, &reduction);
    MPI_Comm_free(&copy);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Wait(&reduction, MPI_STATUS_IGNORE);
    EXPECT(sum, remote_size);
    if (local_rank < remote_size && expect_size % 2 == 0)
        EXPECT(in[49999], world_rank(peer));
}

static void test_many(void)
{
    for (int i = 0; i < MANY; i++) {
        MPI_Comm other;
        EXPECT(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, world_rank(0), i % 3, &other),
               MPI_SUCCESS);
        if (i % 50 == 0)
            expect_sum(other, remote_size);
        MPI_Comm_free(&other);
    }
}

/* An intercommunicator serves for the leaders, too. */
static void test_peer_is_inter(void)
{
    MPI_Comm other;
    EXPECT(MPI_Intercomm_create(local, 0, inter, 0, TAG, &other), MPI_SUCCESS);
    expect_ranks(other, local_rank, local_size, remote_size);
    expect_sum(other, remote_size);
    MPI_Comm_free(&other);
}

/* Of groups alone; the remote group and its leader only matter at the leader. */
static void test_from_groups(void)
{
    MPI_Comm other;
    MPI_Group own, remote;
    int is_leader = local_rank == local_size - 1;
    MPI_Comm_group(inter, &own);
    MPI_Comm_remote_group(inter, &remote);
    for (int i = 0; i < 3; i++) {
        EXPECT(MPI_Intercomm_create_from_groups(
                   own, local_size - 1, is_leader ? remote : MPI_GROUP_NULL,
                   is_leader ? remote_size - 1 : -1, "test://intercomms", MPI_INFO_NULL,
                   MPI_ERRORS_ARE_FATAL, &other),
               MPI_SUCCESS);
        expect_ranks(other, local_rank, local_size, remote_size);
        test_messages(other);
        expect_sum(other, remote_size);
        MPI_Comm_free(&other);
    }
    EXPECT_ERROR(MPI_Intercomm_create_from_groups(own, 0, MPI_GROUP_NULL, 0, "test://wrong",
                                                  MPI_INFO_NULL, MPI_ERRORS_RETURN, &other),
                 local_rank == 0 ? MPI_ERR_GROUP : MPI_ERR_OTHER);
    EXPECT_ERROR(MPI_Intercomm_create_from_groups(own, 0, remote, remote_size, "test://wrong",
                                                  MPI_INFO_NULL, MPI_ERRORS_RETURN, &other),
                 local_rank == 0 ? MPI_ERR_RANK : MPI_ERR_OTHER);
    EXPECT_ERROR(MPI_Intercomm_create_from_groups(own, local_size, remote, 0, "test://wrong",
                                                  MPI_INFO_NULL, MPI_ERRORS_RETURN, &other),
                 MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Intercomm_create_from_groups(remote, 0, own, 0, "test://wrong", MPI_INFO_NULL,
                                                  MPI_ERRORS_RETURN, &other),
                 MPI_ERR_GROUP);
    MPI_Group_free(&own);
    MPI_Group_free(&remote);
}

/* ---- errors ---- */

static int handled;

static void note_error(MPI_Comm *comm, int *error, ...)
{
    (void)error;
    EXPECT(*comm == inter, 1);
    handled++;
}

/* Errors of collectives reach the handler with the communicator that the program knows. */
static void test_handler(void)
{
    MPI_Errhandler handler;
    int number = 0;
    MPI_Comm_create_errhandler(note_error, &handler);
    MPI_Comm_set_errhandler(inter, handler);
    EXPECT_ERROR(MPI_Bcast(&number, 1, MPI_INT, -77, inter), MPI_ERR_ROOT);
    EXPECT_ERROR(MPI_Send(&number, 1, MPI_INT, remote_size, 0, inter), MPI_ERR_RANK);
    EXPECT(handled, 2);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
}

static void test_errors(void)
{
    int dims = 1, periods = 0, value;
    MPI_Comm made, world = MPI_COMM_WORLD;
    MPI_Group group;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Comm_remote_size(world, &value), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Comm_remote_group(world, &group), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Intercomm_merge(world, 0, &made), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Intercomm_merge(inter, 0, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cart_create(inter, 1, &dims, &periods, 0, &made), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Intercomm_create(inter, 0, world, 0, 0, &made), MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Intercomm_create(local, local_size, world, 0, 0, &made), MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Intercomm_create(local, 0, world, 0, 0, NULL), MPI_ERR_ARG);
    /* The leader's mistake fails the group. */
    EXPECT_ERROR(MPI_Intercomm_create(local, 0, MPI_COMM_NULL, 0, 0, &made),
                 local_rank == 0 ? MPI_ERR_COMM : MPI_ERR_OTHER);
    EXPECT_ERROR(MPI_Intercomm_create(local, 0, world, expect_size, 0, &made),
                 local_rank == 0 ? MPI_ERR_RANK : MPI_ERR_OTHER);
    EXPECT_ERROR(MPI_Intercomm_create(local, 0, world, world_rank(0), -1, &made),
                 local_rank == 0 ? MPI_ERR_TAG : MPI_ERR_OTHER);
    /* Groups that have a member in common. */
    EXPECT_ERROR(MPI_Intercomm_create(world, 0, world, 0, 0, &made), MPI_ERR_GROUP);
    expect_sum(inter, remote_size); /* all of them have left nothing behind */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    if (expect_size > 1) {
        make_inter();
        test_groups();
        test_messages(inter);
        test_copies();
        test_split();
        test_create();
        test_merge();
        test_freeing();
        test_many();
        test_peer_is_inter();
        test_from_groups();
        test_handler();
        test_errors();
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
    return expect_end();
}
