/* SPDX-License-Identifier: BSD-3-Clause */
/* The event `peer_lost`, of ranks on different hosts. Prints what is wrong.
 *
 * network_events BEGUN: rank 0 talks to rank 1, whose network vanishes after rank 0 has made
 *     the file BEGUN: it hears once that rank 1 is lost, which was not expected. Ends the job with
 *     code 42, or 43 if something is wrong.
 * network_events: rank 1 ends its session, and itself: all others hear once that it is lost, and
 *     that this was expected. */
#include <mpi.h>

#include <stdio.h>

enum { RIGHT = 42, WRONG = 43 };

typedef struct heard {
    int count, rank, is_expected;
} heard_t;

static heard_t heard;

static void hear(MPI_T_event_instance event, MPI_T_event_registration registration,
                 MPI_T_cb_safety safety, void *data)
{
    (void)registration, (void)safety, (void)data;
    heard.count++;
    MPI_T_event_read(event, 0, &heard.rank);
    MPI_T_event_read(event, 1, &heard.is_expected);
}

static int judge(int rank, int is_expected)
{
    if (heard.count == 1 && heard.rank == 1 && heard.is_expected == is_expected)
        return 1;
    fprintf(stderr, "rank %d: %d events, rank %d, is_expected %d; expected 1, rank 1, %d\n", rank,
            heard.count, heard.rank, heard.is_expected, is_expected);
    return 0;
}

static void lose_network(const char *begun)
{
    int rank, number = 0, err = MPI_SUCCESS;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (long round = 0; err == MPI_SUCCESS; round++) {
        if (rank == 0)
            err = MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        if (err == MPI_SUCCESS)
            err = MPI_Recv(&number, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (err == MPI_SUCCESS && rank == 1)
            err = MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        if (round == 10 && rank == 0)
            fclose(fopen(begun, "w"));
    }
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, judge(rank, 0) ? RIGHT : WRONG);
    for (;;)
        MPI_Recv(&number, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* So that no other rank ends before all have heard of the first. */
static void await_others(int rank, int size, MPI_Comm comm)
{
    int number = 0;
    for (int other = 2; other < size; other++) {
        if (rank == 0)
            MPI_Recv(&number, 1, MPI_INT, other, 3, comm, MPI_STATUS_IGNORE);
    }
    for (int other = 2; other < size; other++) {
        if (rank == 0)
            MPI_Send(&number, 1, MPI_INT, other, 4, comm);
    }
    if (rank == 0)
        return;
    MPI_Send(&number, 1, MPI_INT, 0, 3, comm);
    MPI_Recv(&number, 1, MPI_INT, 0, 4, comm, MPI_STATUS_IGNORE);
}

static int end_early(void)
{
    int rank, size, number = 0, is_right = 1, flag;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int other = 0; other < size && rank == 1; other++)
        MPI_Sendrecv(&number, 1, MPI_INT, other, 1, &number, 1, MPI_INT, other, 1, comm,
                     MPI_STATUS_IGNORE);
    if (rank != 1)
        MPI_Sendrecv(&number, 1, MPI_INT, 1, 1, &number, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
    while (rank != 1 && heard.count == 0)
        MPI_Iprobe(rank, 2, comm, &flag, MPI_STATUS_IGNORE);
    if (rank != 1) {
        await_others(rank, size, comm);
        is_right = judge(rank, 1);
    }
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return !is_right;
}

int main(int argc, char **argv)
{
    int provided, index;
    MPI_T_event_registration registration;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_event_get_index("peer_lost", &index);
    MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration);
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                  NULL, hear);
    if (argc > 1)
        lose_network(argv[1]);
    return end_early();
}
