/* SPDX-License-Identifier: BSD-3-Clause */
/* What performance variables count: exactly the messages that were sent, on the right transport,
 * and what waits for a receive (MPI 5.0 section 15.3.7). */
#include "variables.h"

enum { MESSAGES = 7, BYTES = 24, LARGE = 200000, TAG = 3 };

static MPI_T_pvar_session session;

typedef struct amounts {
    MPI_T_pvar_handle messages_sent, bytes_sent, messages_received, bytes_received;
} amounts_t;

static MPI_T_pvar_handle of_transport(const char *transport, const char *what, int its_class)
{
    char name[128];
    snprintf(name, sizeof(name), "%s_%s", transport, what);
    return pvar_handle(session, name, its_class, NULL);
}

static amounts_t amounts_of(const char *transport)
{
    amounts_t its = {of_transport(transport, "messages_sent", MPI_T_PVAR_CLASS_COUNTER),
                     of_transport(transport, "bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE),
                     of_transport(transport, "messages_received", MPI_T_PVAR_CLASS_COUNTER),
                     of_transport(transport, "bytes_received", MPI_T_PVAR_CLASS_AGGREGATE)};
    return its;
}

static void start_amounts(const amounts_t *its)
{
    EXPECT_T(MPI_T_pvar_start(session, its->messages_sent));
    EXPECT_T(MPI_T_pvar_start(session, its->bytes_sent));
    EXPECT_T(MPI_T_pvar_start(session, its->messages_received));
    EXPECT_T(MPI_T_pvar_start(session, its->bytes_received));
}

static void free_amounts(amounts_t *its)
{
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->messages_sent));
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->bytes_sent));
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->messages_received));
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->bytes_received));
}

static const char *const transports[] = {"self", "shm", "ofi", "tcp"};
enum { TRANSPORTS = 4, GO = 11, TURN, OVER };

/* What moves one way: `count` elements of `type`, `bytes` bytes of data, MESSAGES times. */
typedef struct load {
    MPI_Datatype type;
    int count, bytes;
} load_t;

static char data[2 * LARGE];

static void start_all(amounts_t amounts[TRANSPORTS])
{
    for (int i = 0; i < TRANSPORTS; i++) {
        amounts[i] = amounts_of(transports[i]);
        start_amounts(&amounts[i]);
    }
}

/* The messages of a load went to, or came from, a peer that is reached by `name`, and no others. */
static void expect_all(amounts_t amounts[TRANSPORTS], const char *name, const load_t *load,
                       int is_sent)
{
    for (int i = 0; i < TRANSPORTS; i++) {
        unsigned long long messages = strcmp(transports[i], name) == 0 ? MESSAGES : 0;
        unsigned long long bytes = messages * (unsigned long long)load->bytes;
        EXPECT(
            pvar_value(session, is_sent ? amounts[i].messages_sent : amounts[i].messages_received),
            messages);
        EXPECT(pvar_value(session, is_sent ? amounts[i].bytes_sent : amounts[i].bytes_received),
               bytes);
        free_amounts(&amounts[i]);
    }
}

