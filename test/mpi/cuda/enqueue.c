/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each operation in the order of streams: the stream itself fills buffers before the operation,
 * saves them after it and fills them again, and the host waits only at the end of a chain. There
 * are two streams at once, in which even and odd ranks enqueue in different orders. Arguments:
 * elements, rounds, then kinds of memory.
 */
#include "stream_comm.h"

enum { STREAMS = 2, STEPS = 13, TAG = 3 };

typedef struct chain {
    stream_comm_t on;
    memory_kind_t in_kind, out_kind;
    memory_t in_memory, out_memory, log_memory;
    int *in, *out, *log, *expected;
    int count;  /* elements of a block */
    int used;   /* elements of the log */
    int number; /* the number of the next step, which decides what is sent */
    MPI_Datatype every_other;
} chain_t;

static int value_of(const chain_t *chain, int rank)
{
    return rank * 1000 + chain->number % 900;
}

static int sum_of_values(const chain_t *chain)
{
    int sum = 0;
    for (int rank = 0; rank < expect_size; rank++)
        sum += value_of(chain, rank);
    return sum;
}

static void fill_in(const chain_t *chain, int blocks)
{
    stream_fill(chain->on.stream, chain->in_kind, chain->in, value_of(chain, expect_rank),
                chain->count * blocks);
}

/* The next `count` elements of a result, all of which should be `value`. */
static void expect_run(chain_t *chain, int value, int count)
{
    for (int i = 0; i < count; i++)
        chain->expected[chain->used++] = value;
}

/* Save the results expected since `from`, and overwrite the buffers, so that late accesses show. */
static void save(chain_t *chain, const int *buf, memory_kind_t kind, int from)
{
    CUstream stream = chain->on.stream;
    stream_save(stream, kind, chain->log + from, buf, chain->used - from);
    stream_fill(stream, chain->in_kind, chain->in, -1, chain->count * expect_size);
    stream_fill(stream, chain->out_kind, chain->out, -2, chain->count * expect_size);
}

static void allreduce(chain_t *chain)
{
    int from = chain->used;
    fill_in(chain, 1);
    MPIX_Allreduce_enqueue(chain->in, chain->out, chain->count, MPI_INT, MPI_SUM, chain->on.comm);
    expect_run(chain, sum_of_values(chain), chain->count);
    save(chain, chain->out, chain->out_kind, from);
}

static void allreduce_in_place(chain_t *chain)
{
    int from = chain->used;
    fill_in(chain, 1);
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, chain->in, chain->count, MPI_INT, MPI_MAX, chain->on.comm);
    expect_run(chain, value_of(chain, expect_size - 1), chain->count);
    save(chain, chain->in, chain->in_kind, from);
}

static void bcast(chain_t *chain)
{
    int from = chain->used, root = chain->number % expect_size;
    fill_in(chain, 1);
    MPIX_Bcast_enqueue(chain->in, chain->count, MPI_INT, root, chain->on.comm);
    expect_run(chain, value_of(chain, root), chain->count);
    save(chain, chain->in, chain->in_kind, from);
}

static void allgather(chain_t *chain)
{
    int from = chain->used;
    fill_in(chain, 1);
    MPIX_Allgather_enqueue(chain->in, chain->count, MPI_INT, chain->out, chain->count, MPI_INT,
                           chain->on.comm);
    for (int rank = 0; rank < expect_size; rank++)
        expect_run(chain, value_of(chain, rank), chain->count);
    save(chain, chain->out, chain->out_kind, from);
}

static void allgather_in_place(chain_t *chain)
{
    int from = chain->used;
    stream_fill(chain->on.stream, chain->out_kind, chain->out + expect_rank * chain->count,
                value_of(chain, expect_rank), chain->count);
    MPIX_Allgather_enqueue(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, chain->out, chain->count, MPI_INT,
                           chain->on.comm);
    for (int rank = 0; rank < expect_size; rank++)
        expect_run(chain, value_of(chain, rank), chain->count);
    save(chain, chain->out, chain->out_kind, from);
}

static void alltoall(chain_t *chain)
{
    int from = chain->used;
    fill_in(chain, expect_size);
    MPIX_Alltoall_enqueue(chain->in, chain->count, MPI_INT, chain->out, chain->count, MPI_INT,
                          chain->on.comm);
    for (int rank = 0; rank < expect_size; rank++)
        expect_run(chain, value_of(chain, rank), chain->count);
    save(chain, chain->out, chain->out_kind, from);
}

