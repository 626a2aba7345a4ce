/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an actor of thread_pairs.c works with. An actor is a closed exchange of one thread of every
 * rank: it checks all results and leaves nothing behind, and may run beside any actor of other
 * threads, itself included. Threads of one number on all ranks, and they alone, have a stage each
 * in common.
 */
#ifndef TEST_MPI_STAGE_H
#define TEST_MPI_STAGE_H

#include <mpi.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_RANKS = 16,
    MOST_INTS = 1 << 16, /* of each of a stage's buffers */
    TAGS_OF_STAGE = 100,
};

typedef struct stage {
    MPI_Comm own;    /* all ranks; no other thread uses it */
    MPI_Comm shared; /* all ranks and all threads: messages have tags from first_tag on */
    int first_tag, slot;
    int rank, size, right, left;
    int *out, *in;
    unsigned long long random; /* runs alike on all ranks */
    unsigned seed;             /* of the program */
    const char *name, *others; /* of the actor, and of those that run beside it */
    int round;
} stage_t;

typedef struct actor {
    const char *name;
    void (*act)(stage_t *stage);
    int is_local; /* needs no other rank, draws nothing: ranks may run it unequally often */
} actor_t;

static atomic_int stage_failures;

/* Check that two numbers are equal; a failure names the actors and the seed. */
#define CHECK(stage, got, expected)                                                                \
    stage_check(stage, (long long)(got), (long long)(expected), #got, __LINE__)

static inline void stage_check(const stage_t *stage, long long got, long long expected,
                               const char *what, int line)
{
    if (got == expected || atomic_fetch_add(&stage_failures, 1) >= 10)
        return;
    fprintf(stderr,
            "%s (line %d) beside %s: rank %d of %d, thread %d, round %d, seed %u: %s is %lld, not "
            "%lld\n",
            stage->name, line, stage->others, stage->rank, stage->size, stage->slot, stage->round,
            stage->seed, what, got, expected);
}

/* Check the class of a returned error code. */
#define CHECK_CLASS(stage, call, expected)                                                         \
    stage_check(stage, stage_class(call), expected, #call, __LINE__)

static inline int stage_class(int code)
{
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/* A number from 0 to limit - 1, the same at all ranks. */
static inline int stage_draw(stage_t *stage, int limit)
{
    stage->random = stage->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((stage->random >> 33) % (unsigned)limit);
}

/* How many ints a message has: from a short one to one that goes by rendezvous. */
static inline int stage_count(stage_t *stage)
{
    static const int counts[] = {0, 1, 7, 300, 3000, 30000};
    return counts[stage_draw(stage, 6)];
}

static inline int stage_tag(const stage_t *stage, int number)
{
    return stage->first_tag + number;
}

static inline int stage_value(const stage_t *stage, int rank, int i)
{
    return rank * 1000003 + stage->slot * 7919 + stage->round * 31 + i;
}

static inline void stage_fill(const stage_t *stage, int *data, int count)
{
    for (int i = 0; i < count; i++)
        data[i] = stage_value(stage, stage->rank, i);
}

/* Are these the first `count` values of a rank? */
static inline void stage_check_data(const stage_t *stage, const int *data, int count, int rank)
{
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += data[i] != stage_value(stage, rank, i);
    CHECK(stage, wrong, 0);
}

static inline void stage_check_status(const stage_t *stage, const MPI_Status *status, int rank,
                                      int tag, int count)
{
    int got = -1, is_cancelled = -1;
    MPI_Get_count(status, MPI_INT, &got);
    MPI_Test_cancelled(status, &is_cancelled);
    CHECK(stage, got, count);
    CHECK(stage, is_cancelled, 0);
    CHECK(stage, status->MPI_SOURCE, rank);
    CHECK(stage, status->MPI_TAG, tag);
}

/* Run `body` in a thread of its own, beside this one. */
static inline pthread_t stage_helper(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, argument) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return thread;
}

#endif
