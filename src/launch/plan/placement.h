/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rank runs on which host.
 *
 *   a:2,b:1  5 ranks, by slot   a: 0 1 3 4   b: 2      slots in order; then round again
 *   a:2,b:1  5 ranks, by node   a: 0 2 3     b: 1 4    one a host; slots are filled first
 */
#ifndef WEFT_LAUNCH_PLAN_PLACEMENT_H
#define WEFT_LAUNCH_PLAN_PLACEMENT_H

#include "launch/plan/host_list.h"

#include <stdbool.h>

typedef struct wl_placed_host {
    char *name;
    int *ranks; /* [count] in ascending order; part of one block */
    int count;
} wl_placed_host_t;

typedef struct wl_placement {
    wl_placed_host_t *hosts; /* [host_count] by their first rank; none is empty */
    int host_count, size;
    int *host_of;    /* [size] index into hosts[] */
    int *local_rank; /* [size] index into its ranks[] */
} wl_placement_t;

typedef struct wl_placement_rules {
    int per_host; /* -ppn: instead of the slots; 0: not given */
    bool is_by_node;
    bool no_oversubscription; /* refuse what needs more than the slots */
} wl_placement_rules_t;

/** `count` ranks that may run on `hosts`; a part of a job. */
typedef struct wl_placement_part {
    const wl_host_list_t *hosts;
    int count;
} wl_placement_part_t;

/** The sum of the slots of the hosts of a list; a host without a number of slots counts as one. */
int wl_placement_slots(const wl_host_list_t *hosts, const wl_placement_rules_t *rules);

/**
 * Place the parts one after the other, ranks in order.
 * returns  MPI_SUCCESS; MPI_ERR_SPAWN when there are not enough slots; MPI_ERR_NO_MEM
 */
int wl_placement_make(const wl_placement_part_t *parts, int part_count,
                      const wl_placement_rules_t *rules, wl_placement_t *out);

/**
 * Make a placement from a message: host_of[size], which is copied, and the names of the hosts.
 * returns  MPI_SUCCESS; MPI_ERR_OTHER for numbers that name no host; MPI_ERR_NO_MEM
 */
int wl_placement_rebuild(const int *host_of, int size, char *const *names, int host_count,
                         wl_placement_t *out);

void wl_placement_release(wl_placement_t *placement);

/** Write "rank 3", "ranks 3 to 5" or "rank 3 and 2 more" for the ranks of a host. */
void wl_placement_name_ranks(const wl_placed_host_t *host, char *out, size_t bytes);

#endif
