/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: ordered sets of processes, named by their index in weft_processes. Fixed after creation
 * and shared by reference, so a communicator's dup costs no memory for ranks.
 */
#ifndef WEFT_OBJECT_GROUP_H
#define WEFT_OBJECT_GROUP_H

#include "object/object.h"
#include "mpi.h"

typedef struct weft_session weft_session_t;

typedef struct weft_group {
    weft_object_t object;
    int size;
    int rank;                /* of this process; MPI_UNDEFINED when it is no member */
    int *processes;          /* [size]; NULL: rank i of the group is process i */
    int *sorted;             /* [size] ranks of the group by process, made when first needed */
    void *shape;             /* of src/coll: ranks by node; released by weft_group_release_shape */
    weft_session_t *session; /* that it is derived from, a reference; NULL: of the World model */
} weft_group_t;

extern weft_group_t weft_group_empty;

/** NULL: not a live group (MPI_GROUP_NULL included). */
weft_group_t *weft_group_of(MPI_Group handle);
MPI_Group weft_group_handle(weft_group_t *group);

/**
 * processes  [size], from weft_alloc; the group owns it, also when creation fails; NULL: identity
 * out          a new group, one reference; MPI_GROUP_EMPTY's object for size 0
 * returns      MPI_SUCCESS, MPI_ERR_NO_MEM
 */
int weft_group_create(int *processes, int size, weft_group_t **out);
/** As weft_group_create, for a group that is derived from `origin`: of the same session. */
int weft_group_derive(const weft_group_t *origin, int *processes, int size, weft_group_t **out);
void weft_group_retain(weft_group_t *group);
void weft_group_release(weft_group_t *group);

/** Set by src/coll: releases group->shape. */
extern void (*weft_group_release_shape)(weft_group_t *group);

/** Free all groups, also those that the program has not freed. */
void weft_groups_close(void);

static inline int weft_group_process(const weft_group_t *group, int rank)
{
    return group->processes == NULL ? rank : group->processes[rank];
}

/** The rank in `group` of a process; MPI_UNDEFINED when it is no member. O(log size). */
int weft_group_rank_of(weft_group_t *group, int process);

#endif
