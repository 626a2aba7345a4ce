/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/regions.h"

#include <stdint.h>

/* The arguments that describe a side. */
typedef enum source {
    NOTHING,
    SEND,        /* send_count of send_type */
    RECV,        /* recv_count of recv_type */
    SEND_BLOCKS, /* one block of send_count elements for each rank, one behind the other */
    RECV_BLOCKS,
    SEND_LIST, /* send_counts, send_displs */
    RECV_LIST,
    SEND_TYPES, /* with send_types; displacements are in bytes */
    RECV_TYPES,
    CUT,       /* recv_counts of recv_type, one behind the other */
    OWN_BLOCK, /* this rank's block of RECV_BLOCKS */
    OWN_ENTRY, /* this rank's entry of RECV_LIST */
    OWN_CUT,   /* this rank's part of CUT, but at the start of the buffer */
} source_t;

typedef struct form {
    source_t gives, gives_in_place, gets;
    bool root_gives, root_gets; /* only the root gives, only the root gets */
} form_t;

static const form_t forms[WEFT_COLL_FORMS] = {
    [WEFT_BCAST] = {.gives = SEND, .gets = SEND, .root_gives = true},
    [WEFT_GATHER] = {.gives = SEND, .gets = RECV_BLOCKS, .root_gets = true},
    [WEFT_GATHERV] = {.gives = SEND, .gets = RECV_LIST, .root_gets = true},
    [WEFT_SCATTER] = {.gives = SEND_BLOCKS, .gets = RECV, .root_gives = true},
    [WEFT_SCATTERV] = {.gives = SEND_LIST, .gets = RECV, .root_gives = true},
    [WEFT_ALLGATHER] = {.gives = SEND, .gives_in_place = OWN_BLOCK, .gets = RECV_BLOCKS},
    [WEFT_ALLGATHERV] = {.gives = SEND, .gives_in_place = OWN_ENTRY, .gets = RECV_LIST},
    [WEFT_ALLTOALL] = {.gives = SEND_BLOCKS, .gives_in_place = RECV_BLOCKS, .gets = RECV_BLOCKS},
    [WEFT_ALLTOALLV] = {.gives = SEND_LIST, .gives_in_place = RECV_LIST, .gets = RECV_LIST},
    [WEFT_ALLTOALLW] = {.gives = SEND_TYPES, .gives_in_place = RECV_TYPES, .gets = RECV_TYPES},
    [WEFT_REDUCE] = {.gives = RECV, .gives_in_place = RECV, .gets = RECV, .root_gets = true},
    [WEFT_ALLREDUCE] = {.gives = RECV, .gives_in_place = RECV, .gets = RECV},
    [WEFT_REDUCE_SCATTER] = {.gives = CUT, .gives_in_place = CUT, .gets = OWN_CUT},
    [WEFT_REDUCE_SCATTER_BLOCK] = {.gives = RECV_BLOCKS,
                                   .gives_in_place = RECV_BLOCKS,
                                   .gets = RECV},
    [WEFT_SCAN] = {.gives = RECV, .gives_in_place = RECV, .gets = RECV},
    [WEFT_EXSCAN] = {.gives = RECV, .gives_in_place = RECV, .gets = RECV},
    [WEFT_NEIGHBOR_ALLGATHER] = {.gives = SEND, .gets = RECV_BLOCKS},
    [WEFT_NEIGHBOR_ALLGATHERV] = {.gives = SEND, .gets = RECV_LIST},
    [WEFT_NEIGHBOR_ALLTOALL] = {.gives = SEND_BLOCKS, .gets = RECV_BLOCKS},
    [WEFT_NEIGHBOR_ALLTOALLV] = {.gives = SEND_LIST, .gets = RECV_LIST},
    [WEFT_NEIGHBOR_ALLTOALLW] = {.gives = SEND_TYPES, .gets = RECV_TYPES},
};

/* ---- one region ---- */

static weft_coll_region_t block(size_t count, weft_type_t *type, int index)
{
    return (weft_coll_region_t){(ptrdiff_t)count * index * type->extent, count, type};
}

static weft_coll_region_t listed(weft_counts_t counts, weft_counts_t displs, weft_type_t *type,
                                 int index)
{
    return (weft_coll_region_t){(ptrdiff_t)(weft_count_at(displs, (size_t)index) * type->extent),
                                (size_t)weft_count_at(counts, (size_t)index), type};
}

