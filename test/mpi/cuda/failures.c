/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call that the driver refuses becomes an MPI error on all ranks concerned, and no rank hangs; or
 * the library takes another path, and the program sees no error. Argument: "errors" or "no-errors".
 * The simulated driver is told what to refuse. (test/fault/device_errors.sh checks the texts.)
 */
#include "device_memory.h"
#include "expect.h"

#include <stdbool.h>

static int errors_seen;

static MPI_Datatype vector;

/* A message from rank 0 to rank 1, or back. */
typedef struct test {
    memory_kind_t from, to;
    int bytes;
    bool is_vector, is_back;
} test_t;

static void fill(const test_t *test, const memory_t *memory, int seed)
{
    char *host = malloc((size_t)test->bytes * 2);
    for (int i = 0; i < test->bytes * 2; i++)
        host[i] = (char)(i * 7 + i / 256 + seed);
    memory_put(memory->at, host, (size_t)test->bytes * 2);
    free(host);
}

/* The vector takes every second group of 8 bytes. */
static void check_data(const test_t *test, const memory_t *memory)
{
    char *host = malloc((size_t)test->bytes * 2);
    memory_get(host, memory->at, (size_t)test->bytes * 2);
    int wrong = 0;
    for (int i = 0; i < test->bytes; i++) {
        int at = test->is_vector ? i / 8 * 16 + i % 8 : i;
        wrong += host[at] != (char)(at * 7 + at / 256 + 1);
    }
    EXPECT(wrong, 0);
    free(host);
}

static int send_or_receive(const test_t *test, memory_t *memory, bool is_sender)
{
    MPI_Datatype type = test->is_vector ? vector : MPI_BYTE;
    int count = test->is_vector ? test->bytes / 8 : test->bytes, peer = 1 - expect_rank;
    if (is_sender)
        return MPI_Send(memory->at, count, type, peer, 3, MPI_COMM_WORLD);
    return MPI_Recv(memory->at, count, type, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void run(const test_t *test)
{
    bool is_sender = (expect_rank == 0) != test->is_back;
    int peer = 1 - expect_rank, theirs = MPI_SUCCESS;
    memory_t memory = memory_take(is_sender ? test->from : test->to, (size_t)test->bytes * 2);
    fill(test, &memory, is_sender);
    int error = send_or_receive(test, &memory, is_sender);
    MPI_Sendrecv(&error, 1, MPI_INT, peer, 1, &theirs, 1, MPI_INT, peer, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    errors_seen += error != MPI_SUCCESS || theirs != MPI_SUCCESS;
    if (!is_sender && error == MPI_SUCCESS) {
        EXPECT(theirs, MPI_SUCCESS); /* the failed sender has sent the error to its peer */
        check_data(test, &memory);
    }
    memory_give(&memory);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 3000, 100000, 3 << 20};
    MPI_Init(&argc, &argv);
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memory_begin(expect_rank);
    MPI_Type_create_resized(MPI_INT64_T, 0, 16, &vector);
    MPI_Type_commit(&vector);
    for (int i = 0; i < 48; i++) {
        test_t test = {.from = i % 3 == 1 ? HOST : DEVICE,
                       .to = i % 3 == 2 ? HOST : DEVICE,
                       .bytes = sizes[i / 3 % 4],
                       .is_vector = i / 12 % 2,
                       .is_back = i / 24};
        if (test.is_vector && test.bytes > 1 << 20)
            test.bytes = 1 << 20;
        run(&test);
    }
    EXPECT(errors_seen > 0, strcmp(argv[1], "errors") == 0);
    MPI_Type_free(&vector);
    int failures = expect_end();
    memory_end();
    return failures;
}
