/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitioned communication: different partitions and types on both sides, in any order of starts
 * and partitions, many times; partitions that arrive before others are ready; the order in which
 * requests match; threads; MPI_PROC_NULL, empty partitions, freed requests, truncation. */
#include "../expect.h"
#include "memory_kinds.h"

#include <pthread.h>

enum { ROUNDS = 3, TAG = 5, THREADS = 4, LARGE = 40000 };

/* Elements of 1, 2 and 3 ints; the second has gaps, so that it cannot be cut into runs. */
typedef struct layout {
    int ints, extent, at[3];
    MPI_Datatype type;
} layout_t;

static layout_t layouts[3] = {{1, 1, {0}, MPI_DATATYPE_NULL},
                              {2, 4, {0, 2}, MPI_DATATYPE_NULL},
                              {3, 3, {0, 1, 2}, MPI_DATATYPE_NULL}};

/* One side: its partitions, the elements of each, and their type. */
typedef struct side {
    int partitions, count, layout;
} side_t;

static int right, left;
static MPI_Comm comm;

static void make_types(void)
{
    MPI_Datatype gaps;
    MPI_Type_contiguous(1, MPI_INT, &layouts[0].type);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 4 * sizeof(int), &layouts[1].type);
    MPI_Type_contiguous(3, MPI_INT, &layouts[2].type);
    for (int i = 0; i < 3; i++)
        MPI_Type_commit(&layouts[i].type);
    MPI_Type_free(&gaps);
}

static void free_types(void)
{
    for (int i = 0; i < 3; i++)
        MPI_Type_free(&layouts[i].type);
}

static int ints_of(const side_t *side)
{
    return side->partitions * side->count * layouts[side->layout].ints;
}

static size_t bytes_of(const side_t *side)
{
    return sizeof(int) *
           ((size_t)side->partitions * (size_t)side->count * (size_t)layouts[side->layout].extent +
            1);
}

/* Where the i-th int of the data stands in a buffer. */
static size_t place(const side_t *side, int i)
{
    const layout_t *layout = &layouts[side->layout];
    return (size_t)(i / layout->ints) * (size_t)layout->extent +
           (size_t)layout->at[i % layout->ints];
}

static int value(int rank, int round, int i)
{
    return rank * 1000003 + round * 7919 + i;
}

/* A buffer of one side, and its contents on the host. */
typedef struct buffer {
    side_t side;
    char kind;
    int *at, *content;
} buffer_t;

static buffer_t take_buffer(side_t side)
{
    buffer_t buffer = {.side = side, .kind = memory_next_kind()};
    buffer.at = memory_take(buffer.kind, bytes_of(&side));
    buffer.content = malloc(bytes_of(&side));
    return buffer;
}

static void give_buffer(buffer_t *buffer)
{
    memory_give(buffer->kind, buffer->at);
    free(buffer->content);
}

static void fill_buffer(buffer_t *buffer, int round)
{
    memset(buffer->content, 0x77, bytes_of(&buffer->side));
    for (int i = 0; i < ints_of(&buffer->side); i++)
        buffer->content[place(&buffer->side, i)] = value(expect_rank, round, i);
    memory_put(buffer->kind, buffer->at, buffer->content, bytes_of(&buffer->side));
}

static void clear_buffer(buffer_t *buffer)
{
    memset(buffer->content, 0x55, bytes_of(&buffer->side));
    memory_put(buffer->kind, buffer->at, buffer->content, bytes_of(&buffer->side));
}

/* Check ints [from, to), and (all of the buffer) that the gaps are as they were. */
static void check_buffer(buffer_t *buffer, int round, int from, int to)
{
    const side_t *side = &buffer->side;
    memory_get(buffer->kind, buffer->content, buffer->at, bytes_of(side));
    for (int i = from; i < to; i++)
        EXPECT(buffer->content[place(side, i)], value(left, round, i));
    for (int i = 0; side->layout == 1 && i < side->partitions * side->count; i++) {
        EXPECT(buffer->content[4 * i + 1], 0x55555555);
        EXPECT(buffer->content[4 * i + 3], 0x55555555);
    }
    EXPECT(buffer->content[bytes_of(side) / sizeof(int) - 1], 0x55555555);
}

