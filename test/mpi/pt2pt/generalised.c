/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalised requests: when their functions are called and with what, in all calls that complete,
 * look at, free and cancel requests, alone and among other requests; completed by this thread and
 * by another one; functions that call MPI, and functions that fail. */
#include "../expect.h"

#include <pthread.h>

enum { MANY = 6, ROUNDS = 200, TAG = 3 };

/* What a request's functions have seen and what they return. */
typedef struct work {
    int queries, frees, cancels, was_complete;
    int query_error, free_error, cancel_error;
    int elements, is_cancelled;
    MPI_Request request;
} work_t;

static int right, left, provided;

static int query_work(void *state, MPI_Status *status)
{
    work_t *work = state;
    work->queries++;
    EXPECT(work->frees, 0);
    MPI_Status_set_elements(status, MPI_INT, work->elements);
    MPI_Status_set_cancelled(status, work->is_cancelled);
    status->MPI_SOURCE = 7;
    status->MPI_TAG = 8;
    return work->query_error;
}

static int free_work(void *state)
{
    work_t *work = state;
    work->frees++;
    return work->free_error;
}

static int cancel_work(void *state, int complete)
{
    work_t *work = state;
    work->cancels++;
    work->was_complete = complete;
    if (!complete) {
        work->is_cancelled = 1;
        MPI_Grequest_complete(work->request);
    }
    return work->cancel_error;
}

static void start_work(work_t *work, int elements)
{
    *work = (work_t){.elements = elements};
    EXPECT(MPI_Grequest_start(query_work, free_work, cancel_work, work, &work->request),
           MPI_SUCCESS);
}

/* The request has been completed once, after `queries` queries. */
static void expect_over(const work_t *work, int queries)
{
    EXPECT(work->queries, queries);
    EXPECT(work->frees, 1);
    EXPECT(work->cancels, 0);
}

static void expect_status(const MPI_Status *status, int elements)
{
    int got, flag;
    MPI_Get_count(status, MPI_INT, &got);
    EXPECT(got, elements);
    MPI_Test_cancelled(status, &flag);
    EXPECT(flag, 0);
    EXPECT(status->MPI_SOURCE, 7);
    EXPECT(status->MPI_TAG, 8);
}

static void test_one(void)
{
    work_t work;
    MPI_Status status = {.MPI_ERROR = 12345};
    int flag = 1;
    start_work(&work, 11);
    MPI_Test(&work.request, &flag, &status);
    EXPECT(flag, 0);
    MPI_Request_get_status(work.request, &flag, &status);
    EXPECT(flag, 0);
    EXPECT(work.queries, 0);
    MPI_Grequest_complete(work.request);
    EXPECT(work.queries, 0);
    for (int i = 1; i <= 3; i++) {
        MPI_Request_get_status(work.request, &flag, i == 2 ? MPI_STATUS_IGNORE : &status);
        EXPECT(flag, 1);
        EXPECT(work.queries, i);
    }
    expect_status(&status, 11);
    EXPECT(work.frees, 0);
    memset(&status, 0, sizeof(status));
    status.MPI_ERROR = 12345;
    MPI_Wait(&work.request, &status);
    EXPECT(work.request == MPI_REQUEST_NULL, 1);
    expect_status(&status, 11);
    EXPECT(status.MPI_ERROR, 12345); /* only calls with several statuses set it */
    expect_over(&work, 4);
    start_work(&work, 1);
    MPI_Grequest_complete(work.request);
    MPI_Test(&work.request, &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, 1);
    EXPECT(work.request == MPI_REQUEST_NULL, 1);
    expect_over(&work, 1);
}

static void test_free(void)
{
    work_t work;
    start_work(&work, 0);
    MPI_Grequest_complete(work.request);
    MPI_Request_free(&work.request);
    EXPECT(work.request == MPI_REQUEST_NULL, 1);
    expect_over(&work, 0);
    start_work(&work, 0);
    MPI_Request kept = work.request;
    MPI_Request_free(&work.request);
    EXPECT(work.request == MPI_REQUEST_NULL, 1);
    EXPECT(work.frees, 0);
    MPI_Grequest_complete(kept);
    expect_over(&work, 0);
}

