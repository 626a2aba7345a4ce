/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/wall/wall_route.h"

#include "coll/plan_cache.h"
#include "coll/tuning.h"
#include "coll/wall/wall.h"
#include "base/clock.h"
#include "base/log.h"

/* SMALL, MIDDLE and LARGE are the first bytes of the sizes 1 to 3. */
enum { SIZES = 4, SMALL = 64 * 1024, MIDDLE = 128 * 1024, LARGE = 512 * 1024 };

static const weft_coll_t colls[] = {WEFT_BCAST,     WEFT_GATHER,   WEFT_SCATTER,
                                    WEFT_ALLGATHER, WEFT_ALLTOALL, WEFT_ALLREDUCE};
_Static_assert(SIZES * sizeof(colls) / sizeof(colls[0]) == WEFT_ROUTE_KINDS,
               "each has a word in the strip");

static const char *const route_names[] = {"wall", "messages"};

static int kind_of(weft_coll_t coll, size_t bytes)
{
    int first = 0;
    for (int i = 0; colls[i] != coll; i++)
        first += SIZES;
    return first + (bytes >= SMALL) + (bytes >= MIDDLE) + (bytes >= LARGE);
}

/* The same on both members. Where large messages are read from the first one on
 * (weft_endpoint_t.reads_best), they are the faster route from SMALL bytes on: on a Cascade Lake,
 * 110 calls, a bcast of 256 KiB takes 19 us instead of 39, one of 1 MiB 69 instead of 102, an
 * allgather of 128 KiB 22 instead of 29. A gather is not. */
static weft_route_t first_route(const weft_wall_routes_t *routes, int kind)
{
    bool suits = kind % SIZES > 0 && colls[kind / SIZES] != WEFT_GATHER;
    return suits && routes->prefer_messages ? WEFT_ROUTE_OTHER : WEFT_ROUTE_WALL;
}

/* The first allreduce by messages touches the large rings of both ways: on a Zen 4 it takes 4.3 to
 * 4.8 ms. */
static int64_t time_before_try(int kind)
{
    enum { ALLREDUCE_TRY_NS = 20000000 };
    return colls[kind / SIZES] == WEFT_ALLREDUCE ? ALLREDUCE_TRY_NS : WEFT_ROUTE_TRY_NS;
}

void weft_wall_routes_open(weft_wall_routes_t *routes, bool prefer_messages)
{
    routes->prefer_messages = prefer_messages;
    routes->last.mark = 0;
    for (int i = 0; i < WEFT_ROUTE_KINDS; i++)
        weft_route_open(&routes->kinds[i], first_route(routes, i), time_before_try(i));
}

void weft_wall_routes_clear(weft_strip_t *strip)
{
    for (int i = 0; i < WEFT_ROUTE_KINDS; i++)
        atomic_store_explicit(&strip->state.routes[i], 0, memory_order_relaxed);
}

/* ---- what is shown ---- */

/* A route, and from which number of posts on it is taken: before, it is the other one. Not 0, which
 * stands for the first route. */
void weft_wall_show_route(weft_wall_t *wall, int kind, weft_route_t route)
{
    uint64_t from = wall->number + WEFT_WALL_POSTS;
    atomic_store_explicit(&wall->strip->state.routes[kind], from << 1 | (uint64_t)route,
                          memory_order_relaxed);
}

weft_route_t weft_wall_route_now(const weft_wall_t *wall, int kind, weft_route_t first)
{
    uint64_t shown =
        atomic_load_explicit(&wall->members[0].strip->state.routes[kind], memory_order_relaxed);
    bool is_in_force = wall->number >= shown >> 1;
    return shown == 0 ? first : (weft_route_t)((shown & 1) ^ !is_in_force);
}

/* The mark is no other move's: it is stored last, and taken away first. */
static void show_move(weft_strip_state_t *state, const weft_move_t *move)
{
    atomic_store_explicit(&state->move, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&state->move_began_ns, move->began_ns, memory_order_relaxed);
    atomic_store_explicit(&state->move_ended_ns, move->ended_ns, memory_order_relaxed);
    atomic_store_explicit(&state->move, move->mark, memory_order_release);
}

/* From the later beginning to the later end; -1: the other member shows another move, or none. */
static int64_t time_of_both(const weft_strip_state_t *state, const weft_move_t *own)
{
    if (atomic_load_explicit(&state->move, memory_order_acquire) != own->mark)
        return -1;
    int64_t began_ns = atomic_load_explicit(&state->move_began_ns, memory_order_relaxed);
    int64_t ended_ns = atomic_load_explicit(&state->move_ended_ns, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&state->move, memory_order_relaxed) != own->mark)
        return -1;
    began_ns = began_ns > own->began_ns ? began_ns : own->began_ns;
    ended_ns = ended_ns > own->ended_ns ? ended_ns : own->ended_ns;
    return ended_ns - began_ns;
}

/* ---- learning ---- */

/* By the first member, before a call: what has its last one taken? */
static void learn_route(weft_wall_t *wall)
{
    weft_move_t *last = &wall->routes.last;
    int64_t ns = last->mark == 0 ? -1 : time_of_both(&wall->members[1].strip->state, last);
    if (ns < 0)
        return;
    last->mark = 0;
    weft_route_choice_t *choice = &wall->routes.kinds[last->kind];
    if (!weft_route_note(choice, last->route, ns, last->bytes))
        return;
    WEFT_LOG(WEFT_DEBUG, "coll", "%s of %zu bytes: %.0f ns per KiB by %s, now by %s%s",
             weft_coll_name(colls[last->kind / SIZES]), last->bytes, (double)choice->least,
             route_names[last->route], route_names[choice->route],
             choice->is_try ? " for a try" : "");
    weft_wall_show_route(wall, last->kind, choice->route);
}

static int route_by_messages(weft_wall_t *wall, weft_coll_t coll, const weft_coll_args_t *args)
{
    return weft_wall_signal(wall) ? weft_coll_run_by_messages(coll, args) : wall->error;
}

int weft_wall_route(weft_wall_t *wall, weft_coll_t coll, const weft_coll_args_t *args,
                    weft_on_wall_t over_wall)
{
    bool is_first = wall->rank == 0;
    if (is_first)
        learn_route(wall);
    size_t bytes = weft_coll_bytes(coll, args);
    int kind = kind_of(coll, bytes);
    weft_route_t route = weft_wall_route_now(wall, kind, first_route(&wall->routes, kind));
    uint64_t mark = wall->number + 1; /* not 0 */
    int64_t began_ns = weft_clock_ns();
    int err =
        route == WEFT_ROUTE_OTHER ? route_by_messages(wall, coll, args) : over_wall(wall, args);
    weft_move_t move = {mark, kind, route, bytes, began_ns, weft_clock_ns()};
    if (is_first && weft_route_begin(&wall->routes.kinds[kind]))
        wall->routes.last = move;
    if (!is_first)
        show_move(&wall->strip->state, &move);
    return err;
}
