/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank with two contexts on a device, and buffers in both: what another process has on a device
 * can be opened in one of them only. Messages and collectives bring the right data in either, and
 * the first one goes on opening what is new.
 */
#include "device_memory.h"
#include "expect.h"

#include <dlfcn.h>

enum { ROUNDS = 4, COUNT = 1 << 19, TAG = 2 };

static CUcontext contexts[2];

/* How often this rank has opened memory of others; 0 if the driver is not the simulated one. */
static unsigned long opens(void)
{
    unsigned long (*calls_of)(const char *prefix);
    *(void **)&calls_of = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simLaunches");
    return calls_of == NULL ? 0 : calls_of("cuIpcOpenMemHandle");
}

static memory_t take_in(CUcontext context, int value)
{
    CU(cuCtxSetCurrent(context));
    memory_t memory = memory_take(DEVICE, COUNT * sizeof(int));
    CU(cuMemsetD32((CUdeviceptr)memory.at, (unsigned)value, COUNT));
    CU(cuCtxSynchronize());
    return memory;
}

static int last_of(const memory_t *memory)
{
    int word;
    memory_get(&word, (int *)memory->at + COUNT - 1, sizeof(word));
    return word;
}

/* Returns what was sent. */
static memory_t pass_on(CUcontext context, int round)
{
    int next = (expect_rank + 1) % expect_size;
    int previous = (expect_rank + expect_size - 1) % expect_size;
    memory_t out = take_in(contexts[0], 100 * round + expect_rank);
    memory_t in = take_in(context, -1);
    MPI_Sendrecv(out.at, COUNT, MPI_INT, next, TAG, in.at, COUNT, MPI_INT, previous, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(last_of(&in), 100 * round + previous);
    memory_give(&in);
    return out;
}

static void add_up(CUcontext context)
{
    memory_t memory = take_in(context, expect_rank);
    MPI_Allreduce(MPI_IN_PLACE, memory.at, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT(last_of(&memory), expect_size * (expect_size - 1) / 2);
    memory_give(&memory);
}

int main(int argc, char **argv)
{
    memory_t sent[2 * ROUNDS]; /* they stay, and so do mappings of them */
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    contexts[0] = memory_context;
    CU(cuCtxCreate_v4(&contexts[1], NULL, 0, memory_device));
    for (int round = 0; round < ROUNDS; round++) {
        unsigned long before = opens();
        sent[2 * round] = pass_on(contexts[0], round);
        if (before > 0 && expect_size > 1)
            EXPECT(opens() > before, 1);
        sent[2 * round + 1] = pass_on(contexts[1], round);
        add_up(contexts[round % 2]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CU(cuCtxSetCurrent(contexts[0]));
    for (int i = 0; i < 2 * ROUNDS; i++)
        memory_give(&sent[i]);
    memory_end();
    return expect_end();
}
