/* SPDX-License-Identifier: BSD-3-Clause */
/* Actors of thread_pairs.c: messages, and the requests and probes that come with them. */
#ifndef TEST_MPI_MESSAGE_ACTORS_H
#define TEST_MPI_MESSAGE_ACTORS_H

#include "stage.h"

static void send_blocking(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 0);
    MPI_Request request;
    MPI_Status status;
    stage_fill(stage, stage->out, count);
    MPI_Irecv(stage->in, MOST_INTS, MPI_INT, stage->left, tag, stage->shared, &request);
    MPI_Send(stage->out, count, MPI_INT, stage->right, tag, stage->shared);
    MPI_Wait(&request, &status);
    stage_check_data(stage, stage->in, count, stage->left);
    stage_check_status(stage, &status, stage->left, tag, count);
}

/* Blocking on both sides, in an order that cannot deadlock. */
static void send_and_recv(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 1);
    MPI_Status status;
    if (stage->size == 1)
        return;
    stage_fill(stage, stage->out, count);
    if (stage->rank > 0) {
        MPI_Recv(stage->in, MOST_INTS, MPI_INT, stage->left, tag, stage->shared, &status);
        stage_check_data(stage, stage->in, count, stage->left);
        stage_check_status(stage, &status, stage->left, tag, count);
    }
    MPI_Send(stage->out, count, MPI_INT, stage->right, tag, stage->shared);
    if (stage->rank == 0) {
        MPI_Recv(stage->in, MOST_INTS, MPI_INT, stage->left, tag, stage->shared, &status);
        stage_check_data(stage, stage->in, count, stage->left);
    }
}

static void send_synchronous(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 2), half = MOST_INTS / 2;
    MPI_Request requests[3];
    stage_fill(stage, stage->out, count);
    MPI_Irecv(stage->in, half, MPI_INT, stage->left, tag, stage->shared, &requests[0]);
    MPI_Irecv(stage->in + half, half, MPI_INT, stage->left, tag, stage->shared, &requests[1]);
    MPI_Issend(stage->out, count, MPI_INT, stage->right, tag, stage->shared, &requests[2]);
    MPI_Ssend(stage->out, count, MPI_INT, stage->right, tag, stage->shared);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    stage_check_data(stage, stage->in, count, stage->left);
    stage_check_data(stage, stage->in + half, count, stage->left);
}

static void send_ready(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 3), nothing = 0;
    MPI_Request requests[2];
    stage_fill(stage, stage->out, count);
    MPI_Irecv(stage->in, MOST_INTS, MPI_INT, stage->left, tag, stage->shared, &requests[0]);
    MPI_Sendrecv(&nothing, 1, MPI_INT, stage->left, tag + 1, &nothing, 1, MPI_INT, stage->right,
                 tag + 1, stage->shared, MPI_STATUS_IGNORE);
    MPI_Irsend(stage->out, count, MPI_INT, stage->right, tag, stage->shared, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    stage_check_data(stage, stage->in, count, stage->left);
}

