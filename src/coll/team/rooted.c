/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/team/rooted.h"

#include "base/memory.h"

weft_rooted_t weft_rooted_of(const weft_shape_t *shape, int rank, int root)
{
    weft_rooted_t rooted = {
        .shape = shape, .rank = rank, .root = root, .home = weft_shape_node(shape, root)};
    weft_team_t lane = weft_team_with(weft_team_lane(shape, 0, rank), root);
    rooted.leaders = weft_team_turned(lane, rooted.home);
    rooted.node = weft_team_node(shape, rank);
    if (weft_shape_node(shape, rank) == rooted.home)
        rooted.node = weft_team_turned(rooted.node, weft_shape_local(shape, root));
    return rooted;
}

static int node_at(const weft_rooted_t *rooted, int index)
{
    return (rooted->home + index) % rooted->shape->nodes;
}

size_t *weft_rooted_firsts(weft_plan_t *plan, const weft_rooted_t *rooted, size_t block)
{
    int nodes = rooted->shape->nodes;
    size_t *firsts = weft_alloc_array((size_t)nodes + 1, sizeof(*firsts));
    if (firsts == NULL) {
        plan->error = MPI_ERR_NO_MEM;
        return NULL;
    }
    firsts[0] = 0;
    for (int i = 0; i < nodes; i++) {
        int count = weft_shape_count(rooted->shape, node_at(rooted, i));
        firsts[i + 1] = firsts[i] + block * (size_t)count;
    }
    return firsts;
}

bool weft_rooted_is_straight(const weft_rooted_t *rooted)
{
    return rooted->root == 0 && rooted->shape->is_consecutive;
}

void weft_rooted_copy(weft_plan_t *plan, const weft_rooted_t *rooted,
                      const weft_rooted_blocks_t *blocks)
{
    weft_place_t at = blocks->all;
    int own_at = weft_shape_local(rooted->shape, rooted->root);
    for (int i = 0; i < rooted->shape->nodes; i++) {
        int node = node_at(rooted, i), count = weft_shape_count(rooted->shape, node);
        for (int j = 0; j < count; j++) {
            int local = i == 0 ? (own_at + j) % count : j;
            weft_data_t block =
                blocks->block(blocks->args, weft_shape_rank(rooted->shape, node, local));
            size_t bytes = block.count * block.type->size;
            weft_data_t packed = weft_data(at, bytes, weft_type_of(MPI_BYTE));
            weft_plan_copy(plan, blocks->is_gather ? packed : block,
                           blocks->is_gather ? block : packed);
            at.offset += (ptrdiff_t)bytes;
        }
    }
}
