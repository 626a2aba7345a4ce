/* SPDX-License-Identifier: BSD-3-Clause */
/* device_ends WHERE HOW VICTIM COUNT [return]: the ranks reduce COUNT floats of device memory (with
 * TEST_BCAST in the environment they broadcast them) on a communicator of their own, and rank
 * VICTIM ends (HOW as in fault/ends.c: kill segv abort=CODE exit=CODE; none: by SIMCUDA's kill=) at
 * one of these points:
 *
 *   before    VICTIM does not call the collective
 *   arrived   VICTIM has begun the collective, and no other rank has
 *   begun     all ranks have begun it, and none has waited
 *   last      VICTIM begins each of many collectives last, so it leads where one rank works for all
 *   amid      anywhere in a series of collectives, blocking and nonblocking ones
 *
 * return: errors are returned, and a rank that gets one waits for a message that is never sent.
 */
#include "memory_kinds.h"

#include <mpi.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 100 };

static MPI_Comm comm;
static const char *how;
static void *in, *out;
static int rank, victim, count;
static bool is_bcast;

static int number_after(const char *word)
{
    size_t length = strlen(word);
    return strncmp(how, word, length) == 0 ? (int)strtol(how + length, NULL, 10) : -1;
}

static void meet_end(void)
{
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (number_after("abort=") >= 0)
        MPI_Abort(MPI_COMM_WORLD, number_after("abort="));
    if (number_after("exit=") >= 0)
        _Exit(number_after("exit="));
}

/* An error comes back only with `return`; the rank then waits until it is ended. */
static void must(int err)
{
    while (err != MPI_SUCCESS)
        MPI_Recv(&rank, 1, MPI_INT, MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void call(void)
{
    must(is_bcast ? MPI_Bcast(out, count, MPI_FLOAT, 0, comm)
                  : MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, comm));
}

static void begin_call(MPI_Request *request)
{
    must(is_bcast ? MPI_Ibcast(out, count, MPI_FLOAT, 0, comm, request)
                  : MPI_Iallreduce(in, out, count, MPI_FLOAT, MPI_SUM, comm, request));
}

static void end_call(MPI_Request *request)
{
    must(MPI_Wait(request, MPI_STATUS_IGNORE));
}

static void come_before(void)
{
    if (rank == victim)
        meet_end();
    call();
}

static void come_arrived(void)
{
    MPI_Request request;
    if (rank == victim)
        begin_call(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim)
        meet_end();
    call();
}

static void come_begun(void)
{
    MPI_Request request;
    begin_call(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim)
        meet_end();
    end_call(&request);
}

static void come_last(void)
{
    MPI_Request request;
    for (int i = 0; i < ROUNDS; i++) {
        if (rank != victim)
            begin_call(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == victim)
            begin_call(&request);
        end_call(&request);
    }
}

static void come_amid(void)
{
    MPI_Request request;
    for (int i = 0; i < ROUNDS; i++) {
        call();
        begin_call(&request);
        must(MPI_Bcast(in, count, MPI_FLOAT, 0, comm));
        end_call(&request);
        must(MPI_Scan(in, out, count, MPI_FLOAT, MPI_MAX, comm));
    }
}

static const struct {
    const char *name;
    void (*come)(void);
} places[] = {{"before", come_before},
              {"arrived", come_arrived},
              {"begun", come_begun},
              {"last", come_last},
              {"amid", come_amid}};

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    how = argv[2];
    victim = atoi(argv[3]);
    count = atoi(argv[4]);
    is_bcast = getenv("TEST_BCAST") != NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memory_begin(rank);
    if (argc > 5)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    char kind = memory_next_kind();
    in = memory_take(kind, (size_t)count * sizeof(float));
    out = memory_take(kind, (size_t)count * sizeof(float));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (strcmp(places[i].name, argv[1]) == 0)
            places[i].come();
    }
    MPI_Finalize();
    return 0;
}