/* MPI_Bsend from a buffer of the thread's own communicator. */
static void send_buffered(stage_t *stage)
{
    enum { SENDS = 3, INTS = 500, BYTES = SENDS * (INTS * 4 + MPI_BSEND_OVERHEAD) };
    char buffer[BYTES], *detached = NULL;
    int size = 0;
    MPI_Request request;
    MPI_Comm_attach_buffer(stage->own, buffer, BYTES);
    stage_fill(stage, stage->out, INTS);
    MPI_Bsend(stage->out, INTS, MPI_INT, stage->right, 0, stage->own);
    MPI_Ibsend(stage->out, INTS, MPI_INT, stage->right, 1, stage->own, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Recv(stage->in, INTS, MPI_INT, stage->left, i, stage->own, MPI_STATUS_IGNORE);
        stage_check_data(stage, stage->in, INTS, stage->left);
    }
    MPI_Comm_flush_buffer(stage->own);
    MPI_Comm_iflush_buffer(stage->own, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_detach_buffer(stage->own, &detached, &size);
    CHECK(stage, detached == buffer, 1);
    CHECK(stage, size, BYTES);
}

/* Everyone sends to everyone, and receives by wildcards. */
static void recv_any_source(stage_t *stage)
{
    enum { EACH = 2 };
    MPI_Request requests[MOST_RANKS * EACH];
    long long sum = 0, expected = 0;
    int sends = stage->size * EACH;
    for (int i = 0; i < sends; i++) {
        stage->out[i] = stage_value(stage, stage->rank, i / stage->size);
        MPI_Isend(&stage->out[i], 1, MPI_INT, i % stage->size, i / stage->size, stage->own,
                  &requests[i]);
    }
    for (int i = 0; i < sends; i++) {
        MPI_Status status;
        MPI_Recv(stage->in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, stage->own, &status);
        CHECK(stage, stage->in[0], stage_value(stage, status.MPI_SOURCE, status.MPI_TAG));
        sum += status.MPI_SOURCE;
        expected += i % stage->size;
    }
    CHECK(stage, sum, expected);
    MPI_Waitall(sends, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(stage->own); /* no wildcard may get a message of what comes next */
}

/* Posted wildcards of rank 0, on the communicator that all threads share. */
static void recv_in_any_order(stage_t *stage, int tag)
{
    MPI_Request requests[MOST_RANKS];
    MPI_Status status;
    int index, seen[MOST_RANKS] = {0};
    for (int i = 0; i < stage->size; i++)
        MPI_Irecv(&stage->in[i], 1, MPI_INT, MPI_ANY_SOURCE, tag, stage->shared, &requests[i]);
    for (int i = 0; i < stage->size; i++) {
        MPI_Waitany(stage->size, requests, &index, &status);
        stage_check_data(stage, &stage->in[index], 1, status.MPI_SOURCE);
        CHECK(stage, seen[status.MPI_SOURCE]++, 0);
    }
    for (int i = 0; i < stage->size; i++) /* only now may they send again */
        MPI_Send(NULL, 0, MPI_INT, i, tag + 1, stage->shared);
}

static void recv_any_source_shared(stage_t *stage)
{
    int tag = stage_tag(stage, 50);
    MPI_Request requests[2];
    stage_fill(stage, stage->out, 1);
    MPI_Isend(stage->out, 1, MPI_INT, 0, tag, stage->shared, &requests[0]);
    MPI_Irecv(NULL, 0, MPI_INT, 0, tag + 1, stage->shared, &requests[1]);
    if (stage->rank == 0)
        recv_in_any_order(stage, tag);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void probe_and_recv(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 6), flag = 0;
    MPI_Request request;
    MPI_Status status;
    stage_fill(stage, stage->out, count);
    MPI_Isend(stage->out, count, MPI_INT, stage->right, tag, stage->shared, &request);
    if (stage_draw(stage, 2) == 0)
        MPI_Probe(MPI_ANY_SOURCE, tag, stage->shared, &status);
    else
        while (!flag)
            MPI_Iprobe(stage->left, tag, stage->shared, &flag, &status);
    stage_check_status(stage, &status, stage->left, tag, count);
    MPI_Recv(stage->in, count, MPI_INT, stage->left, tag, stage->shared, MPI_STATUS_IGNORE);
    stage_check_data(stage, stage->in, count, stage->left);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void mprobe_and_mrecv(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 7), flag = 0;
    MPI_Message message;
    MPI_Request request, receiving;
    MPI_Status status;
    stage_fill(stage, stage->out, count);
    MPI_Isend(stage->out, count, MPI_INT, stage->right, tag, stage->shared, &request);
    if (stage_draw(stage, 2) == 0) {
        MPI_Mprobe(MPI_ANY_SOURCE, tag, stage->shared, &message, &status);
        MPI_Mrecv(stage->in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
        while (!flag)
            MPI_Improbe(stage->left, tag, stage->shared, &flag, &message, &status);
        MPI_Imrecv(stage->in, count, MPI_INT, &message, &receiving);
        MPI_Wait(&receiving, MPI_STATUS_IGNORE);
    }
    CHECK(stage, message == MPI_MESSAGE_NULL, 1);
    stage_check_status(stage, &status, stage->left, tag, count);
    stage_check_data(stage, stage->in, count, stage->left);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Matched probes by wildcards on the thread's own communicator. */
static void mprobe_any(stage_t *stage)
{
    MPI_Request requests[MOST_RANKS];
    int seen[MOST_RANKS] = {0};
    stage_fill(stage, stage->out, 1);
    for (int i = 0; i < stage->size; i++)
        MPI_Isend(stage->out, 1, MPI_INT, i, 3, stage->own, &requests[i]);
    for (int i = 0; i < stage->size; i++) {
        MPI_Message message;
        MPI_Status status;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, stage->own, &message, &status);
        MPI_Mrecv(stage->in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        stage_check_data(stage, stage->in, 1, status.MPI_SOURCE);
        CHECK(stage, seen[status.MPI_SOURCE]++, 0);
    }
    MPI_Waitall(stage->size, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(stage->own);
}

static void sendrecv_all_forms(stage_t *stage)
{
    int count = stage_count(stage), tag = stage_tag(stage, 8);
    MPI_Request request;
    stage_fill(stage, stage->out, count);
    MPI_Sendrecv(stage->out, count, MPI_INT, stage->right, tag, stage->in, count, MPI_INT,
                 stage->left, tag, stage->shared, MPI_STATUS_IGNORE);
    stage_check_data(stage, stage->in, count, stage->left);
    MPI_Sendrecv_replace(stage->in, count, MPI_INT, stage->left, tag, stage->right, tag,
                         stage->shared, MPI_STATUS_IGNORE);
    stage_check_data(stage, stage->in, count, stage->rank);
    MPI_Isendrecv(stage->out, count, MPI_INT, stage->right, tag, stage->in, count, MPI_INT,
                  stage->left, tag, stage->shared, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isendrecv_replace(stage->in, count, MPI_INT, stage->left, tag, stage->right, tag,
                          stage->shared, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    stage_check_data(stage, stage->in, count, stage->rank);
}

static void send_derived(stage_t *stage)
{
    enum { BLOCKS = 2000 };
    int tag = stage_tag(stage, 9), wrong = 0;
    MPI_Datatype gaps;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    stage_fill(stage, stage->out, 2 * BLOCKS);
    memset(stage->in, 0x55, 2 * BLOCKS * sizeof(int));
    MPI_Sendrecv(stage->out, 1, gaps, stage->right, tag, stage->in, 1, gaps, stage->left, tag,
                 stage->shared, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * BLOCKS; i++)
        wrong += stage->in[i] != (i % 2 == 0 ? stage_value(stage, stage->left, i) : 0x55555555);
    CHECK(stage, wrong, 0);
    MPI_Type_free(&gaps);
}

static void talk_to_nobody(stage_t *stage)
{
    MPI_Status status;
    MPI_Message message;
    int flag = 0;
    MPI_Send(stage->out, 4, MPI_INT, MPI_PROC_NULL, 0, stage->shared);
    MPI_Recv(stage->in, 4, MPI_INT, MPI_PROC_NULL, 0, stage->shared, &status);
    stage_check_status(stage, &status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Improbe(MPI_PROC_NULL, 0, stage->shared, &flag, &message, &status);
    CHECK(stage, flag, 1);
    MPI_Mrecv(stage->in, 4, MPI_INT, &message, &status);
    stage_check_status(stage, &status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
}

static const actor_t message_actors[] = {
    {"send_blocking", send_blocking, 0},
    {"send_and_recv", send_and_recv, 0},
    {"send_synchronous", send_synchronous, 0},
    {"send_ready", send_ready, 0},
    {"send_buffered", send_buffered, 0},
    {"recv_any_source", recv_any_source, 0},
    {"recv_any_source_shared", recv_any_source_shared, 0},
    {"probe_and_recv", probe_and_recv, 0},
    {"mprobe_and_mrecv", mprobe_and_mrecv, 0},
    {"mprobe_any", mprobe_any, 0},
    {"sendrecv_all_forms", sendrecv_all_forms, 0},
    {"send_derived", send_derived, 0},
    {"talk_to_nobody", talk_to_nobody, 1},
};

#endif