static MPI_Request psend(const buffer_t *buffer, int tag)
{
    const side_t *side = &buffer->side;
    MPI_Request request;
    EXPECT(MPI_Psend_init(buffer->at, side->partitions, side->count, layouts[side->layout].type,
                          right, tag, comm, MPI_INFO_NULL, &request),
           MPI_SUCCESS);
    return request;
}

static MPI_Request precv(const buffer_t *buffer, int tag)
{
    const side_t *side = &buffer->side;
    MPI_Request request;
    EXPECT(MPI_Precv_init_c(buffer->at, side->partitions, side->count, layouts[side->layout].type,
                            left, tag, comm, MPI_INFO_NULL, &request),
           MPI_SUCCESS);
    return request;
}

/* Make all partitions ready: upwards, downwards, as a range, as a list, or both ends first. */
static void ready_all(MPI_Request request, int partitions, int how)
{
    int list[64];
    if (how == 2 && partitions > 0)
        MPI_Pready_range(0, partitions - 1, request);
    else if (how == 3 && partitions <= 64) {
        for (int i = 0; i < partitions; i++)
            list[i] = partitions - 1 - i;
        MPI_Pready_list(partitions, list, request);
    } else {
        for (int i = 0; i < partitions; i++)
            MPI_Pready(how == 1 ? partitions - 1 - i : i, request);
    }
}

static void await_partitions(MPI_Request request, int partitions)
{
    for (int i = partitions - 1; i >= 0; i--) {
        int flag = 0;
        while (!flag)
            MPI_Parrived(request, i, &flag);
    }
}

static void check_status(const MPI_Status *status, const side_t *side)
{
    int got;
    MPI_Get_count(status, MPI_INT, &got);
    EXPECT(got, ints_of(side));
    EXPECT(status->MPI_SOURCE, left);
    EXPECT(status->MPI_TAG, TAG);
}

