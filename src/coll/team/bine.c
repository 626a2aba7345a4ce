/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bine trees and butterflies (De Sensi et al. 2025, arXiv 2508.17311): the partner in step j is not
 * at distance 2^j but at d(j) = (1 - (-2)^(j+1)) / 3 = 1, -1, 3, -5, 11, ... above an even member,
 * and below an odd one. They take as many rounds and bytes as the binomial ones, over two thirds of
 * the distance.
 *
 * The members that one reaches by the steps j to 0 are an arc of 2^(j+1) members around it; it
 * works on the parts of that arc. Members beyond a power of two form pairs, of which only the even
 * one, the speaker, takes part in the steps.
 */
#include "coll/team/pieces.h"

typedef struct bine {
    const weft_team_t *team;
    int steps, speakers, pairs;
    int self; /* number among the speakers; a member that is no speaker has its speaker's */
    bool is_paired, is_speaker;
} bine_t;

static bine_t bine_of(const weft_team_t *team)
{
    bine_t bine = {.team = team, .speakers = 1};
    for (; 2 * bine.speakers <= team->size; bine.speakers *= 2)
        bine.steps++;
    bine.pairs = team->size - bine.speakers;
    bine.is_paired = team->index < 2 * bine.pairs;
    bine.is_speaker = !bine.is_paired || team->index % 2 == 0;
    bine.self = bine.is_paired ? team->index / 2 : team->index - bine.pairs;
    return bine;
}

static int member(const bine_t *bine, int speaker)
{
    return speaker < bine->pairs ? 2 * speaker : speaker + bine->pairs;
}

static int wrap(const bine_t *bine, int64_t speaker)
{
    return (int)((speaker % bine->speakers + bine->speakers) % bine->speakers);
}

static int64_t distance(int step)
{
    int64_t power = (int64_t)1 << (step + 1);
    return step % 2 == 0 ? (1 + power) / 3 : (1 - power) / 3;
}

static int partner(const bine_t *bine, int speaker, int step)
{
    return wrap(bine, speaker + (speaker % 2 == 0 ? distance(step) : -distance(step)));
}

/* The arc that a speaker reaches by the steps `step` to 0; only itself for step -1. */
static weft_arc_t arc_reached(const bine_t *bine, int speaker, int step)
{
    /* An even member's arc grows by 2^j above it where d(j) is positive, and below it where d(j) is
     * negative. */
    int64_t below = 0;
    for (int j = 0; j <= step; j++) {
        bool is_below = (j % 2 == 1) == (speaker % 2 == 0);
        below += is_below ? (int64_t)1 << j : 0;
    }
    return (weft_arc_t){wrap(bine, speaker - below), (int)((int64_t)1 << (step + 1))};
}

static bool is_within(const bine_t *bine, weft_arc_t arc, int speaker)
{
    return wrap(bine, speaker - arc.first) < arc.count;
}

/* ---- trees ---- */

/* The step in which member 0's data reach this member, and the speaker that sends them; bine->steps
 * for member 0. */
static int step_of_arrival(const bine_t *bine, int *parent_out)
{
    int holder = 0;
    *parent_out = 0;
    for (int step = bine->steps - 1; step >= 0 && holder != bine->self; step--) {
        if (is_within(bine, arc_reached(bine, holder, step - 1), bine->self))
            continue;
        *parent_out = holder;
        holder = partner(bine, holder, step);
        if (holder == bine->self)
            return step;
    }
    return bine->steps;
}

void weft_team_bcast_bine(weft_plan_t *plan, const weft_team_t *team, weft_data_t data)
{
    bine_t bine = bine_of(team);
    if (!bine.is_speaker) {
        weft_team_recv(plan, team, data, team->index - 1);
        return;
    }
    int parent, step = step_of_arrival(&bine, &parent);
    if (bine.self != 0) {
        weft_team_recv(plan, team, data, member(&bine, parent));
        weft_plan_wait(plan);
    }
    while (--step >= 0)
        weft_team_send(plan, team, data, member(&bine, partner(&bine, bine.self, step)));
    if (bine.is_paired)
        weft_team_send(plan, team, data, team->index + 1);
}

/* ---- parts ---- */

/* The parts of the speakers: a speaker works on both parts of its pair. */
static weft_cut_t cut_of_speakers(const weft_cut_t *cut, const bine_t *bine)
{
    weft_cut_t merged = *cut;
    merged.parts = bine->speakers;
    merged.doubled = bine->pairs;
    return merged;
}

