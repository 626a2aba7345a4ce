/* SPDX-License-Identifier: BSD-3-Clause */
/* unsent HOW: rank 0 waits for a message of the last rank, which has called MPI_Finalize and has
 * sent another message only. The job must end with an error that names the message. HOW is
 *
 *   recv     MPI_Recv
 *   silent   as recv, and the last rank has sent nothing at all
 *   wait     MPI_Irecv and MPI_Wait
 *   waitall  MPI_Waitall, with a receive from rank 1, whose message comes
 *   both     MPI_Sendrecv, with rank 1 as the receiver
 *   replace  MPI_Sendrecv_replace, as both
 *   probe    MPI_Probe
 *   mprobe   MPI_Mprobe
 *   named    MPI_Recv on a communicator with a name, whose ranks are in reverse
 *   any      MPI_Recv from MPI_ANY_SOURCE: all other ranks have called MPI_Finalize
 *   bcast    MPI_Bcast, whose root is the last rank
 *   session  MPI_Recv on a communicator of sessions: the last rank has ended its session and exited
 *   returned as recv, with MPI_ERRORS_RETURN: the error is reported, and the job ends well
 *
 * These are right, however long they take:
 *
 *   early    the last rank waits in MPI_Finalize until rank 0, after two seconds in which it
 *            waits for rank 1, receives 2 MB and a small message from it, in reverse order
 *   waitany  MPI_Waitany, with a receive from rank 1, whose message comes after two seconds;
 *            then MPI_Cancel of the other receive
 *   any_late MPI_Recv from MPI_ANY_SOURCE: rank 1 sends after two seconds
 *   threads  as any, but another thread of rank 0 sends the message after two seconds
 *   cancel   MPI_Wait, and another thread cancels the receive after two seconds
 *   again    MPI_Comm_create_from_group, for which the last rank comes two seconds late: it has
 *            had a session before
 *   left     as again, and the last rank ends its session when the others have long ended
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LARGE = 2 << 20,
    TAG = 5,
    OTHER_TAG = 6,
    COMPUTE_S = 2 /* twice WEFT_UNRECEIVED_AFTER of the tests */
};

static const char *how;
static char data[LARGE], other[LARGE];
static int rank, last;
static MPI_Comm ring;

static int is(const char *word)
{
    return strcmp(how, word) == 0;
}

/* Another test may run on the same core, so this does not use it. */
static void compute(void)
{
    double until = MPI_Wtime() + COMPUTE_S;
    while (MPI_Wtime() < until)
        usleep(1000);
}

