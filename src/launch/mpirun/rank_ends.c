/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strsignal */
#include "launch/mpirun/rank_ends.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/number_list.h"
#include "launch/plan/torch_options.h"
#include "mpi.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* What the PMIx server tells of a rank without notes comes late when the host is busy. */
enum { DECIDE_MS = 5000 };

int wl_rank_ends_open(const wl_job_plan_t *plan, wl_rank_ends_t *out)
{
    *out = (wl_rank_ends_t){.plan = plan};
    out->ends = weft_alloc_zeroed((size_t)plan->size, sizeof(*out->ends));
    return out->ends != NULL ? MPI_SUCCESS
                             : weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
}

static void settle_fate(wl_rank_ends_t *ends, wl_rank_end_t *end, bool is_lost)
{
    ends->undecided -= end->fate == WL_UNDECIDED;
    end->fate = is_lost ? WL_LOST : WL_ENDED;
    if (is_lost && ends->lost++ == 0)
        ends->first_lost_code = end->code != 0 ? end->code : 1;
    if (!is_lost && ends->first_code == 0)
        ends->first_code = end->code;
}

static void take_rank_end(wl_rank_ends_t *ends, const wl_rank_event_t *event, int64_t now_ms)
{
    wl_rank_end_t *end = &ends->ends[event->rank];
    if (end->fate != WL_RUNS)
        return;
    end->pid = event->pid;
    end->code = event->code;
    end->signal = event->signal;
    end->has_core = event->has_core;
    /* Who is started again may have ended a session and been about to begin the next one. */
    bool is_final = end->has_finalized && !ends->plan->replaces_lost;
    bool is_early = event->code == 0 ? end->is_connected : !is_final;
    bool may_be_late = event->signal == 0 && end->is_connected && !event->has_notes;
    if (end->has_aborted || !may_be_late) {
        settle_fate(ends, end, !end->has_aborted && (event->signal != 0 || is_early));
        return;
    }
    end->fate = WL_UNDECIDED;
    end->decide_at_ms = now_ms + DECIDE_MS;
    ends->undecided++;
}

static void take_finalize(wl_rank_ends_t *ends, wl_rank_end_t *end)
{
    end->is_connected = false;
    end->has_finalized = true;
    if (end->fate == WL_UNDECIDED)
        settle_fate(ends, end, false);
}

static void take_host_loss(wl_rank_ends_t *ends, int rank)
{
    const wl_placement_t *placement = &ends->plan->placement;
    const wl_placed_host_t *host = &placement->hosts[placement->host_of[rank]];
    for (int i = 0; i < host->count; i++) {
        wl_rank_end_t *end = &ends->ends[host->ranks[i]];
        if (end->fate != WL_RUNS)
            continue;
        end->is_with_host = true;
        end->code = 128 + SIGKILL; /* its daemon kills it when it finds its parent gone */
        settle_fate(ends, end, true);
    }
}

void wl_rank_ends_take(wl_rank_ends_t *ends, const wl_rank_event_t *event, int64_t now_ms)
{
    wl_rank_end_t *end = &ends->ends[event->rank];
    switch (event->kind) {
    case WL_RANK_CONNECTED:
        end->is_connected = true;
        end->has_finalized = false;
        break;
    case WL_RANK_FINALIZED:
        take_finalize(ends, end);
        break;
    case WL_RANK_LOST_PEER:
        end->is_bereft = true;
        end->has_aborted = end->has_aborted || !ends->plan->replaces_lost;
        break;
    case WL_RANK_ABORTED:
        end->has_aborted = true;
        break;
    case WL_RANK_ENDED:
        take_rank_end(ends, event, now_ms);
        break;
    case WL_HOST_LOST:
        take_host_loss(ends, event->rank);
        break;
    case WL_SERVER_LOST:
        break;
    }
}

