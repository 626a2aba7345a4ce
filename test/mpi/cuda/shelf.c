/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long messages between devices that do not reach each other go by memory of the host that both
 * devices reach (runtime/shelf.h). Checked are data, guards, errors, and by variables of the tool
 * interface which way the bytes went. Argument: the way that is expected where there is room on the
 * shelf, shelf or packets.
 */
#include "../tool/variables.h"
#include "guarded_bytes.h"
#include "expect.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE = 256 * 1024, /* WEFT_SHELF_PIECE */
    LONG = 4 * PIECE,   /* as much of the shelf as one message has at a time */
    MANY = 8,           /* such messages: more than the shelf has room for */
    TAG = 5,
};

static bool by_shelf; /* is expected */
static int next, previous;
static MPI_Datatype vector; /* USED of every EXTENT bytes */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle shelf_bytes, packet_bytes;

/* ---- which way bytes went, out of this rank ---- */

static unsigned long long shelf_before, packets_before;

static MPI_T_pvar_handle aggregate(const char *name)
{
    MPI_T_pvar_handle handle = pvar_handle(session, name, MPI_T_PVAR_CLASS_AGGREGATE, NULL);
    EXPECT_T(MPI_T_pvar_start(session, handle));
    return handle;
}

static void begin_counting(void)
{
    shelf_before = pvar_value(session, shelf_bytes);
    packets_before = pvar_value(session, packet_bytes);
}

static void expect_sent(size_t bytes)
{
    EXPECT(pvar_value(session, shelf_bytes) - shelf_before, by_shelf ? bytes : 0);
    EXPECT(pvar_value(session, packet_bytes) - packets_before, by_shelf ? 0 : bytes);
}

/* Of more than the shelf has room for. */
static void expect_all_sent(size_t bytes)
{
    EXPECT(pvar_value(session, shelf_bytes) - shelf_before + pvar_value(session, packet_bytes) -
               packets_before,
           bytes);
}

/* ---- buffers: `bytes` between two guards ---- */

static char *data_of(const memory_t *memory)
{
    return (char *)memory->at + GUARD;
}

/* The first `bytes` are those of a buffer of the sender's, and the others as they were. */
static void check_and_give(memory_t *memory, size_t bytes, size_t room, unsigned sent_seed,
                           unsigned own_seed)
{
    unsigned char *got = malloc(room + 2 * GUARD);
    size_t wrong = 0;
    memory_get(got, memory->at, room + 2 * GUARD);
    for (size_t i = 0; i < room + 2 * GUARD; i++)
        wrong += got[i] != byte_at(i, i >= GUARD && i < GUARD + bytes ? sent_seed : own_seed);
    EXPECT(wrong, 0);
    free(got);
    memory_give(memory);
}

/* ---- one message to the next rank ---- */

typedef struct message {
    memory_kind_t from, to;
    size_t bytes, room; /* room: of the receiver, who may have less */
    bool is_unexpected, is_synchronous;
} message_t;

static unsigned own_seed(int rank)
{
    return 100 + (unsigned)rank;
}

static void begin_send(const message_t *m, const memory_t *out, MPI_Request *request)
{
    if (m->is_synchronous)
        MPI_Issend(data_of(out), (int)m->bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD, request);
    else
        MPI_Isend(data_of(out), (int)m->bytes, MPI_BYTE, next, TAG, MPI_COMM_WORLD, request);
}

/* Every rank sends it to the next one, so each pair of neighbours has one in each direction where
 * there are two ranks. */
static void pass_on(const message_t *m)
{
    memory_t out = take_guarded(m->from, m->bytes, expect_rank);
    memory_t in = take_guarded(m->to, m->room, own_seed(expect_rank));
    MPI_Request request[2];
    MPI_Status status[2];
    int err;
    begin_counting();
    if (m->is_unexpected) {
        begin_send(m, &out, &request[0]);
        MPI_Probe(previous, TAG, MPI_COMM_WORLD, &status[1]);
    }
    MPI_Irecv(data_of(&in), (int)m->room, MPI_BYTE, previous, TAG, MPI_COMM_WORLD, &request[1]);
    if (!m->is_unexpected)
        begin_send(m, &out, &request[0]);
    err = MPI_Waitall(2, request, status);
    if (m->room < m->bytes) {
        EXPECT_ERROR(err, MPI_ERR_IN_STATUS);
        EXPECT_ERROR(status[1].MPI_ERROR, MPI_ERR_TRUNCATE);
    } else
        EXPECT(err, MPI_SUCCESS);
    if (m->from == DEVICE)
        expect_sent(m->bytes);
    check_and_give(&in, m->room < m->bytes ? m->room : m->bytes, m->room, previous,
                   own_seed(expect_rank));
    memory_give(&out);
}

