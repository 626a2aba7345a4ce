/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking collectives on walls (src/coll/wall/wall_request.c): many at once, of all kinds and
 * lengths, completed in any order, with blocking ones in between, messages meanwhile, types and
 * communicators that are freed before the calls are done, requests that are freed, calls on several
 * communicators in turns, and ranks that disagree.
 */
#include "expect.h"

#include <stdlib.h>

enum { CALLS_BEFORE_WALL = 4, CALLS = 48, KINDS = 9, LONGEST = 70000, ROUNDS = 3, COMMS = 3 };

static const int lengths[] = {1, 5, 1000, 0, LONGEST, 17};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

typedef struct call {
    int kind, count, root;
    int *in, *out; /* [LONGEST]; or, with a block for each rank, of 100 elements at most */
    MPI_Request request;
} call_t;

static call_t calls[CALLS];
static int block[CALLS]; /* elements of a rank's block in calls with blocks */

static void use_wall(MPI_Comm comm)
{
    for (int i = 0; i < CALLS_BEFORE_WALL; i++)
        MPI_Barrier(comm);
}

static int value(int rank, int call, int index)
{
    return rank * 100 + call * 7 + index % 1000;
}

static int sum_of(int ranks, int call, int index)
{
    int sum = 0;
    for (int rank = 0; rank < ranks; rank++)
        sum += value(rank, call, index);
    return sum;
}

static void begin(call_t *its, int number, MPI_Comm comm)
{
    int is_root = expect_rank == its->root, own = block[number];
    for (int i = 0; i < LONGEST; i++) {
        its->in[i] = value(expect_rank, number, i);
        its->out[i] = its->kind == 1 && is_root ? its->in[i] : -1;
    }
    int *in = its->in, *out = its->out;
    MPI_Request *request = &its->request;
    if (its->kind == 0)
        MPI_Iallreduce(in, out, its->count, MPI_INT, MPI_SUM, comm, request);
    else if (its->kind == 1)
        MPI_Ibcast(out, its->count, MPI_INT, its->root, comm, request);
    else if (its->kind == 2)
        MPI_Ireduce(in, out, its->count, MPI_INT, MPI_SUM, its->root, comm, request);
    else if (its->kind == 3)
        MPI_Iscan(in, out, its->count, MPI_INT, MPI_SUM, comm, request);
    else if (its->kind == 4)
        MPI_Iallgather(in, own, MPI_INT, out, own, MPI_INT, comm, request);
    else if (its->kind == 5)
        MPI_Ialltoall(in, own, MPI_INT, out, own, MPI_INT, comm, request);
    else if (its->kind == 6)
        MPI_Igather(in, own, MPI_INT, out, own, MPI_INT, its->root, comm, request);
    else if (its->kind == 7)
        MPI_Iscatter(in, own, MPI_INT, out, own, MPI_INT, its->root, comm, request);
    else
        MPI_Ibarrier(comm, request);
}

static void check_vector(const call_t *its, int number)
{
    int is_root = expect_rank == its->root;
    for (int i = 0; i < its->count; i++) {
        int expected = its->kind == 1   ? value(its->root, number, i)
                       : its->kind == 3 ? sum_of(expect_rank + 1, number, i)
                                        : sum_of(expect_size, number, i);
        if (its->kind != 2 || is_root)
            EXPECT(its->out[i], expected);
    }
}

static void check_blocks(const call_t *its, int number)
{
    int own = block[number], first = expect_rank * own;
    for (int rank = 0; rank < expect_size; rank++) {
        for (int i = 0; i < own; i++) {
            if (its->kind == 4 || (its->kind == 6 && expect_rank == its->root))
                EXPECT(its->out[rank * own + i], value(rank, number, i));
            else if (its->kind == 5)
                EXPECT(its->out[rank * own + i], value(rank, number, first + i));
            else if (its->kind == 7)
                EXPECT(its->out[i], value(its->root, number, first + i));
        }
    }
}

static void check(const call_t *its, int number)
{
    if (its->kind <= 3)
        check_vector(its, number);
    else if (its->kind <= 7)
        check_blocks(its, number);
}

static void prepare(int round)
{
    for (int i = 0; i < CALLS; i++) {
        calls[i].kind = (i + round) % KINDS;
        calls[i].count = lengths[(i / 2 + round) % LENGTHS];
        calls[i].root = (i + round) % expect_size;
        block[i] = calls[i].count % 101;
    }
}

/* ---- many at once ---- */

