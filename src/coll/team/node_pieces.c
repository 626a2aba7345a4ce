/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/team/node_pieces.h"

#include "coll/section.h"
#include "coll/team/pieces.h"
#include "base/memory.h"

static weft_section_call_t call_of(const weft_team_t *node, weft_coll_t coll)
{
    return (weft_section_call_t){.coll = coll, .members = node->size, .member = node->index};
}

static size_t bytes_of_data(const weft_data_t *data)
{
    return data->count * data->type->size;
}

void weft_node_bcast(weft_plan_t *plan, const weft_team_t *node, weft_data_t data, int radix)
{
    weft_section_call_t call = call_of(node, WEFT_BCAST);
    call.gives = call.gets = &data;
    call.gives_count = node->index == 0;
    call.gets_count = node->index != 0;
    if (bytes_of_data(&data) == 0)
        return;
    weft_section_begin(plan, &call);
    weft_team_bcast(plan, node, data, radix);
    weft_section_end(plan);
}

void weft_node_reduce(weft_plan_t *plan, const weft_team_t *node, weft_place_t from, weft_data_t to,
                      int radix)
{
    weft_section_call_t call = call_of(node, WEFT_REDUCE);
    weft_data_t own = weft_data(from, to.count, to.type);
    call.radix = radix;
    call.waits = true;
    call.gives = &own;
    call.gets = &to;
    call.gives_count = 1;
    call.gets_count = node->index == 0;
    if (bytes_of_data(&to) == 0)
        return;
    weft_section_begin(plan, &call);
    weft_team_reduce(plan, node, from, to, radix);
    weft_section_end(plan);
}

/* ---- parts ---- */

/* One region for each member; the caller frees the list. */
static weft_data_t *list_parts(weft_plan_t *plan, const weft_team_t *node, const weft_cut_t *cut,
                               int left_out)
{
    weft_data_t *list = weft_alloc_array((size_t)node->size, sizeof(*list));
    if (list == NULL)
        plan->error = MPI_ERR_NO_MEM;
    for (int i = 0; list != NULL && i < node->size; i++) {
        list[i] = weft_data(cut->at, 0, cut->type);
        if (i < cut->parts && i != left_out)
            list[i] = weft_cut_part(cut, i);
    }
    return list;
}

static bool gives_parts(weft_coll_t coll)
{
    return coll == WEFT_SCATTER || coll == WEFT_REDUCE_SCATTER;
}

void weft_node_begin(weft_plan_t *plan, const weft_team_t *node, const weft_node_parts_t *parts)
{
    weft_section_call_t call = call_of(node, parts->coll);
    bool gives_all = gives_parts(parts->coll);
    weft_data_t *list = NULL;
    if (parts->cut != NULL && (list = list_parts(plan, node, parts->cut, parts->left_out)) == NULL)
        return;
    call.root = parts->root;
    call.waits = parts->coll == WEFT_REDUCE_SCATTER;
    call.gives = gives_all ? list : parts->one;
    call.gets = gives_all ? parts->one : list;
    int all = list != NULL ? node->size : 0, one = parts->one != NULL;
    call.gives_count = gives_all ? all : one;
    call.gets_count = gives_all ? one : all;
    weft_section_begin(plan, &call);
    weft_free(list);
}

void weft_node_gather(weft_plan_t *plan, const weft_team_t *node, weft_data_t own,
                      const weft_cut_t *cut, int radix)
{
    weft_node_parts_t parts = {.coll = WEFT_GATHER, .one = &own, .left_out = -1};
    parts.cut = node->index == 0 ? cut : NULL;
    if (cut->count == 0)
        return;
    weft_node_begin(plan, node, &parts);
    weft_team_gather(plan, node, own, cut, radix);
    weft_section_end(plan);
}

void weft_node_scatter(weft_plan_t *plan, const weft_team_t *node, weft_data_t own,
                       const weft_cut_t *cut, int radix)
{
    weft_node_parts_t parts = {.coll = WEFT_SCATTER, .one = &own, .left_out = -1};
    parts.cut = node->index == 0 ? cut : NULL;
    if (cut->count == 0)
        return;
    weft_node_begin(plan, node, &parts);
    weft_team_scatter(plan, node, own, cut, radix);
    weft_section_end(plan);
}

void weft_node_reduce_scatter(weft_plan_t *plan, const weft_team_t *node, weft_place_t from,
                              const weft_cut_t *cut)
{
    weft_cut_t mine = weft_cut_at(cut, from);
    weft_data_t own = weft_data(cut->at, 0, cut->type);
    weft_node_parts_t parts = {
        .coll = WEFT_REDUCE_SCATTER, .one = &own, .cut = &mine, .left_out = -1};
    if (node->index < cut->parts)
        own = weft_cut_part(cut, node->index);
    if (cut->count == 0)
        return;
    weft_node_begin(plan, node, &parts);
    weft_team_reduce_scatter(plan, node, from, cut);
    weft_section_end(plan);
}

void weft_node_allgather(weft_plan_t *plan, const weft_team_t *node, const weft_cut_t *cut)
{
    weft_data_t own = weft_data(cut->at, 0, cut->type);
    weft_node_parts_t parts = {
        .coll = WEFT_ALLGATHER, .one = &own, .cut = cut, .left_out = node->index};
    if (node->index < cut->parts)
        own = weft_cut_part(cut, node->index);
    if (cut->count == 0)
        return;
    weft_node_begin(plan, node, &parts);
    weft_team_allgather(plan, node, cut);
    weft_section_end(plan);
}
