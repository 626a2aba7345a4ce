/* SPDX-License-Identifier: BSD-3-Clause */
/* Actors of thread_pairs.c: all ways to complete, start, free and cancel requests; partitioned
 * communication; generalised requests; requests that another thread completes. */
#ifndef TEST_MPI_REQUEST_ACTORS_H
#define TEST_MPI_REQUEST_ACTORS_H

#include "stage.h"

enum { PART_INTS = 500, REQUESTS = 8 }; /* half of them receives */

static void begin_many(stage_t *stage, int tag, MPI_Request requests[REQUESTS])
{
    int half = REQUESTS / 2;
    stage_fill(stage, stage->out, PART_INTS);
    for (int i = 0; i < half; i++)
        MPI_Irecv(stage->in + i * PART_INTS, PART_INTS, MPI_INT, stage->left, tag + i,
                  stage->shared, &requests[i]);
    for (int i = 0; i < half; i++)
        MPI_Isend(stage->out, PART_INTS, MPI_INT, stage->right, tag + half - 1 - i, stage->shared,
                  &requests[half + i]);
}

static void check_many(stage_t *stage, const MPI_Request requests[REQUESTS])
{
    for (int i = 0; i < REQUESTS / 2; i++)
        stage_check_data(stage, stage->in + i * PART_INTS, PART_INTS, stage->left);
    for (int i = 0; i < REQUESTS; i++)
        CHECK(stage, requests[i] == MPI_REQUEST_NULL, 1);
}

static void complete_one_by_one(stage_t *stage)
{
    MPI_Request requests[REQUESTS];
    int index = MPI_UNDEFINED, flag, done = 0;
    begin_many(stage, stage_tag(stage, 10), requests);
    for (; done < REQUESTS / 2; done++)
        MPI_Waitany(REQUESTS, requests, &index, MPI_STATUS_IGNORE);
    while (done < REQUESTS) {
        MPI_Testany(REQUESTS, requests, &index, &flag, MPI_STATUS_IGNORE);
        done += flag && index != MPI_UNDEFINED;
    }
    check_many(stage, requests);
}

static void complete_some(stage_t *stage)
{
    MPI_Request requests[REQUESTS];
    int indices[REQUESTS], count, done = 0;
    begin_many(stage, stage_tag(stage, 15), requests);
    for (int turn = 0; done < REQUESTS; turn++) {
        if (turn % 2 == 0)
            MPI_Waitsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
        else
            MPI_Testsome(REQUESTS, requests, &count, indices, MPI_STATUSES_IGNORE);
        done += count == MPI_UNDEFINED ? 0 : count;
    }
    CHECK(stage, done, REQUESTS);
    check_many(stage, requests);
}