static void test_cancel(void)
{
    work_t work;
    MPI_Status status;
    int flag;
    start_work(&work, 0);
    MPI_Cancel(&work.request);
    EXPECT(work.cancels, 1);
    EXPECT(work.was_complete, 0);
    MPI_Wait(&work.request, &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(flag, 1);
    EXPECT(work.frees, 1);
    start_work(&work, 0);
    MPI_Grequest_complete(work.request);
    MPI_Cancel(&work.request);
    EXPECT(work.cancels, 1);
    EXPECT(work.was_complete, 1);
    MPI_Wait(&work.request, &status);
    MPI_Test_cancelled(&status, &flag);
    EXPECT(flag, 0);
    EXPECT(work.frees, 1);
}

/* Of two requests of each kind among these, one completes. */
typedef struct mixture {
    work_t works[MANY];
    MPI_Request requests[MANY + 4];
    int in, out;
} mixture_t;

static void start_mixture(mixture_t *all)
{
    for (int i = 0; i < MANY; i++) {
        start_work(&all->works[i], i);
        all->requests[i] = all->works[i].request;
    }
    all->in = -1;
    all->out = expect_rank;
    MPI_Irecv(&all->in, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, &all->requests[MANY]);
    MPI_Issend(&all->out, 1, MPI_INT, right, TAG, MPI_COMM_WORLD, &all->requests[MANY + 1]);
    all->requests[MANY + 2] = MPI_REQUEST_NULL;
    MPI_Recv_init(&all->out, 1, MPI_INT, left, TAG, MPI_COMM_WORLD, &all->requests[MANY + 3]);
}

static void end_mixture(mixture_t *all, int queries)
{
    for (int i = 0; i < MANY; i++) {
        expect_over(&all->works[i], queries);
        EXPECT(all->requests[i] == MPI_REQUEST_NULL, 1);
    }
    EXPECT(all->in, left);
    MPI_Request_free(&all->requests[MANY + 3]);
}

static void test_all(int with_statuses)
{
    mixture_t all;
    MPI_Status statuses[MANY + 4];
    int flag;
    start_mixture(&all);
    MPI_Testall(MANY + 4, all.requests, &flag, MPI_STATUSES_IGNORE);
    EXPECT(flag, 0);
    MPI_Request_get_status_all(MANY + 4, all.requests, &flag, statuses);
    EXPECT(flag, 0);
    for (int i = 0; i < MANY; i++)
        MPI_Grequest_complete(all.requests[i]);
    MPI_Waitall(2, &all.requests[MANY], MPI_STATUSES_IGNORE);
    MPI_Request_get_status_all(MANY + 4, all.requests, &flag, statuses);
    EXPECT(flag, 1);
    for (int i = 0; i < MANY; i++)
        expect_status(&statuses[i], i);
    EXPECT(statuses[MANY].MPI_SOURCE, MPI_ANY_SOURCE);
    memset(statuses, 0, sizeof(statuses));
    MPI_Testall(MANY + 4, all.requests, &flag, with_statuses ? statuses : MPI_STATUSES_IGNORE);
    EXPECT(flag, 1);
    for (int i = 0; with_statuses && i < MANY; i++)
        expect_status(&statuses[i], i);
    end_mixture(&all, 2);
}

static void test_waitall(void)
{
    mixture_t all;
    MPI_Status statuses[MANY + 4];
    start_mixture(&all);
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Grequest_complete(all.requests[i]);
    EXPECT(MPI_Waitall(MANY + 4, all.requests, statuses), MPI_SUCCESS);
    for (int i = 0; i < MANY; i++)
        expect_status(&statuses[i], i);
    EXPECT(statuses[MANY].MPI_SOURCE, left);
    end_mixture(&all, 1);
}

static void test_any(int test)
{
    mixture_t all;
    MPI_Status status;
    int index, flag;
    start_mixture(&all);
    MPI_Waitall(2, &all.requests[MANY], MPI_STATUSES_IGNORE);
    for (int i = MANY - 1; i >= 0; i--) {
        MPI_Testany(MANY + 4, all.requests, &index, &flag, &status);
        EXPECT(flag, 0);
        MPI_Grequest_complete(all.requests[i]);
        MPI_Request_get_status_any(MANY + 4, all.requests, &index, &flag, &status);
        EXPECT(flag, 1);
        EXPECT(index, i);
        expect_status(&status, i);
        if (test)
            MPI_Testany(MANY + 4, all.requests, &index, &flag, &status);
        else
            MPI_Waitany(MANY + 4, all.requests, &index, &status);
        EXPECT(index, i);
        expect_status(&status, i);
    }
    MPI_Waitany(MANY + 4, all.requests, &index, &status);
    EXPECT(index, MPI_UNDEFINED);
    end_mixture(&all, 2);
}

static void test_some(int test)
{
    mixture_t all;
    MPI_Status statuses[MANY + 4];
    int indices[MANY + 4], got;
    start_mixture(&all);
    MPI_Waitall(2, &all.requests[MANY], MPI_STATUSES_IGNORE);
    MPI_Testsome(MANY + 4, all.requests, &got, indices, statuses);
    EXPECT(got, 0);
    for (int i = 0; i < MANY; i += 2) {
        MPI_Grequest_complete(all.requests[i]);
        MPI_Grequest_complete(all.requests[i + 1]);
        MPI_Request_get_status_some(MANY + 4, all.requests, &got, indices, statuses);
        EXPECT(got, 2);
        EXPECT(indices[1], i + 1);
        expect_status(&statuses[1], i + 1);
        if (test)
            MPI_Testsome(MANY + 4, all.requests, &got, indices, statuses);
        else
            MPI_Waitsome(MANY + 4, all.requests, &got, indices, statuses);
        EXPECT(got, 2);
        EXPECT(indices[0], i);
        expect_status(&statuses[0], i);
    }
    MPI_Waitsome(MANY + 4, all.requests, &got, indices, statuses);
    EXPECT(got, MPI_UNDEFINED);
    end_mixture(&all, 2);
}

/* ---- errors of the functions ---- */

static void complete_with(work_t *work, int query_error, int free_error)
{
    start_work(work, 5);
    work->query_error = query_error;
    work->free_error = free_error;
    MPI_Grequest_complete(work->request);
}

static void test_errors_of_one(int code)
{
    work_t work;
    int flag, index;
    complete_with(&work, code, MPI_SUCCESS);
    EXPECT(MPI_Request_get_status(work.request, &flag, MPI_STATUS_IGNORE), code);
    EXPECT(MPI_Request_get_status_any(1, &work.request, &index, &flag, MPI_STATUS_IGNORE), code);
    EXPECT(MPI_Wait(&work.request, MPI_STATUS_IGNORE), code);
    expect_over(&work, 3);
    complete_with(&work, MPI_ERR_OTHER, code);
    EXPECT(MPI_Test(&work.request, &flag, MPI_STATUS_IGNORE), code); /* the later one */
    expect_over(&work, 1);
    complete_with(&work, MPI_SUCCESS, code);
    EXPECT(MPI_Waitany(1, &work.request, &index, MPI_STATUS_IGNORE), code);
    expect_over(&work, 1);
    complete_with(&work, MPI_SUCCESS, code);
    EXPECT(MPI_Request_free(&work.request), code);
    expect_over(&work, 0);
    start_work(&work, 0);
    work.free_error = code;
    MPI_Request kept = work.request;
    EXPECT(MPI_Request_free(&work.request), MPI_SUCCESS);
    EXPECT(MPI_Grequest_complete(kept), code);
    expect_over(&work, 0);
    start_work(&work, 0);
    work.cancel_error = code;
    EXPECT(MPI_Cancel(&work.request), code);
    EXPECT(MPI_Wait(&work.request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

static void test_errors_of_many(int code)
{
    work_t works[3];
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int got, flag, indices[3];
    for (int round = 0; round < 3; round++) {
        complete_with(&works[0], MPI_SUCCESS, MPI_SUCCESS);
        complete_with(&works[1], code, MPI_SUCCESS);
        complete_with(&works[2], MPI_SUCCESS, MPI_ERR_IO);
        for (int i = 0; i < 3; i++)
            requests[i] = works[i].request;
        memset(statuses, 0, sizeof(statuses));
        EXPECT(MPI_Request_get_status_all(3, requests, &flag, statuses), MPI_ERR_IN_STATUS);
        EXPECT(statuses[1].MPI_ERROR, code);
        EXPECT(MPI_Request_get_status_some(3, requests, &got, indices, statuses),
               MPI_ERR_IN_STATUS);
        EXPECT(got, 3);
        if (round == 0)
            EXPECT(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
        else if (round == 1)
            EXPECT(MPI_Waitsome(3, requests, &got, indices, statuses), MPI_ERR_IN_STATUS);
        else
            EXPECT(MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE), MPI_ERR_IN_STATUS);
        EXPECT(round == 2 ? MPI_SUCCESS : statuses[0].MPI_ERROR, MPI_SUCCESS);
        EXPECT(round == 2 ? code : statuses[1].MPI_ERROR, code);
        EXPECT(round == 2 ? MPI_ERR_IO : statuses[2].MPI_ERROR, MPI_ERR_IO);
        for (int i = 0; i < 3; i++)
            expect_over(&works[i], 3);
    }
}

static void test_arguments(void)
{
    work_t work;
    MPI_Request request, null = MPI_REQUEST_NULL;
    int x;
    EXPECT_ERROR(MPI_Grequest_start(NULL, free_work, cancel_work, NULL, &request), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Grequest_start(query_work, NULL, cancel_work, NULL, &request), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Grequest_start(query_work, free_work, NULL, NULL, &request), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Grequest_start(query_work, free_work, cancel_work, NULL, NULL), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Grequest_complete(null), MPI_ERR_REQUEST);
    MPI_Irecv(&x, 1, MPI_INT, 0, TAG + 1, MPI_COMM_SELF, &request);
    EXPECT_ERROR(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    start_work(&work, 0);
    EXPECT_ERROR(MPI_Start(&work.request), MPI_ERR_REQUEST);
    MPI_Grequest_complete(work.request);
    EXPECT_ERROR(MPI_Grequest_complete(work.request), MPI_ERR_REQUEST);
    MPI_Wait(&work.request, MPI_STATUS_IGNORE);
}

/* ---- functions that call MPI ---- */

static void talk_to_self(void)
{
    int out = 5, in = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, 0, 9, &in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    EXPECT(in, 5);
}

static void *talk_in_thread(void *argument)
{
    talk_to_self();
    return argument;
}

/* Another thread must be able to call MPI while a function of the program runs. */
static void talk(void)
{
    pthread_t thread;
    talk_to_self();
    if (provided != MPI_THREAD_MULTIPLE)
        return;
    pthread_create(&thread, NULL, talk_in_thread, NULL);
    pthread_join(thread, NULL);
}

static int query_and_talk(void *state, MPI_Status *status)
{
    talk();
    return query_work(state, status);
}

static int free_and_talk(void *state)
{
    talk();
    return free_work(state);
}

static int cancel_and_talk(void *state, int complete)
{
    talk();
    return cancel_work(state, complete);
}

static void start_talking(work_t *work)
{
    *work = (work_t){0};
    MPI_Grequest_start(query_and_talk, free_and_talk, cancel_and_talk, work, &work->request);
}

static void test_functions_that_talk(void)
{
    work_t works[3];
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++) {
        start_talking(&works[i]);
        requests[i] = works[i].request;
        MPI_Cancel(&works[i].request);
    }
    EXPECT(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < 3; i++)
        EXPECT(works[i].frees, 1);
    start_talking(&works[0]);
    MPI_Request kept = works[0].request;
    MPI_Request_free(&works[0].request);
    MPI_Grequest_complete(kept);
    EXPECT(works[0].frees, 1);
}

/* ---- completed by another thread ---- */

static void *complete_in_thread(void *request)
{
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

/* The thread completes the request before this one waits, or while it spins or sleeps. */
static void test_other_thread(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        work_t work;
        pthread_t thread;
        MPI_Request requests[2], copy;
        int in, index;
        start_work(&work, i);
        copy = work.request;
        pthread_create(&thread, NULL, complete_in_thread, &copy);
        if (i % 3 == 0) {
            MPI_Wait(&work.request, MPI_STATUS_IGNORE);
        } else {
            requests[0] = work.request;
            MPI_Irecv(&in, 1, MPI_INT, 0, TAG + 2, MPI_COMM_SELF, &requests[1]);
            if (i % 3 == 1)
                MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            else
                MPI_Waitsome(2, requests, &(int){0}, (int[2]){0}, MPI_STATUSES_IGNORE);
            EXPECT(requests[0] == MPI_REQUEST_NULL, 1);
            MPI_Cancel(&requests[1]);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        }
        expect_over(&work, 1);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    int error_class, code;
    int level = argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, level, &provided);
    expect_begin();
    right = (expect_rank + 1) % expect_size;
    left = (expect_rank - 1 + expect_size) % expect_size;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&error_class);
    MPI_Add_error_code(error_class, &code);
    test_one();
    test_free();
    test_cancel();
    test_all(0);
    test_all(1);
    test_waitall();
    test_any(0);
    test_any(1);
    test_some(0);
    test_some(1);
    test_errors_of_one(MPI_ERR_FILE);
    test_errors_of_one(code);
    test_errors_of_many(code);
    test_arguments();
    test_functions_that_talk();
    if (provided == MPI_THREAD_MULTIPLE)
        test_other_thread();
    return expect_end();
}
