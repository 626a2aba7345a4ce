/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* pipe2, usleep */
#include "launch/node/watchdog.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/node/helper_process.h"
#include "mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAUSE_US = 2000, TRIES = 2000 };

typedef struct groups {
    pid_t *ids;
    size_t count, capacity;
} groups_t;

static void add_group(groups_t *groups, pid_t id)
{
    if (groups->count == groups->capacity) {
        size_t capacity = groups->capacity * 2 + 64;
        pid_t *ids = weft_realloc(groups->ids, capacity * sizeof(*ids));
        if (ids == NULL)
            return;
        groups->ids = ids;
        groups->capacity = capacity;
    }
    groups->ids[groups->count++] = id;
}

/* Processes that are being killed may still make files: the ranks, and the PMIx server, which gets
 * its SIGKILL when this process gets another parent, as what may be about to start MPS does. */
static void clean_up(const wl_scratch_t *scratch, wl_mps_t *mps, pid_t parent)
{
    int tries = 0;
    while (getppid() == parent && tries++ < TRIES)
        usleep(PAUSE_US);
    wl_mps_end_orphan(mps);
    while (!wl_scratch_remove(scratch) && tries++ < TRIES)
        usleep(PAUSE_US);
}

static __attribute__((noreturn)) void watch(int pipe, const wl_scratch_t *scratch, wl_mps_t mps,
                                            pid_t parent)
{
    groups_t groups = {0};
    pid_t group;
    setsid(); /* so that a kill -9 of mpirun's process group does not end the watchdog */
    wl_helper_become("weft-watchdog", pipe, false);
    for (ssize_t bytes; (bytes = read(WL_HELPER_FD, &group, sizeof(group))) != 0;) {
        if (bytes == (ssize_t)sizeof(group) && group == 0)
            _exit(0);
        if (bytes == (ssize_t)sizeof(group))
            add_group(&groups, group);
        else if (errno != EINTR)
            break;
    }
    for (size_t i = 0; i < groups.count; i++)
        kill(-groups.ids[i], SIGKILL);
    clean_up(scratch, &mps, parent);
    _exit(0);
}

int wl_watchdog_open(const wl_scratch_t *scratch, const wl_mps_t *mps, wl_watchdog_t *out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return weft_fail(MPI_ERR_SPAWN, "a pipe cannot be made: %s", strerror(errno));
    pid_t self = getpid(), pid = fork();
    if (pid < 0)
        return weft_fail(MPI_ERR_SPAWN, "a process cannot be started: %s", strerror(errno));
    if (pid == 0)
        watch(ends[0], scratch, *mps, self);
    close(ends[0]);
    *out = (wl_watchdog_t){.pid = pid, .pipe = ends[1]};
    return MPI_SUCCESS;
}

static void tell_watchdog(const wl_watchdog_t *watchdog, pid_t group)
{
    while (write(watchdog->pipe, &group, sizeof(group)) < 0 && errno == EINTR)
        ;
}

void wl_watchdog_add(const wl_watchdog_t *watchdog, pid_t group)
{
    tell_watchdog(watchdog, group);
}

void wl_watchdog_end(wl_watchdog_t *watchdog)
{
    tell_watchdog(watchdog, 0);
    close(watchdog->pipe);
}

void wl_watchdog_close(wl_watchdog_t *watchdog)
{
    while (waitpid(watchdog->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