static void decide_late_ones(wl_rank_ends_t *ends, int64_t now_ms)
{
    for (int rank = 0; rank < ends->plan->size && ends->undecided > 0; rank++) {
        wl_rank_end_t *end = &ends->ends[rank];
        if (end->fate == WL_UNDECIDED && end->decide_at_ms <= now_ms)
            settle_fate(ends, end, true);
    }
}

int wl_rank_ends_next_lost(wl_rank_ends_t *ends, int64_t now_ms)
{
    decide_late_ones(ends, now_ms);
    if (ends->told == ends->lost)
        return -1;
    int rank = 0;
    while (ends->ends[rank].fate != WL_LOST || ends->ends[rank].is_told)
        rank++;
    ends->ends[rank].is_told = true;
    ends->told++;
    return rank;
}

void wl_rank_ends_renew(wl_rank_ends_t *ends, int rank)
{
    ends->ends[rank] = (wl_rank_end_t){.fate = WL_RUNS};
    ends->lost--;
    ends->told--;
}

int64_t wl_rank_ends_decide_at_ms(const wl_rank_ends_t *ends)
{
    int64_t next = INT64_MAX;
    for (int rank = 0; rank < ends->plan->size && ends->undecided > 0; rank++) {
        const wl_rank_end_t *end = &ends->ends[rank];
        if (end->fate == WL_UNDECIDED && end->decide_at_ms < next)
            next = end->decide_at_ms;
    }
    return next;
}

void wl_rank_ends_describe(const wl_rank_ends_t *ends, int rank, char *out, size_t bytes)
{
    const wl_placement_t *placement = &ends->plan->placement;
    const wl_rank_end_t *end = &ends->ends[rank];
    char who[320];
    snprintf(who, sizeof(who), "rank %d (process %d on %s)", wl_torch_world_rank(ends->plan, rank),
             end->pid, placement->hosts[placement->host_of[rank]].name);
    if (end->signal != 0)
        snprintf(out, bytes, "%s was killed by signal %d (%s)%s", who, end->signal,
                 strsignal(end->signal), end->has_core ? ", core dumped" : "");
    else if (end->code == 0)
        snprintf(out, bytes, "%s exited without calling MPI_Finalize or MPI_Session_finalize", who);
    else
        snprintf(out, bytes, "%s exited with code %d%s", who, end->code,
                 end->is_bereft ? ", as another rank was lost," : "");
}

/* Append ": 1,3-5", or the beginning of a long list. */
static void append_lost(const wl_rank_ends_t *ends, char *out, size_t bytes)
{
    enum { LIST_LETTERS = 200 };
    int *ranks = weft_alloc_array((size_t)ends->lost, sizeof(*ranks)), count = 0;
    wl_byte_queue_t list = {0};
    for (int rank = 0; rank < ends->plan->size && ranks != NULL; rank++) {
        if (ends->ends[rank].fate == WL_LOST)
            ranks[count++] = wl_torch_world_rank(ends->plan, rank);
    }
    if (count > 0 && wl_number_list_write(ranks, count, &list))
        snprintf(out, bytes, ": %.*s%s", LIST_LETTERS, wl_queue_front(&list),
                 wl_queue_bytes(&list) > LIST_LETTERS + 1 ? "..." : "");
    wl_queue_release(&list);
    weft_free(ranks);
}

void wl_rank_ends_summarize(const wl_rank_ends_t *ends, char *out, size_t bytes)
{
    int size = ends->plan->size;
    if (ends->lost == size) {
        snprintf(out, bytes, size == 1 ? "the only rank was lost" : "all %d ranks were lost", size);
        return;
    }
    int used = snprintf(out, bytes, "%d of %d ranks %s lost", ends->lost, size,
                        ends->lost == 1 ? "was" : "were");
    append_lost(ends, out + used, bytes - (size_t)used);
}

int wl_rank_ends_exit_code(const wl_rank_ends_t *ends)
{
    return ends->lost == ends->plan->size ? ends->first_lost_code : ends->first_code;
}

void wl_rank_ends_release(wl_rank_ends_t *ends)
{
    weft_free(ends->ends);
    ends->ends = NULL;
}
