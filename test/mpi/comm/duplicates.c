/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_dup and its forms: the members of a copy, what it inherits, the separation of messages,
 * and many copies made and freed. */
#include "../expect.h"

static int rank, size;

static void check_copy(MPI_Comm from, MPI_Comm copy)
{
    int got;
    MPI_Comm_compare(from, copy, &got);
    EXPECT(got, MPI_CONGRUENT);
    MPI_Comm_rank(copy, &got);
    EXPECT(got, rank);
    MPI_Comm_test_inter(copy, &got);
    EXPECT(got, 0);
}

/* The same envelope in three communicators; received in another order than it was sent. */
static void test_separation(void)
{
    MPI_Comm comms[3] = {MPI_COMM_WORLD};
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Request sends[3];
    for (int i = 1; i < 3; i++) {
        MPI_Comm_dup(comms[i - 1], &comms[i]);
        check_copy(comms[i - 1], comms[i]);
    }
    int values[3] = {100, 101, 102};
    for (int i = 0; i < 3; i++)
        MPI_Isend(&values[i], 1, MPI_INT, next, 7, comms[i], &sends[i]);
    for (int i = 2; i >= 0; i--) {
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, previous, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE);
        EXPECT(got, 100 + i);
    }
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&comms[2]);
    MPI_Comm_free(&comms[1]);
    EXPECT(comms[1], MPI_COMM_NULL);
}

static void test_idup(void)
{
    enum { COPIES = 3 };
    MPI_Comm copies[COPIES];
    MPI_Request requests[COPIES];
    for (int i = 0; i < COPIES; i++)
        MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]);
    MPI_Waitall(COPIES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < COPIES; i++) {
        int sum, one = 1;
        check_copy(MPI_COMM_WORLD, copies[i]);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copies[i]);
        EXPECT(sum, size);
        MPI_Comm_free(&copies[i]);
    }
}

static void check_hint(MPI_Comm comm, const char *key, const char *expected)
{
    MPI_Info info;
    char value[16] = "";
    int bytes = sizeof(value), is_there;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_string(info, key, &bytes, value, &is_there);
    EXPECT_TEXT(is_there ? value : "missing", expected);
    MPI_Info_free(&info);
}

/* Hints are not copied by dup (since MPI 4.0); with_info gives others. */
static void test_hints(void)
{
    MPI_Comm copy, with_info, later;
    MPI_Request request;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "no_such_hint", "1");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &with_info);
    check_hint(with_info, "mpi_assert_no_any_tag", "true");
    check_hint(with_info, "mpi_assert_no_any_source", "false");
    check_hint(with_info, "no_such_hint", "missing");
    MPI_Comm_dup(with_info, &copy);
    check_hint(copy, "mpi_assert_no_any_tag", "false");
    MPI_Comm_set_info(copy, info);
    check_hint(copy, "mpi_assert_no_any_tag", "true");
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_hint(later, "mpi_assert_no_any_tag", "true");
    MPI_Info_free(&info);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&with_info);
    MPI_Comm_free(&later);
}

static void test_names(void)
{
    MPI_Comm copy;
    char name[MPI_MAX_OBJECT_NAME], longer[MPI_MAX_OBJECT_NAME + 10];
    int length;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_get_name(copy, name, &length);
    EXPECT_TEXT(name, "");
    MPI_Comm_set_name(copy, "the copy");
    MPI_Comm_get_name(copy, name, &length);
    EXPECT_TEXT(name, "the copy");
    EXPECT(length, 8);
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    MPI_Comm_set_name(copy, longer);
    MPI_Comm_get_name(copy, name, &length);
    EXPECT(length, MPI_MAX_OBJECT_NAME - 1);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    EXPECT_TEXT(name, "MPI_COMM_WORLD");
    MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
    EXPECT_TEXT(name, "MPI_COMM_SELF");
    MPI_Comm_get_name(MPI_COMM_NULL, name, &length);
    EXPECT_TEXT(name, "MPI_COMM_NULL");
    MPI_Comm_free(&copy);
}

/* A message that is under way when its communicator is freed still arrives. */
static void test_free_while_active(void)
{
    MPI_Comm copy;
    MPI_Request requests[2];
    int in = -1, out = rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 0, copy, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 0, copy, &requests[1]);
    MPI_Comm_free(&copy);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    EXPECT(in, (rank + size - 1) % size);
}

static void test_many(void)
{
    enum { ROUNDS = 20, AT_ONCE = 50 };
    MPI_Comm comms[AT_ONCE];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            MPI_Comm_dup(i == 0 ? MPI_COMM_WORLD : comms[i - 1], &comms[i]);
        int in = rank, sum;
        MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comms[AT_ONCE - 1]);
        EXPECT(sum, size * (size - 1) / 2);
        for (int i = 0; i < AT_ONCE; i++)
            MPI_Comm_free(&comms[i]);
    }
}

static void test_disconnect(void)
{
    MPI_Comm copy, parent;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_disconnect(&copy);
    EXPECT(copy, MPI_COMM_NULL);
    MPI_Comm_get_parent(&parent);
    EXPECT(parent, MPI_COMM_NULL);
}

static void test_integers(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    int number = MPI_Comm_toint(copy);
    EXPECT(number != 0, 1);
    EXPECT(MPI_Comm_toint(copy), number);
    EXPECT(MPI_Comm_fromint(number), copy);
    EXPECT(MPI_Comm_toint(MPI_COMM_WORLD), (long long)MPI_COMM_WORLD);
    EXPECT(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_NULL)), MPI_COMM_NULL);
    EXPECT(MPI_Comm_fromint(number + 1000000), MPI_COMM_NULL);
    MPI_Comm_free(&copy);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    expect_begin();
    rank = expect_rank;
    size = expect_size;
    test_separation();
    test_idup();
    test_hints();
    test_names();
    test_free_while_active();
    test_many();
    test_disconnect();
    test_integers();
    return expect_end();
}
