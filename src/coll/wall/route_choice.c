/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/wall/route_choice.h"

enum {
    SAMPLES = 4,        /* of a round, and of a try */
    SETTLING_FIRST = 8, /* calls before the first round: the wall learns how to store meanwhile */
    SETTLING = 4,       /* before a try, and after one that was in vain */
    PAUSE = 12,         /* between other rounds */
    GAP_FIRST = 256,    /* calls between tries; twice as many after each that is in vain, up to */
    GAP_MOST = 1 << 14,
    KIB = 1024,
};

/* The other route has to take so much less. */
static const float worth = 0.95F;

void weft_route_open(weft_route_choice_t *choice, weft_route_t first, int64_t try_ns)
{
    *choice = (weft_route_choice_t){
        .route = first, .settling = SETTLING_FIRST, .gap = GAP_FIRST, .try_ns = try_ns};
}

static void turn(weft_route_choice_t *choice)
{
    choice->route = choice->route == WEFT_ROUTE_WALL ? WEFT_ROUTE_OTHER : WEFT_ROUTE_WALL;
    choice->settling = SETTLING;
}

static bool end_try(weft_route_choice_t *choice)
{
    bool is_better = choice->least < worth * choice->usual;
    choice->is_try = false;
    if (is_better)
        choice->gap = GAP_FIRST;
    else if (choice->gap < GAP_MOST)
        choice->gap *= 2;
    choice->next_try = choice->calls + choice->gap;
    if (!is_better)
        turn(choice);
    return !is_better;
}

/* What disturbs calls, such as the first touch of pages, is not counted as spent. */
static bool end_round(weft_route_choice_t *choice, size_t bytes)
{
    choice->usual = choice->least;
    choice->spent_ns += (int64_t)((SAMPLES + PAUSE) * choice->least * (float)bytes / KIB);
    choice->next_round = choice->calls + PAUSE;
    if (choice->calls < choice->next_try || choice->spent_ns < choice->try_ns)
        return false;
    choice->is_try = true;
    choice->next_round = choice->calls;
    turn(choice);
    return true;
}

bool weft_route_begin(weft_route_choice_t *choice)
{
    return choice->calls++ >= choice->next_round;
}

/* Calls of the other route were begun before the last change was seen. */
bool weft_route_note(weft_route_choice_t *choice, weft_route_t route, int64_t ns, size_t bytes)
{
    float cost = (float)ns * KIB / (float)bytes;
    if (route != choice->route)
        return false;
    if (choice->settling > 0) {
        choice->settling--;
        return false;
    }
    if (choice->samples == 0 || cost < choice->least)
        choice->least = cost;
    if (++choice->samples < SAMPLES)
        return false;
    choice->samples = 0;
    return choice->is_try ? end_try(choice) : end_round(choice, bytes);
}
