/* SPDX-License-Identifier: BSD-3-Clause */
/* Short messages that are there when a receive is over stay where they are until something waits
 * for them, and MPI_Waitsome reports many of them at once. Rank 1 sends, and rank 0 receives what
 * has come while it was out of MPI. */
#include "../tool/variables.h"
#include "../turns.h"

enum { LAPS = 18, MESSAGES = 40, BYTES = 48, FIRST_TAG = 3, AT_ONCE = 16 };

static char data[MESSAGES][BYTES];
static MPI_T_pvar_session session;

static void send_all(int lap)
{
    turn_await(1);
    for (int i = 0; i < MESSAGES; i++) {
        memset(data[i], lap + i, BYTES);
        MPI_Send(data[i], BYTES, MPI_CHAR, 0, FIRST_TAG + i, MPI_COMM_WORLD);
    }
    turn_give(0);
}

static void await_all(void)
{
    turn_give(1);
    turn_await(0);
}

static void check_data(int lap)
{
    for (int i = 0; i < MESSAGES; i++)
        EXPECT(data[i][0] == (char)(lap + i) && data[i][BYTES - 1] == (char)(lap + i), 1);
}

static void receive_from(int source, int tag, int i)
{
    MPI_Status status;
    int bytes;
    MPI_Recv(data[i], BYTES, MPI_CHAR, source, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    EXPECT(status.MPI_SOURCE, 1);
    EXPECT(status.MPI_TAG, FIRST_TAG + i);
    EXPECT(bytes, BYTES);
}

static void receive_own(int i)
{
    receive_from(1, FIRST_TAG + i, i);
}

static void receive_any(int i)
{
    receive_from(MPI_ANY_SOURCE, MPI_ANY_TAG, i);
}

static void probe(int source, int tag, int i)
{
    MPI_Status status;
    int flag, bytes;
    for (int again = 0; again < 2; again++) {
        if (again)
            MPI_Probe(source, tag, MPI_COMM_WORLD, &status);
        else
            do
                MPI_Iprobe(source, tag, MPI_COMM_WORLD, &flag, &status);
            while (!flag);
        MPI_Get_count(&status, MPI_CHAR, &bytes);
        EXPECT(status.MPI_SOURCE, 1);
        EXPECT(status.MPI_TAG, FIRST_TAG + i);
        EXPECT(bytes, BYTES);
    }
    receive_from(status.MPI_SOURCE, status.MPI_TAG, i);
}

static void probe_own(int i)
{
    probe(1, FIRST_TAG + i, i);
}

static void probe_any(int i)
{
    probe(MPI_ANY_SOURCE, MPI_ANY_TAG, i);
}

static void receive_tested(int i)
{
    MPI_Request request;
    int flag;
    MPI_Irecv(data[i], BYTES, MPI_CHAR, 1, FIRST_TAG + i, MPI_COMM_WORLD, &request);
    do
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    while (!flag);
}

/* At most so many of them become messages that came before their receives, and are copied twice. */
static void receive_each(int lap, void (*receive)(int i), unsigned long long most)
{
    MPI_T_pvar_handle kept = counter(session, "unexpected_arrivals");
    EXPECT_T(MPI_T_pvar_start(session, kept));
    await_all();
    for (int i = 0; i < MESSAGES; i++)
        receive(i);
    EXPECT(pvar_value(session, kept) <= most, 1);
    check_data(lap);
    EXPECT_T(MPI_T_pvar_handle_free(session, &kept));
}

static void receive_some(int lap)
{
    MPI_Request requests[MESSAGES];
    int done[MESSAGES], count;
    for (int i = 0; i < MESSAGES; i++)
        MPI_Irecv(data[i], BYTES, MPI_CHAR, 1, FIRST_TAG + i, MPI_COMM_WORLD, &requests[i]);
    await_all();
    for (int left = MESSAGES; left > 0; left -= count) {
        MPI_Waitsome(MESSAGES, requests, &count, done, MPI_STATUSES_IGNORE);
        EXPECT(count == left || count >= AT_ONCE, 1);
    }
    check_data(lap);
}

static void receive_all(int lap)
{
    switch (lap % 6) {
    case 0:
        receive_some(lap);
        break;
    case 1:
        receive_each(lap, receive_own, 0);
        break;
    case 2:
        receive_each(lap, receive_any, 0);
        break;
    case 3: /* what a probe needs progress for, one in sixteen, becomes such a message */
        receive_each(lap, probe_own, MESSAGES / 8);
        break;
    case 4:
        receive_each(lap, probe_any, MESSAGES / 8);
        break;
    default:
        receive_each(lap, receive_tested, 0);
    }
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init(&argc, &argv);
    expect_begin();
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPECT_T(MPI_T_pvar_session_create(&session));
    turns_open();
    for (int lap = 1; lap <= LAPS; lap++) {
        memset(data, 0, sizeof(data));
        if (expect_rank == 1)
            send_all(lap);
        else if (expect_rank == 0)
            receive_all(lap);
    }
    EXPECT_T(MPI_T_pvar_session_free(&session));
    EXPECT_T(MPI_T_finalize());
    return expect_end();
}
