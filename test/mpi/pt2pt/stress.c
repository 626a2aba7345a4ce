/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random point-to-point traffic: stress [seed [rounds [threads]]].
 *
 * All ranks draw the same list of messages from the seed. Each rank receives and sends its own in
 * random ways and then knows, from the statuses in the order in which the receives were posted,
 * which message each receive must have got: messages that match the same receives do not overtake
 * (MPI 5.0, 3.5).
 *
 * Each rank chooses the kinds of its buffers from TEST_MEMORY at random. The lanes are
 * communicators that differ in the wildcards of receives, so that no wildcard takes a message that
 * another receive needs:
 *
 *   lane  0: none (some buffers too small)    1: the source    2: the tag    3: both
 */
#include "../expect.h"
#include "memory_kinds.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { LANES = 4, TAGS = 3, UNIT = 3, SPREAD = 7, BACKGROUND = 0x5a, THREADS_MAX = 8, EXTRA = 64 };

/* ---- random numbers and what follows from them ---- */

typedef struct dice {
    uint64_t state;
} dice_t;

static unsigned roll(dice_t *dice, unsigned limit)
{
    uint64_t z = dice->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ z >> 31) % limit);
}

typedef struct message {
    int source, dest, lane, tag;
    unsigned units, content; /* units of UNIT bytes; content: the seed of its bytes */
    bool is_taken;           /* a receive has got it */
} message_t;

static unsigned roll_units(dice_t *dice)
{
    static const unsigned limits[] = {2, 25, 25, 25, 400, 1500, 6000, 14000, 70000};
    return roll(dice, limits[roll(dice, sizeof(limits) / sizeof(limits[0]))]);
}

static message_t *draw_messages(dice_t *dice, int *count)
{
    *count = 2 * expect_size + (int)roll(dice, 6u * (unsigned)expect_size + 1);
    message_t *list = malloc((size_t)*count * sizeof(*list));
    for (int i = 0; i < *count; i++) {
        unsigned size = (unsigned)expect_size;
        int source = (int)roll(dice, size), dest = (int)roll(dice, size);
        int lane = (int)roll(dice, LANES), tag = (int)roll(dice, TAGS);
        list[i] = (message_t){source, dest, lane, tag, roll_units(dice), roll(dice, 1000), false};
    }
    return list;
}

static unsigned char byte_of(unsigned content, size_t at)
{
    return (unsigned char)(content * 31 + at * 7 + (at >> 8));
}

/* ---- buffers: dense, or UNIT bytes in each SPREAD ---- */

static MPI_Datatype spread_type;

static void make_spread_type(void)
{
    MPI_Datatype raw;
    MPI_Type_vector(UNIT, 1, 2, MPI_BYTE, &raw);
    MPI_Type_create_resized(raw, 0, SPREAD, &spread_type);
    MPI_Type_commit(&spread_type);
    MPI_Type_free(&raw);
}

typedef struct transfer {
    const message_t *message; /* for a receive the message whose envelope it asks for */
    bool is_send, is_spread, is_persistent;
    unsigned units;     /* room of the buffer */
    unsigned char *buf; /* on the host */
    char kind;
    void *at; /* MPI gets this: `buf`, or memory of another kind, copied from and to it */
    MPI_Status status;
} transfer_t;

static size_t place(const transfer_t *transfer, size_t at)
{
    return transfer->is_spread ? at / UNIT * SPREAD + at % UNIT * 2 : at;
}

static size_t buffer_bytes(const transfer_t *transfer)
{
    return (size_t)transfer->units * (transfer->is_spread ? SPREAD : UNIT) + EXTRA;
}

/* Copy `buf` to the buffer that MPI gets. */
static void put_buffer(const transfer_t *transfer)
{
    if (transfer->kind != 'H')
        memory_put(transfer->kind, transfer->at, transfer->buf, buffer_bytes(transfer));
}

static void get_buffer(const transfer_t *transfer)
{
    if (transfer->kind != 'H')
        memory_get(transfer->kind, transfer->buf, transfer->at, buffer_bytes(transfer));
}

static void fill_buffer(const transfer_t *transfer, int byte)
{
    memset(transfer->buf, byte, buffer_bytes(transfer));
    put_buffer(transfer);
}