/* is_late: all partitions are ready before the receiver starts. */
static void test_shape(side_t send_side, side_t recv_side, int is_late)
{
    buffer_t out = take_buffer(send_side), in = take_buffer(recv_side);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if (is_late)
        requests[1] = psend(&out, TAG);
    requests[0] = precv(&in, TAG);
    if (!is_late)
        requests[1] = psend(&out, TAG);
    EXPECT(ints_of(&send_side), ints_of(&recv_side));
    for (int round = 0; round < ROUNDS + 1; round++) {
        int flag;
        fill_buffer(&out, round);
        clear_buffer(&in);
        if (is_late) {
            MPI_Start(&requests[1]);
            ready_all(requests[1], send_side.partitions, round);
            MPI_Barrier(comm);
            MPI_Start(&requests[0]);
        } else {
            MPI_Startall(2, requests);
            ready_all(requests[1], send_side.partitions, round);
        }
        if (round % 2 == 0)
            await_partitions(requests[0], recv_side.partitions);
        MPI_Waitall(2, requests, statuses);
        check_status(&statuses[0], &recv_side);
        check_buffer(&in, round, 0, ints_of(&recv_side));
        if (recv_side.partitions > 0) {
            MPI_Parrived(requests[0], recv_side.partitions - 1, &flag); /* inactive */
            EXPECT(flag, 1);
        }
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    give_buffer(&out);
    give_buffer(&in);
}

static void test_shapes(void)
{
    static const side_t shapes[][2] = {
        {{1, 1, 0}, {1, 1, 0}},         {{4, 3, 0}, {4, 3, 0}},
        {{12, 1, 0}, {1, 12, 0}},       {{1, 12, 0}, {12, 1, 0}},
        {{3, 4, 0}, {2, 6, 0}},         {{4, 3, 0}, {2, 3, 1}},
        {{2, 3, 1}, {4, 3, 0}},         {{4, 3, 1}, {6, 4, 0}},
        {{6, 1, 2}, {3, 3, 1}},         {{3, 3, 1}, {2, 3, 2}},
        {{5, 0, 0}, {3, 0, 1}},         {{0, 7, 0}, {3, 0, 0}},
        {{3, 0, 0}, {0, 7, 2}},         {{3, LARGE, 0}, {3, LARGE, 0}},
        {{2, 60000, 0}, {3, 20000, 1}}, {{8, 30000, 2}, {5, 72000, 1}},
        {{500, 1, 0}, {2, 250, 0}},     {{2, 250, 0}, {500, 1, 0}},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        side_t out = shapes[i][0], in = shapes[i][1];
        if (ints_of(&out) != ints_of(&in))
            in.count = ints_of(&out) / layouts[in.layout].ints / in.partitions;
        test_shape(out, in, 0);
        test_shape(out, in, 1);
    }
}

/* The receiver sees each partition before the next one is ready. */
static void test_early(int count)
{
    side_t side = {4, count, 0};
    buffer_t out = take_buffer(side), in = take_buffer(side);
    MPI_Request requests[2];
    int flag, x = 0;
    requests[0] = precv(&in, TAG);
    requests[1] = psend(&out, TAG);
    fill_buffer(&out, 9);
    clear_buffer(&in);
    MPI_Startall(2, requests);
    for (int i = 3; i >= 0; i--) {
        MPI_Barrier(comm); /* no partition up to i is ready */
        for (int k = 0; k <= i; k++) {
            MPI_Parrived(requests[0], k, &flag);
            EXPECT(flag, 0);
        }
        MPI_Barrier(comm);
        MPI_Pready(i, requests[1]);
        for (flag = 0; !flag;)
            MPI_Parrived(requests[0], i, &flag);
        check_buffer(&in, 9, i * count, (i + 1) * count);
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        EXPECT(flag, i == 0);
        MPI_Sendrecv(&x, 1, MPI_INT, left, 1, &x, 1, MPI_INT, right, 1, comm, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    give_buffer(&out);
    give_buffer(&in);
}

/* Requests of one tag match in the order in which they were made, and no ordinary message. */
static void test_matching(void)
{
    enum { PAIRS = 5 };
    int out[PAIRS], in[PAIRS], other = 0, flag, got[2] = {0};
    MPI_Request requests[2 * PAIRS], wild;
    MPI_Irecv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &wild);
    for (int i = 0; i < PAIRS; i++) {
        out[i] = value(expect_rank, i, 0);
        in[i] = -1;
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, right, i % 2, comm, MPI_INFO_NULL, &requests[i]);
        MPI_Precv_init(&in[i], 1, 1, MPI_INT, left, i % 2, comm, MPI_INFO_NULL,
                       &requests[PAIRS + i]);
    }
    for (int i = PAIRS - 1; i >= 0; i--) {
        MPI_Start(&requests[i]);
        MPI_Pready(0, requests[i]);
    }
    MPI_Barrier(comm);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, 0);
    MPI_Test(&wild, &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, 0);
    MPI_Barrier(comm);
    MPI_Startall(PAIRS, &requests[PAIRS]);
    MPI_Waitall(2 * PAIRS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < PAIRS; i++)
        EXPECT(in[i], value(left, i, 0));
    other = expect_rank;
    MPI_Send(&other, 1, MPI_INT, right, 0, comm);
    MPI_Wait(&wild, MPI_STATUS_IGNORE);
    EXPECT(got[0], left);
    for (int i = 0; i < 2 * PAIRS; i++)
        MPI_Request_free(&requests[i]);
}

