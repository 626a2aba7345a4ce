/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces that pass parts directly to all members, to a neighbour, or around a circle. */
#include "coll/team/pieces.h"

static weft_data_t part_at(const weft_cut_t *cut, int index)
{
    return weft_cut_part(cut, (index % cut->parts + cut->parts) % cut->parts);
}

void weft_team_reduce_scatter(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              const weft_cut_t *cut)
{
    weft_cut_t mine = weft_cut_at(cut, from);
    for (int i = 1; i < team->size; i++) {
        int to = weft_team_at(team, i);
        if (to < cut->parts)
            weft_team_send(plan, team, weft_cut_part(&mine, to), to);
    }
    if (team->index >= cut->parts)
        return;
    weft_data_t own = weft_cut_part(cut, team->index);
    weft_operands_in_order_t operands = {
        .slots = weft_plan_scratch(plan, own.count * (size_t)(team->size - 1), own.type),
        .own = weft_cut_part(&mine, team->index).place,
        .count = team->size,
        .own_at = team->index};
    for (int i = 1; i < team->size; i++) {
        int peer = weft_team_at(team, -i);
        weft_team_recv(plan, team, weft_operand_slot(&operands, peer, own), peer);
    }
    weft_plan_wait(plan);
    weft_plan_fold(plan, &operands, own);
}

/* The sum of part j begins at member j + 1 and moves up the ring until it reaches member j. */
void weft_team_reduce_scatter_ring(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                   const weft_cut_t *cut)
{
    weft_cut_t mine = weft_cut_at(cut, from);
    size_t largest = 0;
    for (int i = 0; i < cut->parts; i++) {
        size_t count = weft_cut_part(cut, i).count;
        largest = count > largest ? count : largest;
    }
    weft_place_t theirs = weft_plan_scratch(plan, largest, cut->type);
    weft_data_t sum = part_at(&mine, team->index - 1);
    for (int round = 0; round + 1 < team->size; round++) {
        weft_data_t next = part_at(cut, team->index - 2 - round);
        weft_team_send(plan, team, sum, weft_team_at(team, 1));
        weft_team_recv(plan, team, weft_data(theirs, next.count, next.type),
                       weft_team_at(team, -1));
        weft_plan_wait(plan);
        weft_plan_reduce(plan, theirs, part_at(&mine, team->index - 2 - round).place, next);
        sum = next;
    }
    if (team->size == 1)
        weft_plan_copy(plan, sum, part_at(cut, 0));
}

void weft_team_allgather(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut)
{
    for (int i = 1; i < team->size && team->index < cut->parts; i++)
        weft_team_send(plan, team, weft_cut_part(cut, team->index), weft_team_at(team, i));
    for (int i = 1; i < team->size; i++) {
        int peer = weft_team_at(team, -i);
        if (peer < cut->parts)
            weft_team_recv(plan, team, weft_cut_part(cut, peer), peer);
    }
}

/* In round i each member passes on what it received in the round before. */
void weft_team_allgather_ring(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut)
{
    for (int i = 0; i + 1 < team->size; i++) {
        weft_plan_wait(plan);
        weft_team_send(plan, team, part_at(cut, team->index - i), weft_team_at(team, 1));
        weft_team_recv(plan, team, part_at(cut, team->index - i - 1), weft_team_at(team, -1));
    }
}

/*
 * First the pairs (0, 1), (2, 3), ... exchange their parts. Then each member exchanges with its
 * other neighbour and with this one in turn, and always sends the two parts that it received last.
 * An even member gets the parts of the pairs 1 below, 1 above, 2 below, ... its own, an odd member
 * those 1 above, 1 below, 2 above, ...
 */
void weft_team_allgather_neighbour(weft_plan_t *plan, const weft_team_t *team,
                                   const weft_cut_t *cut)
{
    if (team->size % 2 != 0) {
        weft_team_allgather_ring(plan, team, cut);
        return;
    }
    int up = team->index % 2 == 0 ? 1 : -1; /* the direction of the pair's other member */
    int pair = team->index / 2, last = pair;
    weft_team_send(plan, team, weft_cut_part(cut, team->index), team->index + up);
    weft_team_recv(plan, team, weft_cut_part(cut, team->index + up), team->index + up);
    for (int round = 1; round < team->size / 2; round++) {
        bool is_outward = round % 2 == 1;
        int peer = weft_team_at(team, is_outward ? -up : up);
        int next = is_outward ? pair - up * ((round + 1) / 2) : pair + up * (round / 2);
        weft_plan_wait(plan);
        weft_team_send_arc(plan, team, cut, (weft_arc_t){2 * last, 2}, peer);
        weft_team_recv_arc(plan, team, cut, (weft_arc_t){2 * next, 2}, peer);
        last = next;
    }
}

/* A member has consecutive parts, beginning with its own. It gets as many from each of the k - 1
 * members that are once, twice, ... as many members above it. */
void weft_team_allgather_bruck(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut,
                               int radix)
{
    for (int64_t have = 1; have < team->size; have *= radix) {
        weft_plan_wait(plan);
        for (int64_t away = have; away < have * radix && away < team->size; away += have) {
            int count = (int)(team->size - away < have ? team->size - away : have);
            weft_team_send_arc(plan, team, cut, (weft_arc_t){team->index, count},
                               weft_team_at(team, -(int)away));
        }
        for (int64_t away = have; away < have * radix && away < team->size; away += have) {
            int count = (int)(team->size - away < have ? team->size - away : have);
            weft_team_recv_arc(plan, team, cut, (weft_arc_t){team->index + (int)away, count},
                               weft_team_at(team, (int)away));
        }
    }
}

void weft_team_allreduce_ring(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              weft_data_t to)
{
    weft_cut_t cut = weft_cut(to, team->size);
    weft_team_reduce_scatter_ring(plan, team, from, &cut);
    weft_team_allgather_ring(plan, team, &cut);
}
