/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators without a parent: MPI_Comm_create_from_group, with sessions alone. Argument: how
 * many rounds; threads make communicators at once in each. */
#include "../expect.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4 };

static MPI_Session session;
static MPI_Group all;

static MPI_Comm make(MPI_Group group, const char *tag)
{
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm),
           MPI_SUCCESS);
    return comm;
}

static void check_comm(MPI_Comm comm, MPI_Group group)
{
    MPI_Group of_comm;
    int result, rank, sum = 1, one = 1;
    MPI_Comm_group(comm, &of_comm);
    MPI_Group_compare(of_comm, group, &result);
    EXPECT(result, MPI_IDENT);
    MPI_Group_rank(group, &rank);
    MPI_Comm_rank(comm, &result);
    EXPECT(result, rank);
    MPI_Group_size(group, &result);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum, result);
    MPI_Group_free(&of_comm);
}

/* The upper ranks alone, in the reverse order; the others do nothing. */
static void test_part(void)
{
    int first = expect_size / 2, range[1][3] = {{expect_size - 1, first, -1}};
    MPI_Group upper;
    if (expect_rank < first)
        return;
    MPI_Group_range_incl(all, 1, range, &upper);
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm = make(upper, "upper");
        check_comm(comm, upper);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&upper);
}

/* Neighbours in pairs, each rank in two of them, with one tag for all. */
static void test_pairs(void)
{
    for (int first = 0; first + 1 < expect_size; first++) {
        MPI_Group pair;
        if (expect_rank != first && expect_rank != first + 1)
            continue;
        MPI_Group_incl(all, 2, (int[]){first, first + 1}, &pair);
        MPI_Comm comm = make(pair, "pair");
        check_comm(comm, pair);
        MPI_Comm_free(&comm);
        MPI_Group_free(&pair);
    }
}

/* They are alive at once and keep their messages apart. */
static void test_many(void)
{
    enum { MANY = 20 };
    MPI_Comm comms[MANY];
    MPI_Request requests[MANY];
    int sent[MANY], got;
    int next = (expect_rank + 1) % expect_size,
        last = (expect_rank + expect_size - 1) % expect_size;
    for (int i = 0; i < MANY; i++) {
        char tag[32];
        snprintf(tag, sizeof(tag), "many %d", i / 2); /* a tag may be used again */
        comms[i] = make(all, tag);
    }
    for (int i = 0; i < MANY; i++) {
        sent[i] = i;
        MPI_Isend(&sent[i], 1, MPI_INT, next, 0, comms[i], &requests[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        MPI_Recv(&got, 1, MPI_INT, last, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE);
        EXPECT(got, i);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        MPI_Comm_free(&comms[i]);
}

static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    ++*(int *)value;
    return MPI_SUCCESS;
}

static void test_attributes(MPI_Comm comm)
{
    int keyval, deleted = 0, flag, *bound, *value;
    MPI_Comm copy;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &flag);
    EXPECT(flag && *bound >= 32767, 1);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete_attribute, &keyval, NULL);
    MPI_Comm_set_attr(comm, keyval, &deleted);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_get_attr(copy, keyval, &value, &flag);
    EXPECT(flag && value == &deleted, 1);
    MPI_Comm_free(&copy);
    EXPECT(deleted, 1);
    MPI_Comm_delete_attr(comm, keyval);
    EXPECT(deleted, 2);
    MPI_Comm_free_keyval(&keyval);
}

static void test_derived(MPI_Comm comm)
{
    MPI_Comm half, ring, one_host;
    int size, place, dims = 0, left, right, got = -1;
    MPI_Comm_split(comm, expect_rank % 2, -expect_rank, &half);
    MPI_Comm_size(half, &size);
    EXPECT(size, (expect_size + (expect_rank % 2 == 0)) / 2);
    MPI_Comm_free(&half);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &one_host);
    MPI_Barrier(one_host);
    MPI_Comm_free(&one_host);
    MPI_Dims_create(expect_size, 1, &dims);
    MPI_Cart_create(comm, 1, &dims, (int[]){1}, 1, &ring);
    MPI_Cart_shift(ring, 0, 1, &left, &right);
    MPI_Comm_rank(ring, &place);
    MPI_Sendrecv(&place, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, ring, MPI_STATUS_IGNORE);
    EXPECT(got, (place + expect_size - 1) % expect_size);
    MPI_Comm_free(&ring);
}

static void test_hints(void)
{
    MPI_Info info, used;
    MPI_Comm comm;
    char value[16] = "";
    int length = sizeof(value), flag;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_create_from_group(all, "hints", info, MPI_ERRORS_RETURN, &comm);
    MPI_Info_free(&info);
    MPI_Comm_get_info(comm, &used);
    MPI_Info_get_string(used, "mpi_assert_no_any_tag", &length, value, &flag);
    EXPECT_TEXT(value, "true");
    MPI_Info_free(&used);
    EXPECT_ERROR(MPI_Send(NULL, 0, MPI_INT, expect_size, 0, comm), MPI_ERR_RANK);
    MPI_Comm_free(&comm);
}

static void *make_with_own_tag(void *argument)
{
    char tag[32];
    MPI_Comm comm;
    snprintf(tag, sizeof(tag), "thread %d", *(int *)argument);
    comm = make(all, tag);
    check_comm(comm, all);
    MPI_Comm_free(&comm);
    return NULL;
}

static void test_threads(int rounds)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < THREADS; i++) {
            numbers[i] = (i + expect_rank) % THREADS; /* begun in another order at each rank */
            pthread_create(&threads[i], NULL, make_with_own_tag, &numbers[i]);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
}

static void *use_own_session(void *argument)
{
    char tag[32];
    MPI_Session own;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &own);
    MPI_Group_from_session_pset(own, "mpi://WORLD", &group);
    snprintf(tag, sizeof(tag), "session %d", *(int *)argument);
    MPI_Comm comm = make(group, tag);
    check_comm(comm, group);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&own);
    return NULL;
}

/* Nothing else keeps the library up: threads start it and end it at once. */
static void test_sessions_of_threads(int rounds)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < THREADS; i++) {
            numbers[i] = i;
            pthread_create(&threads[i], NULL, use_own_session, &numbers[i]);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
}

static void test_empty(void)
{
    MPI_Comm comm = make(MPI_GROUP_EMPTY, "empty");
    EXPECT(comm == MPI_COMM_NULL, 1);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    test_sessions_of_threads(rounds);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &expect_rank);
    MPI_Group_size(all, &expect_size);
    test_empty();
    test_part();
    test_pairs();
    test_many();
    test_hints();
    MPI_Comm comm = make(all, "all");
    test_attributes(comm);
    test_derived(comm);
    test_threads(rounds);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&all);
    MPI_Session_finalize(&session);
    return expect_failures != 0;
}
