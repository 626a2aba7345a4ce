/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Cancel of sends: what nobody has received is cancelled, whatever its size, mode and type, and
 * no receive gets it; what was received is not; MPI_Test_cancelled says which, among many messages
 * of the same tag too. Arguments: the seed and the rounds of random traffic. */
#include "../expect.h"

#include <stdlib.h>

enum { TAG = 4, MOST = 3000000, MANY = 5, BURST = 3000, TRAFFIC = 60 };

typedef int (*send_fn)(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                       MPI_Comm comm, MPI_Request *request);

static int right, left;
static char *out, *in;
static MPI_Datatype gaps; /* 4 bytes of each 8 */

static int is_cancelled(const MPI_Status *status)
{
    int flag = -1;
    MPI_Test_cancelled(status, &flag);
    return flag;
}

static int begin_persistent(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                            MPI_Comm comm, MPI_Request *request)
{
    MPI_Send_init(buf, count, type, dest, tag, comm, request);
    return MPI_Start(request);
}

static int begin_persistent_ssend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                  MPI_Comm comm, MPI_Request *request)
{
    MPI_Ssend_init(buf, count, type, dest, tag, comm, request);
    return MPI_Start(request);
}

static int begin_persistent_bsend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
                                  MPI_Comm comm, MPI_Request *request)
{
    MPI_Bsend_init(buf, count, type, dest, tag, comm, request);
    return MPI_Start(request);
}

