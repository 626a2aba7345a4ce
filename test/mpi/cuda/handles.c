/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks open one another's device memory by handles that MPI carries, as the library does. Ranks
 * may see different devices, in different orders; UUIDs say which are the same. */
#include "expect.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdlib.h>

enum { COUNT = 1000 };

typedef struct card {
    CUuuid uuid;
    CUipcMemHandle handle;
} card_t;

static void must(CUresult result, const char *what)
{
    const char *name = "an error";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "rank %d: %s: %s\n", expect_rank, what, name);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Choose the device of this rank; returns how many it sees. */
static int begin_device(void)
{
    int count;
    CUcontext context;
    must(cuInit(0), "cuInit");
    must(cuDeviceGetCount(&count), "cuDeviceGetCount");
    must(cuDevicePrimaryCtxRetain(&context, expect_rank % count), "cuDevicePrimaryCtxRetain");
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return count;
}

static CUdeviceptr fill(card_t *card, int device)
{
    CUdeviceptr memory;
    must(cuDeviceGetUuid(&card->uuid, device), "cuDeviceGetUuid");
    must(cuMemAlloc(&memory, COUNT * sizeof(int)), "cuMemAlloc");
    must(cuMemsetD32(memory, (unsigned)expect_rank + 1, COUNT), "cuMemsetD32");
    must(cuCtxSynchronize(), "cuCtxSynchronize");
    must(cuIpcGetMemHandle(&card->handle, memory), "cuIpcGetMemHandle");
    return memory;
}

static void check_contents(CUdeviceptr memory, int owner)
{
    int first = 0, last = 0;
    must(cuMemcpyDtoH(&first, memory, sizeof(int)), "cuMemcpyDtoH");
    must(cuMemcpyDtoH(&last, memory + (COUNT - 1) * sizeof(int), sizeof(int)), "cuMemcpyDtoH");
    EXPECT(first, owner + 1);
    EXPECT(last, owner + 1);
}

/* Memory of the rank's own device can be opened, memory of another device perhaps. */
static void check_rank(const card_t *cards, int owner)
{
    CUdeviceptr memory;
    bool is_same = memcmp(&cards[owner].uuid, &cards[expect_rank].uuid, sizeof(CUuuid)) == 0;
    CUresult result =
        cuIpcOpenMemHandle(&memory, cards[owner].handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED || result == CUDA_ERROR_INVALID_DEVICE) {
        EXPECT(is_same, false);
        return;
    }
    must(result, "cuIpcOpenMemHandle");
    check_contents(memory, owner);
    must(cuIpcCloseMemHandle(memory), "cuIpcCloseMemHandle");
}

int main(void)
{
    MPI_Init(NULL, NULL);
    expect_begin();
    int count = begin_device();
    card_t *cards = calloc((size_t)expect_size, sizeof(*cards));
    CUdeviceptr memory = fill(&cards[expect_rank], expect_rank % count);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, cards, sizeof(*cards), MPI_BYTE, MPI_COMM_WORLD);
    for (int owner = 0; owner < expect_size; owner++) {
        if (owner != expect_rank)
            check_rank(cards, owner);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    must(cuMemFree(memory), "cuMemFree");
    free(cards);
    return expect_end();
}