static void check_sizes(void)
{
    static const size_t sizes[] = {65537, 100001, PIECE, PIECE + 1, LONG, 3 * LONG + 5};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t bytes = sizes[i];
        pass_on(&(message_t){DEVICE, DEVICE, bytes, bytes, false, false});
        pass_on(&(message_t){DEVICE, DEVICE, bytes, bytes + 9, true, false});
        pass_on(&(message_t){DEVICE, DEVICE, bytes, bytes, true, true});
        pass_on(&(message_t){DEVICE, DEVICE, bytes, bytes / 2 + 70000, false, true});
    }
}

static void check_other_memory(void)
{
    static const memory_kind_t others[] = {HOST, PINNED, MANAGED};
    for (int i = 0; i < 3; i++) {
        pass_on(&(message_t){DEVICE, others[i], LONG + 3, LONG + 3, i == 0, false});
        pass_on(&(message_t){DEVICE, others[i], LONG + 3, LONG - 9, false, false});
        pass_on(&(message_t){others[i], DEVICE, LONG + 3, LONG + 3, i == 0, false});
    }
}

/* A cut-off message leaves room on the shelf, and so do cancelled ones. */
static void check_cancelled(void)
{
    memory_t out = take_guarded(DEVICE, LONG, expect_rank);
    for (int i = 0; i < 3; i++) {
        MPI_Request request;
        MPI_Status status;
        int is_cancelled = 0;
        MPI_Issend(data_of(&out), LONG, MPI_BYTE, next, TAG + 1, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        EXPECT(is_cancelled, 1);
    }
    memory_give(&out);
    pass_on(&(message_t){DEVICE, DEVICE, LONG, LONG, false, false});
}

/* ---- derived types ---- */

enum { ELEMENTS = 20011, USED = 6, EXTENT = 14 };

static void check_vectors(bool sends_vector, bool receives_vector)
{
    size_t out_bytes = (size_t)ELEMENTS * (sends_vector ? EXTENT : USED);
    size_t in_bytes = (size_t)ELEMENTS * (receives_vector ? EXTENT : USED);
    memory_t out = take_guarded(DEVICE, out_bytes, expect_rank);
    memory_t in = take_guarded(DEVICE, in_bytes, own_seed(expect_rank));
    begin_counting();
    MPI_Sendrecv(data_of(&out), sends_vector ? ELEMENTS : ELEMENTS * USED,
                 sends_vector ? vector : MPI_BYTE, next, TAG, data_of(&in),
                 receives_vector ? ELEMENTS : ELEMENTS * USED, receives_vector ? vector : MPI_BYTE,
                 previous, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_sent((size_t)ELEMENTS * USED);
    unsigned char *got = malloc(in_bytes);
    size_t wrong = 0;
    memory_get(got, data_of(&in), in_bytes);
    for (size_t i = 0; i < in_bytes; i++) {
        size_t element = i / (receives_vector ? EXTENT : USED);
        size_t inside = i % (receives_vector ? EXTENT : USED);
        size_t sent_at = element * (sends_vector ? EXTENT : USED) + inside;
        wrong += got[i] != (inside < USED ? byte_at(GUARD + sent_at, previous)
                                          : byte_at(GUARD + i, own_seed(expect_rank)));
    }
    EXPECT(wrong, 0);
    free(got);
    memory_give(&in);
    memory_give(&out);
}

/* ---- many at once ---- */

/* To the next rank and the one before, in the other order than they are received in; where the
 * shelf is full, the others go in packets. */
static void check_many(void)
{
    memory_t out[2 * MANY], in[2 * MANY];
    MPI_Request request[4 * MANY];
    begin_counting();
    for (int i = 0; i < 2 * MANY; i++) {
        int peer = i % 2 == 0 ? previous : next;
        in[i] = take_guarded(DEVICE, LONG, own_seed(expect_rank));
        MPI_Irecv(data_of(&in[i]), LONG, MPI_BYTE, peer, i ^ 1, MPI_COMM_WORLD, &request[i]);
    }
    for (int i = 2 * MANY - 1; i >= 0; i--) {
        int peer = i % 2 == 0 ? previous : next;
        out[i] = take_guarded(DEVICE, LONG, expect_rank + i);
        MPI_Isend(data_of(&out[i]), LONG, MPI_BYTE, peer, i, MPI_COMM_WORLD,
                  &request[2 * MANY + i]);
    }
    MPI_Waitall(4 * MANY, request, MPI_STATUSES_IGNORE);
    expect_all_sent((size_t)2 * MANY * LONG);
    for (int i = 0; i < 2 * MANY; i++) {
        int peer = i % 2 == 0 ? previous : next;
        check_and_give(&in[i], LONG, LONG, peer + (i ^ 1), own_seed(expect_rank));
        memory_give(&out[i]);
    }
}

/* ---- a shelf that stays full ---- */

/* Rank 1 does not call MPI while the shelf of rank 0 is full of its messages: it waits for rank 2,
 * which waits for a message of rank 0. A FIFO tells it. */
static void check_full(void)
{
    char path[64] = "";
    memory_t buffer[MANY];
    MPI_Request request[MANY];
    char byte = 0;
    if (expect_rank == 1) {
        snprintf(path, sizeof(path), "/tmp/weft-shelf-%d", (int)getpid());
        EXPECT(mkfifo(path, 0600), 0);
    }
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 1, MPI_COMM_WORLD);
    begin_counting();
    for (int i = 0; i < MANY && expect_rank < 2; i++) {
        buffer[i] = take_guarded(DEVICE, LONG, expect_rank == 0 ? (unsigned)i : own_seed(1));
        if (expect_rank == 0)
            MPI_Isend(data_of(&buffer[i]), LONG, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request[i]);
        else
            MPI_Irecv(data_of(&buffer[i]), LONG, MPI_BYTE, 0, i, MPI_COMM_WORLD, &request[i]);
    }
    if (expect_rank == 0) {
        memory_t extra = take_guarded(DEVICE, LONG, 77);
        MPI_Send(&byte, 1, MPI_CHAR, 1, MANY, MPI_COMM_WORLD);
        MPI_Recv(&byte, 1, MPI_CHAR, 1, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data_of(&extra), LONG, MPI_BYTE, 2, MANY, MPI_COMM_WORLD);
        memory_give(&extra);
    } else if (expect_rank == 1) {
        MPI_Recv(&byte, 1, MPI_CHAR, 0, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&byte, 1, MPI_CHAR, 0, MANY, MPI_COMM_WORLD);
        close(open(path, O_RDONLY)); /* opened when the other end is */
        unlink(path);
    } else if (expect_rank == 2) {
        memory_t extra = take_guarded(DEVICE, LONG, own_seed(2));
        MPI_Recv(data_of(&extra), LONG, MPI_BYTE, 0, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        close(open(path, O_WRONLY));
        check_and_give(&extra, LONG, LONG, 77, own_seed(2));
    }
    if (expect_rank < 2)
        MPI_Waitall(MANY, request, MPI_STATUSES_IGNORE);
    if (expect_rank == 0)
        expect_all_sent((size_t)(MANY + 1) * LONG);
    for (int i = 0; i < MANY && expect_rank < 2; i++) {
        if (expect_rank == 1)
            check_and_give(&buffer[i], LONG, LONG, i, own_seed(1));
        else
            memory_give(&buffer[i]);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Datatype used;
    MPI_Init(&argc, &argv);
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPECT_T(MPI_T_pvar_session_create(&session));
    expect_begin();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memory_begin(expect_rank);
    by_shelf = strcmp(argv[1], "shelf") == 0;
    next = (expect_rank + 1) % expect_size;
    previous = (expect_rank + expect_size - 1) % expect_size;
    MPI_Type_contiguous(USED, MPI_BYTE, &used);
    MPI_Type_create_resized(used, 0, EXTENT, &vector);
    MPI_Type_commit(&vector);
    MPI_Type_free(&used);
    shelf_bytes = aggregate("device_bytes_by_shelf");
    packet_bytes = aggregate("device_bytes_by_packets");
    check_sizes();
    check_other_memory();
    check_cancelled();
    for (int i = 0; i < 4; i++)
        check_vectors(i % 2 == 1, i / 2 == 1);
    check_many();
    if (expect_size > 2)
        check_full();
    MPI_Barrier(MPI_COMM_WORLD);
    pass_on(&(message_t){DEVICE, DEVICE, LONG, LONG, false, false}); /* all places are free again */
    MPI_Type_free(&vector);
    EXPECT_T(MPI_T_pvar_session_free(&session));
    EXPECT_T(MPI_T_finalize());
    int failures = expect_end();
    memory_end();
    return failures;
}