static void receive_with_return(void)
{
    int error_class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int err = MPI_Recv(data, 4, MPI_BYTE, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Error_class(err, &error_class);
    if (error_class != MPI_ERR_OTHER)
        fprintf(stderr, "rank 0: error class %d, expected %d\n", error_class, MPI_ERR_OTHER);
}

static void receive_wrong(void)
{
    MPI_Request requests[2];
    MPI_Message message;
    if (is("recv") || is("silent"))
        MPI_Recv(data, 4, MPI_BYTE, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is("any"))
        MPI_Recv(data, 4, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is("named"))
        MPI_Recv(data, 4, MPI_BYTE, 0, MPI_ANY_TAG, ring, MPI_STATUS_IGNORE);
    if (is("wait") || is("waitall"))
        MPI_Irecv(data, 4, MPI_BYTE, last, TAG, MPI_COMM_WORLD, &requests[0]);
    if (is("wait"))
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (is("waitall")) {
        MPI_Irecv(other, 4, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    if (is("both"))
        MPI_Sendrecv(other, 4, MPI_BYTE, 1, TAG, data, 4, MPI_BYTE, last, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (is("replace"))
        MPI_Sendrecv_replace(data, 4, MPI_BYTE, 1, TAG, last, TAG, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    if (is("probe"))
        MPI_Probe(last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is("mprobe"))
        MPI_Mprobe(last, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    if (is("bcast"))
        MPI_Bcast(data, 4, MPI_BYTE, last, MPI_COMM_WORLD);
    if (is("returned"))
        receive_with_return();
}

/* ---- right ---- */

static void finalize_early(MPI_Request *request)
{
    if (rank == last) {
        MPI_Isend(data, LARGE, MPI_BYTE, 0, OTHER_TAG + 1, MPI_COMM_WORLD, request);
        MPI_Request_free(request);
    } else if (rank == 1) {
        compute();
        MPI_Send(data, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(data, 4, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(other, LARGE, MPI_BYTE, last, OTHER_TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, 4, MPI_BYTE, last, OTHER_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void wait_for_any(MPI_Request requests[2])
{
    int which;
    if (rank == 1) {
        compute();
        MPI_Send(data, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Irecv(data, 4, MPI_BYTE, last, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(other, 4, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        if (which != 1)
            fprintf(stderr, "rank 0: request %d is complete, expected 1\n", which);
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

static void receive_late(void)
{
    if (rank == 1) {
        compute();
        MPI_Send(data, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(data, 4, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void *send_or_cancel(void *request)
{
    compute();
    if (is("cancel"))
        MPI_Cancel(request);
    else
        MPI_Send(other, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    return NULL;
}

static void use_threads(MPI_Request *request)
{
    pthread_t thread;
    if (rank != 0)
        return;
    if (is("cancel"))
        MPI_Irecv(data, 4, MPI_BYTE, last, TAG, MPI_COMM_WORLD, request);
    pthread_create(&thread, NULL, send_or_cancel, request);
    if (is("cancel"))
        MPI_Wait(request, MPI_STATUS_IGNORE);
    else
        MPI_Recv(data, 4, MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

/* Make a communicator of all in a session; the last rank comes late. */
static void meet_in_session(int is_late)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int own;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_rank(group, &own);
    MPI_Group_size(group, &last);
    if (is_late && own == last - 1) {
        MPI_Group_free(&group);
        MPI_Session_finalize(&session);
        compute();
        meet_in_session(0);
        return;
    }
    MPI_Comm_create_from_group(group, "again", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Barrier(comm);
    if (is("left") && own == last - 1) {
        double until = MPI_Wtime() + COMPUTE_S;
        int flag;
        while (MPI_Wtime() < until)
            MPI_Iprobe(own, TAG, comm, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

/* The last rank frees its part of the communicator, and ends. */
static void end_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int size;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_rank(group, &rank);
    MPI_Group_size(group, &size);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_set_name(comm, "the ring");
    if (rank == 0)
        MPI_Recv(data, 4, MPI_BYTE, size - 1, TAG, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

static void run_right(void)
{
    MPI_Request requests[2];
    if (is("early"))
        finalize_early(requests);
    if (is("waitany"))
        wait_for_any(requests);
    if (is("any_late"))
        receive_late();
    if (is("threads") || is("cancel"))
        use_threads(requests);
}

int main(int argc, char **argv)
{
    int provided;
    how = argc > 1 ? argv[1] : "recv";
    if (is("again") || is("left")) {
        meet_in_session(1);
        meet_in_session(1);
        return 0;
    }
    if (is("session")) {
        end_session();
        return 0;
    }
    MPI_Init_thread(&argc, &argv,
                    is("threads") || is("cancel") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &last);
    last--;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &ring);
    MPI_Comm_set_name(ring, "the ring");
    if (rank == last && !is("silent") && !is("any"))
        MPI_Send(other, 4, MPI_BYTE, 0, OTHER_TAG, MPI_COMM_WORLD);
    if (rank == 1 && is("waitall"))
        MPI_Send(other, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    if (rank == 1 && (is("both") || is("replace")))
        MPI_Recv(other, 4, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        receive_wrong();
    run_right();
    MPI_Finalize();
    return 0;
}
