/* SPDX-License-Identifier: BSD-3-Clause */
/* unreceived HOW: the last rank never receives what rank 0 sends to it, and calls MPI_Finalize. The
 * job must end with an error that names the message. HOW is
 *
 *   isend    2 MB by MPI_Isend, then MPI_Finalize
 *   issend   4 bytes by MPI_Issend, then MPI_Finalize
 *   freed    as issend, three times, with requests that are freed, on a communicator with a name
 *   flood    MPI_Send of 100 bytes until there is no room for more
 *   ssend    MPI_Ssend
 *   waitall  MPI_Isend of 2 MB to two ranks, the other of which receives, and MPI_Waitall
 *   bsend    MPI_Bsend of 2 MB, and MPI_Buffer_detach
 *   mutual   as isend, in both directions
 *   self     as issend, to rank 0 itself
 *   returned as ssend, with MPI_ERRORS_RETURN: the error is reported, and the job ends well
 *
 * These are right, however long they take; the ranks are alive all the time:
 *
 *   late     2 MB by MPI_Ssend, received after two seconds in which its receiver computes
 *   early    the receiver waits in MPI_Finalize until the sender has taken what it sent before
 *   short    40,000 bytes by MPI_Isend, which are announced, but not fetched, since the receiver
 *            has too many other messages that it does not receive
 *   cancel   rank 0 cancels a receive from a rank that has called MPI_Finalize long before
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LARGE = 2 << 20,
    SMALL = 100,
    TAG = 5,
    COMPUTE_S = 2 /* twice WEFT_UNRECEIVED_AFTER of the tests */
};

static const char *how;
static char data[LARGE], other[LARGE], buffer[LARGE + MPI_BSEND_OVERHEAD];
static int rank, last;

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

static void send_freed(void)
{
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "the ring");
    for (int i = 0; i < 3 && rank == 0; i++) {
        MPI_Issend(data, 4, MPI_BYTE, last, TAG, comm, &request);
        MPI_Request_free(&request);
    }
    MPI_Comm_free(&comm);
}

static void send_to_two(void)
{
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Isend(data, LARGE, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(other, LARGE, MPI_BYTE, last, TAG, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(data, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void send_buffered(void)
{
    void *address;
    int bytes;
    MPI_Buffer_attach(buffer, sizeof(buffer));
    MPI_Bsend(data, LARGE, MPI_BYTE, last, TAG, MPI_COMM_WORLD);
    MPI_Buffer_detach(&address, &bytes);
}

static void send_with_return(void)
{
    int error_class;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int err = MPI_Ssend(data, 4, MPI_BYTE, last, TAG, MPI_COMM_WORLD), length;
    MPI_Error_class(err, &error_class);
    MPI_Error_string(err, text, &length);
    if (error_class != MPI_ERR_OTHER)
        fprintf(stderr, "rank 0: error class %d (%s), expected %d\n", error_class, text,
                MPI_ERR_OTHER);
}

static void send_wrong(MPI_Request *request)
{
    if (is("isend") || is("mutual"))
        MPI_Isend(data, LARGE, MPI_BYTE, last - rank, TAG, MPI_COMM_WORLD, request);
    if (is("issend") || is("self"))
        MPI_Issend(data, 4, MPI_BYTE, is("self") ? 0 : last, TAG, MPI_COMM_WORLD, request);
    while (is("flood"))
        MPI_Send(data, SMALL, MPI_BYTE, last, TAG, MPI_COMM_WORLD);
    if (is("ssend"))
        MPI_Ssend(data, 4, MPI_BYTE, last, TAG, MPI_COMM_WORLD);
    if (is("bsend"))
        send_buffered();
    if (is("returned"))
        send_with_return();
}

static void send_short(MPI_Request *request)
{
    if (rank == 0) {
        MPI_Isend(data, 40000, MPI_BYTE, last, TAG, MPI_COMM_WORLD, request);
        for (int i = 0; i < 60; i++)
            MPI_Send(other, SMALL, MPI_BYTE, last, TAG, MPI_COMM_WORLD);
        MPI_Send(other, 0, MPI_BYTE, last, TAG + 1, MPI_COMM_WORLD);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    } else if (rank == last) {
        MPI_Recv(other, 0, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void receive_late(void)
{
    if (rank == 0)
        MPI_Ssend(data, LARGE, MPI_BYTE, last, TAG, MPI_COMM_WORLD);
    if (rank != last)
        return;
    compute();
    MPI_Recv(data, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void finalize_early(MPI_Request *request)
{
    if (rank == last) {
        MPI_Isend(data, LARGE, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, request);
        MPI_Request_free(request);
    }
    if (rank != 0)
        return;
    compute();
    MPI_Recv(data, LARGE, MPI_BYTE, last, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void cancel_late(MPI_Request *request)
{
    if (rank == last)
        return;
    if (rank == 0) {
        MPI_Irecv(data, 1, MPI_BYTE, last, TAG, MPI_COMM_WORLD, request);
        MPI_Recv(other, 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Cancel(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        compute();
        MPI_Send(other, 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int size;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    how = argc > 1 ? argv[1] : "isend";
    last = size - 1;
    if (is("freed"))
        send_freed();
    if (is("waitall"))
        send_to_two();
    if (is("short"))
        send_short(&request);
    if (is("late"))
        receive_late();
    if (is("early"))
        finalize_early(&request);
    if (is("cancel"))
        cancel_late(&request);
    if (rank == 0 || (is("mutual") && rank == last))
        send_wrong(&request);
    MPI_Finalize();
    return 0;
}
