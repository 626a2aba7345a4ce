/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms on walls, for the tables of the collectives: each makes a plan without steps.
 * Reductions are of predefined operations and dense types, and fold. */
#ifndef WEFT_COLL_WALL_WALL_ALGORITHMS_H
#define WEFT_COLL_WALL_WALL_ALGORITHMS_H

#include "coll/plan.h"
#include "coll/wall/wall_call.h"

/* Define the algorithm `name` by its steps. */
#define WEFT_WALL_STEPS(name, begin, post, take)                                                   \
    static const weft_wall_steps_t steps_of_##name = {begin, post, take, 0};                       \
    static                                                                                         \
        __attribute__((flatten)) int run_##name(weft_wall_t *wall, const weft_coll_args_t *args)   \
    {                                                                                              \
        weft_wall_call_t call = {.wall = wall, .args = args};                                      \
        return weft_wall_do_steps(&steps_of_##name, &call);                                        \
    }                                                                                              \
    WEFT_WALL_PLAN(name)

/* Its plan has no steps but run_`name`. */
#define WEFT_WALL_PLAN(name)                                                                       \
    void weft_wall_##name(weft_plan_t *plan, const weft_coll_args_t *args)                         \
    {                                                                                              \
        (void)args;                                                                                \
        plan->on_wall = run_##name;                                                                \
        plan->wall_steps = &steps_of_##name;                                                       \
    }

/* Such an algorithm for two ranks that learn whether to take the wall. */
#define WEFT_WALL_ROUTED(name, coll)                                                               \
    static int route_##name(weft_wall_t *wall, const weft_coll_args_t *args)                       \
    {                                                                                              \
        return weft_wall_route(wall, coll, args, run_##name);                                      \
    }                                                                                              \
    void weft_routed_##name(weft_plan_t *plan, const weft_coll_args_t *args)                       \
    {                                                                                              \
        weft_wall_##name(plan, args);                                                              \
        plan->on_wall = args->comm->size == 2 ? route_##name : run_##name;                         \
    }

/* wall_moves.c */
void weft_wall_barrier(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_bcast(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_gather(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_scatter(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_allgather(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_allgatherv(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_alltoall(weft_plan_t *plan, const weft_coll_args_t *args);

/* Where there are two ranks, by whichever is the faster, this or messages (wall_route.h). */
void weft_routed_bcast(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_routed_gather(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_routed_scatter(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_routed_allgather(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_routed_alltoall(weft_plan_t *plan, const weft_coll_args_t *args);

/* wall_streams.c: each member knows its own counts only */
void weft_wall_gatherv(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_scatterv(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_alltoallv(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_alltoallw(weft_plan_t *plan, const weft_coll_args_t *args);

/* The calls themselves, on one level. */
int weft_wall_flat_barrier(weft_wall_t *wall, const weft_coll_args_t *args);
int weft_wall_flat_allreduce(weft_wall_t *wall, const weft_coll_args_t *args);

/* wall_neighbors.c */
void weft_wall_neighbor_allgather(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_neighbor_allgatherv(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_neighbor_alltoall(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_neighbor_alltoallv(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_neighbor_alltoallw(weft_plan_t *plan, const weft_coll_args_t *args);

/* wall_reductions.c: each member that gets a result reduces all of every chunk, */
void weft_wall_allreduce(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_reduce(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_routed_allreduce(weft_plan_t *plan, const weft_coll_args_t *args);
/* or each member reduces a slice of every chunk, and posts it. */
void weft_wall_allreduce_sliced(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_reduce_sliced(weft_plan_t *plan, const weft_coll_args_t *args);
/** Of reduce_scatter and reduce_scatter_block. */
void weft_wall_reduce_scatter(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_scan(weft_plan_t *plan, const weft_coll_args_t *args);
void weft_wall_exscan(weft_plan_t *plan, const weft_coll_args_t *args);

#endif
