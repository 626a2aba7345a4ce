/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges in which every member has a block of bytes for every other. */
#include "coll/team/pieces.h"
#include "coll/team/runs.h"

/* ---- Bruck ---- */

/*
 * Bruck et al. 1997. Block i of `slots` has to reach the member i above the one where it began. In
 * the round of digit z it moves d k^z members up, d being that digit of i in base k. So all blocks
 * with the same digit travel together, as one strided type.
 */
typedef struct bruck {
    const weft_team_t *team;
    weft_place_t slots, packed; /* [size] blocks each */
    size_t bytes;
    int radix;
} bruck_t;

static weft_place_t block_at(weft_place_t place, size_t bytes, int index)
{
    place.offset += (ptrdiff_t)bytes * index;
    return place;
}

static weft_data_t blocks_at(weft_place_t place, size_t bytes, int first, int count)
{
    return weft_data(block_at(place, bytes, first), bytes * (size_t)count, weft_type_of(MPI_BYTE));
}

/* The slots whose digit at `stride` is `digit`. */
static weft_runs_t transpose_slots_of(const bruck_t *bruck, int stride, int digit)
{
    int64_t period = (int64_t)stride * bruck->radix, first = (int64_t)stride * digit;
    int size = bruck->team->size;
    weft_runs_t runs = {.each_bytes = bruck->bytes * (size_t)stride,
                        .stride_bytes = (ptrdiff_t)bruck->bytes * (ptrdiff_t)period,
                        .at = block_at(bruck->slots, bruck->bytes, (int)first)};
    runs.count = size < first + stride ? 0 : (size_t)((size - first - stride) / period + 1);
    int64_t next = first + (int64_t)runs.count * period;
    runs.last_bytes = next < size ? bruck->bytes * (size_t)(size - next) : 0;
    return runs;
}

static void digit_round(weft_plan_t *plan, const bruck_t *bruck, int stride)
{
    const weft_team_t *team = bruck->team;
    weft_place_t packed = bruck->packed;
    for (int digit = 1; digit < bruck->radix && (int64_t)stride * digit < team->size; digit++) {
        weft_data_t data = weft_runs_data(plan, transpose_slots_of(bruck, stride, digit));
        weft_data_t bytes = weft_data(packed, data.count * data.type->size, weft_type_of(MPI_BYTE));
        weft_plan_copy(plan, data, bytes);
        weft_team_send(plan, team, bytes, weft_team_at(team, stride * digit));
        weft_team_recv(plan, team, data, weft_team_at(team, -stride * digit));
        packed.offset += (ptrdiff_t)bytes.count;
        weft_type_release(data.type);
    }
    weft_plan_wait(plan);
}

/* Copies blocks `first` to `end` of the slots to the places of the members that they came from:
 * block i came from the member i below. */
static void put_reversed(weft_plan_t *plan, const bruck_t *bruck, weft_place_t to, int first,
                         int end)
{
    int size = bruck->team->size, source = (bruck->team->index - first + size) % size;
    if (first == end)
        return;
    weft_data_t data = weft_runs_data(plan, (weft_runs_t){block_at(to, bruck->bytes, source),
                                                          (size_t)(end - first), bruck->bytes,
                                                          -(ptrdiff_t)bruck->bytes, 0});
    weft_plan_copy(plan, blocks_at(bruck->slots, bruck->bytes, first, end - first), data);
    weft_type_release(data.type);
}

void weft_team_alltoall_bruck(weft_plan_t *plan, const weft_team_t *team,
                              const weft_rank_blocks_t *blocks, int radix)
{
    int size = team->size, index = team->index;
    size_t bytes = blocks->bytes;
    if (bytes == 0)
        return;
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    bruck_t bruck = {team, weft_plan_scratch(plan, bytes * (size_t)size, byte),
                     weft_plan_scratch(plan, bytes * (size_t)size, byte), bytes, radix};
    weft_plan_copy(plan, blocks_at(blocks->from, bytes, index, size - index),
                   blocks_at(bruck.slots, bytes, 0, size - index));
    weft_plan_copy(plan, blocks_at(blocks->from, bytes, 0, index),
                   blocks_at(bruck.slots, bytes, size - index, index));
    for (int64_t stride = 1; stride < size; stride *= radix)
        digit_round(plan, &bruck, (int)stride);
    put_reversed(plan, &bruck, blocks->to, 0, index + 1);
    put_reversed(plan, &bruck, blocks->to, index + 1, size);
}

/* ---- pairs ---- */

void weft_team_alltoall(weft_plan_t *plan, const weft_team_t *team,
                        const weft_rank_blocks_t *blocks, int batch)
{
    size_t bytes = blocks->bytes;
    for (int i = 1; i < team->size; i++) {
        int to = weft_team_at(team, i), from = weft_team_at(team, -i);
        if (i % batch == 0)
            weft_plan_wait(plan);
        weft_team_recv(plan, team, blocks_at(blocks->to, bytes, from, 1), from);
        weft_team_send(plan, team, blocks_at(blocks->from, bytes, to, 1), to);
    }
    weft_plan_copy(plan, blocks_at(blocks->from, bytes, team->index, 1),
                   blocks_at(blocks->to, bytes, team->index, 1));
}