static void measure_sender(int dest, const load_t *load)
{
    amounts_t amounts[TRANSPORTS];
    MPI_Recv(NULL, 0, MPI_INT, dest, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    start_all(amounts);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Send(data, load->count, load->type, dest, TAG, MPI_COMM_WORLD);
    expect_all(amounts, transport_to(session, dest), load, 1);
}

static void measure_receiver(int source, const load_t *load)
{
    amounts_t amounts[TRANSPORTS];
    start_all(amounts);
    MPI_Send(NULL, 0, MPI_INT, source, GO, MPI_COMM_WORLD);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Recv(data, load->count, load->type, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_all(amounts, transport_to(session, source), load, 0);
}

/* One rank after the other counts what it receives from the left: all others are silent meanwhile,
 * since whoever is to send next waits for a word of the one before. */
static void check_ring(const load_t *load)
{
    int last = expect_size - 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int rank = 0; rank < expect_size; rank++) {
        int left = (rank + last) % expect_size;
        if (rank == expect_rank) {
            if (rank > 0)
                MPI_Recv(NULL, 0, MPI_INT, rank - 1, TURN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            measure_receiver(left, load);
            if (rank < last)
                MPI_Send(NULL, 0, MPI_INT, rank + 1, TURN, MPI_COMM_WORLD);
        } else if (left == expect_rank) {
            measure_sender(rank, load);
        }
    }
    for (int rank = 0; rank < last && expect_rank == last; rank++)
        MPI_Send(NULL, 0, MPI_INT, rank, OVER, MPI_COMM_WORLD);
    if (expect_rank < last)
        MPI_Recv(NULL, 0, MPI_INT, last, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A rank to itself; then stopped handles stand still, and go on when they are started again. */
static void check_self(const load_t *load)
{
    amounts_t amounts[TRANSPORTS];
    MPI_Request requests[MESSAGES];
    start_all(amounts);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(data, load->count, load->type, 0, TAG, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Recv(data, load->count, load->type, 0, TAG, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    EXPECT(pvar_value(session, amounts[0].messages_received), MESSAGES);
    EXPECT_T(MPI_T_pvar_stop(session, amounts[0].messages_received));
    MPI_Sendrecv(data, 1, MPI_INT, 0, TAG, data, 1, MPI_INT, 0, TAG, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    EXPECT(pvar_value(session, amounts[0].messages_received), MESSAGES);
    EXPECT(pvar_value(session, amounts[0].messages_sent), MESSAGES + 1);
    EXPECT_T(MPI_T_pvar_start(session, amounts[0].messages_received));
    MPI_Sendrecv(data, 1, MPI_INT, 0, TAG, data, 1, MPI_INT, 0, TAG, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    EXPECT(pvar_value(session, amounts[0].messages_received), MESSAGES + 1);
    EXPECT(pvar_value(session, amounts[0].bytes_sent),
           MESSAGES * (unsigned long long)load->bytes + 2 * sizeof(int));
    for (int i = 0; i < TRANSPORTS; i++)
        free_amounts(&amounts[i]);
}

/* A row of the communication matrix: each rank sends r + d messages to the rank d places on. */
static void send_triangle(void)
{
    int word = 0;
    for (int d = 0; d < expect_size; d++) {
        int dest = (expect_rank + d) % expect_size;
        int source = (expect_rank + expect_size - d) % expect_size;
        MPI_Request requests[64];
        int count = 0;
        while (count < expect_rank + d)
            MPI_Isend(&word, 1, MPI_INT, dest, TAG, MPI_COMM_WORLD, &requests[count++]);
        for (int i = 0; i < source + d; i++)
            MPI_Recv(&word, 1, MPI_INT, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    }
}

/* What a rank sends it sends itself. What it receives may be more: others may be ahead, in the next
 * barrier. */
static void check_matrix(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    unsigned long long *sent = calloc((size_t)expect_size, sizeof(*sent));
    unsigned long long *bytes = calloc((size_t)expect_size, sizeof(*bytes));
    MPI_T_pvar_handle to =
        pvar_handle(session, "comm_messages_sent", MPI_T_PVAR_CLASS_COUNTER, &world);
    MPI_T_pvar_handle from =
        pvar_handle(session, "comm_bytes_received", MPI_T_PVAR_CLASS_AGGREGATE, &world);
    EXPECT_T(MPI_T_pvar_start(session, from));
    MPI_Barrier(world);
    EXPECT_T(MPI_T_pvar_start(session, to));
    send_triangle();
    EXPECT_T(MPI_T_pvar_read(session, to, sent));
    EXPECT_T(MPI_T_pvar_read(session, from, bytes));
    for (int rank = 0; rank < expect_size; rank++) {
        int on = (rank - expect_rank + expect_size) % expect_size;
        int back = (expect_rank - rank + expect_size) % expect_size;
        EXPECT(sent[rank], expect_rank + on);
        EXPECT(bytes[rank] >= sizeof(int) * (unsigned)(rank + back), 1);
    }
    EXPECT_T(MPI_T_pvar_handle_free(session, &to));
    EXPECT_T(MPI_T_pvar_handle_free(session, &from));
    free(sent);
    free(bytes);
}

typedef struct queue {
    MPI_T_pvar_handle level, posted, most, arrivals, attempts;
} queue_t;

static queue_t open_queue(MPI_Comm *comm)
{
    queue_t its = {
        pvar_handle(session, "comm_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, comm),
        pvar_handle(session, "comm_posted_receives", MPI_T_PVAR_CLASS_LEVEL, comm),
        pvar_handle(session, "unexpected_messages_most", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL),
        counter(session, "unexpected_arrivals"), counter(session, "match_attempts")};
    EXPECT_T(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    return its;
}

static void close_queue(queue_t *its)
{
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->level));
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->posted));
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->most));
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->arrivals));
    EXPECT_T(MPI_T_pvar_handle_free(session, &its->attempts));
}

static void send_some(int dest, MPI_Comm comm)
{
    int word = 0;
    for (int i = 0; i < MESSAGES; i++)
        MPI_Send(&word, 1, MPI_INT, dest, TAG + i, comm);
}

/* Receive them from the last to the first: each time all that wait are looked at. */
static void expect_queue(const queue_t *its, int sender, MPI_Comm comm)
{
    int word = 0;
    MPI_Request request;
    MPI_Probe(sender, TAG + MESSAGES - 1, comm, MPI_STATUS_IGNORE); /* all are here */
    EXPECT(pvar_value(session, its->level), MESSAGES);
    EXPECT(pvar_value(session, its->posted), 0);
    EXPECT(pvar_value(session, its->most), MESSAGES);
    EXPECT(pvar_value(session, its->arrivals), MESSAGES);
    EXPECT_T(MPI_T_pvar_reset(session, its->attempts));
    for (int i = MESSAGES - 1; i >= 0; i--)
        MPI_Recv(&word, 1, MPI_INT, sender, TAG + i, comm, MPI_STATUS_IGNORE);
    EXPECT(pvar_value(session, its->attempts), MESSAGES * (MESSAGES + 1) / 2);
    EXPECT(pvar_value(session, its->level), 0);
    EXPECT(pvar_value(session, its->most), MESSAGES);
    EXPECT_T(MPI_T_pvar_reset(session, its->most));
    EXPECT(pvar_value(session, its->most), 0);
    MPI_Irecv(&word, 1, MPI_INT, 0, TAG, comm, &request);
    EXPECT(pvar_value(session, its->posted), 1);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(pvar_value(session, its->posted), 0);
}

/* The last rank sends to rank 0, which receives only afterwards; with one rank, to itself. All
 * others are silent until rank 0 has looked. */
static void check_unexpected(void)
{
    MPI_Comm comm;
    int sender = expect_size - 1;
    unsigned long long value;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(MPI_COMM_WORLD);
    queue_t queue = open_queue(&comm);
    if (expect_rank == 0 && sender > 0)
        MPI_Send(NULL, 0, MPI_INT, sender, GO, MPI_COMM_WORLD);
    if (expect_rank == sender) {
        if (sender > 0)
            MPI_Recv(NULL, 0, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send_some(0, comm);
    }
    if (expect_rank == 0) {
        expect_queue(&queue, sender, comm);
        for (int rank = 1; rank < expect_size; rank++)
            MPI_Send(NULL, 0, MPI_INT, rank, OVER, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&comm);
    EXPECT(MPI_T_pvar_read(session, queue.level, &value), MPI_T_ERR_INVALID_HANDLE);
    close_queue(&queue);
}

/* The sum over all algorithms of allreduce is the number of calls, in each of its forms. */
static void check_collectives(void)
{
    enum { CALLS = 5 };
    int first = -1, last = -1, all = 0, in = 1, out;
    EXPECT_T(MPI_T_pvar_get_num(&all));
    MPI_T_pvar_handle handles[64];
    for (int i = 0; i < all; i++) {
        char name[128];
        int room = sizeof(name), count;
        EXPECT_T(MPI_T_pvar_get_info(i, name, &room, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                     NULL, NULL));
        if (strncmp(name, "coll_allreduce_", 15) != 0)
            continue;
        first = first < 0 ? i : first;
        last = i;
        EXPECT_T(MPI_T_pvar_handle_alloc(session, i, NULL, &handles[i - first], &count));
    }
    EXPECT(last - first > 5 && last - first < 64, 1);
    EXPECT_T(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    for (int i = 0; i < CALLS; i++)
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    unsigned long long calls = 0;
    for (int i = first; i <= last; i++) {
        calls += pvar_value(session, handles[i - first]);
        EXPECT_T(MPI_T_pvar_handle_free(session, &handles[i - first]));
    }
    EXPECT(calls, CALLS + 1 + 2);
}

/* A receive that must wait is a wait, and takes time; one whose message is there is none. */
static void check_waits(void)
{
    MPI_T_pvar_handle waits = counter(session, "waits");
    MPI_T_pvar_handle timer = pvar_handle(session, "wait_time", MPI_T_PVAR_CLASS_TIMER, NULL);
    double before = -1, after = -1, written = 2.5;
    int word = 0;
    EXPECT_T(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    EXPECT_T(MPI_T_pvar_read(session, timer, &before));
    EXPECT(before == 0.0, 1);
    MPI_Sendrecv(&word, 1, MPI_INT, 0, TAG, &word, 1, MPI_INT, 0, TAG, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    EXPECT(pvar_value(session, waits), 0);
    if (expect_size > 1) {
        /* the last to come makes all others wait, and it is not always the same */
        for (int i = 0; i < 20; i++)
            MPI_Barrier(MPI_COMM_WORLD);
        unsigned long long own = pvar_value(session, waits), all = 0;
        double own_time = 0, all_time = 0;
        EXPECT_T(MPI_T_pvar_read(session, timer, &own_time));
        MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(&own_time, &all_time, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        EXPECT(all > 0, 1);
        EXPECT(all_time > 0.0, 1);
    }
    EXPECT_T(MPI_T_pvar_stop(session, timer));
    EXPECT_T(MPI_T_pvar_write(session, timer, &written));
    EXPECT_T(MPI_T_pvar_read(session, timer, &after));
    EXPECT(after == written, 1);
    EXPECT_T(MPI_T_pvar_handle_free(session, &waits));
    EXPECT_T(MPI_T_pvar_handle_free(session, &timer));
}

/* With an argument: the last rank is on another host than the first, and reached by this network.
 */
int main(int argc, char **argv)
{
    int provided;
    MPI_Datatype pairs;
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Init(NULL, NULL);
    expect_begin();
    MPI_Type_vector(LARGE / 8, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    EXPECT_T(MPI_T_pvar_session_create(&session));
    const load_t loads[] = {{MPI_BYTE, BYTES, BYTES},
                            {MPI_INT, 0, 0},
                            {MPI_BYTE, LARGE, LARGE}, /* read by the receiver, or a stream */
                            {pairs, 1, LARGE / 8 * 4}};
    for (int i = 0; i < 4; i++) {
        check_self(&loads[i]);
        if (expect_size > 1)
            check_ring(&loads[i]);
    }
    if (argc > 1 && expect_rank == 0)
        EXPECT_TEXT(transport_to(session, expect_size - 1), argv[1]);
    check_matrix();
    check_unexpected();
    check_collectives();
    check_waits();
    MPI_Type_free(&pairs);
    int code = expect_end();
    EXPECT_T(MPI_T_pvar_session_free(&session));
    EXPECT_T(MPI_T_finalize());
    return code != 0 || expect_failures != 0;
}