static void complete_all(stage_t *stage)
{
    MPI_Request requests[REQUESTS];
    int flag = 0, index;
    begin_many(stage, stage_tag(stage, 20), requests);
    MPI_Request_get_status_any(REQUESTS, requests, &index, &flag, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        MPI_Request_get_status_all(REQUESTS, requests, &flag, MPI_STATUSES_IGNORE);
    MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
    CHECK(stage, flag, 1);
    for (flag = 0; !flag;)
        MPI_Testall(REQUESTS, requests, &flag, MPI_STATUSES_IGNORE);
    check_many(stage, requests);
}

static void *wait_for_all(void *argument)
{
    MPI_Waitall(REQUESTS, argument, MPI_STATUSES_IGNORE);
    return NULL;
}

/* Another thread waits for what this one has begun. */
static void complete_elsewhere(stage_t *stage)
{
    MPI_Request requests[REQUESTS];
    begin_many(stage, stage_tag(stage, 25), requests);
    pthread_join(stage_helper(wait_for_all, requests), NULL);
    check_many(stage, requests);
}

static void start_persistent(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 30), half = MOST_INTS / 2;
    MPI_Request requests[4];
    MPI_Recv_init(stage->in, half, MPI_INT, stage->left, tag, stage->shared, &requests[0]);
    MPI_Recv_init(stage->in + half, half, MPI_INT, stage->left, tag + 1, stage->shared,
                  &requests[1]);
    MPI_Send_init(stage->out, count, MPI_INT, stage->right, tag, stage->shared, &requests[2]);
    MPI_Ssend_init(stage->out, count, MPI_INT, stage->right, tag + 1, stage->shared, &requests[3]);
    for (int i = 0; i < 2; i++) {
        stage_fill(stage, stage->out, count);
        memset(stage->in, 0, (size_t)count * sizeof(int));
        MPI_Startall(3, requests);
        MPI_Start(&requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        stage_check_data(stage, stage->in, count, stage->left);
        stage_check_data(stage, stage->in + half, count, stage->left);
    }
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
}

/* A send that is freed at once still arrives. */
static void free_active(stage_t *stage)
{
    int tag = stage_tag(stage, 32), nothing = 0;
    MPI_Request request;
    stage_fill(stage, stage->out, PART_INTS);
    MPI_Isend(stage->out, PART_INTS, MPI_INT, stage->right, tag, stage->shared, &request);
    MPI_Request_free(&request);
    MPI_Recv(stage->in, PART_INTS, MPI_INT, stage->left, tag, stage->shared, MPI_STATUS_IGNORE);
    stage_check_data(stage, stage->in, PART_INTS, stage->left);
    /* The receiver has it, so that the buffer may change. */
    MPI_Sendrecv(&nothing, 1, MPI_INT, stage->left, tag, &nothing, 1, MPI_INT, stage->right, tag,
                 stage->shared, MPI_STATUS_IGNORE);
}

static void cancel_receives(stage_t *stage)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag = 0;
    MPI_Irecv(stage->in, 1, MPI_INT, MPI_ANY_SOURCE, 7, stage->own, &requests[0]);
    MPI_Irecv(stage->in, 1, MPI_INT, stage->left, stage_tag(stage, 33), stage->shared,
              &requests[1]);
    for (int i = 0; i < 2; i++)
        MPI_Cancel(&requests[i]);
    MPI_Waitall(2, requests, statuses);
    for (int i = 0; i < 2; i++) {
        MPI_Test_cancelled(&statuses[i], &flag);
        CHECK(stage, flag, 1);
    }
}

/* Tell the neighbours how this rank's message ended, and hear it of one's own. */
static int exchange_end(stage_t *stage, int tag, int end)
{
    int other = -1;
    MPI_Sendrecv(&end, 1, MPI_INT, stage->right, tag, &other, 1, MPI_INT, stage->left, tag,
                 stage->shared, MPI_STATUS_IGNORE);
    return other;
}

/* Nobody receives the message, so that it is cancelled, and cannot be found after that. */
static void cancel_unmatched(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 34), flag = -1;
    MPI_Request sending;
    MPI_Status status;
    MPI_Isend(stage->out, count, MPI_INT, stage->right, tag, stage->shared, &sending);
    MPI_Cancel(&sending);
    MPI_Wait(&sending, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(stage, flag, 1);
    exchange_end(stage, tag + 1, flag);
    MPI_Iprobe(stage->left, tag, stage->shared, &flag, MPI_STATUS_IGNORE);
    CHECK(stage, flag, 0);
    MPI_Barrier(stage->own); /* before the next message */
}

