/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * While the kernel of rank 1 waits for that of rank 0, which stays out of MPI until then, rank 1
 * uses kernels of the library that it has not used before: a reduction, and one that packs. The
 * driver would load them now, and wait for the kernel that waits, had the library not loaded them
 * before.
 *
 *     first_kernels KERNEL    names of the kernels that wait begin with this
 *
 * Ranks that are late do a collective in another way, so it is called until its kernel waits.
 */
#include "device_memory.h"
#include "expect.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COUNT = 100, ROUNDS = 1000, TESTS = 1000, STRIDE = 3 };

static const char *waiting;
static unsigned long (*launches_of)(const char *prefix);
static CUstream stream; /* another one than that in which the kernel waits */
static struct shared {
    atomic_int begun, ended; /* rounds: by rank 0, and by rank 1 */
    atomic_int is_taken;     /* the kernel waited */
} * shared;

static void share_words(void)
{
    char name[64];
    int owner = (int)getpid();
    MPI_Bcast(&owner, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "/weft-first-kernels-%d", owner);
    int fd = expect_rank == 0 ? shm_open(name, O_RDWR | O_CREAT, 0600) : -1;
    EXPECT(fd < 0 ? -1 : ftruncate(fd, sizeof(*shared)), expect_rank == 0 ? 0 : -1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (expect_rank > 0)
        fd = shm_open(name, O_RDWR, 0600);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    shm_unlink(name);
    close(fd);
    if (shared == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 2);
}

static void check(const memory_t *memory, const double *wanted)
{
    double host[COUNT];
    int wrong = 0;
    CU(cuMemcpyAsync((CUdeviceptr)host, (CUdeviceptr)memory->at, sizeof(host), stream));
    CU(cuStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != wanted[i];
    EXPECT(wrong, 0);
}

/* Multiplies, which no collective here does. */
static void multiply(const memory_t numbers[2])
{
    double wanted[COUNT];
    for (int i = 0; i < COUNT; i++)
        wanted[i] = (double)i * i;
    MPI_Reduce_local(numbers[0].at, numbers[1].at, COUNT, MPI_DOUBLE, MPI_PROD);
    check(&numbers[1], wanted);
}

static void pack(const memory_t numbers[2])
{
    double wanted[COUNT];
    int place = 0, some = COUNT / STRIDE;
    MPI_Datatype type;
    for (int i = 0; i < COUNT; i++)
        wanted[i] = i < some ? i * STRIDE : (double)i * i;
    MPI_Type_vector(some, 1, STRIDE, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MPI_Pack(numbers[0].at, 1, type, numbers[1].at, COUNT * sizeof(double), &place, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    check(&numbers[1], wanted);
}

/* The last rank that calls a collective launches its kernel in a few calls, or never. */
static int is_launched(MPI_Request *request, unsigned long before)
{
    int is_done = 0;
    for (int i = 0; i < TESTS && launches_of(waiting) == before && !is_done; i++)
        MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
    return launches_of(waiting) != before && !is_done;
}

static void await_round(const atomic_int *word, int round)
{
    while (atomic_load(word) < round)
        sched_yield();
}

static void work_beside(const memory_t ints[2], const memory_t numbers[2], int round)
{
    MPI_Request request;
    unsigned long before = launches_of(waiting);
    if (expect_rank == 1)
        await_round(&shared->begun, round);
    MPI_Iallreduce(ints[0].at, ints[1].at, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (expect_rank == 0) {
        atomic_store(&shared->begun, round);
        await_round(&shared->ended, round);
    } else {
        if (is_launched(&request, before)) {
            multiply(numbers);
            pack(numbers);
            atomic_store(&shared->is_taken, 1);
        }
        atomic_store(&shared->ended, round);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void run_rounds(const memory_t ints[2], const memory_t numbers[2])
{
    int host[COUNT], wrong = 0;
    for (int i = 0; i < COUNT; i++)
        host[i] = expect_rank + i;
    memory_put(ints[0].at, host, sizeof(host));
    for (int round = 1; round <= ROUNDS && !atomic_load(&shared->is_taken); round++)
        work_beside(ints, numbers, round);
    EXPECT(atomic_load(&shared->is_taken), 1);
    memory_get(host, ints[1].at, sizeof(host));
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != 2 * i + 1;
    EXPECT(wrong, 0);
}

int main(int argc, char **argv)
{
    double host[COUNT];
    MPI_Init(&argc, &argv);
    waiting = argc > 1 ? argv[1] : "";
    expect_begin();
    memory_begin(expect_rank);
    *(void **)&launches_of = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simLaunches");
    CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    share_words();
    memory_t ints[2], numbers[2];
    for (int i = 0; i < COUNT; i++)
        host[i] = i;
    for (int i = 0; i < 2; i++) {
        ints[i] = memory_take(DEVICE, COUNT * sizeof(int));
        numbers[i] = memory_take(DEVICE, COUNT * sizeof(double));
        memory_put(numbers[i].at, host, sizeof(host));
    }
    run_rounds(ints, numbers);
    for (int i = 0; i < 2; i++) {
        memory_give(&ints[i]);
        memory_give(&numbers[i]);
    }
    CU(cuStreamDestroy(stream));
    munmap(shared, sizeof(*shared));
    int failures = expect_end();
    memory_end();
    return failures;
}
