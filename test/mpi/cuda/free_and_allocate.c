/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * free_and_allocate KIND MIB [part]: allocate so many MiB, give them to MPI, free them, again and
 * again. The device has no room for two such buffers: what other ranks have mapped of a freed one
 * would be missing. With "part" small pieces of the buffers are used as well.
 */
#include "device_memory.h"
#include "expect.h"

enum { ROUNDS = 4, TAG = 3 };

static memory_kind_t kind;
static size_t most; /* bytes */

static memory_t take_filled(size_t bytes, int value)
{
    memory_t memory = memory_take(kind, bytes);
    CU(cuMemsetD32((CUdeviceptr)memory.at, (unsigned)value, bytes / 4));
    CU(cuCtxSynchronize());
    return memory;
}

static int word_of(const memory_t *memory, size_t index)
{
    int word;
    memory_get(&word, (int *)memory->at + index, sizeof(word));
    return word;
}

/* Around the ring; each rank frees what it has sent as soon as it can. */
static void pass_messages(int round)
{
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    size_t count = most / 4;
    MPI_Request request;
    memory_t out = take_filled(most, expect_rank + round);
    int *in = calloc(count, sizeof(*in));
    MPI_Irecv(in, (int)count, MPI_INT, previous, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(out.at, (int)count, MPI_INT, next, TAG, MPI_COMM_WORLD);
    memory_give(&out);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(in[0], previous + round);
    EXPECT(in[count - 1], previous + round);
    free(in);
}

static void tell_all(int round)
{
    size_t count = most / 4;
    int root = round % expect_size;
    memory_t memory = take_filled(most, expect_rank + round);
    MPI_Bcast(memory.at, (int)count, MPI_INT, root, MPI_COMM_WORLD);
    EXPECT(word_of(&memory, 0), root + round);
    EXPECT(word_of(&memory, count - 1), root + round);
    memory_give(&memory);
}

static void add_up_part(int round)
{
    enum { COUNT = 10000 };
    memory_t memory = take_filled(most, expect_rank + round);
    MPI_Allreduce(MPI_IN_PLACE, memory.at, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(word_of(&memory, COUNT - 1), expect_size * (expect_size - 1) / 2 + expect_size * round);
    EXPECT(word_of(&memory, COUNT), expect_rank + round);
    memory_give(&memory);
}

/* Many buffers that are too small to be opened for each use; together they fill the device. */
static void tell_pieces(int round)
{
    enum { PIECES = 24 };
    memory_t pieces[PIECES];
    size_t bytes = most / PIECES / 4 * 4;
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = take_filled(bytes, round + i);
        MPI_Bcast(pieces[i].at, (int)(bytes / 4), MPI_INT, i % expect_size, MPI_COMM_WORLD);
    }
    for (int i = 0; i < PIECES; i++) {
        EXPECT(word_of(&pieces[i], 7), round + i);
        memory_give(&pieces[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    kind = memory_kind_named(argv[1]);
    most = (size_t)atoi(argv[2]) << 20;
    for (int round = 0; round < ROUNDS; round++) {
        pass_messages(round);
        tell_all(round);
        tell_pieces(round);
        if (argc > 3)
            add_up_part(round);
    }
    memory_end();
    return expect_end();
}
