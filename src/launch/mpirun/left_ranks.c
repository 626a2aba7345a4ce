/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/mpirun/left_ranks.h"

#include "base/fail.h"
#include "base/memory.h"
#include "launch/plan/number_list.h"
#include "mpi.h"

#include <stdio.h>

int wl_left_ranks_open(const wl_job_plan_t *plan, wl_left_ranks_t *out)
{
    *out = (wl_left_ranks_t){.plan = plan};
    out->has_ended = weft_alloc_zeroed((size_t)plan->size, sizeof(bool));
    return out->has_ended != NULL ? MPI_SUCCESS
                                  : weft_fail(MPI_ERR_NO_MEM, "a job of %d ranks", plan->size);
}

void wl_left_ranks_take(wl_left_ranks_t *left, const wl_rank_event_t *event)
{
    const wl_placement_t *placement = &left->plan->placement;
    if (event->kind == WL_RANK_ENDED)
        left->has_ended[event->rank] = true;
    if (event->kind != WL_HOST_LOST)
        return;
    const wl_placed_host_t *host = &placement->hosts[placement->host_of[event->rank]];
    for (int i = 0; i < host->count; i++)
        left->has_ended[host->ranks[i]] = true;
}

void wl_left_ranks_renew(wl_left_ranks_t *left, int rank)
{
    left->has_ended[rank] = false;
}

/* Store the ranks that are left; returns how many they are. */
static int list_left(const wl_left_ranks_t *left, int *ranks)
{
    int count = 0;
    for (int rank = 0; rank < left->plan->size; rank++) {
        if (!left->has_ended[rank])
            ranks[count++] = rank;
    }
    return count;
}

static bool are_on_one_host(const wl_placement_t *placement, const int *ranks, int count)
{
    for (int i = 1; i < count; i++) {
        if (placement->host_of[ranks[i]] != placement->host_of[ranks[0]])
            return false;
    }
    return true;
}

void wl_left_ranks_describe(const wl_left_ranks_t *left, char *out, size_t bytes)
{
    enum { LIST_LETTERS = 200 }; /* of a longer list the beginning is enough */
    const wl_placement_t *placement = &left->plan->placement;
    int *ranks = weft_alloc_array((size_t)left->plan->size, sizeof(*ranks));
    int count = ranks == NULL ? 0 : list_left(left, ranks);
    wl_byte_queue_t list = {0};
    if (count == 0 || !wl_number_list_write(ranks, count, &list))
        snprintf(out, bytes, "some ranks have");
    else
        snprintf(out, bytes, "rank%s %.*s%s on %s%s %s", count == 1 ? "" : "s", LIST_LETTERS,
                 wl_queue_front(&list), wl_queue_bytes(&list) > LIST_LETTERS + 1 ? "..." : "",
                 placement->hosts[placement->host_of[ranks[0]]].name,
                 are_on_one_host(placement, ranks, count) ? "" : " and other hosts",
                 count == 1 ? "has" : "have");
    wl_queue_release(&list);
    weft_free(ranks);
}

void wl_left_ranks_release(wl_left_ranks_t *left)
{
    weft_free(left->has_ended);
    left->has_ended = NULL;
}