/* The counts may be changed when the call returns. */
static void reduce_scatter(chain_t *chain)
{
    int from = chain->used;
    int *counts = malloc((size_t)expect_size * sizeof(*counts));
    for (int rank = 0; rank < expect_size; rank++)
        counts[rank] = rank % 2 == 0 ? chain->count : chain->count / 2;
    fill_in(chain, expect_size);
    MPIX_Reduce_scatter_enqueue(chain->in, chain->out, counts, MPI_INT, MPI_SUM, chain->on.comm);
    expect_run(chain, sum_of_values(chain), counts[expect_rank]);
    memset(counts, 0x7f, (size_t)expect_size * sizeof(*counts));
    free(counts);
    save(chain, chain->out, chain->out_kind, from);
}

static void barrier(chain_t *chain)
{
    MPIX_Barrier_enqueue(chain->on.comm);
}

static int next_rank(void)
{
    return (expect_rank + 1) % expect_size;
}

static int previous_rank(void)
{
    return (expect_rank + expect_size - 1) % expect_size;
}

static void recv(chain_t *chain, MPI_Status *status)
{
    MPIX_Recv_enqueue(chain->out, chain->count, MPI_INT, previous_rank(), TAG, chain->on.comm,
                      status);
}

/* A message round the ring; rank 0 begins, and needs no status of the last message. */
static void ring(chain_t *chain)
{
    int from = chain->used;
    static MPI_Status status; /* stays until the stream was waited for */
    if (expect_size == 1)
        return;
    fill_in(chain, 1);
    if (expect_rank > 0)
        recv(chain, &status);
    MPIX_Send_enqueue(chain->in, chain->count, MPI_INT, next_rank(), TAG, chain->on.comm);
    if (expect_rank == 0)
        recv(chain, MPI_STATUS_IGNORE);
    expect_run(chain, value_of(chain, previous_rank()), chain->count);
    save(chain, chain->out, chain->out_kind, from);
}

