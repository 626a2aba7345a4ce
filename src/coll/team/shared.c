/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/team/shared.h"

#include "coll/team/butterfly.h"
#include "coll/team/local.h"
#include "coll/team/node_pieces.h"
#include "coll/team/pieces.h"
#include "coll/team/tree.h"

weft_sharing_t weft_sharing_of(const weft_plan_t *plan, int rank)
{
    const weft_shape_t *shape = plan->how.shape;
    return (weft_sharing_t){shape, weft_team_lane(shape, 0, rank), weft_team_node(shape, rank),
                            plan->how.radix};
}

/* The number of ranks on every node that carry messages. */
static int carriers(const weft_sharing_t *its)
{
    return its->shape->least;
}

/* Carrier `local` of the node that is member `index` of `nodes`. */
static int carrier_of(const weft_sharing_t *its, int index, int local)
{
    int node = (index + its->nodes.turn) % its->nodes.size;
    return weft_shape_rank(its->shape, node, local);
}

static void shared_to_node(weft_plan_t *plan, const weft_sharing_t *its, weft_data_t data)
{
    weft_node_bcast(plan, &its->node, data,
                    weft_plan_local_radix(plan, its->node.size, data.count * data.type->size));
}

/* ---- allreduce ---- */

/* The carriers of a round. With c of them, carrier j exchanges with the nodes whose digit is j
 * modulo c. */
static weft_team_t team_of_carriers(const weft_sharing_t *its, const weft_butterfly_group_t *group)
{
    weft_team_t team = its->node;
    team.size = group->size < carriers(its) ? group->size : carriers(its);
    return team;
}

/* Sends this node's operand to the nodes of this carrier, and reduces theirs together with it, in
 * the order of digits. A carrier whose nodes do not include this node's own digit leaves the node's
 * operand to the carrier whose nodes do. */
static void shared_exchange(weft_plan_t *plan, const weft_sharing_t *its,
                            const weft_butterfly_group_t *group, weft_data_t have, weft_data_t sum)
{
    int count = carriers(its), self = its->node.index, slot = 0;
    weft_operands_in_order_t operands = {.own = have.place, .own_at = -1};
    operands.slots = weft_plan_scratch(
        plan, have.count * (size_t)((group->size + count - 1) / count), have.type);
    for (int digit = self; digit < group->size; digit += count, operands.count++) {
        int node = weft_butterfly_member(group, digit);
        if (digit == group->digit) {
            operands.own_at = operands.count;
            continue;
        }
        MPI_Count first = (MPI_Count)have.count * slot++;
        weft_place_t at = weft_after(operands.slots, first, have.type);
        int peer = carrier_of(its, node, group->digit % count);
        weft_plan_recv(plan, weft_data(at, have.count, have.type), peer);
        weft_plan_send(plan, have, peer);
    }
    weft_plan_wait(plan);
    if (operands.own_at < 0) {
        operands.own = operands.slots;
        operands.own_at = 0;
        operands.slots = weft_after(operands.slots, (MPI_Count)have.count, have.type);
    }
    weft_plan_fold(plan, &operands, sum);
}

/* All nodes bracket the operands on a node in the same way, so the radix must not depend on facts
 * of one host. */
static void round_of(weft_plan_t *plan, const weft_sharing_t *its,
                     const weft_butterfly_group_t *group, weft_data_t have)
{
    weft_team_t team = team_of_carriers(its, group);
    int radix = weft_local_radix(team.size, 0, false);
    if (its->node.index >= team.size)
        return;
    weft_team_bcast(plan, &team, have, radix);
    weft_plan_wait(plan);
    weft_data_t sum = have;
    sum.place = weft_plan_scratch(plan, sum.count, sum.type);
    shared_exchange(plan, its, group, have, sum);
    weft_team_reduce(plan, &team, sum.place, have, radix);
}

void weft_shared_allreduce(weft_plan_t *plan, const weft_sharing_t *its, weft_place_t from,
                           weft_data_t to)
{
    weft_butterfly_t butterfly = weft_butterfly_of(&its->nodes, its->radix);
    bool is_leader = its->node.index == 0;
    if (is_leader)
        weft_plan_copy(plan, weft_data(from, to.count, to.type), to);
    if (is_leader && butterfly.is_paired)
        weft_butterfly_join(plan, &its->nodes, to.place, to);
    for (int round = 0; butterfly.is_speaker && round < butterfly.digits.rounds; round++) {
        weft_butterfly_group_t group = weft_butterfly_group(&butterfly, round);
        weft_plan_wait(plan);
        round_of(plan, its, &group, to);
    }
    if (is_leader && butterfly.is_paired)
        weft_butterfly_part(plan, &its->nodes, to);
    weft_plan_wait(plan);
    shared_to_node(plan, its, to);
}

/* ---- barrier ---- */

