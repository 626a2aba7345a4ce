/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice by the cost model, among all algorithms that have a formula, with every radix and
 * segment that is worth trying. Of equal costs the first wins, so the order of an algorithm's table
 * is a preference. All ranks do the same arithmetic on the same numbers.
 */
#include "coll/tuning.h"

static const int radixes[] = {2, 3, 4, 5, 6, 8, 12, 16, 32, 64};
static const size_t segments[] = {0, 32 << 10, 128 << 10, 512 << 10, 2 << 20};
enum {
    RADIXES = sizeof(radixes) / sizeof(radixes[0]),
    SEGMENTS = sizeof(segments) / sizeof(segments[0])
};

/* Collectives with a count for each rank share the formulas of those with one count for all. The
 * formulas of allgather take the bytes of one rank, taken as equal on all, those of reduce_scatter
 * the bytes of all ranks. */
static double bytes_in_formulas(const weft_tuning_query_t *query)
{
    if (query->coll == WEFT_ALLGATHERV)
        return (double)query->bytes / query->ranks;
    if (query->coll == WEFT_REDUCE_SCATTER_BLOCK)
        return (double)query->bytes * query->ranks;
    return (double)query->bytes;
}

static weft_model_t model_of(const weft_tuning_query_t *query)
{
    return (weft_model_t){.fabric = weft_fabric_of(query->fabric == NULL ? "" : query->fabric),
                          .ranks = query->ranks,
                          .nodes = query->nodes < 1 ? 1 : query->nodes,
                          .least = query->nodes > 1 ? query->least : query->ranks,
                          .most = query->nodes > 1 ? query->most : query->ranks,
                          .is_consecutive = (query->has & WEFT_NEEDS_BLOCKS) != 0,
                          .bytes = bytes_in_formulas(query)};
}

weft_choice_t weft_tuning_tune(const weft_tuning_query_t *query, const weft_algorithm_t *algorithm)
{
    weft_choice_t best = {algorithm, radixes[0], 0, 0, true, -1};
    weft_model_t model = model_of(query);
    int radix_count = (algorithm->has & WEFT_HAS_RADIX) != 0 ? RADIXES : 1;
    int segment_count = (algorithm->has & WEFT_HAS_SEGMENT) != 0 ? SEGMENTS : 1;
    for (int i = 0; algorithm->cost_us != NULL && i < radix_count * segment_count; i++) {
        model.radix = radixes[i % radix_count];
        model.segment_bytes = (double)segments[i / radix_count];
        double cost = algorithm->cost_us(&model);
        if (best.estimate_us < 0 || cost < best.estimate_us) {
            best.radix = model.radix;
            best.segment_bytes = segments[i / radix_count];
            best.estimate_us = cost;
        }
    }
    return best;
}

weft_choice_t weft_tuning_model(const weft_tuning_query_t *query)
{
    weft_choice_t best = {.estimate_us = -1};
    for (const weft_algorithm_t *its = weft_coll_algorithms(query->coll); its->name != NULL;
         its++) {
        if (its->cost_us == NULL || !weft_algorithm_fits(its, query))
            continue;
        weft_choice_t choice = weft_tuning_tune(query, its);
        if (best.estimate_us < 0 || choice.estimate_us < best.estimate_us)
            best = choice;
    }
    return best;
}
