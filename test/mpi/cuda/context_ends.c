/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program ends its context (cudaDeviceReset) while MPI is in use: all that the library had in
 * the context is gone. The library discovers this at MPI_Comm_free, in the program's next context
 * on the device, and at MPI_Finalize.
 */
#include "device_memory.h"
#include "expect.h"
#include "stream_comm.h"

enum { LIVES = 3, COUNT = 1000, ROUNDS = 12 };

static int numbers[2 * COUNT];

static void reduce(MPI_Comm comm, const memory_t *in, const memory_t *out)
{
    for (int i = 0; i < COUNT; i++)
        numbers[i] = expect_rank + i;
    memory_put(in->at, numbers, COUNT * sizeof(int));
    MPI_Allreduce(in->at, out->at, COUNT, MPI_INT, MPI_SUM, comm);
    memory_get(numbers, out->at, COUNT * sizeof(int));
    for (int i = 0; i < COUNT; i++)
        EXPECT(numbers[i], expect_size * (expect_size - 1) / 2 + expect_size * i);
}

/* Sends every other integer to the right. */
static void shift(MPI_Comm comm, const memory_t *in, const memory_t *out)
{
    MPI_Datatype strided;
    int left = (expect_rank + expect_size - 1) % expect_size,
        right = (expect_rank + 1) % expect_size;
    MPI_Type_vector(COUNT, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < 2 * COUNT; i++)
        numbers[i] = expect_rank + i;
    memory_put(in->at, numbers, sizeof(numbers));
    MPI_Sendrecv(in->at, 1, strided, right, 0, out->at, 1, strided, left, 0, comm,
                 MPI_STATUS_IGNORE);
    memory_get(numbers, out->at, sizeof(numbers));
    for (int i = 0; i < 2 * COUNT; i += 2)
        EXPECT(numbers[i], left + i);
    MPI_Type_free(&strided);
}

static void enqueue(const memory_t *in, const memory_t *out)
{
    stream_comm_t on_stream = stream_comm_make(CU_STREAM_NON_BLOCKING);
    MPIX_Allreduce_enqueue(in->at, out->at, COUNT, MPI_INT, MPI_SUM, on_stream.comm);
    CU(cuStreamSynchronize(on_stream.stream));
    stream_comm_free(&on_stream);
}

int main(void)
{
    MPI_Comm kept[LIVES];
    MPI_Init(NULL, NULL);
    expect_begin();
    for (int life = 0; life < LIVES; life++) {
        memory_begin(expect_rank);
        memory_t in = memory_take(DEVICE, sizeof(numbers)),
                 out = memory_take(DEVICE, sizeof(numbers));
        MPI_Comm_dup(MPI_COMM_WORLD, &kept[life]);
        for (int round = 0; round < ROUNDS; round++) {
            reduce(kept[life], &in, &out);
            reduce(MPI_COMM_WORLD, &in, &out);
            shift(MPI_COMM_WORLD, &in, &out);
        }
        enqueue(&in, &out);
        if (life == 1)
            MPI_Comm_free(&kept[0]);
        reduce(MPI_COMM_WORLD, &in, &out);
        MPI_Barrier(MPI_COMM_WORLD);
        CU(cuDevicePrimaryCtxReset(memory_device));
    }
    MPI_Comm_free(&kept[1]);
    return expect_end();
}
