/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nonblocking reductions, several on each of several communicators, which the ranks begin in
 * different orders: kernels that wait for each other must not deadlock.
 */
#include "expect.h"
#include "memory_kinds.h"

enum { COMMS = 3, EACH = 2, REQUESTS = COMMS * EACH, ROUNDS = 60, COUNT = 50 };

static MPI_Comm comms[COMMS];
static double *in, *out[REQUESTS];

static void begin(int round, MPI_Request *requests)
{
    for (int i = 0; i < REQUESTS; i++) {
        int first = expect_rank * (round % 2);
        MPI_Iallreduce(in, out[i], COUNT, MPI_DOUBLE, MPI_SUM, comms[(first + i / EACH) % COMMS],
                       &requests[i]);
    }
}

static void check(const double *result)
{
    double content[COUNT];
    memory_get('D', content, result, sizeof(content));
    for (int i = 0; i < COUNT; i++)
        EXPECT(content[i], expect_size * (expect_size - 1) / 2 + i * expect_size);
}

int main(int argc, char **argv)
{
    double content[COUNT];
    MPI_Request requests[REQUESTS];
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    in = memory_take('D', sizeof(content));
    for (int i = 0; i < COUNT; i++)
        content[i] = expect_rank + i;
    memory_put('D', in, content, sizeof(content));
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < REQUESTS; i++)
        out[i] = memory_take('D', sizeof(content));
    for (int round = 0; round < ROUNDS; round++) {
        begin(round, requests);
        MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < REQUESTS; i++)
            check(out[i]);
    }
    for (int i = 0; i < REQUESTS; i++)
        memory_give('D', out[i]);
    memory_give('D', in);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    return expect_end();
}