/* Each rank completes them in an order of its own. */
static void complete(int round)
{
    if (round == 0) {
        for (int i = 0; i < CALLS; i++) {
            int which = (i * 5 + expect_rank * 7) % CALLS; /* 5 and CALLS have no common factor */
            MPI_Wait(&calls[which].request, MPI_STATUS_IGNORE);
        }
        return;
    }
    MPI_Request requests[CALLS];
    for (int i = 0; i < CALLS; i++)
        requests[i] = calls[i].request;
    for (int i = 0, which; round == 1 && i < CALLS; i++)
        MPI_Waitany(CALLS, requests, &which, MPI_STATUS_IGNORE);
    for (int is_done = round == 1; !is_done;)
        MPI_Testall(CALLS, requests, &is_done, MPI_STATUSES_IGNORE);
}

/* A message goes round, and a blocking collective comes in between. */
static void disturb(void)
{
    int next = (expect_rank + 1) % expect_size,
        last = (expect_rank + expect_size - 1) % expect_size;
    int out = expect_rank, in = -1, sum = 0;
    MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, last, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT(in, last);
    MPI_Allreduce(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(sum, expect_size * (expect_size - 1) / 2);
}

static void test_many(int round)
{
    prepare(round);
    for (int i = 0; i < CALLS; i++) {
        begin(&calls[i], i, MPI_COMM_WORLD);
        if (i == CALLS / 3 + round)
            disturb();
    }
    complete(round);
    for (int i = 0; i < CALLS; i++)
        check(&calls[i], i);
}

/* ---- several communicators ---- */

static void test_communicators(void)
{
    MPI_Comm comms[COMMS];
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        use_wall(comms[i]);
    }
    prepare(0);
    /* Communicators are independent: the order of calls on different ones may differ. */
    for (int k = 0; k < COMMS; k++) {
        int which = (k + expect_rank) % COMMS;
        for (int i = which; i < CALLS; i += COMMS)
            begin(&calls[i], i, comms[which]);
    }
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]); /* the calls are still under way */
    for (int i = CALLS - 1; i >= 0; i--) {
        MPI_Wait(&calls[i].request, MPI_STATUS_IGNORE);
        check(&calls[i], i);
    }
}

/* ---- types, and requests that are freed ---- */

static void test_freed(void)
{
    MPI_Datatype pairs;
    MPI_Request request;
    int *data = calls[0].out, is_root = expect_rank == 0;
    MPI_Type_vector(LONGEST / 2, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    for (int i = 0; i < LONGEST; i++)
        data[i] = is_root ? i : -1;
    MPI_Ibcast(data, 1, pairs, 0, MPI_COMM_WORLD, &request);
    MPI_Type_free(&pairs);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < LONGEST; i++)
        EXPECT(data[i], i % 2 == 0 || is_root ? i : -1);
    static int in = 1, result; /* of a request that is freed: nobody knows when it is there */
    int sum = 0;
    MPI_Iallreduce(&in, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(sum, expect_size);
}

/* ---- errors ---- */

/* Whoever disagrees, none of the calls behind it hangs. */
static void test_disagreement(void)
{
    MPI_Comm comm;
    MPI_Request requests[3];
    int in[8] = {0}, out[3][8], classes[3];
    if (expect_size == 1)
        return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    use_wall(comm);
    MPI_Iallreduce(in, out[0], 4, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Iallreduce(in, out[1], 4 + (expect_rank == 0), MPI_INT, MPI_SUM, comm, &requests[1]);
    MPI_Iallreduce(in, out[2], 4, MPI_INT, MPI_SUM, comm, &requests[2]);
    for (int i = 0; i < 3; i++)
        classes[i] = expect_class(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    EXPECT(classes[0], MPI_SUCCESS);
    EXPECT(classes[1] == MPI_ERR_TRUNCATE || classes[1] == MPI_ERR_OTHER, 1);
    EXPECT(classes[2], MPI_ERR_OTHER);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    for (int i = 0; i < CALLS; i++) {
        calls[i].in = malloc(LONGEST * sizeof(int));
        calls[i].out = malloc(LONGEST * sizeof(int));
    }
    use_wall(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++)
        test_many(round);
    test_communicators();
    test_freed();
    if (argc > 1 && strcmp(argv[1], "disagree") == 0)
        test_disagreement();
    for (int i = 0; i < CALLS; i++) {
        free(calls[i].in);
        free(calls[i].out);
    }
    MPI_Finalize();
    return expect_failures != 0;
}