static weft_coll_region_t typed(weft_counts_t counts, weft_counts_t displs,
                                const MPI_Datatype *types, int index)
{
    size_t count = (size_t)weft_count_at(counts, (size_t)index);
    return (weft_coll_region_t){(ptrdiff_t)weft_count_at(displs, (size_t)index), count,
                                count == 0 ? NULL : weft_type_of(types[index])};
}

/* In its own group, where there are two. */
static int own_rank(const weft_coll_args_t *args)
{
    return args->inter != NULL ? args->inter->rank : args->comm->rank;
}

static weft_coll_region_t cut(const weft_coll_args_t *args, int index)
{
    MPI_Count before = 0;
    for (int i = 0; i < index; i++)
        before += weft_count_at(args->recv_counts, (size_t)i);
    return (weft_coll_region_t){(ptrdiff_t)(before * args->recv_type->extent),
                                (size_t)weft_count_at(args->recv_counts, (size_t)index),
                                args->recv_type};
}

static weft_coll_region_t find_region(source_t source, const weft_coll_args_t *args, int index)
{
    switch (source) {
    case SEND:
        return block(args->send_count, args->send_type, 0);
    case RECV:
        return block(args->recv_count, args->recv_type, 0);
    case SEND_BLOCKS:
        return block(args->send_count, args->send_type, index);
    case RECV_BLOCKS:
        return block(args->recv_count, args->recv_type, index);
    case SEND_LIST:
        return listed(args->send_counts, args->send_displs, args->send_type, index);
    case RECV_LIST:
        return listed(args->recv_counts, args->recv_displs, args->recv_type, index);
    case SEND_TYPES:
        return typed(args->send_counts, args->send_displs, args->send_types, index);
    case RECV_TYPES:
        return typed(args->recv_counts, args->recv_displs, args->recv_types, index);
    case CUT:
        return cut(args, index);
    case OWN_BLOCK:
        return block(args->recv_count, args->recv_type, args->comm->rank);
    case OWN_ENTRY:
        return listed(args->recv_counts, args->recv_displs, args->recv_type, args->comm->rank);
    default: /* OWN_CUT */
        return (weft_coll_region_t){0, cut(args, own_rank(args)).count, args->recv_type};
    }
}

/* ---- a side ---- */

static source_t source_of(const weft_regions_t *regions)
{
    const form_t *form = &forms[regions->coll];
    if (regions->side == WEFT_GETS)
        return form->gets;
    return regions->is_in_place ? form->gives_in_place : form->gives;
}

static bool has_lists(source_t source)
{
    return source >= SEND_BLOCKS && source <= CUT;
}

/* Between two groups the root gives or gets, and the ranks of the other group do the opposite. */
static bool takes_part_between(const weft_regions_t *regions)
{
    const weft_coll_args_t *args = regions->args;
    const form_t *form = &forms[regions->coll];
    bool is_root = args->comm->rank == args->root, gives = regions->side == WEFT_GIVES;
    if (!form->root_gives && !form->root_gets)
        return true;
    return args->root != MPI_PROC_NULL && is_root == (gives ? form->root_gives : form->root_gets);
}

static bool takes_part(const weft_regions_t *regions)
{
    const weft_coll_args_t *args = regions->args;
    const form_t *form = &forms[regions->coll];
    bool is_root = args->comm->rank == args->root;
    if (args->inter != NULL)
        return takes_part_between(regions);
    if (regions->side == WEFT_GIVES)
        return is_root || !form->root_gives;
    if (regions->coll == WEFT_BCAST)
        return !is_root;
    if (regions->coll == WEFT_EXSCAN)
        return args->comm->rank > 0;
    return (is_root || !form->root_gets) && args->recv_buf != MPI_IN_PLACE;
}

/* Entries of a list. */
static int count_listed(const weft_regions_t *regions)
{
    const weft_comm_t *comm = regions->args->comm, *inter = regions->args->inter;
    bool scatters =
        regions->coll == WEFT_REDUCE_SCATTER || regions->coll == WEFT_REDUCE_SCATTER_BLOCK;
    if (inter != NULL)
        return scatters ? inter->group->size : inter->size;
    if (!weft_coll_is_neighbor(regions->coll))
        return comm->size;
    return regions->side == WEFT_GIVES ? weft_topology_destinations(comm->topology, comm->rank)
                                       : weft_topology_sources(comm->topology, comm->rank);
}

