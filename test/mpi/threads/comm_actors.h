/* SPDX-License-Identifier: BSD-3-Clause */
/* Actors of thread_pairs.c: making communicators, and using them; intercommunicators; sessions. */
#ifndef TEST_MPI_COMM_ACTORS_H
#define TEST_MPI_COMM_ACTORS_H

#include "stage.h"

/* Each rank of `comm` receives its left neighbour's number, and all are counted. */
static void check_comm(stage_t *stage, MPI_Comm comm)
{
    int rank = -1, size = 0, got = -1, one = 1, count = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    CHECK(stage, got, (rank + size - 1) % size);
    MPI_Allreduce(&one, &count, 1, MPI_INT, MPI_SUM, comm);
    CHECK(stage, count, size);
}

static void duplicate(stage_t *stage)
{
    MPI_Comm copies[3];
    MPI_Request request;
    int result = -1;
    MPI_Comm_idup(stage->own, &copies[0], &request);
    MPI_Comm_dup(stage->own, &copies[1]);
    MPI_Comm_dup_with_info(stage->own, MPI_INFO_NULL, &copies[2]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++) {
        MPI_Comm_compare(stage->own, copies[i], &result);
        CHECK(stage, result, MPI_CONGRUENT);
        check_comm(stage, copies[i]);
        MPI_Comm_free(&copies[i]);
    }
}

static void split(stage_t *stage)
{
    MPI_Comm half, host;
    int size = 0;
    MPI_Comm_split(stage->own, stage->rank % 2, -stage->rank, &half);
    MPI_Comm_size(half, &size);
    CHECK(stage, size, (stage->size + (stage->rank % 2 == 0)) / 2);
    check_comm(stage, half);
    MPI_Comm_split_type(half, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    check_comm(stage, host);
    MPI_Comm_free(&host);
    MPI_Comm_free(&half);
}

/* The upper half of the ranks, by a collective of all and by two of the half. */
static void create_of_group(stage_t *stage)
{
    MPI_Comm all, half, named;
    MPI_Group group, upper;
    int first = stage->size / 2, range[1][3] = {{first, stage->size - 1, 1}};
    char name[32];
    MPI_Comm_group(stage->shared, &group);
    MPI_Group_range_incl(group, 1, range, &upper);
    MPI_Comm_create(stage->own, upper, &all);
    CHECK(stage, all != MPI_COMM_NULL, stage->rank >= first);
    if (all != MPI_COMM_NULL) {
        check_comm(stage, all);
        MPI_Comm_free(&all);
        MPI_Comm_create_group(stage->shared, upper, stage_tag(stage, 40), &half);
        check_comm(stage, half);
        MPI_Comm_free(&half);
        snprintf(name, sizeof(name), "stage %d", stage->slot);
        MPI_Comm_create_from_group(upper, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &named);
        check_comm(stage, named);
        MPI_Comm_free(&named);
    }
    MPI_Group_free(&upper);
    MPI_Group_free(&group);
}

/* ---- intercommunicators: the even ranks and the odd ones ---- */

/* Each group gets the sum of the other's ranks, and the greatest of them. */
static void use_inter(stage_t *stage, MPI_Comm inter)
{
    int sum = -1, greatest[MOST_RANKS], remote = 0, is_inter = 0;
    int is_odd = stage->rank % 2, expected = 0;
    MPI_Comm_test_inter(inter, &is_inter);
    CHECK(stage, is_inter, 1);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(stage, remote, (stage->size + is_odd) / 2);
    for (int rank = 1 - is_odd; rank < stage->size; rank += 2)
        expected += rank;
    MPI_Allreduce(&stage->rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(stage, sum, expected);
    MPI_Allgather(&stage->rank, 1, MPI_INT, greatest, 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++)
        CHECK(stage, greatest[i], 2 * i + 1 - is_odd);
    MPI_Barrier(inter);
}

static void connect_groups(stage_t *stage)
{
    MPI_Comm half, inter, merged;
    int is_odd = stage->rank % 2, rank = -1;
    if (stage->size == 1)
        return;
    MPI_Comm_split(stage->own, is_odd, 0, &half);
    MPI_Intercomm_create(half, 0, stage->shared, 1 - is_odd, stage_tag(stage, 41), &inter);
    use_inter(stage, inter);
    MPI_Intercomm_merge(inter, is_odd, &merged);
    MPI_Comm_rank(merged, &rank);
    CHECK(stage, rank, stage->rank / 2 + (is_odd ? (stage->size + 1) / 2 : 0));
    check_comm(stage, merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* ---- topologies ---- */

static void arrange(stage_t *stage)
{
    MPI_Comm grid, graph;
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], rank = -1, weight = 1, weighted = 0;
    int in = -1, out = -1;
    MPI_Dims_create(stage->size, 2, dims);
    MPI_Cart_create(stage->own, 2, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, stage->rank, 2, coords);
    MPI_Cart_rank(grid, coords, &rank);
    CHECK(stage, rank, stage->rank);
    check_comm(stage, grid);
    MPI_Comm_free(&grid);
    MPI_Dist_graph_create(stage->own, 1, &stage->rank, (int[]){1}, &stage->right, &weight,
                          MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(stage, in, 1);
    CHECK(stage, out, 1);
    MPI_Neighbor_alltoall(&stage->rank, 1, MPI_INT, &in, 1, MPI_INT, graph);
    CHECK(stage, in, stage->left);
    MPI_Comm_free(&graph);
}

/* ---- sessions ---- */

/* The threads of a number open a session each, and make a communicator in it. */
static void open_session(stage_t *stage)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    int count = 0, size = -1;
    char name[32];
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    CHECK(stage, count >= 2, 1);
    MPI_Session_get_pset_info(session, "mpi://SELF", &info);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_size(group, &size);
    CHECK(stage, size, stage->size);
    snprintf(name, sizeof(name), "session %d", stage->slot);
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    check_comm(stage, comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    CHECK(stage, session == MPI_SESSION_NULL, 1);
}

static void buffer_in_session(stage_t *stage)
{
    enum { BYTES = 1000 + MPI_BSEND_OVERHEAD };
    char buffer[BYTES], *detached = NULL;
    int size = 0;
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_attach_buffer(session, buffer, BYTES);
    MPI_Session_flush_buffer(session);
    MPI_Session_detach_buffer(session, &detached, &size);
    CHECK(stage, detached == buffer, 1);
    CHECK(stage, size, BYTES);
    MPI_Session_finalize(&session);
}

static const actor_t comm_actors[] = {
    {"duplicate", duplicate, 0},
    {"split", split, 0},
    {"create_of_group", create_of_group, 0},
    {"connect_groups", connect_groups, 0},
    {"arrange", arrange, 0},
    {"open_session", open_session, 0},
    {"buffer_in_session", buffer_in_session, 1},
};

#endif
