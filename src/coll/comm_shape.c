/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/comm_shape.h"

#include "object/group.h"
#include "runtime/nodes.h"
#include "runtime/world.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/memory.h"

/* What a group keeps. */
typedef struct kept_shape {
    weft_shape_t shape;
    weft_group_t *group;
    weft_link_t link; /* in `shapes` */
} kept_shape_t;

static weft_list_t shapes = {&shapes, &shapes};

static void coll_release_shape(weft_group_t *group)
{
    kept_shape_t *kept = group->shape;
    group->shape = NULL;
    weft_list_remove(&kept->link);
    weft_shape_close(&kept->shape);
    weft_free(kept);
}

static int read_hosts(const weft_group_t *group, weft_shape_t *out)
{
    int *hosts = weft_alloc_array((size_t)group->size, sizeof(*hosts));
    if (hosts == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the nodes of %d ranks", group->size);
    for (int i = 0; i < group->size; i++)
        hosts[i] = weft_node_of(weft_group_process(group, i));
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
    kept_shape_t *kept = weft_alloc(sizeof(*kept));
    if (kept == NULL) {
        weft_shape_close(&shape);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the nodes of a group");
    }
    *kept = (kept_shape_t){.shape = shape, .group = group};
    weft_list_append(&shapes, &kept->link);
    weft_group_release_shape = coll_release_shape;
    group->shape = kept;
    return MPI_SUCCESS;
}

int weft_comm_shape(const weft_comm_t *comm, weft_shape_t *room, const weft_shape_t **out)
{
    if (comm->size == 1 || weft_nodes_is_one()) {
        *room = weft_shape_blocks(1, comm->size);
        *out = room;
        return MPI_SUCCESS;
    }
    int err = comm->group->shape != NULL ? MPI_SUCCESS : keep_shape(comm->group);
    if (err == MPI_SUCCESS)
        *out = &((kept_shape_t *)comm->group->shape)->shape;
    return err;
}

void weft_comm_shapes_close(void)
{
    while (!weft_list_is_empty(&shapes))
        coll_release_shape(WEFT_ELEMENT(shapes.next, kept_shape_t, link)->group);
}
