/* SPDX-License-Identifier: BSD-3-Clause */
/* WEFT_BOOTSTRAP=file:PATH with RANK and WORLD_SIZE: rank 0 writes into a file where it is. */
#define _GNU_SOURCE
#include "pmi/bootstrap_private.h"
#include "pmi/hub_private.h"

#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char path[PATH_MAX];

/* The file is replaced as a whole, so that no rank reads a part of it; and it has its owner's mode,
 * since who reads it can join. `key` is left out: a later start replaces an earlier one. */
static int file_put(void *state, const char *key, const void *data, size_t bytes)
{
    char fresh[PATH_MAX + 32];
    (void)state, (void)key;
    snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    unlink(fresh);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && fsync(fd) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (is_written && rename(fresh, path) == 0)
        return 0;
    unlink(fresh);
    weft_fail(MPI_ERR_OTHER, "%s cannot be written: %s", path, strerror(error));
    return MPIX_BOOTSTRAP_FAILED;
}

/* Nobody else's file is believed. */
static bool is_own_file(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int file_get(void *state, const char *key, int limit_ms, void *out, size_t room,
                    size_t *bytes_out)
{
    enum { PAUSE_NS = 5000000 };
    int64_t until_ms = weft_clock_ms() + limit_ms;
    (void)state, (void)key;
    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd >= 0 && is_own_file(fd) ? read(fd, out, room) : -1;
        if (fd >= 0)
            close(fd);
        if (got > 0) {
            *bytes_out = (size_t)got;
            return 0;
        }
        if (weft_clock_ms() >= until_ms)
            return MPIX_BOOTSTRAP_ABSENT;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

static int file_open(weft_pmi_job_t *out)
{
    weft_environment_ranks_t ranks;
    bool is_there;
    if (strncmp(weft_config.BOOTSTRAP, "file", 4) != 0)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (strncmp(weft_config.BOOTSTRAP, "file:/", 6) != 0)
        return weft_fail(MPI_ERR_OTHER,
                         "WEFT_BOOTSTRAP is %s; expected is file:PATH with an absolute path",
                         weft_config.BOOTSTRAP);
    int err = weft_pmi_read_ranks(&ranks, &is_there);
    if (err != MPI_SUCCESS || !is_there)
        return err != MPI_SUCCESS ? err : MPI_ERR_UNSUPPORTED_OPERATION;
    snprintf(path, sizeof(path), "%s", weft_config.BOOTSTRAP + strlen("file:"));
    err = weft_pmi_refuse_second_process(path, weft_environment("RANK"), "RANK");
    if (err != MPI_SUCCESS)
        return err;
    weft_hub_plan_t plan = {
        .self = {.rank = ranks.rank, .size = ranks.size, .put = file_put, .get = file_get},
        .uses_store = true,
        .job = path};
    err = weft_hub_join(&plan, out);
    if (ranks.rank == 0)
        unlink(path); /* all have read it */
    return err;
}

const weft_bootstrap_t weft_file_bootstrap = {"file", file_open, &weft_hub_calls};