static void test_proc_null(void)
{
    MPI_Request requests[2], null = MPI_REQUEST_NULL;
    MPI_Status statuses[2];
    int x[4] = {0}, flag = 0;
    MPI_Psend_init(x, 2, 2, MPI_INT, MPI_PROC_NULL, TAG, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(x, 4, 1, MPI_INT, MPI_PROC_NULL, TAG, comm, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Startall(2, requests);
        MPI_Pready_range(0, 1, requests[0]);
        MPI_Parrived(requests[1], 3, &flag);
        EXPECT(flag, 1);
        MPI_Waitall(2, requests, statuses);
        EXPECT(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    flag = 0;
    MPI_Parrived(null, 3, &flag);
    EXPECT(flag, 1);
}

/* A request that is freed before its peer is there still stands for its place in the order; one
 * that is freed while it is active is completed. */
static void test_free(void)
{
    static int out[2]; /* still read when this rank has its own data */
    MPI_Request requests[2], spare[2];
    int in[2] = {-1, -1}, nothing[2], flag = 0;
    out[0] = expect_rank;
    out[1] = -expect_rank;
    MPI_Precv_init(nothing, 2, 1, MPI_INT, left, TAG, comm, MPI_INFO_NULL, &spare[0]);
    MPI_Request_free(&spare[0]);
    MPI_Precv_init(in, 2, 1, MPI_INT, left, TAG, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Barrier(comm);
    MPI_Psend_init(nothing, 2, 1, MPI_INT, right, TAG, comm, MPI_INFO_NULL, &spare[1]);
    MPI_Request_free(&spare[1]);
    MPI_Psend_init(out, 2, 1, MPI_INT, right, TAG, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Start(&requests[1]);
    MPI_Pready_range(0, 1, requests[1]);
    MPI_Request_free(&requests[1]);
    while (!flag)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    EXPECT(in[0], left);
    EXPECT(in[1], -left);
    MPI_Request_free(&requests[0]);
}

static void test_truncation(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int out[6], in[5];
    for (int i = 0; i < 6; i++)
        out[i] = value(expect_rank, 0, i);
    MPI_Psend_init(out, 3, 2, MPI_INT, right, TAG, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 3, 1, MPI_INT, left, TAG, comm, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < ROUNDS; round++) {
        memset(in, 0x55, sizeof(in));
        MPI_Startall(2, requests);
        ready_all(requests[0], 3, round);
        EXPECT_ERROR(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
        EXPECT_ERROR(statuses[0].MPI_ERROR, MPI_SUCCESS);
        EXPECT_ERROR(statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
        for (int i = 0; i < 3; i++)
            EXPECT(in[i], value(left, 0, i));
        EXPECT(in[3], 0x55555555);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* ---- threads ---- */

static MPI_Request shared;

static void *ready_some(void *argument)
{
    for (int i = (int)(long)argument; i < THREADS * 8; i += THREADS)
        MPI_Pready(i, shared);
    return NULL;
}

static void test_threads(int count)
{
    side_t side = {THREADS * 8, count, 0};
    buffer_t out = take_buffer(side), in = take_buffer(side);
    pthread_t threads[THREADS];
    MPI_Request receiving = precv(&in, TAG);
    shared = psend(&out, TAG);
    for (int round = 0; round < 10; round++) {
        fill_buffer(&out, round);
        clear_buffer(&in);
        MPI_Start(&shared);
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, ready_some, (void *)i);
        MPI_Start(&receiving);
        MPI_Wait(&receiving, MPI_STATUS_IGNORE);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        MPI_Wait(&shared, MPI_STATUS_IGNORE);
        check_buffer(&in, round, 0, ints_of(&side));
    }
    MPI_Request_free(&receiving);
    MPI_Request_free(&shared);
    give_buffer(&out);
    give_buffer(&in);
}

/* ---- errors ---- */

static void test_init_errors(void)
{
    MPI_Count huge = (MPI_Count)1 << 61;
    MPI_Info none = MPI_INFO_NULL;
    MPI_Datatype fresh;
    MPI_Request request;
    int x = 0;
    MPI_Type_contiguous(2, MPI_INT, &fresh);
    EXPECT_ERROR(MPI_Psend_init(&x, -1, 1, MPI_INT, 0, 0, comm, none, &request), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Precv_init(&x, -1, 1, MPI_INT, 0, 0, comm, none, &request), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Psend_init(&x, 1, -1, MPI_INT, 0, 0, comm, none, &request), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Psend_init_c(&x, 8, huge, MPI_INT, 0, 0, comm, none, &request), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Psend_init_c(&x, 1, huge, MPI_INT, 0, 0, comm, none, &request), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Precv_init_c(&x, 8, huge, MPI_INT, 0, 0, comm, none, &request), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Psend_init(&x, 1, 1, fresh, 0, 0, comm, none, &request), MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Precv_init(&x, 1, 1, MPI_DATATYPE_NULL, 0, 0, comm, none, &request),
                 MPI_ERR_TYPE);
    EXPECT_ERROR(MPI_Psend_init(&x, 1, 1, MPI_INT, expect_size, 0, comm, none, &request),
                 MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Precv_init(&x, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, none, &request),
                 MPI_ERR_RANK);
    EXPECT_ERROR(MPI_Psend_init(&x, 1, 1, MPI_INT, 0, -5, comm, none, &request), MPI_ERR_TAG);
    EXPECT_ERROR(MPI_Precv_init(&x, 1, 1, MPI_INT, 0, MPI_ANY_TAG, comm, none, &request),
                 MPI_ERR_TAG);
    EXPECT_ERROR(MPI_Psend_init(NULL, 1, 1, MPI_INT, 0, 0, comm, none, &request), MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Precv_init(MPI_IN_PLACE, 1, 1, MPI_INT, 0, 0, comm, none, &request),
                 MPI_ERR_BUFFER);
    EXPECT_ERROR(MPI_Psend_init(&x, 1, 1, MPI_INT, 0, 0, MPI_COMM_NULL, none, &request),
                 MPI_ERR_COMM);
    EXPECT_ERROR(MPI_Psend_init(&x, 1, 1, MPI_INT, 0, 0, comm, (MPI_Info)MPI_COMM_WORLD, &request),
                 MPI_ERR_INFO);
    EXPECT_ERROR(MPI_Precv_init(&x, 1, 1, MPI_INT, 0, 0, comm, none, NULL), MPI_ERR_ARG);
    MPI_Type_free(&fresh);
}

static void test_errors(void)
{
    MPI_Request both[2], plain, null = MPI_REQUEST_NULL;
    int out[4] = {1, 2, 3, 4}, in[4], list[2] = {2, 4}, flag = 1;
    MPI_Psend_init(out, 4, 1, MPI_INT, right, TAG, comm, MPI_INFO_NULL, &both[0]);
    MPI_Precv_init(in, 4, 1, MPI_INT, left, TAG, comm, MPI_INFO_NULL, &both[1]);
    MPI_Send_init(out, 1, MPI_INT, MPI_PROC_NULL, TAG, comm, &plain);
    EXPECT_ERROR(MPI_Pready(0, both[0]), MPI_ERR_REQUEST); /* not started */
    EXPECT_ERROR(MPI_Pready(0, both[1]), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Pready(0, null), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Parrived(both[0], 0, &flag), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Parrived(plain, 0, &flag), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Parrived(both[1], 0, NULL), MPI_ERR_ARG);
    MPI_Startall(2, both);
    EXPECT_ERROR(MPI_Start(&both[0]), MPI_ERR_REQUEST);
    EXPECT_ERROR(MPI_Parrived(both[1], 4, &flag), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Parrived(both[1], -1, &flag), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready(4, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready(-1, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready_range(2, 1, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready_range(2, 4, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready_range(-3, 2, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready_range(0, 2147483647, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready_list(-1, list, both[0]), MPI_ERR_COUNT);
    EXPECT_ERROR(MPI_Pready_list(2, NULL, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready_list(2, list, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready_list(0, NULL, both[0]), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Pready(2, both[0]), MPI_SUCCESS); /* none of the calls above has sent it */
    EXPECT_ERROR(MPI_Pready(2, both[0]), MPI_ERR_ARG);
    EXPECT_ERROR(MPI_Pready_range(0, 1, both[0]), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Pready_list(1, &(int){3}, both[0]), MPI_SUCCESS);
    EXPECT_ERROR(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT(in[3], 4);
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    MPI_Request_free(&plain);
}

int main(int argc, char **argv)
{
    int provided, is_threaded = argc > 1;
    MPI_Init_thread(&argc, &argv, is_threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    expect_begin();
    memory_begin(expect_rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    right = (expect_rank + 1) % expect_size;
    left = (expect_rank - 1 + expect_size) % expect_size;
    make_types();
    test_shapes();
    test_early(1);
    test_early(5000);
    test_early(100000);
    test_matching();
    test_proc_null();
    test_free();
    test_truncation();
    if (is_threaded) {
        test_threads(2);
        test_threads(8000);
    }
    test_init_errors();
    test_errors();
    free_types();
    MPI_Comm_free(&comm);
    return expect_end();
}