static void make_buffer(transfer_t *transfer, dice_t *dice)
{
    transfer->kind =
        memory.kinds == NULL ? 'H' : memory.kinds[roll(dice, (unsigned)strlen(memory.kinds))];
    transfer->buf = malloc(buffer_bytes(transfer));
    transfer->at =
        transfer->kind == 'H' ? transfer->buf : memory_take(transfer->kind, buffer_bytes(transfer));
    fill_buffer(transfer, BACKGROUND);
    transfer->status.MPI_ERROR = MPI_SUCCESS;
}

static void free_buffer(const transfer_t *transfer)
{
    if (transfer->kind != 'H')
        memory_give(transfer->kind, transfer->at);
    free(transfer->buf);
}

static int count_of(const transfer_t *transfer)
{
    return (int)(transfer->is_spread ? transfer->units : transfer->units * UNIT);
}

static MPI_Datatype type_of(const transfer_t *transfer)
{
    return transfer->is_spread ? spread_type : MPI_BYTE;
}

/* ---- a round of one thread ---- */

typedef struct traffic {
    dice_t dice; /* the rank's own: they choose how messages go, not which */
    MPI_Comm comms[LANES];
    message_t *messages;
    int message_count, count;
    transfer_t *transfers; /* receives in the order of posting, and sends */
    MPI_Request *requests; /* of the same indices */
} traffic_t;

static transfer_t *add_transfer(traffic_t *traffic, const message_t *message, bool is_send,
                                unsigned units)
{
    transfer_t *transfer = &traffic->transfers[traffic->count++];
    *transfer = (transfer_t){.message = message,
                             .is_send = is_send,
                             .units = units,
                             .is_spread = roll(&traffic->dice, 2) != 0};
    make_buffer(transfer, &traffic->dice);
    return transfer;
}

static unsigned most_units(const traffic_t *traffic, int lane)
{
    unsigned most = 0;
    for (int i = 0; i < traffic->message_count; i++) {
        const message_t *message = &traffic->messages[i];
        if (message->dest == expect_rank && message->lane == lane && message->units > most)
            most = message->units;
    }
    return most;
}

static unsigned room_for(traffic_t *traffic, const message_t *message)
{
    bool may_be_short = message->lane == 0 && roll(&traffic->dice, 8) == 0;
    return may_be_short ? message->units / 2 : most_units(traffic, message->lane);
}

static int source_of(const message_t *message)
{
    return message->lane & 1 ? MPI_ANY_SOURCE : message->source;
}

static int tag_of(const message_t *message)
{
    return message->lane & 2 ? MPI_ANY_TAG : message->tag;
}

static void post_early(traffic_t *traffic, const message_t *message)
{
    MPI_Request *request = &traffic->requests[traffic->count];
    transfer_t *t = add_transfer(traffic, message, false, room_for(traffic, message));
    MPI_Comm comm = traffic->comms[message->lane];
    t->is_persistent = roll(&traffic->dice, 3) == 0;
    if (t->is_persistent) {
        MPI_Recv_init(t->at, count_of(t), type_of(t), source_of(message), tag_of(message), comm,
                      request);
        MPI_Start(request);
    } else {
        MPI_Irecv(t->at, count_of(t), type_of(t), source_of(message), tag_of(message), comm,
                  request);
    }
}

/* Add the receive of a message that a probe has found. */
static transfer_t *add_probed(traffic_t *traffic, const message_t *message, const MPI_Status *found)
{
    int bytes;
    MPI_Get_count(found, MPI_BYTE, &bytes);
    return add_transfer(traffic, message, false, (unsigned)bytes / UNIT);
}

static void receive_matched(traffic_t *traffic, const message_t *message)
{
    MPI_Message matched;
    MPI_Status found;
    int flag = 0, source = source_of(message), tag = tag_of(message);
    MPI_Comm comm = traffic->comms[message->lane];
    if (roll(&traffic->dice, 2) == 0)
        MPI_Mprobe(source, tag, comm, &matched, &found);
    else
        while (!flag)
            MPI_Improbe(source, tag, comm, &flag, &matched, &found);
    MPI_Request *request = &traffic->requests[traffic->count];
    transfer_t *t = add_probed(traffic, message, &found);
    if (roll(&traffic->dice, 2) == 0)
        MPI_Imrecv(t->at, count_of(t), type_of(t), &matched, request);
    else
        MPI_Mrecv(t->at, count_of(t), type_of(t), &matched, &t->status);
}

