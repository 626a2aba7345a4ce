/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many nonblocking collectives under way at once on one communicator, completed in another order on
 * each rank, amid blocking ones and messages that are received with MPI_ANY_SOURCE. Handles are
 * freed before the collectives that use them are over.
 */
#include "expect.h"
#include "memory_kinds.h"

#include <stdlib.h>

enum {
    ROUNDS = 12,
    KINDS = 8,
    OUTSTANDING = KINDS * 3,
    MOST_RANKS = 16,
    LARGE = 40000,
    MESSAGES = 5
};

static unsigned seed;

/* Random numbers that differ between ranks, but are the same in each run. */
static unsigned random_below(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* One collective: its buffers and the expected result. */
typedef struct task {
    int kind, number, root;
    int own[MOST_RANKS], got[MOST_RANKS]; /* in host memory */
    char own_kind, got_kind;              /* the kinds of memory that are passed to MPI */
    int *own_at, *got_at;
    int *large; /* [LARGE] */
} task_t;

static int value(int rank, int number, int index)
{
    return rank * 1000 + number * 37 + index;
}

static int sum_below(int last, int number, int index)
{
    int sum = 0;
    for (int rank = 0; rank <= last; rank++)
        sum += value(rank, number, index);
    return sum;
}

/* Puts `count` numbers of `content` into memory of the next kind. */
static int *place(const int *content, int count, char *kind_out)
{
    *kind_out = memory_next_kind();
    int *at = memory_take(*kind_out, (size_t)count * sizeof(int));
    memory_put(*kind_out, at, content, (size_t)count * sizeof(int));
    return at;
}

static void take_back(char kind, int *content, int *at, int count)
{
    memory_get(kind, content, at, (size_t)count * sizeof(int));
    memory_give(kind, at);
}

static void begin_large(task_t *task, MPI_Comm comm, MPI_Request *request)
{
    task->large = malloc(LARGE * sizeof(int));
    for (int i = 0; i < LARGE; i++)
        task->large[i] = value(expect_rank, task->number, i);
    task->got_at = place(task->large, LARGE, &task->got_kind);
    MPI_Iallreduce(MPI_IN_PLACE, task->got_at, LARGE, MPI_INT, MPI_SUM, comm, request);
}

static void begin(task_t *task, MPI_Comm comm, MPI_Request *request)
{
    int n = expect_size;
    if (task->kind == KINDS - 1) {
        begin_large(task, comm, request);
        return;
    }
    for (int i = 0; i < n; i++)
        task->own[i] = value(expect_rank, task->number, i);
    task->own_at = place(task->own, n, &task->own_kind);
    task->got_at = place(task->kind == 1 ? task->own : task->got, n, &task->got_kind);
    switch (task->kind) {
    case 0:
        MPI_Ibarrier(comm, request);
        break;
    case 1:
        MPI_Ibcast(task->got_at, 1, MPI_INT, task->root, comm, request);
        break;
    case 2:
        MPI_Iallreduce(task->own_at, task->got_at, n, MPI_INT, MPI_SUM, comm, request);
        break;
    case 3:
        MPI_Iallgather(task->own_at, 1, MPI_INT, task->got_at, 1, MPI_INT, comm, request);
        break;
    case 4:
        MPI_Ialltoall(task->own_at, 1, MPI_INT, task->got_at, 1, MPI_INT, comm, request);
        break;
    case 5:
        MPI_Iscan(task->own_at, task->got_at, n, MPI_INT, MPI_SUM, comm, request);
        break;
    default:
        MPI_Ireduce_scatter_block(task->own_at, task->got_at, 1, MPI_INT, MPI_SUM, comm, request);
    }
}

static void check_large(task_t *task)
{
    take_back(task->got_kind, task->large, task->got_at, LARGE);
    for (int i = 0; i < LARGE; i += 997)
        EXPECT(task->large[i], sum_below(expect_size - 1, task->number, i));
    free(task->large);
}

static void check(task_t *task)
{
    int n = expect_size, number = task->number;
    if (task->kind == KINDS - 1) {
        check_large(task);
        return;
    }
    take_back(task->got_kind, task->got, task->got_at, n);
    memory_give(task->own_kind, task->own_at);
    for (int i = 0; i < n; i++) {
        if (task->kind == 1 && i == 0)
            EXPECT(task->got[i], value(task->root, number, 0));
        if (task->kind == 2)
            EXPECT(task->got[i], sum_below(n - 1, number, i));
        if (task->kind == 3)
            EXPECT(task->got[i], value(i, number, 0));
        if (task->kind == 4)
            EXPECT(task->got[i], value(i, number, expect_rank));
        if (task->kind == 5)
            EXPECT(task->got[i], sum_below(expect_rank, number, i));
    }
    if (task->kind == 6)
        EXPECT(task->got[0], sum_below(n - 1, number, expect_rank));
}

/* ---- messages among them ---- */

static int words[MESSAGES], heard[MESSAGES];

static void begin_messages(MPI_Comm comm, MPI_Request requests[2 * MESSAGES])
{
    int next = (expect_rank + 1) % expect_size;
    for (int i = 0; i < MESSAGES; i++) {
        words[i] = value(expect_rank, i, 1);
        MPI_Irecv(&heard[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[i]);
        MPI_Isend(&words[i], 1, MPI_INT, next, i, comm, &requests[MESSAGES + i]);
    }
}

static void end_messages(MPI_Request requests[2 * MESSAGES])
{
    int previous = (expect_rank - 1 + expect_size) % expect_size;
    MPI_Status statuses[2 * MESSAGES];
    MPI_Waitall(2 * MESSAGES, requests, statuses);
    for (int i = 0; i < MESSAGES; i++) {
        EXPECT(heard[i], value(previous, i, 1));
        EXPECT(statuses[i].MPI_SOURCE, previous);
        EXPECT(statuses[i].MPI_TAG, i);
    }
}

/* ---- completing ---- */

static void wait_one_by_one(MPI_Request requests[])
{
    int order[OUTSTANDING];
    for (int i = 0; i < OUTSTANDING; i++) {
        int j = (int)random_below((unsigned)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < OUTSTANDING; i++)
        MPI_Wait(&requests[order[i]], MPI_STATUS_IGNORE);
}

static void wait_for_any(MPI_Request requests[])
{
    int index;
    for (int i = 0; i < OUTSTANDING; i++)
        MPI_Waitany(OUTSTANDING, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitany(OUTSTANDING, requests, &index, MPI_STATUS_IGNORE);
    EXPECT(index, MPI_UNDEFINED);
}

static void test_some(MPI_Request requests[])
{
    int indices[OUTSTANDING], done = 0, count;
    while (done < OUTSTANDING) {
        MPI_Testsome(OUTSTANDING, requests, &count, indices, MPI_STATUSES_IGNORE);
        done += count;
    }
}

static void complete(int round, MPI_Request requests[])
{
    switch ((round + expect_rank) % 4) {
    case 0:
        wait_one_by_one(requests);
        break;
    case 1:
        wait_for_any(requests);
        break;
    case 2:
        test_some(requests);
        break;
    default:
        MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
    }
}

static void run_round(int round, MPI_Comm comm)
{
    static task_t tasks[OUTSTANDING];
    MPI_Request requests[OUTSTANDING], messages[2 * MESSAGES];
    for (int i = 0; i < OUTSTANDING; i++) {
        tasks[i] = (task_t){.kind = (i * 5 + round) % KINDS,
                            .number = round * OUTSTANDING + i,
                            .root = i % expect_size};
        begin(&tasks[i], comm, &requests[i]);
        if (i == OUTSTANDING / 2)
            begin_messages(comm, messages);
    }
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(all, expect_size);
    if (round % 2 == 0)
        end_messages(messages);
    complete(round, requests);
    if (round % 2 != 0)
        end_messages(messages);
    for (int i = 0; i < OUTSTANDING; i++)
        check(&tasks[i]);
}

/* ---- handles freed early ---- */

static void add_pairs(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 2 * *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void test_freed_handles(void)
{
    static int numbers[2000];
    char own_kind, sum_kind;
    MPI_Comm comm;
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add_pairs, 1, &op);
    for (int i = 0; i < 2000; i++)
        numbers[i] = value(expect_rank, 1, i);
    int *own = place(numbers, 2000, &own_kind), *sum = place(numbers, 2000, &sum_kind);
    MPI_Iallreduce(own, sum, 1000, pair, op, comm, &request);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    take_back(sum_kind, numbers, sum, 2000);
    memory_give(own_kind, own);
    for (int i = 0; i < 2000; i++)
        EXPECT(numbers[i], sum_below(expect_size - 1, 1, i));
}

/* A request of a collective gives an empty status (MPI 5.0, section 6.12). */
static void test_status(void)
{
    MPI_Request request;
    MPI_Status status = {.MPI_ERROR = 77};
    int count, is_cancelled;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    EXPECT(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT(status.MPI_TAG, MPI_ANY_TAG);
    EXPECT(status.MPI_ERROR, 77);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Test_cancelled(&status, &is_cancelled);
    EXPECT(count, 0);
    EXPECT(is_cancelled, 0);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    seed = (unsigned)expect_rank + 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < ROUNDS; round++)
        run_round(round, round % 3 == 0 ? comm : MPI_COMM_WORLD);
    test_freed_handles();
    test_status();
    MPI_Comm_free(&comm);
    return expect_end();
}
