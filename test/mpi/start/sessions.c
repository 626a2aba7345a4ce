/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions one after another and beside each other, and with the World model in any order:
 *
 *   sessions alone     never calls MPI_Init
 *   sessions around    sessions before, in and after MPI_Init ... MPI_Finalize, some across them
 *   sessions after     the first session is opened after MPI_Finalize
 *   sessions one       one process alone has a session, across MPI_Finalize
 */
#include "../expect.h"

enum { ROUNDS = 5, COUNT = 50000 };

static MPI_Session open_session(void)
{
    MPI_Session session = MPI_SESSION_NULL;
    EXPECT(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session), MPI_SUCCESS);
    EXPECT(session != MPI_SESSION_NULL, 1);
    return session;
}

static void end_session(MPI_Session *session)
{
    EXPECT(MPI_Session_finalize(session), MPI_SUCCESS);
    EXPECT(*session == MPI_SESSION_NULL, 1);
}

static MPI_Comm make_comm(MPI_Session session, const char *set, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* Short and long messages around a ring, a collective, and a copy of the communicator. */
static void use_comm(MPI_Comm comm)
{
    static int sent[COUNT], got[COUNT];
    int rank, size, sum = 0;
    MPI_Comm copy;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum, size * (size - 1) / 2);
    MPI_Comm_dup(comm, &copy);
    for (int count = 1; count <= COUNT; count *= 7) {
        sent[0] = sent[count - 1] = rank * 1000 + count;
        MPI_Sendrecv(sent, count, MPI_INT, (rank + 1) % size, 1, got, COUNT, MPI_INT,
                     (rank + size - 1) % size, 1, copy, MPI_STATUS_IGNORE);
        EXPECT(got[count - 1], (rank + size - 1) % size * 1000 + count);
    }
    MPI_Comm_free(&copy);
    MPI_Barrier(comm);
}

static void use_session(MPI_Session session, const char *tag)
{
    MPI_Comm comm = make_comm(session, "mpi://WORLD", tag);
    MPI_Comm_rank(comm, &expect_rank);
    MPI_Comm_size(comm, &expect_size);
    use_comm(comm);
    MPI_Comm_disconnect(&comm);
    comm = make_comm(session, "mpi://SELF", tag);
    use_comm(comm);
    MPI_Comm_free(&comm);
}

static void check_world_model(int initialized, int finalized)
{
    int flag;
    MPI_Initialized(&flag);
    EXPECT(flag, initialized);
    MPI_Finalized(&flag);
    EXPECT(flag, finalized);
}

/* One after another: nobody uses the library in between. */
static void test_in_turn(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Session session = open_session();
        use_session(session, "in turn");
        end_session(&session);
    }
}

/* Each process ends its sessions in an order of its own. */
static void test_overlapping(void)
{
    MPI_Session one = open_session(), two = open_session();
    MPI_Comm of_one = make_comm(one, "mpi://WORLD", "one");
    MPI_Comm of_two = make_comm(two, "mpi://WORLD", "two");
    use_comm(of_one);
    use_comm(of_two);
    MPI_Comm_free(&of_one);
    if (expect_rank % 2 == 0)
        end_session(&one);
    use_comm(of_two);
    MPI_Comm_free(&of_two);
    end_session(&two);
    two = open_session();
    if (expect_rank % 2 != 0)
        end_session(&one);
    use_session(two, "two");
    end_session(&two);
}

/* A group and a communicator may be freed after their session. */
static void test_outliving(void)
{
    MPI_Session session = open_session(), other;
    MPI_Group group;
    MPI_Comm comm = make_comm(session, "mpi://WORLD", "outliving");
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    other = open_session();
    end_session(&session);
    use_comm(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    end_session(&other);
}

static void test_alone(void)
{
    check_world_model(0, 0);
    test_in_turn();
    test_overlapping();
    test_outliving();
    check_world_model(0, 0);
}

/* A group of the World model needs no session. */
static void use_group_of_world(void)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_from_group(group, "of the world", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    use_comm(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
}

static void use_world(void)
{
    int size;
    use_group_of_world();
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(size, expect_size);
    use_comm(MPI_COMM_WORLD);
    use_comm(MPI_COMM_SELF);
}

static void test_around(int *argc, char ***argv)
{
    test_in_turn();
    MPI_Session across_init = open_session();
    MPI_Init(argc, argv);
    check_world_model(1, 0);
    use_world();
    use_session(across_init, "across init");
    end_session(&across_init);
    use_world();
    test_overlapping();
    MPI_Session across_end = open_session();
    MPI_Comm comm = make_comm(across_end, "mpi://WORLD", "across the end");
    use_comm(comm);
    MPI_Finalize();
    check_world_model(1, 1);
    use_comm(comm);
    MPI_Comm_free(&comm);
    use_session(across_end, "after the end");
    end_session(&across_end);
    test_in_turn();
    test_overlapping();
}

/* Only the process of rank 0 has a session, and uses it after the others have gone. */
static void test_one(int *argc, char ***argv)
{
    MPI_Session session;
    MPI_Comm comm;
    MPI_Init(argc, argv);
    expect_begin();
    use_world();
    if (expect_rank == 0) {
        session = open_session();
        comm = make_comm(session, "mpi://SELF", "one");
    }
    use_world();
    MPI_Finalize();
    if (expect_rank > 0)
        return;
    for (int i = 0; i < 100; i++)
        use_comm(comm);
    MPI_Comm_free(&comm);
    end_session(&session);
}

static void test_after(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    expect_begin();
    use_world();
    MPI_Finalize();
    check_world_model(1, 1);
    test_in_turn();
    test_overlapping();
    test_outliving();
    check_world_model(1, 1);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "alone";
    if (strcmp(mode, "around") == 0)
        test_around(&argc, &argv);
    else if (strcmp(mode, "after") == 0)
        test_after(&argc, &argv);
    else if (strcmp(mode, "one") == 0)
        test_one(&argc, &argv);
    else
        test_alone();
    return expect_failures != 0;
}
