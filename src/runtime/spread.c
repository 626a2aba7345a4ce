/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "runtime/spread.h"

#include "base/log.h"

#include <sched.h>
#include <stdlib.h>

enum {
    RANKS_MOST = 256,
    MOVES = 16,              /* of a rank: where the kernel has other ideas, it may have its way */
    LOOK_FIRST_NS = 50000,   /* between two looks; twice as long each time, up to */
    LOOK_AGAIN_NS = 2000000, /* where a move has to wait */
    LOOK_LAST_NS = 10000000,
    BETWEEN_MOVES_NS = 50000, /* of any two ranks: each move is seen before the next */
    HOLD_NS = 1000000000,
};

weft_spread_place_t weft_spread_place;

static int moves;
static int64_t next_look_ns, pause_ns = LOOK_FIRST_NS;

static int ranks_on(int cpu, const int *processors, int ranks)
{
    int count = 0;
    for (int i = 0; i < ranks; i++)
        count += processors[i] == cpu;
    return count;
}

int weft_spread_target(const weft_cpus_t *allowed, const int *processors, int ranks, int own)
{
    int target = -1, least = ranks_on(own, processors, ranks) - 1;
    for (int cpu = 0; cpu < 64 * WEFT_CPU_WORDS && least > 0; cpu++) {
        if (!weft_cpus_have(allowed, cpu))
            continue;
        int count = ranks_on(cpu, processors, ranks);
        if (count < least) {
            least = count;
            target = cpu;
        }
    }
    return target;
}

int weft_spread_choice(const weft_cpus_t *allowed, const int *shown, int ranks, int own)
{
    int all[RANKS_MOST], awake[RANKS_MOST];
    for (int i = 0; i < ranks; i++) {
        all[i] = abs(shown[i]) - 1;
        awake[i] = shown[i] - 1;
    }
    int target = weft_spread_target(allowed, all, ranks, own);
    if (target >= 0)
        return target;
    target = weft_spread_target(allowed, awake, ranks, own);
    return target >= 0 && ranks_on(target, awake, ranks) == 0 ? target : -1;
}

static int choice_of(const weft_cpus_t *allowed, int own)
{
    int shown[RANKS_MOST];
    for (int i = 0; i < weft_spread_place.ranks; i++)
        shown[i] = atomic_load_explicit(weft_spread_place.processor(i), memory_order_relaxed);
    return weft_spread_choice(allowed, shown, weft_spread_place.ranks, own);
}

static void show_processor(int processor)
{
    atomic_store_explicit(weft_spread_place.processor(weft_spread_place.rank), processor,
                          memory_order_relaxed);
}

/* Do others compute on this machine? */
static bool has_strangers(void)
{
    int runnable = weft_cpu_runnable();
    return runnable < 0 || runnable > weft_spread_place.ranks;
}

/* Is it this rank's turn to move? */
static bool takes_turn(int64_t now_ns)
{
    unsigned long long last_ns = atomic_load(weft_spread_place.moved_ns);
    return now_ns - (int64_t)last_ns >= BETWEEN_MOVES_NS &&
           atomic_compare_exchange_strong(weft_spread_place.moved_ns, &last_ns,
                                          (unsigned long long)now_ns);
}

/* The program may have changed its mask, so it is asked for each time. */
static bool move_to(int cpu, const weft_cpus_t *allowed)
{
    weft_cpus_t only = {{0}};
    weft_cpus_put(&only, cpu);
    WEFT_LOG(WEFT_DEBUG, "progress", "moving to processor %d, where fewer ranks run", cpu);
    return weft_cpus_run_on(&only) && weft_cpus_run_on(allowed);
}

/* Moves this rank if that is better. Returns the longest pause before the next look. */
static int64_t move_if_better(int own, int64_t now_ns)
{
    weft_cpus_t allowed = {{0}};
    if (sched_getaffinity(0, sizeof(allowed), (cpu_set_t *)(void *)&allowed) != 0) {
        moves = MOVES;
        return LOOK_LAST_NS;
    }
    int target = choice_of(&allowed, own);
    if (target < 0)
        return LOOK_LAST_NS;
    if (has_strangers() || !takes_turn(now_ns))
        return LOOK_AGAIN_NS;
    moves = move_to(target, &allowed) ? moves + 1 : MOVES;
    return LOOK_FIRST_NS;
}

void weft_spread_look(int64_t now_ns)
{
    if (weft_spread_place.ranks == 0 || weft_spread_place.ranks > RANKS_MOST ||
        now_ns < next_look_ns)
        return;
    int own = sched_getcpu();
    show_processor(own + 1);
    int64_t most_ns = moves < MOVES ? move_if_better(own, now_ns) : LOOK_LAST_NS;
    pause_ns = 2 * pause_ns < most_ns ? 2 * pause_ns : most_ns;
    next_look_ns = now_ns + pause_ns;
}

void weft_spread_sleeps(bool does)
{
    if (weft_spread_place.ranks > 0)
        show_processor(does ? -1 - sched_getcpu() : 1 + sched_getcpu());
}

void weft_spread_leave(void)
{
    if (weft_spread_place.ranks > 0)
        show_processor(0);
}

static bool is_held(int64_t now_ns)
{
    return (int64_t)atomic_load_explicit(weft_spread_place.moved_ns, memory_order_relaxed) > now_ns;
}

void weft_spread_hold(int64_t now_ns)
{
    if (weft_spread_place.ranks > 0 && !is_held(now_ns) && has_strangers())
        atomic_store(weft_spread_place.moved_ns, (unsigned long long)(now_ns + HOLD_NS));
}
