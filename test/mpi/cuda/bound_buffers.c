/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives by multicast straight out of and into the program's buffers: are suitable buffers
 * bound, and others not, and are the results right in each call? A performance variable counts the
 * calls with bound buffers, the simulated driver what is bound. Argument:
 *
 *   forms     each collective, in place and not, at several places, with last bytes that are no
 *             whole unit
 *   kind NAME the last rank has memory of this kind: nothing is bound
 *   place     the last rank's data begin elsewhere: nothing is bound
 *   never     as forms, but nothing is bound (the driver refuses, or the settings forbid it)
 *   once      the driver refuses one object: the buffers of other calls are bound
 *   freed     buffers are freed, and others allocated, again and again
 *   again     all ranks but the first bring new buffers, which are bound in place of the old ones
 *   changing  the last rank brings two buffers in turn
 *   comms     communicators are freed: nothing stays bound
 *   many      more buffers than there may be objects
 *   gated     while a stream waits for a message nothing is bound, and what is bound is used
 */
#include "stream_comm.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

enum {
    GRANULE = 2 << 20,
    SMALL = 5000,
    ROUNDS_MOST = 60,
    OBJECTS_MOST = 16,
    SETS = 12,
    MOST_RANKS = 8
};

static unsigned long (*calls_of)(const char *prefix);
static MPI_Comm comm;
static int rank, size;
static bool is_never; /* nothing may be bound */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle bound;

static unsigned long long bound_calls(void)
{
    unsigned long long calls = 0;
    EXPECT(MPI_T_pvar_read(session, bound, &calls), MPI_SUCCESS);
    return calls;
}

static void begin_to_count(void)
{
    int index = -1, one, provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    EXPECT(MPI_T_pvar_get_index("device_calls_bound", MPI_T_PVAR_CLASS_COUNTER, &index),
           MPI_SUCCESS);
    MPI_T_pvar_handle_alloc(session, index, NULL, &bound, &one);
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    *(void **)&calls_of = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simLaunches");
}

