/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/team/teams.h"

#include <stddef.h>

weft_team_t weft_team_all(int size, int rank)
{
    return (weft_team_t){.size = size, .index = rank, .stride = 1, .stand_in_at = -1};
}

weft_team_t weft_team_node(const weft_shape_t *shape, int rank)
{
    int node = weft_shape_node(shape, rank);
    weft_team_t team = {.size = weft_shape_count(shape, node),
                        .index = weft_shape_local(shape, rank),
                        .first = weft_shape_rank(shape, node, 0),
                        .stride = shape->placing == WEFT_CYCLIC ? shape->nodes : 1,
                        .stand_in_at = -1};
    if (shape->placing == WEFT_ANYHOW)
        team.members = shape->members + shape->starts[node];
    return team;
}

weft_team_t weft_team_lane(const weft_shape_t *shape, int lane, int rank)
{
    return (weft_team_t){.size = shape->nodes,
                         .index = weft_shape_node(shape, rank),
                         .lane_of = shape,
                         .lane = lane,
                         .stand_in_at = -1};
}

weft_team_t weft_team_with(weft_team_t team, int rank)
{
    team.stand_in_at = weft_shape_node(team.lane_of, rank);
    team.stand_in = rank;
    return team;
}

weft_team_t weft_team_turned(weft_team_t team, int root)
{
    team.index = weft_team_at(&team, -root);
    team.turn = (team.turn + root) % team.size;
    return team;
}

static int rank_of_lane(const weft_shape_t *shape, int node, int lane)
{
    int local = lane == WEFT_LAST_LANE ? weft_shape_count(shape, node) - 1 : lane;
    return weft_shape_rank(shape, node, local);
}

int weft_team_rank(const weft_team_t *team, int index)
{
    int at = index + team->turn;
    if (at >= team->size)
        at -= team->size;
    if (at == team->stand_in_at)
        return team->stand_in;
    if (team->lane_of != NULL)
        return rank_of_lane(team->lane_of, at, team->lane);
    return team->members != NULL ? team->members[at] : team->first + at * team->stride;
}