/* Reduces the parts of an arc in `a` and `b` to their places in `to`. */
static void reduce_arc(weft_plan_t *plan, const weft_cut_t *to, weft_place_t a, weft_place_t b,
                       weft_arc_t arc)
{
    weft_cut_t left = weft_cut_at(to, a), right = weft_cut_at(to, b);
    int rest = arc.first + arc.count - to->parts;
    int first[2] = {arc.first, 0}, end[2] = {rest > 0 ? to->parts : arc.first + arc.count, rest};
    for (int i = 0; i < 2; i++) {
        if (end[i] > first[i])
            weft_plan_reduce(plan, weft_cut_range(&left, first[i], end[i]).place,
                             weft_cut_range(&right, first[i], end[i]).place,
                             weft_cut_range(to, first[i], end[i]));
    }
}

static void bine_halve_among_speakers(weft_plan_t *plan, const bine_t *bine, weft_place_t have,
                                      const weft_cut_t *cut)
{
    weft_cut_t arrived =
        weft_cut_at(cut, weft_plan_scratch(plan, weft_cut_all(cut).count, cut->type));
    for (int step = bine->steps - 1; step >= 0; step--) {
        int other = partner(bine, bine->self, step);
        weft_cut_t mine = weft_cut_at(cut, have);
        weft_arc_t keep = arc_reached(bine, bine->self, step - 1);
        weft_team_send_arc(plan, bine->team, &mine, arc_reached(bine, other, step - 1),
                           member(bine, other));
        weft_team_recv_arc(plan, bine->team, &arrived, keep, member(bine, other));
        weft_plan_wait(plan);
        reduce_arc(plan, cut, have, arrived.at, keep);
        have = cut->at;
    }
}

void weft_team_reduce_scatter_bine(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                   const weft_cut_t *cut)
{
    bine_t bine = bine_of(team);
    weft_data_t all = weft_cut_all(cut);
    if (!bine.is_speaker) {
        weft_team_send(plan, team, weft_data(from, all.count, all.type), team->index - 1);
        weft_plan_wait(plan);
        weft_team_recv(plan, team, weft_cut_part(cut, team->index), team->index - 1);
        return;
    }
    if (bine.is_paired) {
        weft_data_t theirs =
            weft_data(weft_plan_scratch(plan, all.count, all.type), all.count, all.type);
        weft_team_recv(plan, team, theirs, team->index + 1);
        weft_plan_wait(plan);
        weft_plan_reduce(plan, from, theirs.place, all);
        from = all.place;
    }
    weft_cut_t merged = cut_of_speakers(cut, &bine);
    bine_halve_among_speakers(plan, &bine, from, &merged);
    if (bine.is_paired)
        weft_team_send(plan, team, weft_cut_part(cut, team->index + 1), team->index + 1);
    if (team->size == 1)
        weft_plan_copy(plan, weft_data(from, all.count, all.type), all);
}

void weft_team_allgather_bine(weft_plan_t *plan, const weft_team_t *team, const weft_cut_t *cut)
{
    bine_t bine = bine_of(team);
    if (!bine.is_speaker) {
        weft_team_send(plan, team, weft_cut_part(cut, team->index), team->index - 1);
        weft_plan_wait(plan);
        weft_team_recv(plan, team, weft_cut_all(cut), team->index - 1);
        return;
    }
    if (bine.is_paired)
        weft_team_recv(plan, team, weft_cut_part(cut, team->index + 1), team->index + 1);
    weft_cut_t merged = cut_of_speakers(cut, &bine);
    for (int step = 0; step < bine.steps; step++) {
        int other = partner(&bine, bine.self, step);
        weft_plan_wait(plan);
        weft_team_send_arc(plan, team, &merged, arc_reached(&bine, bine.self, step - 1),
                           member(&bine, other));
        weft_team_recv_arc(plan, team, &merged, arc_reached(&bine, other, step - 1),
                           member(&bine, other));
    }
    weft_plan_wait(plan);
    if (bine.is_paired)
        weft_team_send(plan, team, weft_cut_all(cut), team->index + 1);
}

void weft_team_allreduce_bine(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                              weft_data_t to)
{
    weft_cut_t cut = weft_cut(to, team->size);
    weft_team_reduce_scatter_bine(plan, team, from, &cut);
    weft_plan_wait(plan);
    weft_team_allgather_bine(plan, team, &cut);
}
