/* SPDX-License-Identifier: BSD-3-Clause */
/* ends WHERE HOW [RANK]: all ranks block WHERE (recv, allreduce, barrier, dup, split, create_group,
 * idup, outside of MPI: pause); before that, and with idup within it, RANK (1 if not given) ends.
 * HOW is
 *
 *   kill  segv  abort=CODE  exit=CODE   by SIGKILL, SIGSEGV, MPI_Abort or _Exit
 *   send         by a message to rank 7, an error unless there is such a rank
 *   before       by MPI_Abort before MPI_Init
 *   wait         not at all: each rank writes its process id to a file rank.RANK and waits
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

static int number_after(const char *how, const char *word)
{
    size_t length = strlen(word);
    return strncmp(how, word, length) == 0 ? (int)strtol(how + length, NULL, 10) : -1;
}

static void show_process(void)
{
    char name[32], made[48];
    snprintf(name, sizeof(name), "rank.%d", rank);
    snprintf(made, sizeof(made), "%s.new", name);
    FILE *file = fopen(made, "w");
    if (file == NULL || fprintf(file, "%d\n", (int)getpid()) < 0 || fclose(file) != 0 ||
        rename(made, name) != 0)
        perror(name);
}

static void meet_end(const char *how)
{
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (number_after(how, "abort=") >= 0)
        MPI_Abort(MPI_COMM_WORLD, number_after(how, "abort="));
    if (number_after(how, "exit=") >= 0)
        exit(number_after(how, "exit="));
    if (strcmp(how, "send") == 0)
        MPI_Send(&rank, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);
}

/* The last rank takes no part. */
static void make_comm(const char *where)
{
    MPI_Comm comm;
    MPI_Group group;
    if (strcmp(where, "dup") == 0)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (strcmp(where, "split") == 0)
        MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
    if (strcmp(where, "create_group") == 0) {
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &comm);
    }
}

/* The last rank takes no part in collectives; it waits for a message that is never sent. */
static void block(const char *where, MPI_Request *request)
{
    int in, out = 1, size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (rank != size - 1)
        make_comm(where);
    while (strcmp(where, "pause") == 0)
        pause();
    if (strcmp(where, "allreduce") == 0 && rank != size - 1)
        MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(where, "barrier") == 0 && rank != size - 1)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int victim = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1;
    if (strcmp(argv[2], "before") == 0)
        MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    show_process();
    if (strcmp(argv[1], "idup") == 0)
        MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);
    if (rank == victim)
        meet_end(argv[2]);
    block(argv[1], &request);
    MPI_Finalize();
    return 0;
}
