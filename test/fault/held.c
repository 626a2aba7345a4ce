/* SPDX-License-Identifier: BSD-3-Clause */
/* held WHAT: a second thread of rank 0 holds a stream for ever, and then rank 0 calls MPI_Abort
 * with code 7, while "said" waits in the buffer of stdout, where it can, and "kept" in that of a
 * file named kept. WHAT is
 *
 *   stdin   the thread waits for input
 *   stdout  it has locked stdout
 *   file    it has locked another file than kept
 *   reader  it prints to stdout, which nobody reads
 *   own     none: rank 0 itself has locked stdout
 *   signal  none: rank 0 calls MPI_Abort in a signal handler, in which it has blocked all signals
 */
#include <mpi.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *what;
static FILE *other;

static int is(const char *word)
{
    return strcmp(what, word) == 0;
}

static void *hold(void *unused)
{
    char line[64];
    while (is("stdin") && fgets(line, sizeof(line), stdin) != NULL)
        ;
    if (is("stdout"))
        flockfile(stdout);
    if (is("file"))
        flockfile(other);
    while (is("reader"))
        printf("%01000d\n", 0);
    while (1)
        pause();
    return unused;
}

static int is_locked(FILE *file)
{
    if (ftrylockfile(file) != 0)
        return 1;
    funlockfile(file);
    return 0;
}

static int is_held(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (is("reader"))
        return is_locked(stdout) && poll(&out, 1, 200) == 0;
    return is_locked(is("stdin") ? stdin : is("stdout") ? stdout : other);
}

static void give_up(int number)
{
    (void)number;
    MPI_Abort(MPI_COMM_WORLD, 7);
}

static void abort_in_handler(void)
{
    struct sigaction action = {.sa_handler = give_up};
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    flockfile(stdout);
    raise(SIGUSR1);
}

int main(int argc, char **argv)
{
    int rank, granted;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    what = argv[1];
    while (rank != 0)
        pause();
    FILE *kept = fopen("kept", "w");
    other = fopen("other", "w");
    if (kept == NULL || other == NULL)
        return 1;
    fprintf(kept, "kept\n");
    if (!is("reader"))
        printf("said\n");
    if (is("own"))
        flockfile(stdout);
    else if (is("signal"))
        abort_in_handler();
    else if (pthread_create(&thread, NULL, hold, NULL) != 0)
        return 1;
    while (!is("own") && !is_held())
        ;
    MPI_Abort(MPI_COMM_WORLD, 7);
}
