/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives, several of each kind on one communicator, started again and again with
 * new contents, by each rank in an order of its own, and completed in another, amid blocking and
 * nonblocking ones. The communicator, the datatypes and the operation are freed before the first
 * start. Then ranks that disagree, with the argument "disagree".
 */
#include "expect.h"
#include "memory_kinds.h"

#include <stdlib.h>

enum {
    BARRIER,
    BCAST,
    GATHERV,
    SCATTER,
    ALLGATHER,
    ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    LARGE_ALLREDUCE,
    OWN_ALLREDUCE, /* with an operation of the user */
    REDUCE_SCATTER,
    SCAN,
    KINDS
};
enum { ROUNDS = 6, EACH = 2, TASKS = KINDS * EACH, MOST_RANKS = 64, LARGE = 40000 };

static MPI_Comm comm;
static MPI_Datatype pair; /* of two ints */
static MPI_Op own_sum;

static unsigned seed;

static unsigned random_below(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* One request with its buffers. Arrays stay as they are until the request is freed. */
typedef struct task {
    int kind, number, root, length; /* length: in ints, of each buffer */
    int counts[MOST_RANKS], displs[MOST_RANKS];
    MPI_Datatype types[MOST_RANKS];
    int *content, *got; /* in host memory */
    char in_kind, out_kind;
    int *in, *out;
    MPI_Request request;
} task_t;

static int value(int rank, const task_t *task, int round, int index)
{
    return rank * 1000 + task->number * 37 + round * 5 + index;
}

static int sum_to(int last, const task_t *task, int round, int index)
{
    int sum = 0;
    for (int rank = 0; rank <= last; rank++)
        sum += value(rank, task, round, index);
    return sum;
}

static void add_ints(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((const int *)in)[i];
}

/* ---- requests ---- */

static void prepare_moves(task_t *t)
{
    const MPI_Info info = MPI_INFO_NULL;
    switch (t->kind) {
    case BARRIER:
        MPI_Barrier_init(comm, info, &t->request);
        break;
    case BCAST:
        MPI_Bcast_init(t->out, 1, pair, t->root, comm, info, &t->request);
        break;
    case GATHERV:
        MPI_Gatherv_init(t->in, 1, pair, t->out, t->counts, t->displs, pair, t->root, comm, info,
                         &t->request);
        break;
    case SCATTER:
        MPI_Scatter_init(t->in, 2, MPI_INT, t->out, 1, pair, t->root, comm, info, &t->request);
        break;
    case ALLGATHER:
        MPI_Allgather_init(t->in, 1, pair, t->out, 2, MPI_INT, comm, info, &t->request);
        break;
    default:
        MPI_Alltoallw_init(t->in, t->counts, t->displs, t->types, t->out, t->counts, t->displs,
                           t->types, comm, info, &t->request);
    }
}

static void prepare_reductions(task_t *t)
{
    const MPI_Info info = MPI_INFO_NULL;
    int n = expect_size;
    switch (t->kind) {
    case REDUCE:
        MPI_Reduce_init(t->in, t->out, n, MPI_INT, MPI_SUM, t->root, comm, info, &t->request);
        break;
    case ALLREDUCE:
    case LARGE_ALLREDUCE:
        MPI_Allreduce_init(t->in, t->out, t->length, MPI_INT, MPI_SUM, comm, info, &t->request);
        break;
    case OWN_ALLREDUCE:
        MPI_Allreduce_init(t->in, t->out, n, MPI_INT, own_sum, comm, info, &t->request);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_init(t->in, t->out, t->counts, MPI_INT, MPI_SUM, comm, info,
                                &t->request);
        break;
    default:
        MPI_Scan_init(t->in, t->out, n, MPI_INT, MPI_SUM, comm, info, &t->request);
    }
}

static int *take_ints(const task_t *task, char *kind_out)
{
    *kind_out = memory_next_kind();
    return memory_take(*kind_out, sizeof(int) * (size_t)task->length);
}

static void prepare(task_t *task, int number)
{
    *task = (task_t){.kind = number % KINDS, .number = number, .root = number % expect_size};
    task->length = task->kind == LARGE_ALLREDUCE ? LARGE
                   : task->kind == ALLREDUCE     ? expect_size
                                                 : 2 * expect_size;
    for (int i = 0; i < expect_size; i++) {
        task->counts[i] = 1;
        task->displs[i] = task->kind == ALLTOALLW ? 2 * (int)sizeof(int) * i : i;
        task->types[i] = pair;
    }
    task->content = calloc((size_t)task->length, sizeof(int));
    task->got = calloc((size_t)task->length, sizeof(int));
    task->in = take_ints(task, &task->in_kind);
    task->out = take_ints(task, &task->out_kind);
    if (task->kind < REDUCE)
        prepare_moves(task);
    else
        prepare_reductions(task);
}

static void end(task_t *task)
{
    EXPECT(MPI_Request_free(&task->request), MPI_SUCCESS);
    EXPECT(task->request == MPI_REQUEST_NULL, 1);
    memory_give(task->in_kind, task->in);
    memory_give(task->out_kind, task->out);
    free(task->content);
    free(task->got);
}

/* ---- contents ---- */

static void fill(task_t *task, int round)
{
    size_t bytes = sizeof(int) * (size_t)task->length;
    for (int i = 0; i < task->length; i++)
        task->content[i] = value(expect_rank, task, round, i);
    memory_put(task->in_kind, task->in, task->content, bytes);
    memory_put(task->out_kind, task->out, task->content, bytes);
}

/* What element i of the result is, where there is one. */
static int result(const task_t *task, int round, int i)
{
    int last = task->kind == SCAN ? expect_rank : expect_size - 1;
    switch (task->kind) {
    case BCAST:
        return value(task->root, task, round, i);
    case GATHERV:
    case ALLGATHER:
        return value(i / 2, task, round, i % 2);
    case SCATTER:
        return value(task->root, task, round, 2 * expect_rank + i);
    case ALLTOALLW:
        return value(i / 2, task, round, 2 * expect_rank + i % 2);
    case REDUCE_SCATTER:
        return sum_to(last, task, round, expect_rank);
    default:
        return sum_to(last, task, round, i);
    }
}

static int results(const task_t *task)
{
    int has_root = task->kind == GATHERV || task->kind == REDUCE;
    if (task->kind == BARRIER || (has_root && expect_rank != task->root))
        return 0;
    if (task->kind == BCAST || task->kind == SCATTER)
        return 2;
    if (task->kind == REDUCE_SCATTER)
        return 1;
    return task->kind < REDUCE || task->kind == LARGE_ALLREDUCE ? task->length : expect_size;
}

static void check(task_t *task, int round)
{
    int count = results(task), step = count > 1000 ? 997 : 1;
    memory_get(task->out_kind, task->got, task->out, sizeof(int) * (size_t)task->length);
    for (int i = 0; i < count; i += step)
        EXPECT(task->got[i], result(task, round, i));
}

/* ---- rounds ---- */

static void shuffle(int order[TASKS])
{
    for (int i = 0; i < TASKS; i++)
        order[i] = i;
    for (int i = TASKS - 1; i > 0; i--) {
        int other = (int)random_below((unsigned)i + 1), moved = order[i];
        order[i] = order[other];
        order[other] = moved;
    }
}

static void call_others(MPI_Comm others, MPI_Request *request, int *sum)
{
    int one = 1, ones = 0;
    *sum = 1;
    MPI_Iallreduce(MPI_IN_PLACE, sum, 1, MPI_INT, MPI_SUM, others, request);
    MPI_Allreduce(&one, &ones, 1, MPI_INT, MPI_SUM, others);
    EXPECT(ones, expect_size);
}

/* By single starts or all at once, and by single waits or all at once. */
static void run_round(task_t tasks[], int round)
{
    int order[TASKS], sum, left = TASKS, index;
    MPI_Request other, all[TASKS];
    shuffle(order);
    for (int i = 0; i < TASKS; i++) {
        fill(&tasks[order[i]], round);
        all[i] = tasks[order[i]].request;
        if (round % 2 == 0)
            MPI_Start(&all[i]);
    }
    if (round % 2 != 0)
        MPI_Startall(TASKS, all);
    call_others(MPI_COMM_WORLD, &other, &sum);
    if (round % 3 == 0)
        MPI_Waitall(TASKS, all, MPI_STATUSES_IGNORE);
    else
        for (; left > 0; left--) {
            MPI_Waitany(TASKS, all, &index, MPI_STATUS_IGNORE);
            EXPECT(index != MPI_UNDEFINED && all[index] == tasks[order[index]].request, 1);
        }
    MPI_Waitany(TASKS, all, &index, MPI_STATUS_IGNORE);
    EXPECT(index, MPI_UNDEFINED); /* none is active */
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    EXPECT(sum, expect_size);
    for (int i = 0; i < TASKS; i++)
        check(&tasks[i], round);
}

static void try_states(void)
{
    int number = 1, sum = 0;
    MPI_Request request, copy;
    MPI_Status status;
    MPI_Allreduce_init(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL, &request);
    EXPECT(MPI_Wait(&request, &status), MPI_SUCCESS); /* inactive */
    EXPECT(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT(sum, 0);
    MPI_Start(&request);
    copy = request;
    EXPECT_ERROR(MPI_Start(&copy), MPI_ERR_REQUEST);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(sum, 1);
    EXPECT(MPI_Request_free(&request), MPI_SUCCESS);
    MPI_Iallreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request);
    EXPECT_ERROR(MPI_Start(&request), MPI_ERR_REQUEST);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Neither this start nor the next one hangs. */
static void disagree(void)
{
    MPI_Comm own;
    MPI_Request request;
    int in[8] = {0}, out[8];
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    MPI_Allreduce_init(in, out, 4 + (expect_rank == 0), MPI_INT, MPI_SUM, own, MPI_INFO_NULL,
                       &request);
    MPI_Start(&request);
    int error = expect_class(MPI_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT(error == MPI_ERR_TRUNCATE || error == MPI_ERR_OTHER, 1);
    MPI_Start(&request);
    EXPECT_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
    EXPECT(MPI_Request_free(&request), MPI_SUCCESS);
    MPI_Comm_free(&own);
}

int main(int argc, char **argv)
{
    static task_t tasks[TASKS];
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    seed = (unsigned)expect_rank + 1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add_ints, 1, &own_sum);
    for (int i = 0; i < TASKS; i++)
        prepare(&tasks[i], i);
    MPI_Comm_free(&comm);
    MPI_Type_free(&pair);
    MPI_Op_free(&own_sum);
    for (int round = 0; round < ROUNDS; round++)
        run_round(tasks, round);
    for (int i = 0; i < TASKS; i++)
        end(&tasks[i]);
    try_states();
    if (argc > 1 && strcmp(argv[1], "disagree") == 0)
        disagree();
    return expect_end();
}
