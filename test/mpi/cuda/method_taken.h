/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks, for each of a list of collectives, that a communicator uses a method after its first
 * calls, and that the results are right. The simulated driver counts the kernels of the method;
 * with a real driver only results are checked. Arguments of the programs: taken or not-taken,
 * counts... Also halves-taken and halves-not-taken: the two halves of the ranks have communicators
 * of their own.
 */
#ifndef TEST_MPI_CUDA_METHOD_TAKEN_H
#define TEST_MPI_CUDA_METHOD_TAKEN_H

#include "expect.h"
#include "memory_kinds.h"

#include <stdbool.h>
#include <stdlib.h>

/* Each buffer has method->buffer_bytes(). */
typedef struct buffers {
    void *in, *out;            /* on the device */
    void *sent, *wanted, *got; /* on the host */
} buffers_t;

typedef struct method {
    const char *name, *kernels; /* kernels: how the names of the method's kernels begin */
    size_t (*buffer_bytes)(void);
    void (*check_all)(const buffers_t *buffers,
                      bool is_taken); /* check_method() calls it with `count` elements */
} method_t;

static const method_t *method;
static MPI_Comm comm;
static int rank, size, root, count;

/* NULL: the driver is not the simulated one */
static unsigned long (*launches_of)(const char *prefix);

static unsigned long launches(void)
{
    return launches_of == NULL ? 0 : launches_of(method->kernels);
}

static bool all_are(bool claim)
{
    int own = claim, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

/* `try_once` returns how much of a result is wrong. Streams that run late make ranks go solo until
 * they have learnt to wait, so calls are repeated until all ranks have used the method. */
static void check_method(const char *name, int (*try_once)(const void *its), const void *its,
                         bool is_taken)
{
    enum { ROUNDS_MOST = 50, ROUNDS_WITHOUT = 6 };
    char what[128];
    bool is_over = false;
    snprintf(what, sizeof(what), "%s of %d elements: wrong ones", name, count);
    int rounds = is_taken && launches_of != NULL ? ROUNDS_MOST : ROUNDS_WITHOUT;
    for (int round = 0; round < rounds && !is_over; round++) {
        unsigned long before = launches();
        root = round % size;
        expect_equal(try_once(its), 0, what, __FILE__, __LINE__);
        is_over = all_are(launches() > before);
    }
    snprintf(what, sizeof(what), "%s of %d elements: by %s", name, count, method->name);
    if (launches_of != NULL)
        expect_equal(is_over, is_taken, what, __FILE__, __LINE__);
}

static void check_count(bool is_taken)
{
    size_t bytes = method->buffer_bytes();
    buffers_t buffers = {memory_take('D', bytes), memory_take('D', bytes), malloc(bytes),
                         malloc(bytes), malloc(bytes)};
    method->check_all(&buffers, is_taken);
    memory_give('D', buffers.in);
    memory_give('D', buffers.out);
    free(buffers.sent);
    free(buffers.wanted);
    free(buffers.got);
}

/* After this each rank is known to work on its device. */
static void meet_all(void)
{
    void *buffer = memory_take('D', sizeof(int));
    MPI_Bcast(buffer, 1, MPI_INT, 0, MPI_COMM_WORLD);
    memory_give('D', buffer);
}

static void split(int part, bool in_halves)
{
    int rank_of_all, size_of_all;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_all);
    MPI_Comm_size(MPI_COMM_WORLD, &size_of_all);
    int color = in_halves ? rank_of_all < size_of_all / 2 : part == 0 || rank_of_all > 0;
    MPI_Comm_split(MPI_COMM_WORLD, color, part == 0 ? 0 : -rank_of_all, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
}

/* Checks on the communicator of all ranks, and on one without the first rank and in reverse
 * order. */
static int check_taken(const method_t *its, int argc, char **argv)
{
    method = its;
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    bool is_taken = strstr(argv[1], "not-taken") == NULL;
    *(void **)&launches_of = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simLaunches");
    bool in_halves = strncmp(argv[1], "halves", strlen("halves")) == 0;
    if (in_halves)
        meet_all();
    for (int part = 0; part < 2; part++) {
        split(part, in_halves);
        for (int i = 2; i < argc && size > 1; i++) {
            count = atoi(argv[i]);
            check_count(is_taken);
        }
        MPI_Comm_free(&comm);
    }
    return expect_end();
}

#endif
