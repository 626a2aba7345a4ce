/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each rank communicate at the same time, each over a communicator of its own.
 *   mt_latency    half of a round trip of a thread, between rank i and rank i + N/2
 *   mt_rate       windows of messages from rank i to rank i + N/2; messages of all threads a second
 *   mt_allreduce  each thread's allreduce over all ranks
 *   mt_tested     as mt_latency, but of one thread; the others call MPI_Test meanwhile, each for a
 *                 message that comes in the end, as a thread for progress does
 *   mt_blocked    as mt_latency, but of one thread, which computes for COMPUTE_US before each round
 *                 trip; the others wait in MPI_Recv meanwhile, as a thread that serves others does.
 *                 The computing is not counted
 *   mt_within     half of a round trip between two threads of the same rank
 *   mt_self       a message of a thread to its own rank: what threads cost each other, if there are
 *                 as many cores
 * -T says how many threads a rank has. Where threads outnumber cores they must let each other go
 * on.
 */
#include "bench.h"

#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_TAG   1
#define ANSWER_TAG 2
#define LINE_BYTES 128
#define COMPUTE_US 5

typedef struct team team_t;

/* What one thread needs. */
typedef struct member {
    team_t *team;
    pthread_t thread;
    MPI_Comm comm;
    char *send, *receive;  /* [bytes] */
    MPI_Request *requests; /* [window] */
} member_t;

struct team {
    void (*work)(member_t *member);
    void (*beside)(member_t *member); /* what all threads but the first do once; NULL: work */
    const bench_t *bench;
    int bytes, iterations;
    pthread_barrier_t gate; /* of all threads and of the one that measures */
    member_t *members;      /* [threads] */
};

static bool is_sender(const team_t *team)
{
    return team->bench->rank < team->bench->ranks / 2;
}

/* MPI_PROC_NULL for the last of an odd number of ranks. */
static int partner(const team_t *team)
{
    int pairs = team->bench->ranks / 2, rank = team->bench->rank;

    if (rank >= 2 * pairs)
        return MPI_PROC_NULL;
    return rank < pairs ? rank + pairs : rank - pairs;
}

static void one_way(const member_t *m, bool sends)
{
    int bytes = m->team->bytes, peer = partner(m->team);

    if (sends)
        MPI_Send(m->send, bytes, MPI_CHAR, peer, DATA_TAG, m->comm);
    else
        MPI_Recv(m->receive, bytes, MPI_CHAR, peer, DATA_TAG, m->comm, MPI_STATUS_IGNORE);
}

static void round_trip(member_t *m)
{
    one_way(m, is_sender(m->team));
    one_way(m, !is_sender(m->team));
}

static void compute_and_trip(member_t *m)
{
    double until_us = bench_now_us() + COMPUTE_US;

    if (is_sender(m->team))
        while (bench_now_us() < until_us)
            continue;
    round_trip(m);
}

static void window_of_messages(member_t *m)
{
    int window = m->team->bench->options.window, bytes = m->team->bytes, peer = partner(m->team);
    bool sends = is_sender(m->team);

    for (int i = 0; i < window; i++) {
        if (sends)
            MPI_Isend(m->send, bytes, MPI_CHAR, peer, DATA_TAG, m->comm, &m->requests[i]);
        else
            MPI_Irecv(m->receive, bytes, MPI_CHAR, peer, DATA_TAG, m->comm, &m->requests[i]);
    }
    MPI_Waitall(window, m->requests, MPI_STATUSES_IGNORE);
    if (sends)
        MPI_Recv(NULL, 0, MPI_CHAR, peer, ANSWER_TAG, m->comm, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_CHAR, peer, ANSWER_TAG, m->comm);
}

