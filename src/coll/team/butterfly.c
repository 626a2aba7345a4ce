/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive multiplying. The number of members is written as a product of factors of at most k. In
 * round i the members form groups of as many members as the i-th factor, which differ only in the
 * i-th digit of their index, and all members of a group exchange what they have. Where there is no
 * such product, the members beyond the next smaller number that has one form pairs, of which only
 * the odd member, the speaker, takes part.
 *
 * The lowest digit comes first: so the operands that have been combined always belong to members
 * that follow each other, and the order of the team is kept.
 */
#include "coll/team/butterfly.h"

#include "coll/team/pieces.h"

weft_butterfly_t weft_butterfly_of(const weft_team_t *team, int radix)
{
    weft_butterfly_t its = {.team = team, .digits = weft_digits_of(team->size, radix)};
    its.is_paired = team->index < 2 * its.digits.pairs;
    its.is_speaker = !its.is_paired || team->index % 2 == 1;
    its.self = its.is_paired ? team->index / 2 : team->index - its.digits.pairs;
    return its;
}

weft_butterfly_group_t weft_butterfly_group(const weft_butterfly_t *its, int round)
{
    const weft_digits_t *digits = &its->digits;
    int stride = 1;
    for (int i = 0; i < round; i++)
        stride *= digits->factor[i];
    int digit = its->self / stride % digits->factor[round];
    return (weft_butterfly_group_t){
        its->team, digits->pairs, digits->factor[round], stride, its->self - digit * stride, digit};
}

int weft_butterfly_member(const weft_butterfly_group_t *group, int digit)
{
    int speaker = group->first + digit * group->stride;
    return speaker < group->pairs ? 2 * speaker + 1 : speaker + group->pairs;
}

/* ---- pairs ---- */

void weft_butterfly_join(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                         weft_data_t to)
{
    if (team->index % 2 == 0) {
        weft_team_send(plan, team, weft_data(from, to.count, to.type), team->index + 1);
        return;
    }
    weft_data_t theirs = weft_data(weft_plan_scratch(plan, to.count, to.type), to.count, to.type);
    weft_team_recv(plan, team, theirs, team->index - 1);
    weft_plan_wait(plan);
    weft_plan_reduce(plan, theirs.place, from, to);
}

void weft_butterfly_part(weft_plan_t *plan, const weft_team_t *team, weft_data_t to)
{
    weft_plan_wait(plan);
    if (team->index % 2 == 0)
        weft_team_recv(plan, team, to, team->index + 1);
    else
        weft_team_send(plan, team, to, team->index - 1);
}

/* ---- allreduce of whole vectors ---- */

static void exchange_all(weft_plan_t *plan, const weft_butterfly_group_t *group,
                         const weft_operands_in_order_t *operands, weft_data_t to)
{
    for (int i = 1; i < group->size; i++)
        weft_team_send(plan, group->team, weft_data(operands->own, to.count, to.type),
                       weft_butterfly_member(group, (group->digit + i) % group->size));
    for (int i = 1; i < group->size; i++) {
        int digit = (group->digit - i + group->size) % group->size;
        weft_team_recv(plan, group->team, weft_operand_slot(operands, digit, to),
                       weft_butterfly_member(group, digit));
    }
    weft_plan_wait(plan);
    weft_plan_fold(plan, operands, to);
}

static int largest_factor(const weft_digits_t *digits)
{
    int largest = 1;
    for (int i = 0; i < digits->rounds; i++)
        largest = digits->factor[i] > largest ? digits->factor[i] : largest;
    return largest;
}

void weft_team_allreduce(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                         weft_data_t to, int radix)
{
    weft_butterfly_t place = weft_butterfly_of(team, radix);
    weft_operands_in_order_t operands = {.own = from};
    if (team->size == 1)
        weft_plan_copy(plan, weft_data(from, to.count, to.type), to);
    if (place.is_paired) {
        weft_butterfly_join(plan, team, from, to);
        operands.own = to.place;
    }
    int rounds = place.is_speaker ? place.digits.rounds : 0;
    if (rounds > 0)
        operands.slots = weft_plan_scratch(
            plan, to.count * (size_t)(largest_factor(&place.digits) - 1), to.type);
    for (int round = 0; round < rounds; round++) {
        weft_butterfly_group_t group = weft_butterfly_group(&place, round);
        operands.count = group.size;
        operands.own_at = group.digit;
        exchange_all(plan, &group, &operands, to);
        operands.own = to.place;
    }
    if (place.is_paired)
        weft_butterfly_part(plan, team, to);
}

