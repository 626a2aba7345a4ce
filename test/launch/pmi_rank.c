/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank without MPI for the tests of mpirun: does what its arguments say, in their order.
 *   open close     join and leave the job          say      print what the launcher told
 *   board          put, fence, get, check          nodes    fence of the ranks of this host
 *   halves         fences of the even and the odd ranks, many, each at its own pace
 *   fences         fences of all ranks, many
 *   late           wait for blobs that others publish later, some after others of theirs
 *   abort=R,CODE   rank R aborts the job           kill=R   rank R kills itself
 *   exit=R,CODE    rank R exits                    pause    wait to be killed
 *   lost_peer=R,CODE  rank R aborts because of others
 *   go             make the file there.RANK, and wait for a file go
 *   linger=R,FILE  a child of rank R keeps the rank's connections until FILE exists, then creates
 *                  FILE.gone
 *   touch=R,FILE  rank R creates FILE           await=R,FILE  rank R waits until FILE exists
 */
#define _GNU_SOURCE /* close_range */
#include "pmi/pmi.h"

#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static weft_pmi_job_t job;

static void check(int err, const char *what)
{
    if (err == MPI_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", job.rank, what, weft_fail_text());
    _exit(99);
}

static size_t blob_bytes(int rank)
{
    return (size_t)rank * 37 % 500;
}

static void check_blob(int rank)
{
    unsigned char *blob;
    size_t bytes = 0;
    check(weft_pmi_get(rank, "blob", (void **)&blob, &bytes), "get");
    for (size_t i = 0; i < bytes || i < blob_bytes(rank); i++) {
        if (bytes == blob_bytes(rank) && blob[i] == (unsigned char)rank)
            continue;
        fprintf(stderr, "rank %d: blob of rank %d: %zu bytes, expected %zu of %d\n", job.rank, rank,
                bytes, blob_bytes(rank), rank);
        _exit(99);
    }
    weft_free(blob);
}

static void wait_to_go(void)
{
    char name[32];
    snprintf(name, sizeof(name), "there.%d", job.rank);
    close(open(name, O_CREAT | O_WRONLY, 0600));
    while (access("go", F_OK) != 0)
        usleep(1000);
}

static void board(void)
{
    unsigned char blob[500];
    void *nothing;
    size_t bytes;
    memset(blob, job.rank, sizeof(blob));
    check(weft_pmi_put("blob", blob, blob_bytes(job.rank)), "put");
    check(weft_pmi_fence(), "fence");
    for (int rank = 0; rank < job.size; rank++)
        check_blob(rank);
    if (weft_pmi_get(job.size / 2, "nobody's", &nothing, &bytes) == MPI_SUCCESS) {
        fprintf(stderr, "rank %d: got a key that nobody has put\n", job.rank);
        _exit(99);
    }
}

/* Every second rank: fences of different ranks under way at the same time. */
static void halves(void)
{
    enum { ROUNDS = 20 };
    int ranks[4096], count = 0;
    for (int rank = job.rank % 2; rank < job.size; rank += 2)
        ranks[count++] = rank;
    for (int i = 0; i < ROUNDS * (1 + job.rank % 2); i++)
        check(weft_pmi_fence_ranks(ranks, count), "fence of a half");
}

static void fences(void)
{
    enum { ROUNDS = 20 };
    for (int i = 0; i < ROUNDS; i++)
        check(weft_pmi_fence(), "fence");
}

static void expect_late(int rank, const char *key)
{
    enum { LIMIT_S = 30 };
    void *blob;
    size_t bytes;
    check(weft_pmi_await(rank, key, LIMIT_S, &blob, &bytes), "await");
    if (bytes != strlen(key) || memcmp(blob, key, bytes) != 0) {
        fprintf(stderr, "rank %d: %s of rank %d: %zu bytes \"%.*s\"\n", job.rank, key, rank, bytes,
                (int)bytes, (char *)blob);
        _exit(99);
    }
    weft_free(blob);
}

/* Rank r publishes what its neighbour waits for only after it has itself got what it waits for; the
 * last one begins, so that all others are already waiting for some time. */
static void late(void)
{
    int next = job.rank + 1;
    check(weft_pmi_publish("early", "early", strlen("early")), "publish");
    check(weft_pmi_fence(), "fence");
    if (next < job.size)
        expect_late(next, "late");
    else
        usleep(100000); /* not needed for the result */
    check(weft_pmi_publish("late", "late", strlen("late")), "publish");
    for (int rank = 0; rank < job.size; rank++)
        expect_late(rank, "early");
}

static void say(void)
{
    printf("rank %d of %d, local %d of %d:", job.rank, job.size, job.local_rank, job.local_size);
    for (int i = 0; i < job.local_size; i++)
        printf(" %d", job.local_ranks[i]);
    printf(", app %d, universe %d%s\n", job.app_number, job.universe_size,
           job.is_singleton ? ", singleton" : "");
    fflush(stdout);
}

static void touch(const char *path)
{
    FILE *file = fopen(path, "we");
    if (file != NULL)
        fclose(file);
}

static void await_file(const char *path)
{
    while (access(path, F_OK) != 0)
        usleep(1000);
}

/* The rank's descriptors stay open in the child, so that its end is seen later than it comes. */
static void linger(const char *path)
{
    char gone[256];
    snprintf(gone, sizeof(gone), "%s.gone", path);
    if (fork() != 0)
        return;
    alarm(60);
    await_file(path);
    usleep(200000); /* for what follows the touch; not needed for the result */
    close_range(STDERR_FILENO + 1, ~0U, 0);
    touch(gone);
    _exit(0);
}

/* "name=R,FILE", for this rank */
static const char *file_of(const char *action, const char *name)
{
    char *end;
    size_t length = strlen(name);
    if (strncmp(action, name, length) != 0 || action[length] != '=')
        return NULL;
    long rank = strtol(action + length + 1, &end, 10);
    return rank == job.rank && *end == ',' ? end + 1 : NULL;
}

static void act_on_file(const char *action)
{
    const char *path;
    if ((path = file_of(action, "linger")) != NULL)
        linger(path);
    else if ((path = file_of(action, "touch")) != NULL)
        touch(path);
    else if ((path = file_of(action, "await")) != NULL)
        await_file(path);
}

static void act(const char *action)
{
    int rank = -1, code = 0;
    act_on_file(action);
    if (strcmp(action, "open") == 0)
        check(weft_pmi_open(&job), "open");
    else if (strcmp(action, "close") == 0)
        check(weft_pmi_close(), "close");
    else if (strcmp(action, "board") == 0)
        board();
    else if (strcmp(action, "nodes") == 0)
        check(weft_pmi_fence_ranks(job.local_ranks, job.local_size), "local fence");
    else if (strcmp(action, "halves") == 0)
        halves();
    else if (strcmp(action, "fences") == 0)
        fences();
    else if (strcmp(action, "late") == 0)
        late();
    else if (strcmp(action, "say") == 0)
        say();
    else if (strcmp(action, "go") == 0)
        wait_to_go();
    else if (strcmp(action, "pause") == 0)
        pause();
    else if (sscanf(action, "abort=%d,%d", &rank, &code) == 2 && rank == job.rank)
        weft_pmi_abort(code, "told to abort", false);
    else if (sscanf(action, "lost_peer=%d,%d", &rank, &code) == 2 && rank == job.rank)
        weft_pmi_abort(code, "told to abort", true);
    else if (sscanf(action, "kill=%d", &rank) == 1 && rank == job.rank)
        kill(getpid(), SIGKILL);
    else if (sscanf(action, "exit=%d,%d", &rank, &code) == 2 && rank == job.rank)
        _exit(code);
}

int main(int argc, char **argv)
{
    const char *rank = weft_environment("RANK"); /* for what is done before open */
    if (rank != NULL)
        job.rank = (int)strtol(rank, NULL, 10);
    for (int i = 1; i < argc; i++)
        act(argv[i]);
    return 0;
}
