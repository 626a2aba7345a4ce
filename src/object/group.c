/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "object/group.h"

#include "object/session.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

weft_group_t weft_group_empty = {
    .object = {.kind = WEFT_KIND_GROUP, .references = 1},
    .rank = MPI_UNDEFINED,
};

void (*weft_group_release_shape)(weft_group_t *group);

static weft_pool_t groups = WEFT_POOL(weft_group_t);

weft_group_t *weft_group_of(MPI_Group handle)
{
    if (handle == MPI_GROUP_EMPTY)
        return &weft_group_empty;
    weft_group_t *group = (weft_group_t *)handle;
    return weft_is_predefined(handle) || group->object.kind != WEFT_KIND_GROUP ? NULL : group;
}

MPI_Group weft_group_handle(weft_group_t *group)
{
    return group == &weft_group_empty ? MPI_GROUP_EMPTY : (MPI_Group)group;
}

static int find_own_rank(const weft_group_t *group)
{
    if (group->processes == NULL)
        return weft_processes.self < group->size ? weft_processes.self : MPI_UNDEFINED;
    for (int i = 0; i < group->size; i++) {
        if (group->processes[i] == weft_processes.self)
            return i;
    }
    return MPI_UNDEFINED;
}

static bool is_identity(const int *processes, int size)
{
    for (int i = 0; i < size; i++) {
        if (processes[i] != i)
            return false;
    }
    return true;
}

int weft_group_create(int *processes, int size, weft_group_t **out)
{
    if (size == 0) {
        weft_free(processes);
        weft_group_retain(&weft_group_empty);
        *out = &weft_group_empty;
        return MPI_SUCCESS;
    }
    weft_group_t *group = weft_pool_take(&groups);
    if (group == NULL) {
        weft_free(processes);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a group of %d", size);
    }
    /* Without an array ranks are translated at no cost. */
    if (processes != NULL && is_identity(processes, size)) {
        weft_free(processes);
        processes = NULL;
    }
    weft_object_init(&group->object, WEFT_KIND_GROUP);
    group->size = size;
    group->processes = processes;
    group->sorted = NULL;
    group->shape = NULL;
    group->session = NULL;
    group->rank = find_own_rank(group);
    *out = group;
    return MPI_SUCCESS;
}

int weft_group_derive(const weft_group_t *origin, int *processes, int size, weft_group_t **out)
{
    int err = weft_group_create(processes, size, out);
    if (err == MPI_SUCCESS && size > 0 && origin->session != NULL) {
        weft_session_retain(origin->session);
        (*out)->session = origin->session;
    }
    return err;
}

void weft_group_retain(weft_group_t *group)
{
    weft_object_retain(&group->object);
}

void weft_group_release(weft_group_t *group)
{
    if (group == &weft_group_empty || !weft_object_drop(&group->object))
        return;
    group->object.kind = WEFT_FREED;
    if (group->shape != NULL)
        weft_group_release_shape(group);
    if (group->session != NULL)
        weft_session_release(group->session);
    weft_free(group->processes);
    weft_free(group->sorted);
    weft_pool_give(&groups, group);
}

void weft_groups_close(void)
{
    weft_pool_close(&groups);
}

static int compare_processes(const void *a, const void *b, void *processes)
{
    const int *ranks = processes;
    return ranks[*(const int *)a] - ranks[*(const int *)b];
}

static int *sort_group_members(const weft_group_t *group)
{
    int *sorted = weft_alloc_array((size_t)group->size, sizeof(int));
    if (sorted == NULL)
        return NULL;
    for (int i = 0; i < group->size; i++)
        sorted[i] = i;
    qsort_r(sorted, (size_t)group->size, sizeof(int), compare_processes, group->processes);
    return sorted;
}

static int scan_members(const weft_group_t *group, int process)
{
    for (int i = 0; i < group->size; i++) {
        if (group->processes[i] == process)
            return i;
    }
    return MPI_UNDEFINED;
}

int weft_group_rank_of(weft_group_t *group, int process)
{
    if (group->processes == NULL)
        return process >= 0 && process < group->size ? process : MPI_UNDEFINED;
    if (group->sorted == NULL &&
        (group->size <= 8 || (group->sorted = sort_group_members(group)) == NULL))
        return scan_members(group, process);
    int low = 0, high = group->size;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (group->processes[group->sorted[middle]] < process)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < group->size && group->processes[group->sorted[low]] == process)
        return group->sorted[low];
    return MPI_UNDEFINED;
}
