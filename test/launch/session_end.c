/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank of sessions.sh: uses a session with all others, and ends in the way that its argument
 * says. */
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static MPI_Session open_session(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    return session;
}

static int use_session(MPI_Session session, MPI_Comm *comm)
{
    MPI_Group all;
    int rank;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &rank);
    MPI_Comm_create_from_group(all, "use", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm);
    MPI_Group_free(&all);
    MPI_Barrier(*comm);
    return rank;
}

/* A communicator of the program, whose memory is gone with MPI. */
static void call_after_finalize(const char *way)
{
    MPI_Comm stale;
    int number = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &stale);
    MPI_Finalize();
    if (strcmp(way, "send") == 0)
        MPI_Send(&number, 1, MPI_INT, 0, 0, stale);
    if (strcmp(way, "receive") == 0)
        MPI_Recv(&number, 1, MPI_INT, 0, 0, stale, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Comm comm;
    if (strcmp(way, "send") == 0 || strcmp(way, "receive") == 0)
        call_after_finalize(way); /* does not return */
    MPI_Session session = open_session();
    int rank = use_session(session, &comm);
    if (strcmp(way, "open") == 0 && rank == 1)
        return 0;
    if (strcmp(way, "abort") == 0 && rank == 1)
        MPI_Abort(comm, 5);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (strcmp(way, "quick") == 0)
        _exit(0);
    if (strcmp(way, "other") == 0 && rank == 1)
        execlp("echo", "echo", "another program", NULL);
    if (strcmp(way, "next") == 0)
        execl(argv[0], argv[0], "quick", NULL);
    if (strcmp(way, "code") == 0 && rank == 1)
        return 3;
    if (strcmp(way, "again") == 0 && rank == 1)
        session = open_session();
    if (strcmp(way, "call") == 0 && rank == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
