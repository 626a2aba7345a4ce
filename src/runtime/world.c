/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/world.h"

#include "runtime/runtime_events.h"
#include "base/config.h"
#include "mpi.h"

#include <stdlib.h>

weft_world_t weft_world = {.fabric = "", .vcis = 1};

static void see_whether_plain(void)
{
    weft_world.is_plain =
        weft_world.stage == WEFT_RUNNING && !weft_world.is_threaded && !weft_world.is_watchful;
}

void weft_world_set_stage(weft_stage_t stage)
{
    weft_world.stage = stage;
    see_whether_plain();
}

void weft_world_set_threaded(bool is_threaded)
{
    weft_world.is_threaded = weft_world.has_many_callers = is_threaded;
    see_whether_plain();
}

/* Where messages may be lost, or the library has a thread of its own that goes on with them, all
 * is done with the library's lock. */
bool weft_world_wants_vcis(void)
{
    return weft_world.thread_level == MPI_THREAD_MULTIPLE && weft_config.VCIS &&
           !weft_config.RECOVERY && !weft_config.REJOIN && !weft_config.PROGRESS_THREAD &&
           (weft_config.CHECK & WEFT_CHECK_LEAKS) == 0;
}

void weft_world_set_locked(void)
{
    weft_world.is_threaded = true;
    see_whether_plain();
}

void weft_world_set_watchful(bool is_watchful)
{
    weft_world.is_watchful = is_watchful;
    see_whether_plain();
}

void weft_world_leave(weft_leaving_t how)
{
    atomic_store_explicit(&weft_world.leaving, (unsigned)how, memory_order_relaxed);
    if (weft_world.shown_leaving != NULL)
        atomic_store_explicit(weft_world.shown_leaving, (unsigned)how, memory_order_release);
}

bool weft_world_may_warn(weft_warning_t note)
{
    static atomic_uint own;
    atomic_uint *noted = weft_world.noted != NULL ? weft_world.noted : &own;
    bool is_first = (atomic_fetch_or(noted, 1u << note) & 1u << note) == 0;
    WEFT_EVENT(weft_fallback_event, NULL, .what = (int)note, .is_logged = is_first);
    return is_first;
}

static int compare_ranks(const void *a, const void *b)
{
    int first = *(const int *)a, second = *(const int *)b;
    return (first > second) - (first < second);
}

int weft_world_local_rank_of(int world_rank)
{
    const int *ranks = weft_world.local_ranks;
    const int *at =
        bsearch(&world_rank, ranks, (size_t)weft_world.local_size, sizeof(*ranks), compare_ranks);
    return at == NULL ? -1 : (int)(at - ranks);
}

int weft_process_local_rank(int process)
{
    int rank = weft_process_rank(process), local_rank = weft_world_local_rank_of(rank);
    return local_rank >= 0 && weft_process_find(WEFT_OWN_JOB, rank) == process ? local_rank : -1;
}