static void receive_probed(traffic_t *traffic, const message_t *message)
{
    MPI_Status found;
    int flag = 0, source = source_of(message), tag = tag_of(message);
    MPI_Comm comm = traffic->comms[message->lane];
    if (roll(&traffic->dice, 2) == 0)
        MPI_Probe(source, tag, comm, &found);
    else
        while (!flag)
            MPI_Iprobe(source, tag, comm, &flag, &found);
    transfer_t *t = add_probed(traffic, message, &found);
    MPI_Recv(t->at, count_of(t), type_of(t), found.MPI_SOURCE, found.MPI_TAG, comm, &t->status);
}

static void receive_late(traffic_t *traffic, const message_t *message)
{
    switch (roll(&traffic->dice, 3)) {
    case 0: {
        transfer_t *t = add_transfer(traffic, message, false, room_for(traffic, message));
        t->status.MPI_ERROR = MPI_Recv(t->at, count_of(t), type_of(t), source_of(message),
                                       tag_of(message), traffic->comms[message->lane], &t->status);
        break;
    }
    case 1:
        receive_matched(traffic, message);
        break;
    default:
        receive_probed(traffic, message);
    }
}

typedef int begin_send_t(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void send_message(traffic_t *traffic, const message_t *message)
{
    static begin_send_t *const ways[] = {MPI_Isend,     MPI_Isend,      MPI_Issend,    MPI_Ibsend,
                                         MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init};
    MPI_Request *request = &traffic->requests[traffic->count];
    transfer_t *t = add_transfer(traffic, message, true, message->units);
    for (size_t i = 0; i < (size_t)t->units * UNIT; i++)
        t->buf[place(t, i)] = byte_of(message->content, i);
    put_buffer(t);
    unsigned way = roll(&traffic->dice, 8);
    MPI_Comm comm = traffic->comms[message->lane];
    if (way == 7) {
        MPI_Bsend(t->at, count_of(t), type_of(t), message->dest, message->tag, comm);
        fill_buffer(t, BACKGROUND);
        return;
    }
    ways[way](t->at, count_of(t), type_of(t), message->dest, message->tag, comm, request);
    t->is_persistent = way >= 4;
    if (t->is_persistent)
        MPI_Start(request);
}

/* ---- completing, in ways chosen at random ---- */

static void note(traffic_t *traffic, int at, int err, const MPI_Status *status)
{
    transfer_t *transfer = &traffic->transfers[at];
    transfer->status = *status;
    transfer->status.MPI_ERROR = expect_class(err);
    if (transfer->is_send) /* so that a late read of the buffer shows */
        fill_buffer(transfer, 0xee);
}

static void complete_singly(traffic_t *traffic, bool by_test)
{
    int first = (int)roll(&traffic->dice, (unsigned)traffic->count);
    for (int i = 0; i < traffic->count; i++) {
        int at = (first + i) % traffic->count, done = 0, err = MPI_SUCCESS;
        MPI_Status status;
        if (traffic->requests[at] == MPI_REQUEST_NULL)
            continue;
        while (!done) {
            done = 1;
            err = by_test ? MPI_Test(&traffic->requests[at], &done, &status)
                          : MPI_Wait(&traffic->requests[at], &status);
        }
        note(traffic, at, err, &status);
    }
}

static void complete_any(traffic_t *traffic, bool by_test)
{
    int at = 0;
    while (at != MPI_UNDEFINED) {
        int done = 0, err = MPI_SUCCESS;
        MPI_Status status;
        while (!done) {
            done = 1;
            err = by_test ? MPI_Testany(traffic->count, traffic->requests, &at, &done, &status)
                          : MPI_Waitany(traffic->count, traffic->requests, &at, &status);
        }
        if (at != MPI_UNDEFINED)
            note(traffic, at, err, &status);
    }
}

static void complete_some(traffic_t *traffic, bool by_test)
{
    int done = 0, *indices = malloc((size_t)traffic->count * sizeof(*indices));
    MPI_Status *statuses = malloc((size_t)traffic->count * sizeof(*statuses));
    while (done != MPI_UNDEFINED) {
        for (int i = 0; i < traffic->count; i++)
            statuses[i].MPI_ERROR = MPI_SUCCESS;
        if (by_test)
            MPI_Testsome(traffic->count, traffic->requests, &done, indices, statuses);
        else
            MPI_Waitsome(traffic->count, traffic->requests, &done, indices, statuses);
        for (int i = 0; done != MPI_UNDEFINED && i < done; i++)
            note(traffic, indices[i], statuses[i].MPI_ERROR, &statuses[i]);
    }
    free(indices);
    free(statuses);
}

static void complete_all(traffic_t *traffic, bool by_test)
{
    int done = 0;
    MPI_Status *statuses = malloc((size_t)traffic->count * sizeof(*statuses));
    bool *is_open = malloc((size_t)traffic->count * sizeof(*is_open));
    for (int i = 0; i < traffic->count; i++) {
        statuses[i].MPI_ERROR = MPI_SUCCESS;
        is_open[i] = traffic->requests[i] != MPI_REQUEST_NULL;
    }
    while (!done) {
        done = 1;
        if (by_test)
            MPI_Testall(traffic->count, traffic->requests, &done, statuses);
        else
            MPI_Waitall(traffic->count, traffic->requests, statuses);
    }
    for (int i = 0; i < traffic->count; i++) {
        if (is_open[i])
            note(traffic, i, statuses[i].MPI_ERROR, &statuses[i]);
    }
    free(statuses);
    free(is_open);
}

static void complete(traffic_t *traffic)
{
    static void (*const ways[])(traffic_t *, bool) = {complete_singly, complete_any, complete_some,
                                                      complete_all};
    if (traffic->count > 0)
        ways[roll(&traffic->dice, 4)](traffic, roll(&traffic->dice, 2) != 0);
}

/* ---- checking ---- */

/* The message that the next such receive must have got, if its status is right. */
static message_t *next_message(traffic_t *traffic, const transfer_t *transfer)
{
    const message_t *asked = transfer->message;
    for (int i = 0; i < traffic->message_count; i++) {
        message_t *m = &traffic->messages[i];
        if (m->dest == expect_rank && m->lane == asked->lane &&
            m->source == transfer->status.MPI_SOURCE && (asked->lane & 2 || m->tag == asked->tag) &&
            !m->is_taken)
            return m;
    }
    return NULL;
}

static int wrong_bytes(const transfer_t *transfer, const message_t *message, unsigned units)
{
    size_t bytes = buffer_bytes(transfer);
    unsigned char *expected = malloc(bytes);
    memset(expected, BACKGROUND, bytes);
    for (size_t i = 0; i < (size_t)units * UNIT; i++)
        expected[place(transfer, i)] = byte_of(message->content, i);
    int wrong = memcmp(expected, transfer->buf, bytes) != 0;
    free(expected);
    return wrong;
}

static void check_receive(traffic_t *traffic, const transfer_t *transfer)
{
    int bytes;
    get_buffer(transfer);
    message_t *message = next_message(traffic, transfer);
    EXPECT(message != NULL, 1);
    if (message == NULL)
        return;
    message->is_taken = true;
    unsigned units = message->units < transfer->units ? message->units : transfer->units;
    MPI_Get_count(&transfer->status, MPI_BYTE, &bytes);
    EXPECT(transfer->status.MPI_TAG, message->tag);
    EXPECT(transfer->status.MPI_ERROR,
           message->units > transfer->units ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    EXPECT(bytes, units * UNIT);
    EXPECT(wrong_bytes(transfer, message, units), 0);
}

static void check_and_free(traffic_t *traffic)
{
    for (int i = 0; i < traffic->count; i++) {
        transfer_t *transfer = &traffic->transfers[i];
        if (!transfer->is_send)
            check_receive(traffic, transfer);
        else if (transfer->status.MPI_ERROR != MPI_SUCCESS)
            EXPECT(transfer->status.MPI_ERROR, MPI_SUCCESS);
        if (transfer->is_persistent)
            MPI_Request_free(&traffic->requests[i]);
        free_buffer(transfer);
    }
}

/* ---- rounds ---- */

/* Cancel a receive that matches no message and stands before the others in the queue. */
static void cancel_receive(MPI_Request *request)
{
    MPI_Status status;
    int is_cancelled = 0;
    MPI_Cancel(request);
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    EXPECT(is_cancelled, 1);
}

static void run_transfers(traffic_t *traffic)
{
    MPI_Request unmatched;
    int nothing, count = traffic->message_count;
    bool *is_early = calloc((size_t)count, sizeof(*is_early));
    MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, TAGS, traffic->comms[1], &unmatched);
    for (int i = 0; i < count; i++) {
        is_early[i] = traffic->messages[i].dest == expect_rank && roll(&traffic->dice, 2) == 0;
        if (is_early[i])
            post_early(traffic, &traffic->messages[i]);
    }
    for (int i = 0; i < count; i++) {
        if (traffic->messages[i].source == expect_rank)
            send_message(traffic, &traffic->messages[i]);
    }
    for (int i = 0; i < count; i++) {
        if (traffic->messages[i].dest == expect_rank && !is_early[i])
            receive_late(traffic, &traffic->messages[i]);
    }
    cancel_receive(&unmatched);
    complete(traffic);
    free(is_early);
}

static void run_round(traffic_t *traffic, dice_t *shared)
{
    traffic->messages = draw_messages(shared, &traffic->message_count);
    size_t most = (size_t)traffic->message_count * 2;
    traffic->count = 0;
    traffic->transfers = malloc(most * sizeof(*traffic->transfers));
    traffic->requests = malloc(most * sizeof(MPI_Request));
    for (size_t i = 0; i < most; i++)
        traffic->requests[i] = MPI_REQUEST_NULL;
    run_transfers(traffic);
    MPI_Barrier(traffic->comms[0]); /* else a wildcard may take a message of the next round */
    check_and_free(traffic);
    free(traffic->transfers);
    free(traffic->requests);
    free(traffic->messages);
}

/* All ranks send to the right, by the two calls that send and receive. */
static void shift(traffic_t *traffic, dice_t *shared)
{
    int right = (expect_rank + 1) % expect_size,
        left = (expect_rank - 1 + expect_size) % expect_size;
    int count = (int)roll_units(shared) + 1, wrong = 0;
    MPI_Request request;
    int *numbers = malloc((size_t)count * sizeof(*numbers)),
        *got = malloc((size_t)count * sizeof(*got));
    int *sent = malloc((size_t)count * sizeof(*sent));
    for (int i = 0; i < count; i++)
        numbers[i] = sent[i] = expect_rank * 1000 + i;
    MPI_Isendrecv(sent, count, MPI_INT, right, TAGS + 1, got, count, MPI_INT, left, TAGS + 1,
                  traffic->comms[0], &request);
    MPI_Sendrecv_replace(numbers, count, MPI_INT, right, TAGS + 2, left, TAGS + 2,
                         traffic->comms[0], MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        wrong += (got[i] != left * 1000 + i) + (numbers[i] != left * 1000 + i);
    EXPECT(wrong, 0);
    free(numbers);
    free(sent);
    free(got);
}

typedef struct job {
    int seed, rounds, thread;
    traffic_t traffic;
} job_t;

static void open_lanes(traffic_t *traffic)
{
    for (int i = 0; i < LANES; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &traffic->comms[i]);
        MPI_Comm_set_errhandler(traffic->comms[i], MPI_ERRORS_RETURN);
        MPI_Comm_attach_buffer(traffic->comms[i], MPI_BUFFER_AUTOMATIC, 0);
    }
}

static void close_lanes(traffic_t *traffic)
{
    for (int i = 0; i < LANES; i++) {
        void *buffer;
        int bytes;
        MPI_Comm_detach_buffer(traffic->comms[i], &buffer, &bytes);
        MPI_Comm_free(&traffic->comms[i]);
    }
}

static void *run_job(void *argument)
{
    job_t *job = argument;
    memory_enter();
    uint64_t seed = (uint64_t)job->seed * 1000 + (uint64_t)job->thread;
    dice_t shared = {seed};
    job->traffic.dice = (dice_t){seed * 7919 + (uint64_t)expect_rank * 104729 + 1};
    for (int round = 0; round < job->rounds; round++) {
        run_round(&job->traffic, &shared);
        if (round % 4 == 0)
            shift(&job->traffic, &shared);
    }
    return NULL;
}

static int argument_at(int argc, char **argv, int at, int otherwise)
{
    return argc > at ? (int)strtol(argv[at], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    int threads = argument_at(argc, argv, 3, 1), provided;
    static job_t jobs[THREADS_MAX];
    pthread_t handles[THREADS_MAX];
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    expect_begin();
    memory_begin(expect_rank);
    make_spread_type();
    for (int i = 0; i < threads && i < THREADS_MAX; i++) {
        jobs[i] = (job_t){.seed = argument_at(argc, argv, 1, 1),
                          .rounds = argument_at(argc, argv, 2, 250),
                          .thread = i};
        open_lanes(&jobs[i].traffic);
    }
    for (int i = 1; i < threads && i < THREADS_MAX; i++)
        pthread_create(&handles[i], NULL, run_job, &jobs[i]);
    run_job(&jobs[0]);
    for (int i = 0; i < threads && i < THREADS_MAX; i++) {
        if (i > 0)
            pthread_join(handles[i], NULL);
        close_lanes(&jobs[i].traffic);
    }
    MPI_Type_free(&spread_type);
    return expect_end();
}
