/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "ft/detector.h"

#include "ft/consensus.h"
#include "ft/note_private.h"
#include "pt2pt/pt2pt.h"
#include "runtime/failures.h"
#include "runtime/progress.h"
#include "runtime/world.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOOK_EVERY_NS = 5000000,
    POLLS_PER_LOOK = 256, /* the clock is read once in so many rounds */
};

/* A process of this host. */
typedef struct detector_target {
    int process;
    pid_t pid;     /* 0: it cannot be seen from here, or is over */
    bool is_ended; /* at the last look: what it has sent is taken before it counts as failed */
} detector_target_t;

static struct {
    detector_target_t *targets; /* [count] */
    struct pollfd *fds;         /* [count] fd -1: the kernel gives none */
    int count;
    int64_t next_ns;
    bool *watched; /* by weft_detector_watch() */
} detector;

/* ---- this host ---- */

static void observe_local(detector_target_t *target, struct pollfd *fd, int local_rank)
{
    target->process = weft_process_find(WEFT_OWN_JOB, weft_world.local_ranks[local_rank]);
    target->pid = weft_world.pid_of == NULL ? 0 : weft_world.pid_of(local_rank);
    *fd = (struct pollfd){.fd = -1, .events = POLLIN};
    if (target->pid > 0)
        fd->fd = (int)syscall(SYS_pidfd_open, target->pid, 0);
}

