/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that die while all reduce device memory, and survivors that go on (WEFT_RECOVERY):
 *
 *     device_lost WHERE VICTIM COUNT SEED
 *
 * All repeat blocking and nonblocking allreduces of COUNT floats until they fail, and rank VICTIM
 * dies at one of these points:
 *
 *   before    it does not call the first one
 *   arrived   it has begun the first one, and no other rank has
 *   begun     all have begun the first ones, and none has waited
 *   after     it has done some
 *   amid      at a moment that SEED gives
 *   driver    where SIMCUDA says so (kill=)
 *
 * Then the survivors shrink the communicator and reduce device memory on what is left, where they
 * must meet again. Results that come without an error have to be right. Prints nothing when all is
 * well.
 */
#include "dying.h"
#include "memory_kinds.h"

#include <mpi.h>
#include <mpix.h>

enum { BOTH = 2, ROUNDS_AFTER = 8, ROUNDS_MOST = 200, MOMENT_US = 20000 };

static int victim, count;
static const char *where;
static float *host;
static void *in[BOTH], *out[BOTH];
static char kind; /* of memory */

static int is_victim_at(const char *point)
{
    return world_rank == victim && strcmp(where, point) == 0;
}

/* ---- one round: a blocking allreduce, and two at a time ---- */

static float value_of(int rank, int round, int i)
{
    return (float)(rank * 7 + round % 16 + i % 32);
}

static void fill(void *buffer, int rank, int round)
{
    for (int i = 0; i < count; i++)
        host[i] = value_of(rank, round, i);
    memory_put(kind, buffer, host, (size_t)count * sizeof(float));
}

static void check_sum(const void *buffer, int size, int round)
{
    memory_get(kind, host, buffer, (size_t)count * sizeof(float));
    for (int i = 0; i < count; i++) {
        float sum = 0;
        for (int rank = 0; rank < size; rank++)
            sum += value_of(rank, round, i);
        check(host[i] == sum, "element %d of a sum is %g, not %g", i, (double)host[i], (double)sum);
    }
}

static int reduce_one(MPI_Comm comm, int rank, int size, int round)
{
    fill(in[0], rank, round);
    int err = MPI_Allreduce(in[0], out[0], count, MPI_FLOAT, MPI_SUM, comm);
    if (err == MPI_SUCCESS)
        check_sum(out[0], size, round);
    return err;
}

static int reduce_both(MPI_Comm comm, int rank, int size, int round)
{
    MPI_Request requests[BOTH];
    int errors[BOTH], first = MPI_SUCCESS;
    /* While a kernel waits for the others, this rank must not wait for the device outside MPI. */
    for (int i = 0; i < BOTH; i++)
        fill(in[i], rank, round + i);
    for (int i = 0; i < BOTH; i++) {
        requests[i] = MPI_REQUEST_NULL;
        errors[i] = MPI_Iallreduce(in[i], out[i], count, MPI_FLOAT, MPI_SUM, comm, &requests[i]);
    }
    if (is_victim_at("begun"))
        raise(SIGKILL);
    for (int i = 0; i < BOTH; i++) {
        int err = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        errors[i] = errors[i] != MPI_SUCCESS ? errors[i] : err;
        first = first != MPI_SUCCESS ? first : errors[i];
    }
    for (int i = 0; i < BOTH; i++) {
        if (errors[i] == MPI_SUCCESS)
            check_sum(out[i], size, round + i);
    }
    return first;
}

/* Another rank may have seen the failure first, and have revoked the communicator. */
static void check_class(int err)
{
    int class;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(err, &class);
    MPI_Error_string(err, text, &(int){0});
    check(class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED,
          "the class of a failure is %d: %s", class, text);
}