/* The receive and the cancellation race: the message is received or cancelled, and never both. */
static void cancel_matched(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 36), is_cancelled = -1;
    MPI_Request sending, receiving;
    MPI_Status status;
    stage_fill(stage, stage->out, count);
    MPI_Issend(stage->out, count, MPI_INT, stage->right, tag, stage->shared, &sending);
    MPI_Irecv(stage->in, MOST_INTS, MPI_INT, stage->left, tag, stage->shared, &receiving);
    MPI_Cancel(&sending);
    MPI_Wait(&sending, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    int was_cancelled = exchange_end(stage, tag + 1, is_cancelled);
    if (was_cancelled)
        MPI_Cancel(&receiving);
    MPI_Wait(&receiving, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    CHECK(stage, is_cancelled, was_cancelled);
    if (!was_cancelled)
        stage_check_data(stage, stage->in, count, stage->left);
    MPI_Barrier(stage->own); /* before the next message, which the receive could get */
}

/* ---- partitions ---- */

enum { PARTITIONS = 6 };

static void *ready_odd(void *argument)
{
    for (int i = 1; i < PARTITIONS; i += 2)
        MPI_Pready(i, *(MPI_Request *)argument);
    return NULL;
}

static void ready_in_two_threads(stage_t *stage)
{
    MPI_Request requests[2];
    int flag, tag = stage_tag(stage, 38);
    MPI_Precv_init(stage->in, PARTITIONS / 2, 2 * PART_INTS, MPI_INT, stage->left, tag,
                   stage->shared, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(stage->out, PARTITIONS, PART_INTS, MPI_INT, stage->right, tag, stage->shared,
                   MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 2; i++) {
        stage_fill(stage, stage->out, PARTITIONS * PART_INTS);
        memset(stage->in, 0, PARTITIONS * PART_INTS * sizeof(int));
        MPI_Startall(2, requests);
        pthread_t helper = stage_helper(ready_odd, &requests[1]);
        for (int k = 0; k < PARTITIONS; k += 2)
            MPI_Pready(k, requests[1]);
        for (flag = 0; !flag;)
            MPI_Parrived(requests[0], 1, &flag);
        pthread_join(helper, NULL);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        stage_check_data(stage, stage->in, PARTITIONS * PART_INTS, stage->left);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* ---- generalised requests ---- */

typedef struct task {
    atomic_int queries, frees, cancels;
    MPI_Request request;
} task_t;

static int query_task(void *state, MPI_Status *status)
{
    atomic_fetch_add(&((task_t *)state)->queries, 1);
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, 0);
    MPI_Status_set_source(status, 2);
    MPI_Status_set_tag(status, 9);
    return MPI_SUCCESS;
}

static int free_task(void *state)
{
    atomic_fetch_add(&((task_t *)state)->frees, 1);
    return MPI_SUCCESS;
}

static int cancel_task(void *state, int is_complete)
{
    (void)is_complete;
    atomic_fetch_add(&((task_t *)state)->cancels, 1);
    return MPI_SUCCESS;
}

static void *complete_task(void *argument)
{
    MPI_Grequest_complete(((task_t *)argument)->request);
    return NULL;
}

static void complete_generalised(stage_t *stage)
{
    task_t task = {.queries = 0};
    MPI_Request request;
    MPI_Status status;
    int flag = 0, is_tested = stage_draw(stage, 2);
    MPI_Grequest_start(query_task, free_task, cancel_task, &task, &task.request);
    request = task.request;
    pthread_t helper = stage_helper(complete_task, &task);
    if (is_tested)
        while (!flag)
            MPI_Test(&request, &flag, &status);
    else
        MPI_Wait(&request, &status);
    pthread_join(helper, NULL);
    stage_check_status(stage, &status, 2, 9, 5);
    CHECK(stage, task.queries, 1);
    CHECK(stage, task.frees, 1);
    CHECK(stage, task.cancels, 0);
}

static const actor_t request_actors[] = {
    {"complete_one_by_one", complete_one_by_one, 0},
    {"complete_some", complete_some, 0},
    {"complete_all", complete_all, 0},
    {"complete_elsewhere", complete_elsewhere, 0},
    {"start_persistent", start_persistent, 0},
    {"free_active", free_active, 0},
    {"cancel_receives", cancel_receives, 1},
    {"cancel_unmatched", cancel_unmatched, 0},
    {"cancel_matched", cancel_matched, 0},
    {"ready_in_two_threads", ready_in_two_threads, 0},
    {"complete_generalised", complete_generalised, 0},
};

#endif