static int observe_host(void)
{
    int others = weft_world.local_size - 1;
    detector.targets = weft_alloc_zeroed((size_t)others + 1, sizeof(*detector.targets));
    detector.fds = weft_alloc_zeroed((size_t)others + 1, sizeof(*detector.fds));
    if (detector.targets == NULL || detector.fds == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to observe %d ranks", others);
    for (int i = 0; i < weft_world.local_size; i++) {
        if (i == weft_world.local_rank)
            continue;
        observe_local(&detector.targets[detector.count], &detector.fds[detector.count], i);
        detector.count++;
    }
    return MPI_SUCCESS;
}

/* Without a descriptor: a process that its parent has not waited for yet is still there. */
static bool has_ended(const detector_target_t *target, const struct pollfd *fd)
{
    if (target->pid == 0)
        return false;
    if (fd->fd >= 0)
        return fd->revents != 0;
    return kill(target->pid, 0) != 0 && errno == ESRCH;
}

static bool has_finalized(int process)
{
    const weft_endpoint_t *endpoint = weft_process_reached(process);
    return endpoint != NULL && endpoint->leaving != NULL &&
           atomic_load_explicit(endpoint->leaving, memory_order_acquire) >= WEFT_ENDS;
}

static void forget_target(detector_target_t *target, struct pollfd *fd)
{
    if (fd->fd >= 0)
        close(fd->fd);
    fd->fd = -1;
    target->pid = 0;
}

static int judge(detector_target_t *target, struct pollfd *fd)
{
    char why[320];
    if (!target->is_ended) {
        target->is_ended = true;
        return 0;
    }
    int pid = (int)target->pid;
    forget_target(target, fd);
    if (has_finalized(target->process)) {
        weft_processes.at[target->process].has_left = true;
        wefti_consensus_lose();
        return 1;
    }
    snprintf(why, sizeof(why), "rank %d (process %d on %.200s) has died",
             weft_process_rank(target->process), pid, weft_world.host);
    weft_world.peer_lost(target->process, why);
    return 1;
}

static int detector_look(bool everything)
{
    static int rounds;
    if (!everything && ++rounds < POLLS_PER_LOOK)
        return 0;
    rounds = 0;
    int64_t now = weft_clock_ns();
    if (now < detector.next_ns)
        return 0;
    detector.next_ns = now + LOOK_EVERY_NS;
    int found = 0;
    poll(detector.fds, (nfds_t)detector.count, 0);
    for (int i = 0; i < detector.count; i++) {
        if (has_ended(&detector.targets[i], &detector.fds[i]))
            found += judge(&detector.targets[i], &detector.fds[i]);
    }
    return found;
}

/* ---- all ---- */

/* A connection is made, if there is none, by which the loss will be noticed. */
static void observe_process(int process, void *unused)
{
    (void)unused;
    if (weft_process_endpoint(process) == NULL)
        WEFT_LOG(WEFT_INFO, "ft", "rank %d cannot be observed: %s", weft_process_rank(process),
                 weft_fail_text());
}

static void detector_failed(int process)
{
    wefti_note_t note = {.kind = WEFTI_NOTE_FAILED, .rank = weft_process_rank(process)};
    wefti_spread(weft_comm_job.group, &note);
    wefti_neighbours_each(weft_comm_job.group, observe_process, NULL);
    wefti_consensus_lose();
    if (detector.watched != NULL)
        *detector.watched = true;
    weft_progress_alert();
}

void weft_detector_watch(bool *flag)
{
    detector.watched = flag;
    if (flag != NULL && weft_failures.count > 0)
        *flag = true;
}

/* MPI_Abort would end the job, which goes on without this rank. */
static void end_self(int source)
{
    WEFT_LOG(WEFT_ERROR, "ft", "rank %d takes this rank for dead, and has told the others: it ends",
             weft_process_rank(source));
    raise(SIGKILL);
}

void weft_declare_failed(int process, const char *why)
{
    if (weft_has_failed(process) || process == weft_processes.self)
        return;
    if (weft_world.abandon != NULL)
        weft_world.abandon(process);
    weft_world.peer_lost(process, why);
}

void wefti_failure_is_told(int source, const wefti_note_t *note)
{
    char why[160];
    int process = weft_process_find(WEFT_OWN_JOB, note->rank);
    if (process == weft_processes.self)
        end_self(source);
    bool is_end = !weft_config.REJOIN && process != WEFT_NO_PROCESS && has_finalized(process);
    if (process == WEFT_NO_PROCESS || weft_has_failed(process) || is_end)
        return;
    if (process == source)
        snprintf(why, sizeof(why), "rank %d has ended its last session", note->rank);
    else
        snprintf(why, sizeof(why), "rank %d has died, as rank %d tells", note->rank,
                 weft_process_rank(source));
    weft_declare_failed(process, why);
}

void weft_detector_leave(void)
{
    wefti_note_t note = {.kind = WEFTI_NOTE_FAILED, .rank = weft_process_rank(weft_processes.self)};
    weft_pt2pt_on_failure = NULL;
    wefti_spread(weft_comm_job.group, &note);
}

/* One card of each other host is read now, since later the rank that gives them out may be dead. */
static void learn_hosts(void)
{
    for (int process = 0; process < weft_processes.count && weft_world.is_published != NULL;
         process++) {
        const weft_endpoint_t *endpoint = weft_process_reached(process);
        int64_t limit_ns = weft_clock_ns() + (int64_t)weft_config.TIMEOUT * 1000000000;
        if (endpoint != NULL && endpoint->is_on_host)
            continue;
        while (process != weft_processes.self && !weft_world.is_published(process) &&
               weft_clock_ns() < limit_ns)
            ;
    }
}

void weft_notes_open(void)
{
    wefti_notes_open();
}

int weft_detector_open(void)
{
    if (!weft_config.RECOVERY)
        return MPI_SUCCESS;
    int err = observe_host();
    if (err == MPI_SUCCESS)
        err = weft_progress_add(detector_look);
    if (err != MPI_SUCCESS)
        return err;
    weft_pt2pt_on_failure = detector_failed;
    learn_hosts();
    wefti_neighbours_each(weft_comm_job.group, observe_process, NULL);
    return MPI_SUCCESS;
}

void weft_detector_close(void)
{
    wefti_notes_close();
    weft_pt2pt_on_failure = NULL;
    weft_progress_remove(detector_look);
    for (int i = 0; i < detector.count; i++)
        forget_target(&detector.targets[i], &detector.fds[i]);
    weft_free(detector.targets);
    weft_free(detector.fds);
    detector.targets = NULL;
    detector.fds = NULL;
    detector.count = 0;
}
