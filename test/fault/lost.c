/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What survivors of a death see, with WEFT_RECOVERY=yes:
 *
 *     finalize   nothing but MPI_Finalize after the death
 *     classes    calls that name the dead rank fail, others work; the classes have texts
 *     world      MPI_COMM_WORLD is revoked and shrunk, and communicators are made of the rest
 *     wild       receives from any source are pending until the failure is acknowledged
 *     unseen     all learn of the death, though they never talk to the dead rank
 *     fatal      the job ends, since MPI_COMM_WORLD has its first error handler
 */
#include <mpi.h>
#include <mpix.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void check(int is_right, const char *what, int value)
{
    if (is_right)
        return;
    fprintf(stderr, "rank %d: %s: %d\n", rank, what, value);
    _Exit(2);
}

static int failed_count(MPI_Comm comm)
{
    MPI_Group failed;
    int count;
    MPIX_Comm_get_failed(comm, &failed);
    MPI_Group_size(failed, &count);
    MPI_Group_free(&failed);
    return count;
}

static void await_failures(int count)
{
    int flag;
    while (failed_count(MPI_COMM_WORLD) < count)
        MPI_Iprobe(0, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

/* All that live have come here: no death makes it fail. */
static void meet(void)
{
    int flag = 0;
    MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
}

static void die(int victim)
{
    meet();
    if (rank == victim)
        raise(SIGKILL);
}

static void see_classes(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int data = 0, length, error_class;
    die(1);
    die(3);
    await_failures(2);
    int err = MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    check(err == MPIX_ERR_PROC_FAILED, "a send to a dead rank gives", err);
    err = MPI_Recv(&data, 1, MPI_INT, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(err == MPIX_ERR_PROC_FAILED, "a receive from a dead rank gives", err);
    MPI_Error_class(err, &error_class);
    check(error_class == MPIX_ERR_PROC_FAILED, "the class is", error_class);
    MPI_Error_string(err, text, &length);
    check(strstr(text, "rank 3") != NULL, "the text does not name the rank; its length is", length);
    int next = rank == 0 ? 2 : rank == 2 ? 4 : 0, previous = rank == 0 ? 4 : rank == 2 ? 0 : 2;
    err = MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &data, 1, MPI_INT, previous, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
    check(err == MPI_SUCCESS && data == previous, "survivors exchange", data);
    err = MPI_Barrier(MPI_COMM_WORLD);
    check(err == MPIX_ERR_PROC_FAILED, "a barrier gives", err);
}

static void see_world(void)
{
    MPI_Comm rest, copy, part;
    int flag = 3, sum, one = 1, count;
    die(0);
    int err = MPI_Barrier(MPI_COMM_WORLD);
    check(err != MPI_SUCCESS, "a barrier without rank 0 gives", err);
    MPIX_Comm_revoke(MPI_COMM_WORLD);
    err = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    check(err == MPIX_ERR_PROC_FAILED && flag == 3, "the agreement gives", err);
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    flag = rank == 2 ? 2 : 3;
    err = MPIX_Comm_agree(MPI_COMM_WORLD, &flag);
    check(err == MPI_SUCCESS && flag == 2, "the agreement after the acknowledgement gives", err);
    err = MPIX_Comm_shrink(MPI_COMM_WORLD, &rest);
    check(err == MPI_SUCCESS, "the shrink gives", err);
    MPI_Comm_dup(rest, &copy);
    MPI_Comm_split(copy, rank % 2, 0, &part);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
    MPI_Comm_size(part, &count);
    check(sum == count, "the sum is", sum);
    MPI_Comm_free(&part);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&rest);
}

static void see_wild(void)
{
    MPI_Request request;
    MPI_Status status;
    int data = -1, flag = 0, acked;
    die(2);
    int err = MPI_Irecv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &request);
    check(err == MPI_SUCCESS, "a receive from any source gives", err);
    err = MPI_Wait(&request, &status);
    check(err == MPIX_ERR_PROC_FAILED_PENDING, "its wait gives", err);
    check(request != MPI_REQUEST_NULL, "the request is gone", 0);
    err = MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status);
    check(err == MPIX_ERR_PROC_FAILED, "a blocking receive from any source gives", err);
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acked);
    check(acked == 1, "so many are acknowledged", acked);
    err = MPI_Test(&request, &flag, &status);
    check(err == MPI_SUCCESS, "its test gives", err);
    meet();
    int next = (rank + 1) % size == 2 ? 3 : (rank + 1) % size;
    int previous = (rank + size - 1) % size == 2 ? 1 : (rank + size - 1) % size;
    err = MPI_Send(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
    check(err == MPI_SUCCESS, "a send to a rank that lives gives", err);
    if (!flag)
        err = MPI_Wait(&request, &status);
    check(err == MPI_SUCCESS && data == previous, "the receive that went on has", data);
    check(status.MPI_SOURCE == previous, "its source is", status.MPI_SOURCE);
}

static void see_unseen(void)
{
    MPI_Group failed, world;
    int zero = 0, translated;
    die(4);
    await_failures(1);
    MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(failed, 1, &zero, world, &translated);
    check(translated == 4, "the failed rank is", translated);
    MPI_Group_free(&failed);
    MPI_Group_free(&world);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *how = argc == 2 ? argv[1] : "";
    if (strcmp(how, "fatal") != 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    meet();
    if (strcmp(how, "finalize") == 0)
        die(1);
    else if (strcmp(how, "classes") == 0)
        see_classes();
    else if (strcmp(how, "world") == 0)
        see_world();
    else if (strcmp(how, "wild") == 0)
        see_wild();
    else if (strcmp(how, "unseen") == 0)
        see_unseen();
    else if (strcmp(how, "fatal") == 0) {
        die(3);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
