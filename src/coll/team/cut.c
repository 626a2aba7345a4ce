/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/team/cut.h"

size_t weft_cut_first(const weft_cut_t *cut, int index)
{
    int i = index < cut->doubled ? 2 * index : index + cut->doubled;
    return cut->firsts != NULL ? cut->firsts[i]
                               : weft_part(cut->count, i, cut->parts + cut->doubled);
}

weft_data_t weft_cut_range(const weft_cut_t *cut, int first, int end)
{
    size_t at = weft_cut_first(cut, first);
    return weft_data(weft_after(cut->at, (MPI_Count)at, cut->type), weft_cut_first(cut, end) - at,
                     cut->type);
}

/* The parts of an arc up to the end of the run, and the rest, from the run's beginning. */
typedef struct halves {
    weft_data_t runs[2];
} halves_t;

static halves_t split(const weft_cut_t *cut, weft_arc_t arc)
{
    int first = (arc.first % cut->parts + cut->parts) % cut->parts;
    int end = first + arc.count < cut->parts ? first + arc.count : cut->parts;
    return (halves_t){
        {weft_cut_range(cut, first, end), weft_cut_range(cut, 0, arc.count - (end - first))}};
}

void weft_team_send_arc(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut,
                        weft_arc_t arc, int to)
{
    halves_t halves = split(cut, arc);
    weft_team_send(plan, team, halves.runs[0], to);
    weft_team_send(plan, team, halves.runs[1], to);
}

void weft_team_recv_arc(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut,
                        weft_arc_t arc, int from)
{
    halves_t halves = split(cut, arc);
    weft_team_recv(plan, team, halves.runs[0], from);
    weft_team_recv(plan, team, halves.runs[1], from);
}

weft_data_t weft_operand_slot(const weft_operands_in_order_t *operands, int index, weft_data_t of)
{
    int slot = index < operands->own_at ? index : index - 1;
    MPI_Count first = (MPI_Count)of.count * slot;
    return weft_data(weft_after(operands->slots, first, of.type), of.count, of.type);
}

void weft_plan_fold_parts(weft_plan_t *plan, const weft_cut_t *cut, int turn, weft_data_t to)
{
    weft_place_t left = weft_cut_part(cut, (cut->parts - turn) % cut->parts).place;
    if (cut->parts == 1)
        weft_plan_copy(plan, weft_data(left, to.count, to.type), to);
    for (int i = 1; i < cut->parts; i++) {
        int part = (cut->parts - turn + i) % cut->parts;
        weft_plan_reduce(plan, left, weft_cut_part(cut, part).place, to);
        left = to.place;
    }
}

/* This member's own operand may lie where the result goes, so nothing is written there before that
 * operand was used: the operands before it are reduced in the first slot. */
void weft_plan_fold(weft_plan_t *plan, const weft_operands_in_order_t *operands, weft_data_t to)
{
    int own_at = operands->own_at;
    weft_place_t left = own_at == 0 ? operands->own : operands->slots;
    if (operands->count == 1)
        weft_plan_copy(plan, weft_data(left, to.count, to.type), to);
    for (int i = 1; i < operands->count; i++) {
        weft_place_t right = i == own_at ? operands->own : weft_operand_slot(operands, i, to).place;
        weft_data_t sum = i < own_at ? weft_data(operands->slots, to.count, to.type) : to;
        weft_plan_reduce(plan, left, right, sum);
        left = sum.place;
    }
}
