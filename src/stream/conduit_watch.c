/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of the kernels in conduits. Nobody waits for them: the library's thread looks, some
 * times a second, at the words that they write into memory of the host.
 */
#include "stream/conduit_private.h"

#include "object/errhandler.h"
#include "runtime/failures.h"
#include "runtime/lock.h"
#include "runtime/progress.h"
#include "runtime/stopped_process.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"
#include "mpix.h"

#include <stddef.h>

enum {
    LAUNCHES_MOST = 256, /* that wait in a stream: as many as operations with gates */
    STUCK_NS = 50000000, /* a kernel that waits so long is looked at more closely */
    LEARN_MS = 1000,
};

bool wefti_conduit_is_busy(const conduit_t *conduit)
{
    const weft_conduit_watch_t *watch = conduit->watch;
    return watch->number != conduit->number || watch->begun != watch->ended;
}

bool wefti_conduit_may_wait(const conduit_t *conduit)
{
    return conduit->watch != NULL && (conduit->graphs > 0 || wefti_conduit_is_busy(conduit));
}

/* ---- room ---- */

static bool has_few(const conduit_t *conduit)
{
    return conduit->number - conduit->watch->number < LAUNCHES_MOST ||
           wefti_conduit_has_failed(conduit);
}

static int conduit_look_for_room(bool everything)
{
    (void)everything;
    for (weft_link_t *link = wefti_conduits.next; link != &wefti_conduits; link = link->next) {
        conduit_t *conduit = WEFT_ELEMENT(link, conduit_t, link);
        conduit->has_room = conduit->watch != NULL && has_few(conduit);
    }
    return 0;
}

void wefti_conduit_await_room(conduit_t *conduit)
{
    static int waiting;
    while (!has_few(conduit)) {
        conduit->has_room = false;
        if (waiting++ == 0)
            weft_progress_need(conduit_look_for_room);
        wefti_stream_await(&conduit->has_room);
        if (--waiting == 0)
            weft_progress_remove(conduit_look_for_room);
    }
}

/* ---- calling off ---- */

/* The kernel of this rank tells those of the others. */
static void call_off(conduit_t *conduit, int error)
{
    if (conduit->off_error == MPI_SUCCESS)
        conduit->off_error = error;
    conduit->watch->off = conduit->watch->begun;
}

static int find_failed(const conduit_t *conduit)
{
    for (int i = 0; i < conduit->members; i++) {
        int process = conduit->processes[i];
        if (weft_has_failed(process))
            return process;
    }
    return WEFT_NO_PROCESS;
}

static int find_stopped(const conduit_t *conduit)
{
    for (int i = 0; i < conduit->members; i++) {
        int process = conduit->processes[i];
        if (i != conduit->member && weft_process_is_stopped(process))
            return process;
    }
    return WEFT_NO_PROCESS;
}

/* Only the time between looks that follow each other counts, as this process may have been stopped,
 * too. */
static bool is_stopped_too_long(conduit_t *conduit, int64_t now_ns)
{
    int64_t most_ns = (int64_t)weft_config.DEVICE_WAIT_MAX * 1000000000;
    int64_t since_ns = now_ns - conduit->looked_ns;
    int process = most_ns == 0 ? WEFT_NO_PROCESS : find_stopped(conduit);
    bool is_same = process != WEFT_NO_PROCESS && process == conduit->stopped;
    conduit->stopped_ns =
        is_same ? conduit->stopped_ns + (since_ns < 4 * STUCK_NS ? since_ns : 4 * STUCK_NS) : 0;
    conduit->stopped = process;
    return process != WEFT_NO_PROCESS && conduit->stopped_ns >= most_ns;
}

static void look_at_members(conduit_t *conduit, int64_t now_ns)
{
    conduit->lost = find_failed(conduit);
    if (conduit->lost != WEFT_NO_PROCESS)
        call_off(conduit, MPIX_ERR_PROC_FAILED);
    else if (conduit->off_error != MPI_SUCCESS)
        call_off(conduit, conduit->off_error);
    else if (conduit->comm != NULL && conduit->comm->is_revoked)
        call_off(conduit, MPIX_ERR_REVOKED);
    else if (is_stopped_too_long(conduit, now_ns))
        call_off(conduit, MPI_ERR_OTHER);
}