static bool all_are(bool claim)
{
    int own = claim, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

/* ---- the collectives; `to` of an operation in place is NULL, and `from` the buffer ---- */

typedef struct call call_t;
struct call {
    const char *name;
    void (*run)(const call_t *its, void *from, void *to);
    int count;  /* elements of a rank */
    bool binds; /* where buffers are suitable */
};

static int root, counts[MOST_RANKS], places[MOST_RANKS];

static void allreduce(const call_t *its, void *from, void *to)
{
    MPI_Allreduce(from, to, its->count, MPI_FLOAT, MPI_SUM, comm);
}

static void allreduce_of_longs(const call_t *its, void *from, void *to)
{
    MPI_Request request;
    MPI_Iallreduce(from, to, its->count / 2, MPI_INT64_T, MPI_MAX, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allreduce_again(const call_t *its, void *from, void *to)
{
    MPI_Request request;
    MPI_Allreduce_init(from, to, its->count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void allreduce_in_place(const call_t *its, void *from, void *to)
{
    (void)from;
    MPI_Allreduce(MPI_IN_PLACE, to, its->count, MPI_INT, MPI_SUM, comm);
}

static void reduce(const call_t *its, void *from, void *to)
{
    MPI_Reduce(from, to, its->count, MPI_INT, MPI_SUM, root, comm);
}

static void scatter_blocks(const call_t *its, void *from, void *to)
{
    MPI_Reduce_scatter_block(from, to, its->count, MPI_INT, MPI_SUM, comm);
}

/* Blocks are multiples of 16 bytes long, and every third one is empty. */
static void choose_counts(int count, int unit)
{
    for (int i = 0, place = 0; i < size; i++) {
        counts[i] = i % 3 == 2 ? 0 : (count + i) / unit * unit;
        places[i] = place;
        place += counts[i];
    }
}

static void scatter(const call_t *its, void *from, void *to)
{
    choose_counts(its->count, 4);
    MPI_Reduce_scatter(from, to, counts, MPI_INT, MPI_SUM, comm);
}

static void bcast(const call_t *its, void *from, void *to)
{
    (void)from;
    MPI_Bcast(to, 4 * its->count + 3, MPI_BYTE, root, comm);
}

static void allgather(const call_t *its, void *from, void *to)
{
    MPI_Allgather(from, its->count, MPI_INT, to, its->count, MPI_INT, comm);
}

static void allgather_in_place(const call_t *its, void *from, void *to)
{
    (void)from;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, its->count, MPI_INT, comm);
}

/* Blocks end with bytes that are no whole unit, and begin at whole ones. */
static void allgatherv(const call_t *its, void *from, void *to)
{
    choose_counts(4 * its->count, 1);
    for (int i = 0; i < size; i++)
        places[i] = (places[i] + 15 * i) / 16 * 16;
    MPI_Allgatherv(from, counts[rank], MPI_BYTE, to, counts, places, MPI_BYTE, comm);
}

/* ---- checks ---- */

/* The buffers of a rank, of which calls use the part that begins `place` bytes into them. */
typedef struct buffers {
    memory_t in, out;
    size_t place;
} buffers_t;

static size_t room(const call_t *its)
{
    return (size_t)(its->count + 16) * sizeof(int) * (size_t)size + 64;
}

static buffers_t take_buffers(memory_kind_t kind, size_t bytes, size_t place)
{
    return (buffers_t){memory_take(kind, place + bytes), memory_take(kind, place + bytes), place};
}

static void give_buffers(buffers_t *buffers)
{
    memory_give(&buffers->in);
    memory_give(&buffers->out);
}

/* Small numbers in any format: sums of floats are exact. */
static void fill(unsigned char *to, size_t bytes, int round, bool are_floats)
{
    for (size_t i = 0; i < bytes / sizeof(int); i++) {
        int number = (int)(i * 7 + i / 64) % 100 + round + 10 * rank;
        float real = (float)number;
        memcpy(to + i * sizeof(int), are_floats ? (void *)&real : (void *)&number, sizeof(int));
    }
}

/* Does the call once on the device and once on the host. */
static void try_once(const call_t *its, const buffers_t *buffers, int round)
{
    size_t bytes = room(its), wrong = 0;
    unsigned char *sent = calloc(3, bytes), *wanted = sent + bytes, *got = wanted + bytes;
    unsigned char *in = (unsigned char *)buffers->in.at + buffers->place,
                  *out = (unsigned char *)buffers->out.at + buffers->place;
    root = round % size;
    fill(sent, bytes, round, its->run == allreduce);
    fill(wanted, bytes, round + 1, false);
    memory_put(in, sent, bytes);
    memory_put(out, wanted, bytes);
    its->run(its, in, out);
    memory_get(got, out, bytes);
    its->run(its, sent, wanted);
    for (size_t i = 0; i < bytes; i++)
        wrong += got[i] != wanted[i];
    expect_equal((long long)wrong, 0, its->name, __FILE__, __LINE__);
    memory_get(got, in, bytes);
    EXPECT(memcmp(got, sent, bytes), 0);
    free(sent);
}

/* Calls until all ranks have used bound buffers; returns false if they do not. */
static bool becomes_bound(const call_t *its, const buffers_t *buffers, int rounds)
{
    bool is_over = false;
    for (int round = 0; round < rounds && !is_over; round++) {
        unsigned long long before = bound_calls();
        try_once(its, buffers, round);
        is_over = all_are(bound_calls() > before);
    }
    return is_over;
}

static void check_call(const call_t *its, const buffers_t *buffers, bool is_bound)
{
    char what[128];
    bool is_wanted = is_bound && its->binds && !is_never;
    bool is_there = becomes_bound(its, buffers, is_wanted ? ROUNDS_MOST : ROUNDS_MOST / 4);
    snprintf(what, sizeof(what), "%s of %d, %zu bytes on: bound", its->name, its->count,
             buffers->place);
    expect_equal(is_there, is_wanted, what, __FILE__, __LINE__);
    if (is_there) /* again, unless ranks come so late that others go on alone */
        EXPECT(becomes_bound(its, buffers, 10), true);
}

static const call_t sum = {"allreduce", allreduce, SMALL, true};

/* ---- the cases ---- */

static void check_forms(void)
{
    static const call_t calls[] = {
        {"allreduce", allreduce, SMALL + 1, true},
        {"allreduce of longs", allreduce_of_longs, SMALL + 3, true},
        {"persistent allreduce", allreduce_again, SMALL + 1, true},
        {"allreduce in place", allreduce_in_place, SMALL + 2, true},
        {"reduce", reduce, SMALL + 3, true},
        {"reduce_scatter_block", scatter_blocks, SMALL, true},
        {"reduce_scatter_block of other lengths", scatter_blocks, SMALL + 1, false},
        {"reduce_scatter", scatter, SMALL, true},
        {"bcast", bcast, SMALL + 1, true},
        {"allgather", allgather, SMALL, true},
        {"allgather of other lengths", allgather, SMALL + 1, false},
        {"allgather in place", allgather_in_place, SMALL, true},
        {"allgatherv", allgatherv, SMALL, true},
        {"allreduce of much", allreduce, (GRANULE >> 2) + 5, true},
    };
    static const size_t at[] = {0, 4096 + 16, GRANULE - 1024, GRANULE + 8};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        size_t place = at[i % 3];
        buffers_t buffers = take_buffers(SHARED_VMM, room(&calls[i]), place);
        check_call(&calls[i], &buffers, true);
        give_buffers(&buffers);
    }
    buffers_t buffers = take_buffers(SHARED_VMM, room(&sum), at[3]);
    check_call(&sum, &buffers, false);
    give_buffers(&buffers);
}

static void check_others(memory_kind_t last_kind, size_t last_place)
{
    bool is_last = rank == size - 1;
    memory_kind_t kind = is_last ? last_kind : SHARED_VMM;
    buffers_t buffers = take_buffers(kind, room(&sum), is_last ? last_place : 0);
    check_call(&sum, &buffers, false);
    give_buffers(&buffers);
}

/* The next ones are bound, too: what the program has freed is noticed, and given up. */
static void check_freed(void)
{
    for (int i = 0; i < 40; i++) {
        call_t its = {"allreduce", allreduce, 3 * GRANULE / 4 - 64, true};
        buffers_t buffers = take_buffers(SHARED_VMM, room(&sum) + 3 * GRANULE, 0);
        its.count = i % 4 == 0 ? its.count / size : SMALL;
        check_call(&its, &buffers, true);
        give_buffers(&buffers);
    }
}

static void check_again(void)
{
    buffers_t buffers = take_buffers(SHARED_VMM, room(&sum), 0);
    check_call(&sum, &buffers, true);
    for (int i = 0; i < 3; i++) {
        buffers_t next = rank == 0 ? buffers : take_buffers(SHARED_VMM, room(&sum), 0);
        if (rank > 0)
            give_buffers(&buffers);
        buffers = next;
        /* Member 0 gives an object up after some calls without it, and does so twice at most. */
        check_call(&sum, &buffers, i < 2);
    }
    give_buffers(&buffers);
}

/* Of two sets of buffers that have some in common only one is bound; the other one is copied. */
static void check_changing(void)
{
    buffers_t buffers = take_buffers(SHARED_VMM, room(&sum), 0), other = buffers;
    if (rank == size - 1)
        other = take_buffers(SHARED_VMM, room(&sum), 0);
    check_call(&sum, &buffers, true);
    for (int i = 0; i < 40; i++) {
        EXPECT(becomes_bound(&sum, &buffers, 10), true);
        unsigned long long before = bound_calls();
        try_once(&sum, &other, i);
        EXPECT(bound_calls() > before, false);
    }
    if (rank == size - 1)
        give_buffers(&other);
    give_buffers(&buffers);
}

static long bound_now(void)
{
    return (long)(calls_of("cuMulticastBindAddr") - calls_of("cuMulticastUnbind"));
}

/* Weft's own memory is bound by another call, and unbound by the same one. */
static void check_comms(void)
{
    buffers_t buffers = take_buffers(SHARED_VMM, room(&sum), 0);
    for (int i = 0; i < 10; i++) {
        MPI_Comm whole = comm;
        MPI_Comm_dup(whole, &comm);
        check_call(&sum, &buffers, true);
        MPI_Comm_free(&comm);
        comm = whole;
        EXPECT(calls_of == NULL || bound_now() + (long)calls_of("cuMulticastBindMem") == 0, true);
    }
    give_buffers(&buffers);
}

static void check_many(void)
{
    buffers_t buffers[SETS];
    for (int i = 0; i < SETS; i++)
        buffers[i] = take_buffers(SHARED_VMM, room(&sum), 0);
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < SETS; i++) {
            try_once(&sum, &buffers[i], round);
            EXPECT(calls_of == NULL || bound_now() <= OBJECTS_MOST, true);
        }
    }
    EXPECT(calls_of == NULL || bound_now() > 0, true);
    for (int i = 0; i < SETS; i++)
        give_buffers(&buffers[i]);
}

static unsigned long long bound_of(const buffers_t *buffers, int calls)
{
    unsigned long long before = bound_calls();
    for (int i = 0; i < calls; i++)
        sum.run(&sum, buffers->in.at, buffers->out.at);
    return bound_calls() - before;
}

/* The stream of each rank waits for a message of the rank itself. While it does, this test must not
 * wait for the device. */
static void check_gated(void)
{
    int number = 5, got = 0;
    buffers_t bound_ones = take_buffers(SHARED_VMM, room(&sum), 0),
              others = take_buffers(SHARED_VMM, room(&sum), 0);
    memory_t host = memory_take(PINNED, sizeof(int));
    check_call(&sum, &bound_ones, true);
    stream_comm_t gated = stream_comm_make(CU_STREAM_NON_BLOCKING);
    MPIX_Recv_enqueue(host.at, 1, MPI_INT, rank, 3, gated.comm, MPI_STATUS_IGNORE);
    EXPECT(bound_of(&others, ROUNDS_MOST), 0);
    EXPECT(bound_of(&bound_ones, ROUNDS_MOST) > 0, true);
    MPI_Send(&number, 1, MPI_INT, rank, 3, gated.comm);
    CU(cuStreamSynchronize(gated.stream));
    memory_get(&got, host.at, sizeof(got));
    EXPECT(got, number);
    stream_comm_free(&gated);
    CU(cuStreamDestroy(gated.stream));
    check_call(&sum, &others, true);
    give_buffers(&bound_ones);
    give_buffers(&others);
    memory_give(&host);
}

static void check_once(void)
{
    for (int i = 0; i < 2; i++) {
        buffers_t buffers = take_buffers(SHARED_VMM, room(&sum), 0);
        call_t its = sum;
        its.run = i == 0 ? reduce : allreduce;
        check_call(&its, &buffers, i > 0);
        give_buffers(&buffers);
    }
}

static void run_case(const char *name, const char *argument)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"forms", check_forms}, {"never", check_forms},
                 {"once", check_once},   {"freed", check_freed},
                 {"again", check_again}, {"comms", check_comms},
                 {"many", check_many},   {"changing", check_changing},
                 {"gated", check_gated}, {NULL, NULL}};
    is_never = strcmp(name, "never") == 0;
    if (strcmp(name, "kind") == 0)
        check_others(memory_kind_named(argument), 0);
    if (strcmp(name, "place") == 0)
        check_others(SHARED_VMM, 16);
    for (int i = 0; cases[i].name != NULL; i++) {
        if (strcmp(name, cases[i].name) == 0)
            cases[i].run();
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    begin_to_count();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    rank = expect_rank;
    size = expect_size;
    run_case(argv[1], argv[argc - 1]);
    MPI_Comm_free(&comm);
    memory_end();
    int code = expect_end();
    MPI_T_finalize();
    return code;
}
