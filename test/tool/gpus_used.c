/* SPDX-License-Identifier: BSD-3-Clause */
/* gpus_used early|late|never each|one: rank r makes a context on device r modulo the number of
 * devices, or all ranks on the first device, before MPI_Init or after it, or only initialises CUDA;
 * then device memory is sent round all ranks once. */
#include "cuda/device_memory.h"

#include <stdlib.h>
#include <string.h>

static int rank_before_init(void)
{
    const char *text = getenv("PMIX_RANK");
    return text == NULL ? 0 : atoi(text);
}

static void pass_on(int rank, int size)
{
    CUdeviceptr memory;
    CU(cuMemAlloc(&memory, 8));
    MPI_Sendrecv_replace((void *)memory, 8, MPI_BYTE, (rank + 1) % size, 0,
                         (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CU(cuMemFree(memory));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int rank = strcmp(argv[2], "one") == 0 ? 0 : rank_before_init(), size;
    CU(cuInit(0));
    if (strcmp(argv[1], "early") == 0)
        memory_begin(rank);
    MPI_Init(&argc, &argv);
    if (strcmp(argv[1], "late") == 0)
        memory_begin(rank);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "never") != 0)
        pass_on(rank, size);
    MPI_Finalize();
    return 0;
}
