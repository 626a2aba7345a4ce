/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strsignal */
#include "launch/mpirun/first_failure.h"

#include "base/fail.h"
#include "base/memory.h"
#include "mpi.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    DOUBT_MS = 100,
    /* Of whom the rank has lost we shall hear; it may be on another host, and have to write its memory to a file. */
    DOUBT_ABOUT_BEREFT_MS = 500,
};

int weft_blame_open(const weft_job_plan_t *plan, weft_blame_t *out)
{
    *out = (weft_blame_t){.plan = plan};
    out->is_connected = weft_alloc_zeroed((size_t)plan->size, sizeof(bool));
    out->is_bereft = weft_alloc_zeroed((size_t)plan->size, sizeof(bool));
    if (out->is_connected != NULL && out->is_bereft != NULL)
        return MPI_SUCCESS;
    weft_blame_release(out);
    return weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
}

/* How good a claim to the blame a reason is; of equal ones the first counts. */
static int claim_of(weft_reason_t reason)
{
    return reason <= WEFT_BEREFT ? (int)reason : reason < WEFT_SIGNALLED ? WEFT_BEREFT + 1 : WEFT_BEREFT + 2;
}

static void suspect(weft_blame_t *blame, weft_reason_t reason, const weft_rank_event_t *event,
                    int64_t now_ms)
{
    if (claim_of(reason) <= claim_of(blame->reason))
        return;
    blame->sentence_at_ms = now_ms + (reason == WEFT_BEREFT ? DOUBT_ABOUT_BEREFT_MS : DOUBT_MS);
    blame->reason = reason;
    blame->event = *event;
}

static weft_reason_t judge_end(const weft_blame_t *blame, const weft_rank_event_t *event)
{
    if (event->signal != 0)
        return WEFT_SIGNALLED;
    if (blame->is_bereft[event->rank])
        return WEFT_NO_REASON;
    if (event->code != 0)
        return WEFT_EXIT_CODE;
    return blame->is_connected[event->rank] && blame->plan->size > 1 ? WEFT_NO_FINALIZE
                                                                     : WEFT_NO_REASON;
}

void weft_blame_take(weft_blame_t *blame, const weft_rank_event_t *event, int64_t now_ms)
{
    weft_reason_t reason = WEFT_NO_REASON;
    switch (event->kind) {
    case WEFT_RANK_CONNECTED:
    case WEFT_RANK_FINALIZED:
        blame->is_connected[event->rank] = event->kind == WEFT_RANK_CONNECTED;
        break;
    case WEFT_RANK_ABORTED:
        reason = WEFT_ABORTED;
        break;
    case WEFT_RANK_BEREFT:
        reason = WEFT_BEREFT;
        blame->is_bereft[event->rank] = true;
        break;
    case WEFT_RANK_ENDED:
        reason = judge_end(blame, event);
        break;
    case WEFT_HOST_LOST:
        reason = WEFT_UNREACHABLE;
        break;
    }
    suspect(blame, reason, event, now_ms);
}

bool weft_blame_is_doubtful(const weft_blame_t *blame, int running)
{
    return blame->reason != WEFT_NO_REASON && blame->reason < WEFT_SIGNALLED && running > 0;
}

/* "rank 3", "ranks 3 to 5", "ranks 3 and more" */
static void name_ranks(const weft_placed_host_t *host, char *out, size_t bytes)
{
    int first = host->ranks[0], last = host->ranks[host->count - 1];
    if (host->count == 1)
        snprintf(out, bytes, "rank %d", first);
    else if (last - first == host->count - 1)
        snprintf(out, bytes, "ranks %d to %d", first, last);
    else
        snprintf(out, bytes, "rank %d and %d more", first, host->count - 1);
}

void weft_blame_describe(const weft_blame_t *blame, char *out, size_t bytes)
{
    const weft_rank_event_t *event = &blame->event;
    const weft_placement_t *placement = &blame->plan->placement;
    const weft_placed_host_t *host = &placement->hosts[placement->host_of[event->rank]];
    char who[320];
    snprintf(who, sizeof(who), "rank %d (process %d on %s)", event->rank, event->pid, host->name);
    switch (blame->reason) {
    case WEFT_ABORTED:
    case WEFT_BEREFT:
        snprintf(out, bytes, "%s aborted the job with code %d%s%s", who, event->code,
                 event->text[0] == '\0' ? "" : ": ", event->text);
        break;
    case WEFT_SIGNALLED:
        snprintf(out, bytes, "%s was killed by signal %d (%s)%s; ending the job", who,
                 event->signal, strsignal(event->signal), event->has_core ? ", core dumped" : "");
        break;
    case WEFT_UNREACHABLE:
        name_ranks(host, who, sizeof(who));
        snprintf(out, bytes, "the host %s with %s was lost: %s; ending the job", host->name, who,
                 event->text);
        break;
    case WEFT_NO_FINALIZE:
        snprintf(out, bytes, "%s exited without calling MPI_Finalize; ending the job", who);
        break;
    default:
        snprintf(out, bytes, "%s exited with code %d; ending the job", who, event->code);
    }
}

/* An exit status has eight bits; a code like 256 must not look like success. */
static int exit_status(int code)
{
    return code != 0 && (code & 0xff) == 0 ? 1 : code & 0xff;
}

int weft_blame_exit_code(const weft_blame_t *blame)
{
    if (blame->reason == WEFT_ABORTED || blame->reason == WEFT_BEREFT)
        return exit_status(blame->event.code);
    if (blame->reason == WEFT_NO_FINALIZE)
        return 1;
    /* The ranks of a lost host are killed as soon as it knows. */
    return blame->reason == WEFT_UNREACHABLE ? 128 + SIGKILL : blame->event.code;
}

void weft_blame_release(weft_blame_t *blame)
{
    weft_free(blame->is_connected);
    weft_free(blame->is_bereft);
    blame->is_connected = blame->is_bereft = NULL;
}