static void within_rank(member_t *m)
{
    int bytes = m->team->bytes, rank = m->team->bench->rank;
    size_t me = (size_t)(m - m->team->members);
    MPI_Comm comm = m->team->members[me - me % 2].comm;

    if ((int)(me ^ 1) >= m->team->bench->options.threads)
        return; /* the last of an odd number */
    if (me % 2 == 0) {
        MPI_Send(m->send, bytes, MPI_CHAR, rank, DATA_TAG, comm);
        MPI_Recv(m->receive, bytes, MPI_CHAR, rank, ANSWER_TAG, comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(m->receive, bytes, MPI_CHAR, rank, DATA_TAG, comm, MPI_STATUS_IGNORE);
        MPI_Send(m->send, bytes, MPI_CHAR, rank, ANSWER_TAG, comm);
    }
}

static void to_itself(member_t *m)
{
    int bytes = m->team->bytes, rank = m->team->bench->rank;

    MPI_Isend(m->send, bytes, MPI_CHAR, rank, DATA_TAG, m->comm, m->requests);
    MPI_Recv(m->receive, bytes, MPI_CHAR, rank, DATA_TAG, m->comm, MPI_STATUS_IGNORE);
    MPI_Wait(m->requests, MPI_STATUS_IGNORE);
}

static void test_until_told(member_t *m)
{
    MPI_Request request;
    int is_told = 0;

    MPI_Irecv(NULL, 0, MPI_CHAR, m->team->bench->rank, ANSWER_TAG, m->comm, &request);
    while (!is_told)
        MPI_Test(&request, &is_told, MPI_STATUS_IGNORE);
}

static void wait_until_told(member_t *m)
{
    MPI_Recv(NULL, 0, MPI_CHAR, m->team->bench->rank, ANSWER_TAG, m->comm, MPI_STATUS_IGNORE);
}

static void tell_others(const team_t *team)
{
    for (int t = 1; t < team->bench->options.threads; t++)
        MPI_Send(NULL, 0, MPI_CHAR, team->bench->rank, ANSWER_TAG, team->members[t].comm);
}

static void reduction(member_t *m)
{
    MPI_Allreduce(m->send, m->receive, m->team->bytes, MPI_BYTE, MPI_BOR, m->comm);
}

static void *run_member(void *argument)
{
    member_t *m = argument;
    team_t *team = m->team;
    bool is_beside = team->beside != NULL && m != team->members;

    pthread_barrier_wait(&team->gate);
    if (is_beside)
        team->beside(m);
    else
        for (int i = 0; i < team->iterations; i++)
            team->work(m);
    if (team->beside != NULL && !is_beside)
        tell_others(team);
    pthread_barrier_wait(&team->gate);
    return NULL;
}

/* Whole cache lines, with zeros: threads that write to the same one would hold each other up. */
static char *lines_for(size_t bytes)
{
    size_t whole = bytes / LINE_BYTES * LINE_BYTES + LINE_BYTES;
    char *lines = aligned_alloc(LINE_BYTES, whole);

    if (lines != NULL)
        memset(lines, 0, whole);
    return lines;
}

static void prepare(bench_t *bench, size_t bytes)
{
    team_t *team = bench->own;
    int threads = bench->options.threads;

    team->bench = bench;
    team->bytes = (int)bytes;
    team->members = bench_buffer(bench, (size_t)threads * sizeof(member_t), 0);
    pthread_barrier_init(&team->gate, NULL, (unsigned)threads + 1);
    for (int t = 0; t < threads; t++) {
        member_t *m = &team->members[t];

        m->team = team;
        m->send = lines_for(bytes);
        m->receive = lines_for(bytes);
        m->requests = malloc((size_t)bench->options.window * sizeof(MPI_Request));
        if (m->send == NULL || m->receive == NULL || m->requests == NULL)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Comm_dup(MPI_COMM_WORLD, &m->comm);
    }
}

static void release(bench_t *bench)
{
    team_t *team = bench->own;

    for (int t = 0; t < bench->options.threads; t++) {
        MPI_Comm_free(&team->members[t].comm);
        free(team->members[t].send);
        free(team->members[t].receive);
        free(team->members[t].requests);
    }
    pthread_barrier_destroy(&team->gate);
}

static double run(bench_t *bench, size_t bytes, int iterations)
{
    team_t *team = bench->own;
    int threads = bench->options.threads;
    double begin_us, end_us;

    (void)bytes;
    team->iterations = iterations;
    for (int t = 0; t < threads; t++)
        if (pthread_create(&team->members[t].thread, NULL, run_member, &team->members[t]) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    begin_us = bench_now_us();
    pthread_barrier_wait(&team->gate);
    pthread_barrier_wait(&team->gate);
    end_us = bench_now_us();
    for (int t = 0; t < threads; t++)
        pthread_join(team->members[t].thread, NULL);
    return end_us - begin_us;
}

static double messages_per_s(const bench_t *bench, size_t bytes, double us)
{
    int streams = bench->ranks / 2 * bench->options.threads;

    (void)bytes;
    return (double)bench->options.window * streams / us * 1e6;
}

static double megabytes_per_s(const bench_t *bench, size_t bytes, double us)
{
    return messages_per_s(bench, bytes, us) * (double)bytes / 1e6;
}

static double half_without_computing(const bench_t *bench, size_t bytes, double us)
{
    return bench_half(bench, bytes, us - COMPUTE_US);
}

int main(int argc, char **argv)
{
    enum { LATENCY, RATE, ALLREDUCE, TESTED, BLOCKED, WITHIN, SELF, BENCHMARKS };
    static const char *const names[] = {"mt_latency", "mt_rate",   "mt_allreduce", "mt_tested",
                                        "mt_blocked", "mt_within", "mt_self",      NULL};
    void (*const works[])(member_t *) = {
        [LATENCY] = round_trip, [RATE] = window_of_messages,  [ALLREDUCE] = reduction,
        [TESTED] = round_trip,  [BLOCKED] = compute_and_trip, [WITHIN] = within_rank,
        [SELF] = to_itself};
    void (*const besides[BENCHMARKS])(member_t *) = {
        [TESTED] = test_until_told, [BLOCKED] = wait_until_told};
    int chosen = bench_choose(names, &argc, &argv);
    team_t team = {.work = chosen < 0 ? NULL : works[chosen],
                   .beside = chosen < 0 ? NULL : besides[chosen]};
    bool is_rate = chosen == RATE;
    char name[32];
    bench_test_t test = {
        .name = name,
        .column = is_rate ? "Bandwidth (MB/s)" : "Avg Latency(us)",
        .value = is_rate                                 ? megabytes_per_s
                 : chosen == ALLREDUCE || chosen == SELF ? NULL
                 : chosen == BLOCKED                     ? half_without_computing
                                                         : bench_half,
        .second_column = is_rate ? "Messages/s" : NULL,
        .second = is_rate ? messages_per_s : NULL,
        .min_bytes = 1,
        .max_bytes = 64 << 10,
        .unit = 1,
        .has_threads = true,
        .min_ranks = chosen == WITHIN || chosen == SELF ? 1 : 2,
        .iterations = is_rate          ? 200
                      : chosen == SELF ? 500000
                                       : 2000,
        .large_iterations = is_rate ? 50 : 500,
        .prepare = prepare,
        .run = run,
        .release = release,
        .own = &team,
    };

    if (chosen < 0)
        return 2;
    snprintf(name, sizeof(name), "weft_%s", names[chosen]);
    return bench_main(&test, 1, argc, argv);
}
