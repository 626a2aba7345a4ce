/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A synchronous copy into device memory may return before it is done: from pageable memory up to
 * 64 KiB, and within the device. A message or a collective that begins at once sends what was
 * copied, whatever kind of memory it is. Arguments: kinds of memory.
 */
#include "device_memory.h"
#include "expect.h"

#include <stdlib.h>

enum { ROUNDS = 12, MOST = 65536, TAG = 3 };

static const size_t sizes[] = {8, 4096, MOST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static unsigned char *content; /* [MOST] in pageable memory */

static unsigned char byte_of(int rank, int round)
{
    return (unsigned char)(rank * 50 + round * 3 + 1);
}

/* This rank's bytes of a round come into `memory` by a copy that nobody waits for. */
static void put_fresh(const memory_t *memory, const memory_t *from, size_t bytes, int round)
{
    memset(content, byte_of(expect_rank, round), bytes);
    if (round % 2 == 0) {
        CU(cuMemcpyHtoD((CUdeviceptr)memory->at, content, bytes));
        return;
    }
    CU(cuMemcpyHtoD((CUdeviceptr)from->at, content, bytes));
    CU(cuMemcpyDtoD((CUdeviceptr)memory->at, (CUdeviceptr)from->at, bytes));
}

static void expect_bytes(const unsigned char *got, size_t bytes, int expected)
{
    EXPECT(got[0], expected);
    EXPECT(got[bytes - 1], expected);
}

static void test_message(const memory_t *memory, const memory_t *from, size_t bytes, int round)
{
    unsigned char *got = malloc(bytes);
    int to = (expect_rank + 1) % expect_size,
        source = (expect_rank + expect_size - 1) % expect_size;
    put_fresh(memory, from, bytes, round);
    MPI_Sendrecv(memory->at, (int)bytes, MPI_BYTE, to, TAG, got, (int)bytes, MPI_BYTE, source, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_bytes(got, bytes, byte_of(source, round));
    free(got);
}

static void test_collective(const memory_t *memory, const memory_t *from, size_t bytes, int round)
{
    unsigned char *got = malloc(bytes);
    int highest = byte_of(expect_size - 1, round);
    put_fresh(memory, from, bytes, round);
    MPI_Allreduce(MPI_IN_PLACE, memory->at, (int)bytes, MPI_UINT8_T, MPI_MAX, MPI_COMM_WORLD);
    CU(cuMemcpyDtoH(got, (CUdeviceptr)memory->at, bytes));
    expect_bytes(got, bytes, highest);
    free(got);
}

/* A persistent send is started long after its buffer was seen first. */
static void test_persistent(const memory_t *memory, const memory_t *from, size_t bytes)
{
    MPI_Request requests[2];
    unsigned char *got = malloc(bytes);
    int to = (expect_rank + 1) % expect_size,
        source = (expect_rank + expect_size - 1) % expect_size;
    MPI_Send_init(memory->at, (int)bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(got, (int)bytes, MPI_BYTE, source, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < ROUNDS; round++) {
        put_fresh(memory, from, bytes, round);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        expect_bytes(got, bytes, byte_of(source, round));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(got);
}

static void test_kind(memory_kind_t kind)
{
    memory_t memory = memory_take(kind, MOST), from = memory_take(kind, MOST);
    for (int i = 0; i < SIZES; i++) {
        for (int round = 0; round < ROUNDS; round++) {
            test_message(&memory, &from, sizes[i], round);
            test_collective(&memory, &from, sizes[i], round);
        }
        test_persistent(&memory, &from, sizes[i]);
    }
    memory_give(&memory);
    memory_give(&from);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    content = malloc(MOST);
    for (int i = 1; i < argc; i++)
        test_kind(memory_kind_named(argv[i]));
    free(content);
    memory_end();
    return expect_end();
}