/* With requests: the stream waits for both at once. A type may be freed as soon as it was used. */
static void exchange(chain_t *chain, MPI_Datatype type, int stride)
{
    int from = chain->used, count = chain->count / stride;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    static MPI_Status statuses[3];
    MPI_Datatype mine;
    MPI_Type_dup(type, &mine);
    fill_in(chain, 1);
    MPIX_Irecv_enqueue(chain->out, count, MPI_INT, previous_rank(), TAG, chain->on.comm,
                       &requests[0]);
    MPIX_Isend_enqueue(chain->in, count, mine, next_rank(), TAG, chain->on.comm, &requests[2]);
    MPI_Type_free(&mine);
    MPIX_Waitall_enqueue(3, requests, chain->number % 2 == 0 ? statuses : MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        EXPECT(requests[i] == MPI_REQUEST_NULL, true);
    expect_run(chain, value_of(chain, previous_rank()), count);
    save(chain, chain->out, chain->out_kind, from);
}

static void exchange_ints(chain_t *chain)
{
    exchange(chain, MPI_INT, 1);
}

static void exchange_vector(chain_t *chain)
{
    exchange(chain, chain->every_other, 2);
}

/* Waits for one request after the other; also MPI_REQUEST_NULL and MPI_PROC_NULL. */
static void wait_each(chain_t *chain)
{
    int from = chain->used;
    MPI_Request send, recv, none = MPI_REQUEST_NULL;
    MPI_Status status;
    fill_in(chain, 1);
    MPIX_Isend_enqueue(chain->in, chain->count, MPI_INT, next_rank(), TAG, chain->on.comm, &send);
    MPIX_Irecv_enqueue(chain->out, chain->count, MPI_INT, previous_rank(), MPI_ANY_TAG,
                       chain->on.comm, &recv);
    MPIX_Wait_enqueue(&recv, MPI_STATUS_IGNORE);
    MPIX_Wait_enqueue(&none, &status);
    EXPECT(status.MPI_SOURCE, MPI_ANY_SOURCE);
    MPIX_Send_enqueue(chain->in, chain->count, MPI_INT, MPI_PROC_NULL, TAG, chain->on.comm);
    expect_run(chain, value_of(chain, previous_rank()), chain->count);
    stream_save(chain->on.stream, chain->out_kind, chain->log + from, chain->out,
                chain->used - from);
    MPIX_Wait_enqueue(&send, MPI_STATUS_IGNORE);
    stream_fill(chain->on.stream, chain->in_kind, chain->in, -1, chain->count);
}

/* The host may wait as well. */
static void wait_on_host(chain_t *chain)
{
    int from = chain->used;
    MPI_Request requests[2];
    fill_in(chain, 1);
    MPIX_Isend_enqueue(chain->in, chain->count, MPI_INT, next_rank(), TAG, chain->on.comm,
                       &requests[0]);
    MPIX_Irecv_enqueue(chain->out, chain->count, MPI_INT, previous_rank(), TAG, chain->on.comm,
                       &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect_run(chain, value_of(chain, previous_rank()), chain->count);
    save(chain, chain->out, chain->out_kind, from);
}

static void (*const steps[STEPS])(chain_t *) = {
    allreduce,   barrier,  ring,           allreduce_in_place, bcast,     exchange_ints,
    allgather,   alltoall, reduce_scatter, exchange_vector,    wait_each, allgather_in_place,
    wait_on_host};

static void begin(chain_t *chain, int count, int rounds, memory_kind_t in, memory_kind_t out)
{
    size_t room = (size_t)count * (size_t)expect_size * sizeof(int);
    *chain = (chain_t){.on = chain->on, .in_kind = in, .out_kind = out, .count = count};
    chain->in_memory = memory_take(in, room);
    chain->out_memory = memory_take(out, room);
    chain->log_memory = memory_take(PINNED, room * STEPS * (size_t)rounds);
    chain->in = chain->in_memory.at;
    chain->out = chain->out_memory.at;
    chain->log = chain->log_memory.at;
    chain->expected = malloc(room * STEPS * (size_t)rounds);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &chain->every_other);
    MPI_Type_commit(&chain->every_other);
}

static void end(chain_t *chain)
{
    int wrong = 0;
    for (int i = 0; i < chain->used; i++) {
        if (chain->log[i] != chain->expected[i] && wrong++ == 0)
            fprintf(stderr, "rank %d of %d, %s to %s, %d elements: saved[%d] is %d, not %d\n",
                    expect_rank, expect_size, memory_names[chain->in_kind],
                    memory_names[chain->out_kind], chain->count, i, chain->log[i],
                    chain->expected[i]);
    }
    EXPECT(wrong, 0);
    MPI_Type_free(&chain->every_other);
    memory_give(&chain->in_memory);
    memory_give(&chain->out_memory);
    memory_give(&chain->log_memory);
    free(chain->expected);
}

static void run(chain_t *chains, int count, int rounds, const memory_kind_t kinds[2])
{
    for (int i = 0; i < STREAMS; i++)
        begin(&chains[i], count, rounds, kinds[0], kinds[1]);
    for (int step = 0; step < rounds * STEPS; step++) {
        for (int k = 0; k < STREAMS; k++) {
            chain_t *chain = &chains[(k + expect_rank) % STREAMS];
            chain->number = step * 7 + (int)(chain - chains) + count;
            if (steps[step % STEPS] != wait_on_host || chain == chains)
                steps[step % STEPS](chain);
        }
    }
    /* Memory is freed when all are over: the driver may wait for all streams, and keep the library
     * from opening their gates. */
    for (int i = 0; i < STREAMS; i++)
        CU(cuStreamSynchronize(chains[i].on.stream));
    for (int i = 0; i < STREAMS; i++)
        end(&chains[i]);
}

int main(int argc, char **argv)
{
    chain_t chains[STREAMS];
    MPI_Init(&argc, &argv);
    expect_begin();
    memory_begin(expect_rank);
    chains[0].on = stream_comm_make(CU_STREAM_NON_BLOCKING);
    chains[1].on = stream_comm_make(CU_STREAM_DEFAULT);
    for (int i = 3; i < argc; i++) {
        memory_kind_t in = memory_kind_named(argv[i]),
                      out = memory_kind_named(argv[i + 1 < argc ? i + 1 : 3]);
        /* Odd ranks may use other memory than even ones. */
        memory_kind_t kinds[2] = {expect_rank % 2 == 0 ? in : out, out};
        run(chains, atoi(argv[1]), atoi(argv[2]), kinds);
    }
    for (int i = 0; i < STREAMS; i++) {
        stream_comm_free(&chains[i].on);
        CU(cuStreamDestroy(chains[i].on.stream));
    }
    free_host_works();
    memory_end();
    return expect_end();
}