weft_regions_t wefti_regions_of(weft_coll_t coll, const weft_coll_args_t *args, weft_side_t side)
{
    weft_regions_t regions = {
        .coll = coll, .args = args, .side = side, .is_in_place = args->send_buf == MPI_IN_PLACE};
    regions.in_send_buf = coll == WEFT_BCAST || (side == WEFT_GIVES && !regions.is_in_place);
    source_t source = source_of(&regions);
    if (source == NOTHING || !takes_part(&regions))
        return regions;
    regions.buf = regions.in_send_buf ? (char *)(uintptr_t)args->send_buf : args->recv_buf;
    regions.count = has_lists(source) ? count_listed(&regions) : 1;
    return regions;
}

int wefti_regions_entries(const weft_regions_t *regions, bool *of_recv)
{
    source_t source = source_of(regions);
    *of_recv = source != SEND_LIST && source != SEND_TYPES;
    bool has_entries = source == SEND_LIST || source == RECV_LIST || source == SEND_TYPES ||
                       source == RECV_TYPES || source == CUT;
    return has_entries ? regions->count : 0;
}

weft_regions_t wefti_regions_listed(const weft_coll_args_t *args, const weft_data_t *list,
                                    int count, char *const *buffers)
{
    return (weft_regions_t){.coll = WEFT_COLLS,
                            .args = args,
                            .list = list,
                            .buf = count > 0 ? buffers[list[0].place.buffer] : NULL,
                            .count = count};
}

/* At the edge of a grid nothing comes, and nothing goes. */
static bool has_no_neighbor(const weft_regions_t *regions, int index)
{
    const weft_comm_t *comm = regions->args->comm;
    int neighbor = regions->side == WEFT_GIVES
                       ? weft_topology_destination(comm->topology, comm->rank, index)
                       : weft_topology_source(comm->topology, comm->rank, index);
    return neighbor == MPI_PROC_NULL;
}

/* In place, the block that a rank gathers from itself is already where it belongs. */
static bool regions_is_left_out(const weft_regions_t *regions, int index)
{
    weft_coll_t coll = regions->coll;
    if (weft_coll_is_neighbor(coll))
        return has_lists(source_of(regions)) && has_no_neighbor(regions, index);
    bool gathers = coll == WEFT_GATHER || coll == WEFT_GATHERV || coll == WEFT_ALLGATHER ||
                   coll == WEFT_ALLGATHERV;
    return gathers && regions->is_in_place && regions->side == WEFT_GETS &&
           index == regions->args->comm->rank;
}

weft_coll_region_t wefti_regions_room_at(const weft_regions_t *regions, int index)
{
    if (regions->list == NULL)
        return find_region(source_of(regions), regions->args, index);
    const weft_data_t *data = &regions->list[index];
    return (weft_coll_region_t){data->place.offset, data->count, data->type};
}

weft_coll_region_t wefti_regions_at(const weft_regions_t *regions, int index)
{
    weft_coll_region_t region = wefti_regions_room_at(regions, index);
    if (regions_is_left_out(regions, index))
        region.count = 0;
    return region;
}

void *wefti_regions_first(const weft_regions_t *regions)
{
    for (int i = 0; i < regions->count; i++) {
        weft_coll_region_t region = wefti_regions_at(regions, i);
        if (region.count > 0 && region.type->size > 0)
            return (void *)((uintptr_t)regions->buf +
                            (uintptr_t)(region.offset + region.type->true_lb));
    }
    return NULL;
}

static void room_of(const weft_coll_region_t *region, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t last = (ptrdiff_t)(region->count - 1) * region->type->extent;
    ptrdiff_t first = region->offset + region->type->true_lb;
    *low = first + (last < 0 ? last : 0);
    *high = first + (last > 0 ? last : 0) + region->type->true_extent;
}

bool wefti_regions_span(const weft_regions_t *regions, ptrdiff_t *low_out, ptrdiff_t *high_out)
{
    bool is_first = true;
    for (int i = 0; i < regions->count; i++) {
        weft_coll_region_t region = wefti_regions_at(regions, i);
        ptrdiff_t low, high;
        if (region.count == 0 || region.type->size == 0)
            continue;
        room_of(&region, &low, &high);
        *low_out = is_first || low < *low_out ? low : *low_out;
        *high_out = is_first || high > *high_out ? high : *high_out;
        is_first = false;
    }
    return !is_first;
}
