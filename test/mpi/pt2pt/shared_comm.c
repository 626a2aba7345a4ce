/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of a rank share a communicator: one of them probes and receives each message, and one
 * cancels a receive for which another waits. */
#include "../expect.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, MESSAGES = 200, LARGE = 30000, ROUNDS = 200, DATA = 1, END = 2 };

typedef struct tally {
    long long messages, bytes, wrong;
} tally_t;

static size_t size_of(int rank, int message)
{
    return message % 16 == 0 ? LARGE + (size_t)rank : (size_t)(rank + message) % 100;
}

static void count(tally_t *tally, const MPI_Status *status, const unsigned char *data, int bytes)
{
    tally->messages++;
    tally->bytes += bytes;
    for (int i = 0; i < bytes; i++)
        tally->wrong += data[i] != (unsigned char)(status->MPI_SOURCE + i);
}

/* Receive all messages until one says that it is the last. */
static void *receive(void *argument)
{
    tally_t *tally = argument;
    unsigned char *data = malloc(2 * LARGE);
    for (long number = 0;; number++) {
        MPI_Message message;
        MPI_Status status;
        int found = 0, bytes;
        if (number % 2 == 0)
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        else
            while (!found)
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        MPI_Mrecv(data, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        if (status.MPI_TAG == END)
            break;
        count(tally, &status, data, bytes);
    }
    free(data);
    return NULL;
}

static void send_all(void)
{
    unsigned char *data = malloc(2 * LARGE);
    for (int i = 0; i < 2 * LARGE; i++)
        data[i] = (unsigned char)(expect_rank + i);
    for (int i = 0; i < MESSAGES - 1; i++)
        MPI_Send(data, (int)size_of(expect_rank, i), MPI_BYTE, 0, DATA, MPI_COMM_WORLD);
    /* When the last message is matched, all are; only then may the threads end. */
    MPI_Ssend(data, (int)size_of(expect_rank, MESSAGES - 1), MPI_BYTE, 0, DATA, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; expect_rank == 0 && i < THREADS; i++)
        MPI_Send(NULL, 0, MPI_BYTE, 0, END, MPI_COMM_WORLD);
    free(data);
}

static void check(const tally_t tallies[THREADS])
{
    long long messages = 0, bytes = 0, wrong = 0, expected = 0;
    for (int i = 0; i < THREADS; i++) {
        messages += tallies[i].messages;
        bytes += tallies[i].bytes;
        wrong += tallies[i].wrong;
    }
    for (int rank = 0; rank < expect_size; rank++)
        for (int i = 0; i < MESSAGES; i++)
            expected += (long long)size_of(rank, i);
    EXPECT(messages, (long long)MESSAGES * expect_size);
    EXPECT(bytes, expected);
    EXPECT(wrong, 0);
}

static void test_probes(void)
{
    pthread_t threads[THREADS];
    tally_t tallies[THREADS] = {{0, 0, 0}};
    for (int i = 0; expect_rank == 0 && i < THREADS; i++)
        pthread_create(&threads[i], NULL, receive, &tallies[i]);
    send_all();
    for (int i = 0; expect_rank == 0 && i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (expect_rank == 0)
        check(tallies);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *cancel(void *argument)
{
    MPI_Request request = *(MPI_Request *)argument;
    MPI_Cancel(&request);
    return NULL;
}

static void test_cancels(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int nothing, is_cancelled = 0;
        MPI_Request request;
        MPI_Status status;
        pthread_t thread;
        MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, END + 1, MPI_COMM_WORLD, &request);
        MPI_Request copy = request;
        pthread_create(&thread, NULL, cancel, &copy);
        MPI_Wait(&request, &status); /* ends because of the cancellation, so after it has begun */
        pthread_join(thread, NULL);
        MPI_Test_cancelled(&status, &is_cancelled);
        EXPECT(is_cancelled, 1);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_begin();
    test_probes();
    test_cancels();
    return expect_end();
}