/* The victim has arrived once the others hear so. Theirs may succeed, with what it has brought. */
static void begin_alone(MPI_Comm comm)
{
    MPI_Request request;
    int is_one = 1;
    fill(in[0], world_rank, 0);
    if (world_rank == victim)
        MPI_Iallreduce(in[0], out[0], count, MPI_FLOAT, MPI_SUM, comm, &request);
    MPI_Bcast(&is_one, 1, MPI_INT, victim, MPI_COMM_WORLD);
    if (world_rank == victim)
        raise(SIGKILL);
}

static void reduce_until_failure(MPI_Comm comm, int size)
{
    int err = MPI_SUCCESS;
    if (is_victim_at("before"))
        raise(SIGKILL);
    if (strcmp(where, "arrived") == 0)
        begin_alone(comm);
    for (int round = 0; err == MPI_SUCCESS; round++) {
        err = reduce_both(comm, world_rank, size, round);
        if (err == MPI_SUCCESS)
            err = reduce_one(comm, world_rank, size, round);
        if (is_victim_at("after") && round == 5)
            raise(SIGKILL);
        check(round < ROUNDS_MOST, "nobody has died");
    }
    check_class(err);
}

/* ---- what is left ---- */

enum { METHODS = 3 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[METHODS];

/* From here on, the collectives that this rank does by methods for which ranks meet are counted. */
static void begin_to_count(void)
{
    static const char *const names[METHODS] = {"device_calls_direct", "device_calls_ll",
                                               "device_calls_multicast"};
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < METHODS; i++) {
        int index, elements;
        int err = MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index);
        check(err == MPI_SUCCESS, "there is no variable %s", names[i]);
        MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &elements);
    }
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
}

static unsigned long long count_of(void)
{
    unsigned long long sum = 0;
    for (int i = 0; i < METHODS; i++) {
        unsigned long long value = 0;
        MPI_T_pvar_read(session, handles[i], &value);
        MPI_T_pvar_handle_free(session, &handles[i]);
        sum += value;
    }
    MPI_T_pvar_session_free(&session);
    return sum;
}

static void go_on(MPI_Comm comm, int old_size)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    check(size == old_size - 1, "%d ranks are left of %d", size, old_size);
    begin_to_count();
    for (int round = 0; round < ROUNDS_AFTER; round++) {
        int err = reduce_one(comm, rank, size, round);
        check(err == MPI_SUCCESS, "an allreduce of the survivors fails with %d", err);
        err = reduce_both(comm, rank, size, round);
        check(err == MPI_SUCCESS, "two allreduces of the survivors fail with %d", err);
    }
    unsigned long long met = count_of();
    MPI_Allreduce(MPI_IN_PLACE, &met, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm);
    check(met > 0 || size == 1 || getenv("WEFT_SIMULATE_HOSTS") != NULL,
          "the survivors did not meet");
}

static void play(MPI_Comm comm, unsigned moment_us)
{
    MPI_Comm rest;
    int size;
    MPI_Comm_size(comm, &size);
    MPI_Barrier(comm);
    if (is_victim_at("amid"))
        die_soon(moment_us);
    reduce_until_failure(comm, size);
    where = "";
    MPIX_Comm_revoke(comm);
    check(MPIX_Comm_shrink(comm, &rest) == MPI_SUCCESS, "the shrink fails");
    MPI_Comm_free(&comm);
    go_on(rest, size);
    MPI_Comm_free(&rest);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int provided;
    check(argc == 5, "usage: device_lost WHERE VICTIM COUNT SEED");
    where = argv[1];
    victim = atoi(argv[2]);
    count = atoi(argv[3]);
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memory_begin(world_rank);
    kind = memory_next_kind();
    host = malloc((size_t)count * sizeof(float));
    for (int i = 0; i < BOTH; i++) {
        in[i] = memory_take(kind, (size_t)count * sizeof(float));
        out[i] = memory_take(kind, (size_t)count * sizeof(float));
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    play(comm, (unsigned)strtoul(argv[4], NULL, 10) * 7919 % MOMENT_US);
    for (int i = 0; i < BOTH; i++) {
        memory_give(kind, in[i]);
        memory_give(kind, out[i]);
    }
    free(host);
    MPI_T_finalize();
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