void wefti_conduit_break(conduit_t *conduit)
{
    static const uint32_t broken = 1;
    weft_queue_t *queue = weft_device->queue(conduit->device, WEFT_STREAM_QUICK);
    if (conduit->off_error == MPI_SUCCESS)
        conduit->off_error = MPI_ERR_OTHER;
    for (int i = 0; i < conduit->members && queue != NULL; i++) {
        char *inbox = i == conduit->member ? conduit->inbox.memory : conduit->peers[i].address;
        weft_device->copy(queue, inbox + WEFT_CONDUIT_BROKEN, &broken, sizeof(broken));
    }
}

/* ---- errors ---- */

/* Another rank may have told the kernels of this one of a failure that is not known here yet. */
static void learn_of_failure(conduit_t *conduit)
{
    int64_t until_ms = weft_clock_ms() + LEARN_MS;
    while (weft_config.RECOVERY && conduit->off_error == MPI_SUCCESS &&
           weft_clock_ms() < until_ms) {
        weft_progress_test();
        look_at_members(conduit, weft_clock_ns());
    }
}

int wefti_conduit_error(conduit_t *conduit)
{
    learn_of_failure(conduit);
    if (conduit->off_error == MPIX_ERR_PROC_FAILED)
        return weft_fail(MPIX_ERR_PROC_FAILED, "%s", weft_failure_text(conduit->lost));
    if (conduit->off_error == MPIX_ERR_REVOKED)
        return weft_fail(MPIX_ERR_REVOKED, "the communicator was revoked");
    if (conduit->stopped != WEFT_NO_PROCESS && conduit->off_error != MPI_SUCCESS)
        return weft_fail(MPI_ERR_OTHER,
                         "rank %d has been stopped for %d s (WEFT_DEVICE_WAIT_MAX), while a kernel "
                         "waits for its kernel",
                         weft_process_rank(conduit->stopped), weft_config.DEVICE_WAIT_MAX);
    if (conduit->off_error != MPI_SUCCESS)
        return weft_fail(MPI_ERR_OTHER, "an earlier kernel of this communicator could not be "
                                        "launched");
    return weft_fail(MPI_ERR_OTHER, "a kernel of the communicator in a stream has ended without a "
                                    "result, as that of another rank has failed");
}

/* Errors that the program asks to be returned are returned by its next call. */
static void tell_failure(conduit_t *conduit)
{
    weft_comm_t *comm = conduit->comm;
    conduit->has_told = true;
    if (comm == NULL || comm->errhandler == &weft_errors_return)
        return;
    int err = wefti_conduit_error(conduit);
    weft_comm_retain(comm);
    weft_unlock();
    weft_error_raise(comm, err, "a collective in a stream");
    weft_lock();
    weft_comm_release(comm);
}

/* ---- looking ---- */

/* Is a kernel in it that waited at the last look already? */
static bool look_at(conduit_t *conduit, int64_t now_ns)
{
    const weft_conduit_watch_t *watch = conduit->watch;
    uint32_t begun = watch->begun;
    bool waits = begun != watch->ended && begun == conduit->begun;
    bool is_stuck = waits && now_ns - conduit->looked_ns >= STUCK_NS;
    if (is_stuck)
        look_at_members(conduit, now_ns);
    if (is_stuck || begun != conduit->begun) {
        conduit->begun = begun;
        conduit->looked_ns = now_ns;
    }
    return waits;
}

bool wefti_conduits_look(void)
{
    bool is_stuck = false;
    int64_t now_ns = weft_clock_ns();
    for (weft_link_t *link = wefti_conduits.next, *next; link != &wefti_conduits; link = next) {
        conduit_t *conduit = WEFT_ELEMENT(link, conduit_t, link);
        next = link->next;
        if (conduit->watch == NULL)
            continue; /* it is being made */
        is_stuck |= look_at(conduit, now_ns);
        if (conduit->watch->vain != 0 && !conduit->has_told) {
            tell_failure(conduit);
            return true; /* the list may have changed */
        }
        if (conduit->comm == NULL && conduit->graphs == 0 && !wefti_conduit_is_busy(conduit))
            wefti_conduit_destroy(conduit, true);
    }
    return is_stuck;
}
