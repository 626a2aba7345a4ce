/* SPDX-License-Identifier: BSD-3-Clause */
/* Short messages that are there when a receive is over stay where they are until something waits
 * for them, and MPI_Waitsome reports many of them at once. Rank 1 sends, and rank 0 receives what
 * has come while it was out of MPI. */
#include "../tool/variables.h"
#include "../turns.h"

enum { MESSAGES = 40, BYTES = 48, FIRST_TAG = 3, AT_ONCE = 16 };

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

/* No message becomes one that came before its receive, and would be copied twice. */
static void receive_each(int lap)
{
    MPI_T_pvar_handle kept = counter(session, "unexpected_arrivals");
    EXPECT_T(MPI_T_pvar_start(session, kept));
    await_all();
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Recv(data[i], BYTES, MPI_CHAR, 1, FIRST_TAG + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        EXPECT(pvar_value(session, kept), 0);
    }
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

int main(int argc, char **argv)
{
    int provided;
    MPI_Init(&argc, &argv);
    expect_begin();
    EXPECT_T(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    EXPECT_T(MPI_T_pvar_session_create(&session));
    turns_open();
    for (int lap = 1; lap <= 8; lap++) {
        memset(data, 0, sizeof(data));
        if (expect_rank == 1)
            send_all(lap);
        else if (expect_rank == 0)
            (lap % 2 == 0 ? receive_some : receive_each)(lap);
    }
    EXPECT_T(MPI_T_pvar_session_free(&session));
    EXPECT_T(MPI_T_finalize());
    return expect_end();
}