void weft_shared_barrier(weft_plan_t *plan, const weft_sharing_t *its)
{
    int size = its->nodes.size, count = carriers(its), self = its->node.index;
    int radix = weft_plan_local_radix(plan, its->node.size, 0);
    for (int64_t distance = 1; distance < size; distance *= its->radix) {
        weft_team_leave(plan, &its->node, radix);
        for (int i = 1 + self; i < its->radix && i * distance < size && self < count; i += count) {
            int away = i * (int)distance;
            weft_plan_signal(plan, carrier_of(its, weft_team_at(&its->nodes, away), self));
            weft_plan_await(plan, carrier_of(its, weft_team_at(&its->nodes, -away), self));
        }
        weft_plan_wait(plan);
        weft_team_arrive(plan, &its->node, radix);
    }
}

/* ---- bcast ---- */

/* The children of a node are numbered, the farthest first. Carrier j of the node sends to child j,
 * child j + c a round later, and so on, with c carriers. */
static int number_of_child(const weft_tree_t *tree, int64_t stride, int child)
{
    int number = child - 1;
    for (int64_t above = tree->stride / tree->radix; above > stride; above /= tree->radix)
        number += weft_tree_children(tree, above);
    return number;
}

/* The carrier that sends to this node's leader. */
static int sender_to(const weft_sharing_t *its, const weft_tree_t *tree)
{
    weft_team_t parent = its->nodes;
    parent.index = tree->parent;
    weft_tree_t its_tree = weft_tree_of(&parent, its->radix);
    int child = (tree->index - tree->parent) / (int)tree->stride;
    int number = number_of_child(&its_tree, tree->stride, child);
    return carrier_of(its, tree->parent, number % carriers(its));
}

void weft_shared_bcast(weft_plan_t *plan, const weft_sharing_t *its, weft_data_t data)
{
    weft_tree_t tree = weft_tree_of(&its->nodes, its->radix);
    int local = its->node.index + its->node.turn; /* carriers are counted from the lowest rank */
    local = local >= its->node.size ? local - its->node.size : local;
    if (its->node.index == 0 && tree.index != 0) {
        weft_plan_recv(plan, data, sender_to(its, &tree));
        weft_plan_wait(plan);
    }
    shared_to_node(plan, its, data);
    weft_plan_wait(plan);
    for (int64_t stride = tree.stride / its->radix; stride > 0; stride /= its->radix) {
        for (int child = 1; child <= weft_tree_children(&tree, stride); child++) {
            int number = number_of_child(&tree, stride, child);
            if (number % carriers(its) == local)
                weft_team_send(plan, &its->nodes, data, tree.index + child * (int)stride);
        }
    }
}

/* ---- their costs ---- */

/* One round between nodes, in which each carrier sends `others` messages. */
static double round_us(const weft_model_t *model, int others, double bytes)
{
    int count = model->least < others ? model->least : others;
    weft_link_cost_t net = weft_shared(model->fabric.net, count);
    return weft_round_us(&net, (others + count - 1) / count, bytes);
}

/* The model of such a round's carriers, on their node. */
static weft_model_t carriers_of(const weft_model_t *model, int members)
{
    weft_model_t some = *model;
    some.most = members < model->least ? members : model->least;
    return some;
}

double weft_shared_allreduce_us(const weft_model_t *model)
{
    weft_digits_t digits = weft_digits_of(model->nodes, model->radix);
    double sum = weft_node_tree_us(model, model->bytes);
    if (digits.pairs > 0)
        sum += 2 * weft_round_us(&model->fabric.net, 1, model->bytes);
    for (int i = 0; i < digits.rounds; i++) {
        weft_model_t carriers = carriers_of(model, digits.factor[i]);
        int folded = (digits.factor[i] + carriers.most - 1) / carriers.most - 1;
        sum += weft_node_tree_us(&carriers, model->bytes) +
               round_us(model, digits.factor[i] - 1, model->bytes) +
               folded * model->bytes * model->fabric.reduce_us_per_byte +
               weft_node_reduce_us(&carriers, model->bytes);
    }
    return sum;
}

double weft_shared_barrier_us(const weft_model_t *model)
{
    double sum = 0;
    for (int64_t reached = 1; reached < model->nodes; reached *= model->radix) {
        int64_t groups = (model->nodes + reached - 1) / reached;
        int others = (int)(groups < model->radix ? groups : model->radix) - 1;
        sum += 2 * weft_node_tree_us(model, 0) + round_us(model, others, 0);
    }
    return sum;
}

double weft_shared_bcast_us(const weft_model_t *model)
{
    double sum = weft_node_tree_us(model, model->bytes);
    for (int left = model->nodes; left > 1; left = (left + model->radix - 1) / model->radix) {
        int others = (left < model->radix ? left : model->radix) - 1;
        sum += round_us(model, others, model->bytes) + weft_node_tree_us(model, model->bytes);
    }
    return sum;
}
