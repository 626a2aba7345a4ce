/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/placement.h"

#include "core/group.h"
#include "core/nodes.h"
#include "core/world.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/memory.h"

/* What a group keeps. */
typedef struct placement {
    weft_shape_t shape;
    weft_group_t *group;
    weft_link_t link; /* in `placements` */
} placement_t;

static weft_list_t placements = {&placements, &placements};

static void release(weft_group_t *group)
{
    placement_t *placement = group->shape;
    group->shape = NULL;
    weft_list_remove(&placement->link);
    weft_shape_close(&placement->shape);
    weft_free(placement);
}

static int read_hosts(const weft_group_t *group, weft_shape_t *out)
{
    int *hosts = weft_alloc_array((size_t)group->size, sizeof(*hosts));
    if (hosts == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the nodes of %d ranks", group->size);
    for (int i = 0; i < group->size; i++)
        hosts[i] = weft_node_of(weft_group_world_rank(group, i));
    int err = weft_shape_open(hosts, group->size, weft_nodes_count(), out);
    weft_free(hosts);
    return err;
}

static int keep_shape(weft_group_t *group)
{
    weft_shape_t shape;
    int err = weft_nodes_open();
    if (err == MPI_SUCCESS)
        err = read_hosts(group, &shape);
    if (err != MPI_SUCCESS)
        return err;
    placement_t *placement = weft_alloc(sizeof(*placement));
    if (placement == NULL) {
        weft_shape_close(&shape);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the nodes of a group");
    }
    *placement = (placement_t){.shape = shape, .group = group};
    weft_list_append(&placements, &placement->link);
    weft_group_release_shape = release;
    group->shape = placement;
    return MPI_SUCCESS;
}

int weft_placement_of(const weft_comm_t *comm, weft_shape_t *room, const weft_shape_t **out)
{
    if (comm->size == 1 || weft_nodes_is_one()) {
        *room = weft_shape_blocks(1, comm->size);
        *out = room;
        return MPI_SUCCESS;
    }
    int err = comm->group->shape != NULL ? MPI_SUCCESS : keep_shape(comm->group);
    if (err == MPI_SUCCESS)
        *out = &((placement_t *)comm->group->shape)->shape;
    return err;
}

void weft_placements_close(void)
{
    while (!weft_list_is_empty(&placements))
        release(WEFT_ELEMENT(placements.next, placement_t, link)->group);
}
