/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that its parent cannot reap: held_rank RANK [FILE]. Rank RANK is traced by a child of its
 * own, which does not look at it, so that its parent does not see its end even after SIGKILL. A
 * hung file system or driver has the same effect. Once that is so, the tracer writes its process id
 * to FILE. The other ranks wait for FILE and exit with code 3.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 60 };

static void write_file(const char *path, long number)
{
    char draft[4096];
    snprintf(draft, sizeof(draft), "%s.draft", path);
    FILE *file = fopen(draft, "we");
    if (file == NULL || fprintf(file, "%ld\n", number) < 0 || fclose(file) != 0 ||
        rename(draft, path) != 0)
        exit(98);
}

static void trace(const char *path)
{
    int null = open("/dev/null", O_RDWR);
    setsid();
    alarm(2 * LIMIT_S);
    if (ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) != 0) {
        fprintf(stderr, "no ptrace: %s\n", strerror(errno));
        write_file(path, 0);
        _exit(97);
    }
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    write_file(path, getpid());
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *rank = getenv("RANK");
    if (argc != 3 || rank == NULL)
        return 99;
    alarm(LIMIT_S);
    if (strcmp(rank, argv[1]) == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        if (fork() == 0)
            trace(argv[2]);
        for (;;)
            pause();
    }
    while (access(argv[2], F_OK) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return 3;
}
