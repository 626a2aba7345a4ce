/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program without MPI_Init. The ranks know their numbers from what mpirun or srun puts into the
 * environment, as such programs do, and the unique id goes through a file. Communicators start
 * MPI, and the last one ends it; later ones start it again. In the end MPI_Init works beside them.
 */
#include "nccl_comm.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

enum { COUNT = 100 };

static const char *text_of(const char *variable, const char *or_else)
{
    const char *text = getenv(variable);
    if (text == NULL)
        text = getenv(or_else);
    if (text != NULL)
        return text;
    fprintf(stderr, "neither %s nor %s is set\n", variable, or_else);
    exit(2);
}

/* In the working folder, which all hosts see; each may have a /tmp of its own. */
static void file_of(int round, const char *ending, char *out, size_t room)
{
    snprintf(out, room, "weft-nccl-%s-%d%s", text_of("PMIX_NAMESPACE", "SLURM_JOB_ID"), round,
             ending);
}

static void write_id(int round)
{
    char path[256], unfinished[256];
    ncclUniqueId id;
    NCCL(ncclGetUniqueId(&id));
    file_of(round, "", path, sizeof(path));
    file_of(round, ".part", unfinished, sizeof(unfinished));
    FILE *file = fopen(unfinished, "wb");
    if (file == NULL || fwrite(&id, sizeof(id), 1, file) != 1 || fclose(file) != 0 ||
        rename(unfinished, path) != 0) {
        perror(path);
        exit(2);
    }
}

static ncclUniqueId read_id(int round)
{
    char path[256];
    ncclUniqueId id;
    FILE *file;
    file_of(round, "", path, sizeof(path));
    while ((file = fopen(path, "rb")) == NULL)
        sched_yield();
    if (fread(&id, sizeof(id), 1, file) != 1)
        exit(2);
    fclose(file);
    return id;
}

static ncclComm_t make(int round, int maker)
{
    char path[256];
    ncclComm_t comm;
    if (expect_rank == maker)
        write_id(round);
    NCCL(ncclCommInitRank(&comm, expect_size, read_id(round), expect_rank));
    file_of(round, "", path, sizeof(path));
    if (expect_rank == maker)
        unlink(path); /* all have read it */
    return comm;
}

static void use(ncclComm_t comm, CUstream stream)
{
    memory_t x = memory_take(DEVICE, COUNT * sizeof(int));
    int host[COUNT];
    CU(cuMemsetD32Async((CUdeviceptr)x.at, (unsigned)expect_rank + 1, COUNT, stream));
    NCCL(ncclAllReduce(x.at, x.at, COUNT, ncclInt32, ncclSum, comm, stream));
    CU(cuStreamSynchronize(stream));
    memory_get(host, x.at, sizeof(host));
    EXPECT(host[0], expect_size * (expect_size + 1) / 2);
    EXPECT(host[COUNT - 1], expect_size * (expect_size + 1) / 2);
    memory_give(&x);
}

int main(int argc, char **argv)
{
    ncclComm_t comms[2];
    expect_rank = atoi(text_of("RANK", "SLURM_PROCID"));
    expect_size = atoi(text_of("WORLD_SIZE", "SLURM_NTASKS"));
    memory_begin(expect_rank);
    CUstream stream = nccl_stream();
    for (int round = 0; round < 2; round++) {
        comms[0] = make(2 * round, expect_size - 1);
        comms[1] = make(2 * round + 1, 0);
        use(comms[0], stream);
        NCCL(ncclCommDestroy(comms[0]));
        use(comms[1], stream);
        NCCL(ncclCommDestroy(comms[1]));
    }
    comms[0] = make(4, 0);
    MPI_Init(&argc, &argv);
    use(comms[0], stream);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    use(comms[0], stream);
    NCCL(ncclCommDestroy(comms[0]));
    CU(cuStreamDestroy(stream));
    return expect_failures != 0;
}