static void end_persistent(MPI_Request *request)
{
    if (*request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
}

/* A message with this content comes; none comes before it. */
static void exchange_marker(int marker)
{
    int got = -1;
    MPI_Sendrecv(&marker, 1, MPI_INT, right, TAG, &got, 1, MPI_INT, left, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    EXPECT(got, marker);
}

static void test_unmatched(send_fn begin, int count, MPI_Datatype type)
{
    MPI_Request request;
    MPI_Status status;
    int flag;
    for (int round = 0; round < 3; round++) {
        begin(out, count, type, right, TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        if (round == 1)
            MPI_Cancel(&request);
        if (round == 2)
            for (flag = 0; !flag;)
                MPI_Test(&request, &flag, &status);
        else
            MPI_Wait(&request, &status);
        EXPECT(is_cancelled(&status), 1);
        end_persistent(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Iprobe(left, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        EXPECT(flag, 0);
        MPI_Barrier(MPI_COMM_WORLD);
        exchange_marker(round);
    }
}

/* More than there is room for, so that the last ones have gone out in part, or not at all. */
static void test_many_unmatched(send_fn begin, int count)
{
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    int flag;
    for (int i = 0; i < MANY; i++)
        begin(out, count, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Cancel(&requests[i]);
    MPI_Waitall(MANY, requests, statuses);
    for (int i = 0; i < MANY; i++) {
        EXPECT(is_cancelled(&statuses[i]), 1);
        end_persistent(&requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(left, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange_marker(count);
}

/* The receiver has the message in its queue before the sender cancels it. */
static void test_late(send_fn begin, int count, MPI_Datatype type)
{
    MPI_Request request;
    MPI_Status status;
    begin(out, count, type, right, TAG, MPI_COMM_WORLD, &request);
    MPI_Probe(left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    EXPECT(is_cancelled(&status), 1);
    end_persistent(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange_marker(7);
}

static void test_matched(send_fn begin, int bytes)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    memset(in, 0, (size_t)bytes + 1);
    memset(out, 3, (size_t)bytes);
    MPI_Irecv(in, bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    begin(out, bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Cancel(&requests[1]);
    MPI_Waitall(2, requests, statuses);
    EXPECT(is_cancelled(&statuses[1]), 0);
    EXPECT(bytes == 0 || (in[0] == 3 && in[bytes - 1] == 3), 1);
    EXPECT(in[bytes], 0);
    end_persistent(&requests[1]);
    exchange_marker(8);
}

/* What is cancelled leaves the buffer: there is room for one message at a time. */
static void test_buffer_room(int bytes)
{
    int room = bytes + MPI_BSEND_OVERHEAD;
    void *automatic, *buffer = malloc((size_t)room);
    MPI_Buffer_detach(&automatic, &(int){0});
    MPI_Buffer_attach(buffer, room);
    for (int round = 0; round < 3; round++) {
        MPI_Request request;
        MPI_Status status;
        MPI_Ibsend(out, bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        EXPECT(is_cancelled(&status), 1);
    }
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange_marker(11);
}

/* Cancelled and freed at once. */
static void test_freed(send_fn begin, int bytes)
{
    MPI_Request request;
    begin(out, bytes, MPI_BYTE, right, TAG + 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Request_free(&request);
    for (int flag = 1, none; flag;) { /* until it is gone; a probe that finds it need not go on */
        MPI_Iprobe(left, TAG + 99, MPI_COMM_WORLD, &none, MPI_STATUS_IGNORE);
        MPI_Iprobe(left, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    exchange_marker(9);
}

/* Of several messages with one tag, with others among them, the second and the fourth are
 * cancelled, in either order. */
static void test_among_others(int bytes, int is_upwards)
{
    static char content[MANY][20000];
    MPI_Request requests[MANY];
    MPI_Status status;
    int flag, other = 0;
    for (int i = 0; i < MANY; i++) {
        memset(content[i], i + 1, sizeof(content[i]));
        MPI_Isend(content[i], bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(&i, 1, MPI_INT, right, TAG + 1, MPI_COMM_WORLD);
        MPI_Sendrecv(&i, 1, MPI_INT, right, TAG + 2, &other, 1, MPI_INT, left, TAG + 2,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Cancel(&requests[is_upwards ? 1 : 3]);
    MPI_Cancel(&requests[is_upwards ? 3 : 1]);
    for (int i = 1; i < 4; i += 2) {
        MPI_Wait(&requests[i], &status);
        EXPECT(is_cancelled(&status), 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i += 2) {
        MPI_Recv(in, bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(in[0], i + 1);
        EXPECT(in[bytes - 1], i + 1);
    }
    MPI_Iprobe(left, TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, 0);
    for (int i = 0; i < MANY; i++)
        MPI_Recv(in, 1, MPI_INT, left, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Two of them are received, the second by a wildcard, and one is in the hands of a matched probe,
 * when all are cancelled. */
static void test_partly_received(int bytes)
{
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    MPI_Message message;
    for (int i = 0; i < MANY; i++)
        MPI_Isend(out, bytes, MPI_BYTE, right, TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv(in, bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in, bytes, MPI_BYTE, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(left, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++)
        MPI_Cancel(&requests[i]);
    MPI_Mrecv(in, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    EXPECT(MPI_Waitall(MANY, requests, statuses), MPI_SUCCESS);
    for (int i = 0; i < MANY; i++)
        EXPECT(is_cancelled(&statuses[i]), i >= 3);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange_marker(10);
}

/* More sends than there is room for, and than the sender remembers. What is not cancelled comes. */
static void test_burst(int bytes)
{
    static MPI_Request requests[BURST];
    static MPI_Status statuses[BURST];
    int cancelled = 0, expected, got = 0, flag = 1;
    for (int i = 0; i < BURST; i++)
        MPI_Isend(out, bytes, MPI_BYTE, right, TAG + i % 2, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < BURST; i += 3)
        MPI_Cancel(&requests[i]);
    for (int i = 0; i < BURST; i += 3) {
        MPI_Wait(&requests[i], &statuses[i]);
        cancelled += is_cancelled(&statuses[i]);
    }
    EXPECT(cancelled > 0, 1);
    MPI_Sendrecv(&cancelled, 1, MPI_INT, right, TAG + 2, &expected, 1, MPI_INT, left, TAG + 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (expected = BURST - expected; got < expected; got++)
        MPI_Recv(in, bytes, MPI_BYTE, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(BURST, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- random traffic ---- */

static unsigned long long seed;

static unsigned pick(unsigned below)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(seed >> 33) % below;
}

typedef struct traffic {
    int *content[TRAFFIC]; /* begins with the number of the message */
    MPI_Request sends[TRAFFIC], receives[TRAFFIC];
    int *got[TRAFFIC];
    int received;
} traffic_t;

static int pick_size(void)
{
    static const int sizes[] = {1, 2, 10, 300, 5000, 20000, 70000};
    return sizes[pick(sizeof(sizes) / sizeof(sizes[0]))];
}

/* Half of the messages have receives, which are posted at any time. */
static void begin_traffic(traffic_t *all)
{
    static send_fn const modes[] = {MPI_Isend, MPI_Isend, MPI_Issend, MPI_Ibsend};
    all->received = 0;
    for (int i = 0; i < TRAFFIC; i++) {
        int size = pick_size(), flag;
        all->content[i] = calloc((size_t)size, sizeof(int));
        all->content[i][0] = i;
        modes[pick(4)](all->content[i], size, MPI_INT, right, (int)pick(2), MPI_COMM_WORLD,
                       &all->sends[i]);
        if (pick(2) == 0) {
            int *got = all->got[all->received] = malloc(70000 * sizeof(int));
            MPI_Irecv(got, 70000, MPI_INT, left, pick(3) == 0 ? MPI_ANY_TAG : (int)pick(2),
                      MPI_COMM_WORLD, &all->receives[all->received++]);
        }
        if (pick(3) == 0)
            MPI_Cancel(&all->sends[pick((unsigned)i + 1)]);
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

static void note_received(int number, int *counts)
{
    EXPECT(number >= 0 && number < TRAFFIC, 1);
    counts[number]++;
}

static void receive_one(int tag, int *counts)
{
    MPI_Recv(in, MOST, MPI_BYTE, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    note_received(*(int *)(void *)in, counts);
}

/* Receive what no receive of begin_traffic() takes, until all sends of all ranks are over. A send
   may be over before its message has arrived, so some messages may still be under way. */
static void drain(traffic_t *all, MPI_Status *statuses, int *counts)
{
    MPI_Request barrier = MPI_REQUEST_NULL;
    int are_sent = 0, is_over = 0, flag;
    while (!is_over) {
        MPI_Status status;
        MPI_Iprobe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        if (flag)
            receive_one(status.MPI_TAG, counts);
        if (!are_sent) {
            MPI_Testall(TRAFFIC, all->sends, &are_sent, statuses);
            if (are_sent)
                MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        } else if (!flag) {
            MPI_Test(&barrier, &is_over, MPI_STATUS_IGNORE);
        }
    }
}

static void end_receives(traffic_t *all, int *counts)
{
    for (int i = 0; i < all->received; i++) {
        MPI_Status status;
        MPI_Cancel(&all->receives[i]);
        MPI_Wait(&all->receives[i], &status);
        if (!is_cancelled(&status))
            note_received(all->got[i][0], counts);
        free(all->got[i]);
    }
}

static int sum_of(const int *counts)
{
    int sum = 0;
    for (int i = 0; i < TRAFFIC; i++)
        sum += counts[i];
    return sum;
}

static void test_traffic(void)
{
    static traffic_t all;
    MPI_Status statuses[TRAFFIC];
    int counts[TRAFFIC] = {0}, sent[TRAFFIC], expected[TRAFFIC];
    begin_traffic(&all);
    drain(&all, statuses, counts);
    end_receives(&all, counts);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TRAFFIC; i++) {
        sent[i] = !is_cancelled(&statuses[i]);
        free(all.content[i]);
    }
    MPI_Sendrecv(sent, TRAFFIC, MPI_INT, right, TAG + 2, expected, TRAFFIC, MPI_INT, left, TAG + 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int late = sum_of(expected) - sum_of(counts); late > 0; late--)
        receive_one(MPI_ANY_TAG, counts);
    for (int i = 0; i < TRAFFIC; i++)
        EXPECT(counts[i], expected[i]);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 8, 1000, 20000, 300000, MOST};
    static send_fn const modes[] = {MPI_Isend,
                                    MPI_Issend,
                                    MPI_Ibsend,
                                    begin_persistent,
                                    begin_persistent_ssend,
                                    begin_persistent_bsend};
    MPI_Init(&argc, &argv);
    expect_begin();
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    seed += (unsigned long long)expect_rank * 7919;
    right = (expect_rank + 1) % expect_size;
    left = (expect_rank - 1 + expect_size) % expect_size;
    out = calloc(MOST, 2);
    in = calloc(MOST + 1, 1);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    MPI_Type_create_resized(MPI_INT, 0, 8, &gaps);
    MPI_Type_commit(&gaps);
    for (int mode = 0; mode < 6; mode++) {
        for (int i = 0; i < 6; i++) {
            test_unmatched(modes[mode], sizes[i], MPI_BYTE);
            test_unmatched(modes[mode], sizes[i] / 4, gaps);
            test_late(modes[mode], sizes[i], MPI_BYTE);
            test_late(modes[mode], sizes[i] / 4, gaps);
            test_matched(modes[mode], sizes[i]);
        }
        test_many_unmatched(modes[mode], 4000);
        test_many_unmatched(modes[mode], 64000);
    }
    test_buffer_room(8);
    test_buffer_room(300000);
    for (int mode = 0; mode < 3; mode++) {
        test_freed(modes[mode], 8);
        test_freed(modes[mode], 300000);
    }
    test_among_others(8, 0);
    test_among_others(20000, 1);
    test_among_others(20000, 0);
    test_partly_received(8);
    if (expect_size > 1)
        test_partly_received(3000);
    test_burst(8);
    test_burst(2000);
    for (int round = 0; round < rounds; round++)
        test_traffic();
    MPI_Type_free(&gaps);
    free(out);
    free(in);
    return expect_end();
}
