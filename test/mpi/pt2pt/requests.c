/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait and Test in all forms, persistent requests, cancelling, freeing, MPI_PROC_NULL, empty
 * statuses. */
#include "../expect.h"
#include "memory_kinds.h"

enum { REQUESTS = 40, MANY = 1000 };

static int in[REQUESTS], out[REQUESTS]; /* on the host */
static char in_kind, out_kind;          /* of the buffers that MPI gets */
static int *in_at, *out_at, *many_at;
static MPI_Request requests[2 * REQUESTS];
static MPI_Status statuses[2 * REQUESTS];

static int right, left;

static void put_both(void)
{
    memory_put(in_kind, in_at, in, sizeof(in));
    memory_put(out_kind, out_at, out, sizeof(out));
}

static void get_in(void)
{
    memory_get(in_kind, in, in_at, sizeof(in));
}

static void take_memory(void)
{
    in_at = memory_take(in_kind = memory_next_kind(), sizeof(in));
    out_at = memory_take(out_kind = memory_next_kind(), sizeof(out));
    many_at = memory_take(out_kind, MANY * sizeof(int));
}

static void give_memory(void)
{
    memory_give(in_kind, in_at);
    memory_give(out_kind, out_at);
    memory_give(out_kind, many_at);
}

static void begin_all(int salt)
{
    for (int i = 0; i < REQUESTS; i++) {
        out[i] = expect_rank * 1000 + i + salt;
        in[i] = -1;
    }
    put_both();
    for (int i = 0; i < REQUESTS; i++)
        MPI_Irecv(&in_at[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < REQUESTS; i++)
        MPI_Isend(&out_at[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[REQUESTS + i]);
}

static void check_all(int salt)
{
    get_in();
    for (int i = 0; i < REQUESTS; i++)
        EXPECT(in[i], left * 1000 + i + salt);
    for (int i = 0; i < 2 * REQUESTS; i++)
        EXPECT(requests[i] == MPI_REQUEST_NULL, 1);
}

static void test_waitall(void)
{
    begin_all(1);
    EXPECT(MPI_Waitall(2 * REQUESTS, requests, statuses), MPI_SUCCESS);
    for (int i = 0; i < REQUESTS; i++) {
        EXPECT(statuses[i].MPI_TAG, i);
        EXPECT(statuses[i].MPI_SOURCE, left);
    }
    check_all(1);
}

static void test_testall(void)
{
    int flag = 0;
    begin_all(2);
    while (!flag)
        MPI_Testall(2 * REQUESTS, requests, &flag, MPI_STATUSES_IGNORE);
    check_all(2);
    MPI_Testall(2 * REQUESTS, requests, &flag, statuses);
    EXPECT(flag, 1);
    EXPECT(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
}

static void test_any(int test)
{
    int seen[2 * REQUESTS] = {0}, index, flag;
    begin_all(3 + test);
    for (int i = 0; i < 2 * REQUESTS; i++) {
        MPI_Status status;
        if (test) {
            do {
                MPI_Testany(2 * REQUESTS, requests, &index, &flag, &status);
            } while (!flag);
        } else {
            MPI_Waitany(2 * REQUESTS, requests, &index, &status);
        }
        EXPECT(seen[index]++, 0);
        if (index < REQUESTS)
            EXPECT(status.MPI_TAG, index);
    }
    MPI_Waitany(2 * REQUESTS, requests, &index, MPI_STATUS_IGNORE);
    EXPECT(index, MPI_UNDEFINED);
    MPI_Testany(2 * REQUESTS, requests, &index, &flag, MPI_STATUS_IGNORE);
    EXPECT(index, MPI_UNDEFINED);
    EXPECT(flag, 1);
    check_all(3 + test);
}

static void test_some(int test)
{
    int indices[2 * REQUESTS], got, total = 0;
    begin_all(5 + test);
    while (total < 2 * REQUESTS) {
        if (test)
            MPI_Testsome(2 * REQUESTS, requests, &got, indices, statuses);
        else
            MPI_Waitsome(2 * REQUESTS, requests, &got, indices, statuses);
        for (int i = 0; i < got; i++) {
            if (indices[i] < REQUESTS)
                EXPECT(statuses[i].MPI_TAG, indices[i]);
        }
        total += got;
    }
    MPI_Waitsome(2 * REQUESTS, requests, &got, indices, statuses);
    EXPECT(got, MPI_UNDEFINED);
    check_all(5 + test);
}

static void test_persistent(void)
{
    MPI_Request both[2];
    MPI_Status status;
    MPI_Recv_init(in_at, 2, MPI_INT, left, 9, MPI_COMM_WORLD, &both[0]);
    MPI_Ssend_init(out_at, 2, MPI_INT, right, 9, MPI_COMM_WORLD, &both[1]);
    EXPECT(MPI_Wait(&both[0], &status), MPI_SUCCESS); /* inactive: returns at once */
    EXPECT(status.MPI_TAG, MPI_ANY_TAG);
    for (int i = 0; i < 50; i++) {
        out[0] = expect_rank + i;
        out[1] = -i;
        put_both();
        MPI_Startall(2, both);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        get_in();
        EXPECT(in[0], left + i);
        EXPECT(in[1], -i);
        EXPECT(both[0] != MPI_REQUEST_NULL, 1);
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    EXPECT(both[0] == MPI_REQUEST_NULL, 1);
}

static void test_cancel(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag, nothing;
    MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &flag, &status);
    EXPECT(flag, 0);
    MPI_Request_get_status(request, &flag, &status);
    EXPECT(flag, 0);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(flag, 1);
    EXPECT(request == MPI_REQUEST_NULL, 1);
}

static void test_proc_null(void)
{
    MPI_Status status;
    MPI_Request request;
    int flag, count = 7;
    MPI_Send(&count, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&count, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    EXPECT(status.MPI_SOURCE, MPI_PROC_NULL);
    EXPECT(status.MPI_TAG, MPI_ANY_TAG);
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT(count, 0);
    MPI_Issend(&count, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    MPI_Irecv(&count, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    EXPECT(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status);
    EXPECT(flag, 1);
    EXPECT(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Message message;
    MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
    EXPECT(message == MPI_MESSAGE_NO_PROC, 1);
    MPI_Mrecv(&count, 1, MPI_INT, &message, &status);
    EXPECT(message == MPI_MESSAGE_NULL, 1);
    EXPECT(status.MPI_SOURCE, MPI_PROC_NULL);
}

/* MPI_ERROR is part of an empty status (MPI 5.0 section 3.7.3). */
static void expect_empty(MPI_Status *status)
{
    EXPECT(status->MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT(status->MPI_TAG, MPI_ANY_TAG);
    EXPECT(status->MPI_ERROR, MPI_SUCCESS);
    memset(status, 99, sizeof(*status));
}

static void test_empty_statuses(void)
{
    MPI_Request null = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag, index;
    memset(&status, 99, sizeof(status));
    MPI_Wait(&null, &status);
    expect_empty(&status);
    MPI_Test(&null, &flag, &status);
    expect_empty(&status);
    MPI_Waitany(1, &null, &index, &status);
    expect_empty(&status);
    MPI_Testany(1, &null, &index, &flag, &status);
    expect_empty(&status);
    MPI_Request_get_status(null, &flag, &status);
    expect_empty(&status);
    MPI_Request_get_status_any(1, &null, &index, &flag, &status);
    expect_empty(&status);
}

/* Neither null nor inactive requests, nor an empty list, have anything to wait for. */
static void test_nothing_active(MPI_Request *list, int count)
{
    int flag = 0, index = 0, got = 0, indices[3];
    MPI_Status all[3];
    memset(all, 99, sizeof(all));
    MPI_Request_get_status_all(count, list, &flag, all);
    EXPECT(flag, 1);
    for (int i = 0; i < count; i++)
        expect_empty(&all[i]);
    flag = 0;
    MPI_Request_get_status_any(count, list, &index, &flag, &all[0]);
    EXPECT(flag, 1);
    EXPECT(index, MPI_UNDEFINED);
    expect_empty(&all[0]);
    MPI_Request_get_status_some(count, list, &got, indices, all);
    EXPECT(got, MPI_UNDEFINED);
    MPI_Waitany(count, list, &index, &all[0]);
    EXPECT(index, MPI_UNDEFINED);
    MPI_Testany(count, list, &index, &flag, &all[0]);
    EXPECT(index, MPI_UNDEFINED);
    EXPECT(flag, 1);
    MPI_Waitsome(count, list, &got, indices, all);
    EXPECT(got, MPI_UNDEFINED);
    MPI_Testsome(count, list, &got, indices, all);
    EXPECT(got, MPI_UNDEFINED);
    MPI_Testall(count, list, &flag, all);
    EXPECT(flag, 1);
    MPI_Waitall(count, list, all);
}

/* list: an inactive request, an active one that is complete, a null one. Looking frees nothing. */
static void test_looks(MPI_Request *list)
{
    MPI_Status all[3];
    int flag, index = -1, got = -1, indices[3];
    for (int i = 0; i < 2; i++) {
        for (flag = 0; !flag;)
            MPI_Request_get_status_all(3, list, &flag, all);
        expect_empty(&all[0]);
        EXPECT(all[1].MPI_SOURCE, left);
        EXPECT(all[1].MPI_TAG, 91);
        expect_empty(&all[2]);
        MPI_Request_get_status_any(3, list, &index, &flag, &all[0]);
        EXPECT(flag, 1);
        EXPECT(index, 1);
        EXPECT(all[0].MPI_TAG, 91);
        MPI_Request_get_status_some(3, list, &got, indices, all);
        EXPECT(got, 1);
        EXPECT(indices[0], 1);
        EXPECT(all[0].MPI_SOURCE, left);
        MPI_Request_get_status_all(3, list, &flag, MPI_STATUSES_IGNORE);
        MPI_Request_get_status_some(3, list, &got, indices, MPI_STATUSES_IGNORE);
        EXPECT(got, 1);
    }
}

static void test_inactive(void)
{
    MPI_Request list[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, sending;
    int flag = 1, index = 0, got = -1, indices[3];
    test_nothing_active(list, 0);
    test_nothing_active(list, 3);
    MPI_Recv_init(in_at, 1, MPI_INT, left, 90, MPI_COMM_WORLD, &list[0]);
    MPI_Recv_init(in_at, 1, MPI_INT, left, 91, MPI_COMM_WORLD, &list[1]);
    test_nothing_active(list, 3);
    for (int how = 0; how < 4; how++) {
        MPI_Start(&list[1]);
        MPI_Request_get_status_all(3, list, &flag, MPI_STATUSES_IGNORE);
        EXPECT(flag, 0);
        MPI_Request_get_status_any(3, list, &index, &flag, MPI_STATUS_IGNORE);
        EXPECT(flag, 0);
        MPI_Request_get_status_some(3, list, &got, indices, MPI_STATUSES_IGNORE);
        EXPECT(got, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(out_at, 1, MPI_INT, right, 91, MPI_COMM_WORLD, &sending);
        test_looks(list);
        if (how == 0)
            MPI_Waitany(3, list, &index, MPI_STATUS_IGNORE);
        else if (how == 1)
            MPI_Testany(3, list, &index, &flag, MPI_STATUS_IGNORE);
        else if (how == 2)
            MPI_Waitsome(3, list, &got, indices, MPI_STATUSES_IGNORE);
        else
            MPI_Testsome(3, list, &got, indices, MPI_STATUSES_IGNORE);
        EXPECT(how < 2 ? index : indices[0], 1);
        EXPECT(how < 2 ? 1 : got, 1);
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
        test_nothing_active(list, 3);
    }
    MPI_Request_free(&list[0]);
    MPI_Request_free(&list[1]);
}

static void test_get_status_errors(void)
{
    MPI_Request null = MPI_REQUEST_NULL, *none = NULL;
    MPI_Request bad = (MPI_Request)(void *)MPI_COMM_WORLD;
    int flag, index, indices[1];
    MPI_Status *ignore = MPI_STATUSES_IGNORE;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    EXPECT_ERROR(MPI_Request_get_status_all(-1, &null, &flag, ignore), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Request_get_status_all(1, none, &flag, ignore), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Request_get_status_all(1, &null, NULL, ignore), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Request_get_status_all(1, &bad, &flag, ignore), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Request_get_status_any(-1, &null, &index, &flag, ignore), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Request_get_status_any(1, &null, NULL, &flag, ignore), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Request_get_status_any(1, &null, &index, NULL, ignore), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Request_get_status_any(1, &bad, &index, &flag, ignore), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Request_get_status_some(-1, &null, &index, indices, ignore), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Request_get_status_some(1, &null, NULL, indices, ignore), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Request_get_status_some(1, &null, &index, NULL, ignore), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Request_get_status_some(1, &bad, &index, indices, ignore), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Request_get_status(bad, &flag, ignore), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Request_get_status(null, NULL, ignore), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Cancel(&null), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Cancel(NULL), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void test_free_active(void)
{
    int numbers[MANY], got;
    MPI_Request request;
    for (int i = 0; i < MANY; i++)
        numbers[i] = i;
    memory_put(out_kind, many_at, numbers, sizeof(numbers));
    for (int i = 0; i < MANY; i++) {
        MPI_Isend(&many_at[i], 1, MPI_INT, right, 77, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Recv(in_at, 1, MPI_INT, left, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memory_get(in_kind, &got, in_at, sizeof(got));
        EXPECT(got, i);
    }
}

static void test_matched_probe(void)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    int flag = 0, count;
    MPI_Isend(out_at, 5, MPI_INT, right, 21, MPI_COMM_WORLD, &requests[0]);
    while (!flag)
        MPI_Improbe(left, 21, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT(count, 5);
    MPI_Iprobe(left, 21, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, 0); /* no other probe or receive can find it */
    MPI_Imrecv(in_at, 5, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    EXPECT(status.MPI_SOURCE, left);
    get_in();
    EXPECT(in[4], left * 1000 + 4 + 6);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void test_isendrecv(void)
{
    MPI_Request request;
    MPI_Status status;
    out[0] = expect_rank;
    in[0] = -1;
    put_both();
    MPI_Isendrecv(out_at, 1, MPI_INT, right, 31, in_at, 1, MPI_INT, left, 31, MPI_COMM_WORLD,
                  &request);
    MPI_Wait(&request, &status);
    get_in();
    EXPECT(in[0], left);
    EXPECT(status.MPI_SOURCE, left);
    MPI_Isendrecv_replace(out_at, 1, MPI_INT, right, 32, left, 32, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    memory_get(out_kind, out, out_at, sizeof(out[0]));
    EXPECT(out[0], left);
    MPI_Sendrecv_replace(out_at, 1, MPI_INT, left, 33, right, 33, MPI_COMM_WORLD, &status);
    memory_get(out_kind, out, out_at, sizeof(out[0]));
    EXPECT(out[0], expect_rank);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    take_memory();
    right = (expect_rank + 1) % expect_size;
    left = (expect_rank - 1 + expect_size) % expect_size;
    test_waitall();
    test_testall();
    test_any(0);
    test_any(1);
    test_some(0);
    test_some(1);
    test_matched_probe();
    test_cancel();
    test_proc_null();
    test_empty_statuses();
    test_inactive();
    test_get_status_errors();
    test_free_active();
    test_isendrecv();
    if (expect_size > 1)
        test_persistent();
    give_memory();
    return expect_end();
}