/* ---- allreduce by halves, thirds, ... ---- */

/* The parts that the members of a group have in common before a round; after it each has an equal
 * share of them. */
typedef struct share {
    int first, each;
} share_t;

static weft_data_t share_of(const weft_cut_t *cut, share_t share, int digit)
{
    return weft_cut_range(cut, share.first + digit * share.each,
                          share.first + (digit + 1) * share.each);
}

/* Sends each member its share, and reduces this member's share to its place in `cut`. */
static void reduce_share(weft_plan_t *plan, const weft_butterfly_group_t *group, weft_place_t have,
                         const weft_cut_t *cut, share_t share)
{
    weft_cut_t mine = weft_cut_at(cut, have);
    weft_data_t own = share_of(cut, share, group->digit);
    weft_operands_in_order_t operands = {
        .slots = weft_plan_scratch(plan, own.count * (size_t)(group->size - 1), own.type),
        .own = share_of(&mine, share, group->digit).place,
        .count = group->size,
        .own_at = group->digit};
    for (int i = 1; i < group->size; i++) {
        int digit = (group->digit + i) % group->size;
        weft_team_send(plan, group->team, share_of(&mine, share, digit),
                       weft_butterfly_member(group, digit));
    }
    for (int i = 1; i < group->size; i++) {
        int digit = (group->digit - i + group->size) % group->size;
        weft_team_recv(plan, group->team, weft_operand_slot(&operands, digit, own),
                       weft_butterfly_member(group, digit));
    }
    weft_plan_wait(plan);
    weft_plan_fold(plan, &operands, own);
}

static void spread_share(weft_plan_t *plan, const weft_butterfly_group_t *group,
                         const weft_cut_t *cut, share_t share)
{
    weft_plan_wait(plan);
    for (int i = 1; i < group->size; i++)
        weft_team_send(plan, group->team, share_of(cut, share, group->digit),
                       weft_butterfly_member(group, (group->digit + i) % group->size));
    for (int i = 1; i < group->size; i++) {
        int digit = (group->digit - i + group->size) % group->size;
        weft_team_recv(plan, group->team, share_of(cut, share, digit),
                       weft_butterfly_member(group, digit));
    }
}

static void butterfly_halve_among_speakers(weft_plan_t *plan, const weft_butterfly_t *place,
                                           weft_place_t have, const weft_cut_t *cut)
{
    share_t shares[WEFT_DIGITS_MAX], share = {0, cut->parts};
    for (int round = 0; round < place->digits.rounds; round++) {
        weft_butterfly_group_t group = weft_butterfly_group(place, round);
        share.each /= group.size;
        shares[round] = share;
        reduce_share(plan, &group, have, cut, share);
        share.first += group.digit * share.each;
        have = cut->at;
    }
    for (int round = place->digits.rounds - 1; round >= 0; round--) {
        weft_butterfly_group_t group = weft_butterfly_group(place, round);
        spread_share(plan, &group, cut, shares[round]);
    }
}

void weft_team_allreduce_halving(weft_plan_t *plan, const weft_team_t *team, weft_place_t from,
                                 weft_data_t to, int radix)
{
    weft_butterfly_t place = weft_butterfly_of(team, radix);
    weft_cut_t cut = weft_cut(to, place.digits.speakers);
    if (team->size == 1)
        weft_plan_copy(plan, weft_data(from, to.count, to.type), to);
    if (place.is_paired) {
        weft_butterfly_join(plan, team, from, to);
        from = to.place;
    }
    if (place.is_speaker)
        butterfly_halve_among_speakers(plan, &place, from, &cut);
    if (place.is_paired)
        weft_butterfly_part(plan, team, to);
}

/* ---- barrier ---- */

/* In round i each member receives from the k - 1 members that are k^i, 2 k^i, ... below it. After
 * ceil(log_k p) rounds it has a message from every member, directly or through others. Hensgen,
 * Finkel and Manber 1988, for k = 2. */
void weft_team_barrier(weft_plan_t *plan, const weft_team_t *team, int radix)
{
    for (int64_t distance = 1; distance < team->size; distance *= radix) {
        weft_plan_wait(plan);
        for (int64_t away = distance; away < distance * radix && away < team->size;
             away += distance)
            weft_plan_signal(plan, weft_team_rank(team, weft_team_at(team, (int)away)));
        for (int64_t away = distance; away < distance * radix && away < team->size;
             away += distance)
            weft_plan_await(plan, weft_team_rank(team, weft_team_at(team, -(int)away)));
    }
}
