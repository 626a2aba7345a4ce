/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * k-nomial trees. The parent of member i is found by writing i in base k and setting its lowest
 * nonzero digit to zero. With z zeros at the end of i, the members i to i + k^z - 1 are its
 * subtree.
 */
#include "coll/team/tree.h"

#include "coll/team/pieces.h"

weft_tree_t weft_tree_of(const weft_team_t *team, int radix)
{
    int64_t stride = 1;
    while (stride < team->size && (team->index / stride) % radix == 0)
        stride *= radix;
    int digit = (int)((team->index / stride) % radix);
    return (weft_tree_t){team->size, radix, stride, team->index, team->index - digit * (int)stride};
}

int weft_tree_children(const weft_tree_t *tree, int64_t stride)
{
    int64_t fit = (tree->size - 1 - tree->index) / stride;
    return fit < tree->radix - 1 ? (int)fit : tree->radix - 1;
}

/* The end of this member's subtree. */
static int end_of(const weft_team_t *team, int64_t stride)
{
    return team->index + stride < team->size ? team->index + (int)stride : team->size;
}

void weft_team_bcast(weft_plan_t *plan, const weft_team_t *team, weft_data_t data, int radix)
{
    weft_tree_t node = weft_tree_of(team, radix);
    if (team->index != 0) {
        weft_team_recv(plan, team, data, node.parent);
        weft_plan_wait(plan);
    }
    for (int64_t stride = node.stride / radix; stride > 0; stride /= radix) {
        for (int child = 1; child <= weft_tree_children(&node, stride); child++)
            weft_team_send(plan, team, data, team->index + child * (int)stride);
    }
}

void weft_team_reduce(weft_plan_t *plan, const weft_team_t *team, weft_place_t from, weft_data_t to,
                      int radix)
{
    weft_tree_t node = weft_tree_of(team, radix);
    weft_operands_in_order_t operands = {.own = from};
    weft_data_t sum = to;
    if (node.stride > 1) {
        size_t room = to.count * (size_t)(weft_tree_children(&node, 1));
        operands.slots = weft_plan_scratch(plan, room, to.type);
        if (team->index != 0)
            sum.place = weft_plan_scratch(plan, to.count, to.type);
    }
    for (int64_t stride = 1; stride < node.stride; stride *= radix) {
        int count = weft_tree_children(&node, stride);
        operands.count = count + 1;
        for (int child = 1; child <= count; child++)
            weft_team_recv(plan, team, weft_operand_slot(&operands, child, to),
                           team->index + child * (int)stride);
        weft_plan_wait(plan);
        if (count > 0) {
            weft_plan_fold(plan, &operands, sum);
            operands.own = sum.place;
        }
    }
    if (team->index != 0) {
        weft_plan_wait(plan);
        weft_team_send(plan, team, weft_data(operands.own, to.count, to.type), node.parent);
    } else if (team->size == 1) {
        weft_plan_copy(plan, weft_data(from, to.count, to.type), to);
    }
}

/* Where the parts of this member's subtree lie: at the root in `cut`, at others in scratch memory.
 * A leaf has only its own part. */
static weft_cut_t branch(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut, int end)
{
    if (team->index == 0)
        return *cut;
    size_t first = weft_cut_first(cut, team->index), count = weft_cut_first(cut, end) - first;
    weft_place_t scratch = weft_plan_scratch(plan, count, cut->type);
    return weft_cut_at(cut, weft_after(scratch, -(MPI_Count)first, cut->type));
}

void weft_team_gather(weft_plan_t *plan, const weft_team_t *team, weft_data_t own,
                      const weft_cut_t *cut, int radix)
{
    weft_tree_t node = weft_tree_of(team, radix);
    int end = end_of(team, node.stride);
    if (end == team->index + 1 && team->index != 0) {
        weft_team_send(plan, team, own, node.parent);
        return;
    }
    weft_cut_t parts = branch(plan, team, cut, end);
    for (int64_t stride = 1; stride < node.stride; stride *= radix) {
        for (int i = 1; i <= weft_tree_children(&node, stride); i++) {
            int child = team->index + i * (int)stride;
            int last = child + stride < team->size ? child + (int)stride : team->size;
            weft_team_recv(plan, team, weft_cut_range(&parts, child, last), child);
        }
    }
    weft_plan_copy(plan, own, weft_cut_part(&parts, team->index));
    weft_plan_wait(plan);
    if (team->index != 0)
        weft_team_send(plan, team, weft_cut_range(&parts, team->index, end), node.parent);
}

void weft_team_scatter(weft_plan_t *plan, const weft_team_t *team, weft_data_t own,
                       const weft_cut_t *cut, int radix)
{
    weft_tree_t node = weft_tree_of(team, radix);
    int end = end_of(team, node.stride);
    if (end == team->index + 1 && team->index != 0) {
        weft_team_recv(plan, team, own, node.parent);
        return;
    }
    weft_cut_t parts = branch(plan, team, cut, end);
    if (team->index != 0) {
        weft_team_recv(plan, team, weft_cut_range(&parts, team->index, end), node.parent);
        weft_plan_wait(plan);
    }
    for (int64_t stride = node.stride / radix; stride > 0; stride /= radix) {
        for (int i = 1; i <= weft_tree_children(&node, stride); i++) {
            int child = team->index + i * (int)stride;
            int last = child + stride < team->size ? child + (int)stride : team->size;
            weft_team_send(plan, team, weft_cut_range(&parts, child, last), child);
        }
    }
    weft_plan_copy(plan, weft_cut_part(&parts, team->index), own);
}

/* ---- without data ---- */

void weft_team_arrive(weft_plan_t *plan, const weft_team_t *team, int radix)
{
    weft_tree_t node = weft_tree_of(team, radix);
    for (int64_t stride = 1; stride < node.stride; stride *= radix) {
        for (int i = 1; i <= weft_tree_children(&node, stride); i++)
            weft_plan_await(plan, weft_team_rank(team, team->index + i * (int)stride));
    }
    weft_plan_wait(plan);
    if (team->index != 0)
        weft_plan_signal(plan, weft_team_rank(team, node.parent));
}

void weft_team_leave(weft_plan_t *plan, const weft_team_t *team, int radix)
{
    weft_tree_t node = weft_tree_of(team, radix);
    if (team->index != 0)
        weft_plan_await(plan, weft_team_rank(team, node.parent));
    weft_plan_wait(plan);
    for (int64_t stride = node.stride / radix; stride > 0; stride /= radix) {
        for (int i = 1; i <= weft_tree_children(&node, stride); i++)
            weft_plan_signal(plan, weft_team_rank(team, team->index + i * (int)stride));
    }
}
