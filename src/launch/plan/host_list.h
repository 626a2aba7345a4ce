/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of hosts, as command lines and host files have them, in the syntax of Hydra, of Open MPI
 * and of Slurm. */
#ifndef WEFT_LAUNCH_PLAN_HOST_LIST_H
#define WEFT_LAUNCH_PLAN_HOST_LIST_H

#include "launch/plan/name_index.h"

#include <stdbool.h>

/** Ranks that a job has at most; more slots than that, or more hosts in one word, are a mistake. */
enum { WL_MOST_RANKS = 1 << 20 };

typedef struct wl_listed_host {
    char *name;
    int slots; /* ranks that it is meant for; 0: unknown */
    int most;  /* ranks that it may get; 0: any number */
} wl_listed_host_t;

/** Hosts in the order in which they are first named; each name stands there once, with the sum of
 *  its slots. */
typedef struct wl_host_list {
    wl_listed_host_t *hosts; /* [count]; from the heap */
    int count, capacity;
    wl_name_index_t index; /* of hosts[] by their names */
} wl_host_list_t;

/**
 * Add "a:4,b,node[01-03,7]:2", the syntax of --host. A name of this host becomes the name that the
 * host calls itself.
 * returns  MPI_SUCCESS; MPI_ERR_ARG with a text that names the word; MPI_ERR_NO_MEM
 */
int wl_host_list_add(wl_host_list_t *list, const char *words);

/** Add the lines of a host file: "name", "name:4", "name slots=4 max_slots=8"; '#' begins a
 * comment. Also MPI_ERR_NO_SUCH_FILE; MPI_ERR_ARG: it is no text. */
int wl_host_list_add_file(wl_host_list_t *list, const char *path);

/** Add the hosts of another list. MPI_ERR_NO_MEM; MPI_ERR_ARG: slots add up to too many. */
int wl_host_list_copy(const wl_host_list_t *from, wl_host_list_t *to);

/** Where `list` gives no slots for a host, take those that `from` gives. */
void wl_host_list_take_slots(wl_host_list_t *list, const wl_host_list_t *from);

void wl_host_list_release(wl_host_list_t *list);

/** Does `name` mean the host that we run on: its name with or without domain, localhost, or one of
 *  its addresses as a number? */
bool wl_is_this_host(const char *name);

#endif
