/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strsignal */
#include "launch/mpirun/first_failure.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    DOUBT_MS = 100,
    /* What the PMIx server tells of a rank comes late when the host is busy. */
    DOUBT_WITHOUT_NOTES_MS = 5000,
    /* The end of the rank that was lost will be reported; that takes longer if it is on another
     * host, and has to write a core file. */
    DOUBT_AFTER_LOST_PEER_MS = 500,
};

int wl_first_failure_open(const wl_job_plan_t *plan, wl_first_failure_t *out)
{
    *out = (wl_first_failure_t){.plan = plan};
    out->is_connected = weft_alloc_zeroed((size_t)plan->size, sizeof(bool));
    out->has_lost_peer = weft_alloc_zeroed((size_t)plan->size, sizeof(bool));
    out->ended_early = weft_alloc_zeroed((size_t)plan->size, sizeof(int));
    if (out->is_connected != NULL && out->has_lost_peer != NULL && out->ended_early != NULL)
        return MPI_SUCCESS;
    wl_first_failure_release(out);
    return weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
}

/* How likely a reason is the cause of the others; of equally likely ones the first counts. */
static int claim_of(wl_failure_reason_t reason)
{
    if (reason <= WL_LOST_PEER)
        return (int)reason;
    if (reason == WL_NO_SERVER) /* ranks that need the server abort */
        return WL_LOST_PEER + 2;
    return reason < WL_SIGNALLED ? WL_LOST_PEER + 1 : WL_LOST_PEER + 3;
}

static int64_t doubt_ms(wl_failure_reason_t reason, const wl_rank_event_t *event)
{
    if (reason == WL_NO_FINALIZE && !event->has_notes)
        return DOUBT_WITHOUT_NOTES_MS;
    return reason == WL_LOST_PEER ? DOUBT_AFTER_LOST_PEER_MS : DOUBT_MS;
}

static void suspect(wl_first_failure_t *failure, wl_failure_reason_t reason,
                    const wl_rank_event_t *event, int64_t now_ms)
{
    if (claim_of(reason) <= claim_of(failure->reason))
        return;
    failure->certain_at_ms = now_ms + doubt_ms(reason, event);
    failure->reason = reason;
    failure->event = *event;
}

static wl_failure_reason_t judge_end(const wl_first_failure_t *failure,
                                     const wl_rank_event_t *event)
{
    if (event->signal != 0)
        return WL_SIGNALLED;
    if (failure->has_lost_peer[event->rank])
        return WL_NO_REASON;
    if (event->code != 0)
        return WL_EXIT_CODE;
    if (!failure->is_connected[event->rank] || failure->plan->size == 1)
        return WL_NO_REASON;
    failure->ended_early[event->rank] = event->pid;
    return WL_NO_FINALIZE;
}

/* The news that a rank has finalized may come after that of its end: it did not end early. */
static void take_late_finalize(wl_first_failure_t *failure, int rank, int64_t now_ms)
{
    failure->ended_early[rank] = 0;
    if (failure->reason != WL_NO_FINALIZE || failure->event.rank != rank)
        return;
    failure->reason = WL_NO_REASON;
    for (int other = 0; other < failure->plan->size; other++) {
        wl_rank_event_t event = {
            .kind = WL_RANK_ENDED, .rank = other, .pid = failure->ended_early[other]};
        if (event.pid != 0)
            suspect(failure, WL_NO_FINALIZE, &event, now_ms);
    }
}

void wl_first_failure_take(wl_first_failure_t *failure, const wl_rank_event_t *event,
                           int64_t now_ms)
{
    wl_failure_reason_t reason = WL_NO_REASON;
    switch (event->kind) {
    case WL_RANK_CONNECTED:
    case WL_RANK_FINALIZED:
        failure->is_connected[event->rank] = event->kind == WL_RANK_CONNECTED;
        if (event->kind == WL_RANK_FINALIZED)
            take_late_finalize(failure, event->rank, now_ms);
        break;
    case WL_RANK_ABORTED:
        reason = WL_ABORTED;
        break;
    case WL_RANK_LOST_PEER:
        reason = WL_LOST_PEER;
        failure->has_lost_peer[event->rank] = true;
        break;
    case WL_RANK_ENDED:
        reason = judge_end(failure, event);
        break;
    case WL_SERVER_LOST:
        reason = WL_NO_SERVER;
        break;
    case WL_HOST_LOST:
        reason = WL_UNREACHABLE;
        break;
    }
    suspect(failure, reason, event, now_ms);
}

bool wl_first_failure_is_doubtful(const wl_first_failure_t *failure, int running)
{
    bool may_be_late = failure->reason == WL_NO_FINALIZE && !failure->event.has_notes;
    return failure->reason != WL_NO_REASON && failure->reason < WL_SIGNALLED &&
           (running > 0 || may_be_late);
}

void wl_first_failure_describe(const wl_first_failure_t *failure, char *out, size_t bytes)
{
    const wl_rank_event_t *event = &failure->event;
    const wl_placement_t *placement = &failure->plan->placement;
    const wl_placed_host_t *host = &placement->hosts[placement->host_of[event->rank]];
    char who[320];
    snprintf(who, sizeof(who), "rank %d (process %d on %s)",
             wl_torch_world_rank(failure->plan, event->rank), event->pid, host->name);
    switch (failure->reason) {
    case WL_ABORTED:
    case WL_LOST_PEER:
        snprintf(out, bytes, "%s aborted the job with code %d%s%s", who, event->code,
                 event->text[0] == '\0' ? "" : ": ", event->text);
        break;
    case WL_SIGNALLED:
        snprintf(out, bytes, "%s was killed by signal %d (%s)%s; ending the job", who,
                 event->signal, strsignal(event->signal), event->has_core ? ", core dumped" : "");
        break;
    case WL_UNREACHABLE:
        wl_placement_name_ranks(host, who, sizeof(who));
        snprintf(out, bytes, "the host %s with %s was lost: %s; ending the job", host->name, who,
                 event->text);
        break;
    case WL_NO_SERVER:
        snprintf(out, bytes, "the PMIx server of host %s has ended: %s; ending the job", host->name,
                 event->text);
        break;
    case WL_NO_FINALIZE:
        snprintf(out, bytes,
                 "%s exited without calling MPI_Finalize or MPI_Session_finalize; ending the job",
                 who);
        break;
    default:
        snprintf(out, bytes, "%s exited with code %d; ending the job", who, event->code);
    }
}

/* An exit status has eight bits; a code such as 256 must not become 0. */
static int exit_status(int code)
{
    return code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff;
}

int wl_first_failure_exit_code(const wl_first_failure_t *failure)
{
    if (failure->reason == WL_ABORTED || failure->reason == WL_LOST_PEER)
        return exit_status(failure->event.code);
    if (failure->reason == WL_NO_FINALIZE || failure->reason == WL_NO_SERVER)
        return 1;
    /* The daemon of a lost host kills its ranks when it finds its parent gone. */
    return failure->reason == WL_UNREACHABLE ? 128 + SIGKILL : failure->event.code;
}

void wl_first_failure_release(wl_first_failure_t *failure)
{
    weft_free(failure->is_connected);
    weft_free(failure->has_lost_peer);
    weft_free(failure->ended_early);
    failure->is_connected = failure->has_lost_peer = NULL;
    failure->ended_early = NULL;
}
