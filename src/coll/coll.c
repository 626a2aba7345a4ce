/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a call to a running plan: choose an algorithm, write its plan, run it; or run the one that
 * is kept (plan_cache.h).
 */
#include "coll/coll.h"

#include "coll/call_check.h"
#include "coll/coll_pvars.h"
#include "coll/engine.h"
#include "coll/comm_shape.h"
#include "coll/device_calls.h"
#include "coll/inter/inter.h"
#include "coll/neighbor/neighbor.h"
#include "coll/plan.h"
#include "coll/plan_cache.h"
#include "coll/section.h"
#include "coll/tuning.h"
#include "coll/wall/wall.h"
#include "pt2pt/pt2pt.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"

const weft_device_calls_t *weft_device_calls;

/* ---- choosing ---- */

static size_t sum(weft_counts_t counts, int size)
{
    MPI_Count total = 0;
    for (int i = 0; i < size; i++)
        total += weft_count_at(counts, (size_t)i);
    return (size_t)total;
}

size_t weft_coll_bytes(weft_coll_t coll, const weft_coll_args_t *args)
{
    bool is_root = args->comm->rank == args->root;
    switch (coll) {
    case WEFT_GATHER:
        return is_root ? args->recv_count * args->recv_type->size
                       : args->send_count * args->send_type->size;
    case WEFT_SCATTER:
        return is_root ? args->send_count * args->send_type->size
                       : args->recv_count * args->recv_type->size;
    case WEFT_BCAST:
        return args->send_count * args->send_type->size;
    case WEFT_ALLGATHER:
    case WEFT_ALLTOALL:
    case WEFT_REDUCE:
    case WEFT_ALLREDUCE:
    case WEFT_REDUCE_SCATTER_BLOCK:
    case WEFT_SCAN:
    case WEFT_EXSCAN:
        return args->recv_count * args->recv_type->size;
    case WEFT_ALLGATHERV:
    case WEFT_REDUCE_SCATTER:
        return sum(args->recv_counts, args->comm->size) * args->recv_type->size;
    default:
        return 0;
    }
}

static bool suits_wall(const weft_coll_args_t *args)
{
    return args->op == NULL || (args->op->is_predefined && args->recv_type->is_dense &&
                                weft_op_kernel3(args->op, args->recv_type) != NULL);
}

static unsigned fulfilled(const weft_coll_args_t *args, const weft_shape_t *shape,
                          const weft_wall_t *wall)
{
    bool commutes = args->op == NULL || args->op->is_commutative;
    bool has_count = args->recv_count >= (size_t)args->comm->size;
    return (commutes ? WEFT_NEEDS_COMMUTATIVE : 0) | (has_count ? WEFT_NEEDS_COUNT : 0) |
           (wall != NULL && suits_wall(args) ? WEFT_NEEDS_WALL : 0) |
           weft_shape_fulfils(shape, commutes);
}

/* A flat tree reduces in the order of ranks. Both groups then have trees of their own. */
static int inter_radix(const weft_coll_args_t *args)
{
    int size = args->inter->group->size;
    return weft_config.REPRODUCIBLE && args->op != NULL && size > 2 ? size : 2;
}

/* Ranks of several nodes must choose alike, so facts of a single host have no influence there. */
static weft_choice_t choose(weft_coll_t coll, const weft_coll_args_t *args,
                            const weft_shape_t *shape, const weft_wall_t *wall)
{
    if (args->inter != NULL)
        return (weft_choice_t){.algorithm = weft_inter_algorithm(coll), .radix = inter_radix(args)};
    if (weft_coll_is_neighbor(coll))
        return (weft_choice_t){.algorithm = weft_neighbor_algorithm(coll, wall != NULL),
                               .radix = 2};
    bool is_one = shape->nodes == 1;
    weft_tuning_query_t query = {.coll = coll,
                                 .is_oversubscribed = is_one && weft_world.is_oversubscribed,
                                 .any_is_oversubscribed = weft_config.CROWDED,
                                 .ranks = args->comm->size,
                                 .bytes = weft_coll_bytes(coll, args),
                                 .has = fulfilled(args, shape, wall),
                                 .must_fold = args->op != NULL && weft_config.REPRODUCIBLE,
                                 .nodes = shape->nodes,
                                 .least = shape->least,
                                 .most = shape->most,
                                 .fabric = weft_world.fabric};
    return weft_tuning_choose(&query);
}

static int coll_write_plan(weft_coll_t coll, const weft_coll_args_t *args, const weft_wall_t *wall,
                           weft_plan_t **out)
{
    weft_shape_t room;
    weft_how_t how = {.is_oversubscribed = weft_world.is_oversubscribed};
    int err = weft_comm_shape(args->comm, &room, &how.shape);
    if (err != MPI_SUCCESS)
        return err;
    weft_choice_t choice = choose(coll, args, how.shape, wall);
    how.radix = choice.radix;
    how.segment_bytes = choice.segment_bytes;
    WEFT_LOG(WEFT_DEBUG, "coll", "%s by %s, radix %d, segments of %zu, on %d ranks of %d nodes",
             weft_coll_name(coll), choice.algorithm->name, choice.radix, choice.segment_bytes,
             args->comm->size, how.shape->nodes);
    weft_coll_counts.plans_written++;
    WEFT_EVENT(weft_algorithm_chosen_event, weft_comm_known(args->comm),
               .variable = weft_coll_pvar_of(coll, choice.algorithm), .ranks = args->comm->size,
               .nodes = how.shape->nodes, .radix = choice.radix,
               .bytes = weft_coll_bytes(coll, args), .segment_bytes = choice.segment_bytes);
    weft_plan_t *plan = weft_plan_create(&how);
    if (plan != NULL) {
        plan->coll = coll;
        plan->algorithm = choice.algorithm;
        choice.algorithm->build(plan, args);
    }
    if (plan != NULL)
        plan->meetings = weft_plan_meetings(plan);
    if (plan != NULL && plan->error == MPI_SUCCESS) {
        *out = plan;
        return MPI_SUCCESS;
    }
    if (plan != NULL)
        weft_plan_release(plan);
    return weft_fail(MPI_ERR_NO_MEM, "no memory for the plan of a collective");
}

/* ---- plans ---- */

int weft_coll_open(void)
{
    weft_call_check_open();
    int err = weft_plan_cache_open();
    return err != MPI_SUCCESS ? err : weft_walls_open();
}

static bool has_table; /* read when the first plan is written */

static int write_plan(weft_coll_t coll, const weft_coll_args_t *args, const weft_wall_t *wall,
                      const weft_plan_key_t *key, weft_plan_t **out)
{
    if (!has_table) {
        weft_tuning_open();
        has_table = true;
    }
    int err = coll_write_plan(coll, args, wall, out);
    if (err != MPI_SUCCESS)
        return err;
    (*out)->key = *key;
    err = weft_plan_cache_keep(args, *out);
    if (err != MPI_SUCCESS)
        weft_plan_release(*out);
    return err;
}

static __attribute__((noinline)) int another_plan_for(weft_coll_t coll,
                                                      const weft_coll_args_t *args,
                                                      const weft_wall_t *wall, weft_plan_t **out)
{
    weft_plan_key_t key = weft_plan_key_of(coll, args, wall != NULL);
    weft_plan_t *plan = weft_plan_cache_find(args->comm, &key);
    if (plan == NULL)
        return write_plan(coll, args, wall, &key, out);
    plan->references++;
    *out = plan;
    return MPI_SUCCESS;
}

static inline int plan_for(weft_coll_t coll, const weft_coll_args_t *args, const weft_wall_t *wall,
                           weft_plan_t **out)
{
    weft_plan_t *plan = weft_plan_cache_last(coll, args, wall != NULL);
    if (__builtin_expect(plan == NULL, 0)) {
        int err = another_plan_for(coll, args, wall, &plan);
        *out = plan;
        return err;
    }
    plan->references++;
    *out = plan;
    return MPI_SUCCESS;
}

/* ---- running ---- */

weft_coll_args_t weft_coll_args_of_bytes(weft_comm_t *comm, const void *own, void *all,
                                         size_t bytes)
{
    weft_type_t *byte = weft_type_of(MPI_BYTE);
    return (weft_coll_args_t){.comm = comm,
                              .send_buf = own,
                              .send_count = bytes,
                              .send_type = byte,
                              .recv_buf = all,
                              .recv_count = bytes,
                              .recv_type = byte};
}

/* Runs a call with device memory to its end. This may not involve a plan. */
static int coll_run_on_device(weft_coll_t coll, const weft_coll_args_t *args, weft_plan_t *plan,
                              uint32_t number)
{
    weft_request_t *request;
    int err = weft_device_calls->begin(coll, args, plan, number, &request);
    if (err != MPI_SUCCESS)
        return err;
    weft_request_wait(request);
    err = weft_request_result(request);
    weft_request_release(request);
    return err;
}

static int __attribute__((cold))
compare_calls(weft_coll_t coll, const weft_coll_args_t *args, weft_call_form_t form)
{
    /* Between two groups, and with neighbours, blocks may differ. */
    bool is_alike = args->inter == NULL && !weft_coll_is_neighbor(coll);
    return weft_call_check(coll, args, form, is_alike ? weft_coll_bytes(coll, args) : 0);
}

static inline int check_call(weft_coll_t coll, const weft_coll_args_t *args, weft_call_form_t form)
{
    return __builtin_expect(weft_checks_collectives, 0) ? compare_calls(coll, args, form)
                                                        : MPI_SUCCESS;
}

/* Where no device is in use this costs one load. */
static inline bool has_device_memory(weft_coll_t coll, const weft_coll_args_t *args)
{
    return __builtin_expect(*weft_device_news != 0, 0) && !args->comm->is_host_only &&
           weft_device_calls != NULL && weft_device_calls->is_needed(coll, args);
}

/* Of an intercommunicator the two groups have data of their own. */
static inline int find_wall(const weft_coll_args_t *args, weft_wall_t **out)
{
    if (__builtin_expect(args->inter == NULL && args->comm->size > 1, 1))
        return weft_wall_of(args->comm, out);
    *out = NULL;
    return MPI_SUCCESS;
}

typedef struct wall_run {
    weft_host_run_t host;
    weft_wall_t *wall;
    const weft_plan_t *plan;
} wall_run_t;

static int run_staged(const weft_host_run_t *host, const weft_coll_args_t *args)
{
    const wall_run_t *its = (const wall_run_t *)host;
    return weft_wall_run(its->wall, its->plan, args);
}

static int refuse_staged(const weft_host_run_t *host, int error)
{
    return weft_wall_refuse(((const wall_run_t *)host)->wall, error);
}

/* The program has begun to use a device since there is a wall. The others do not know yet. */
static __attribute__((cold)) int run_for_device(weft_wall_t *wall, const weft_plan_t *plan,
                                                weft_coll_t coll, const weft_coll_args_t *args)
{
    wall_run_t its = {{.run = run_staged, .refuse = refuse_staged}, wall, plan};
    weft_wall_take_down(wall);
    return weft_device_calls->run_on_host(coll, args, &its.host);
}

static inline int run_on_wall(weft_wall_t *wall, const weft_plan_t *plan, weft_coll_t coll,
                              const weft_coll_args_t *args)
{
    return has_device_memory(coll, args) ? run_for_device(wall, plan, coll, args)
                                         : weft_wall_run(wall, plan, args);
}

int weft_coll_run(weft_coll_t coll, const weft_coll_args_t *args)
{
    weft_plan_t *plan;
    weft_wall_t *wall;
    int err = check_call(coll, args, WEFT_CALL_BLOCKING);
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        err = find_wall(args, &wall);
    if (__builtin_expect(err == MPI_SUCCESS, 1))
        err = plan_for(coll, args, wall, &plan);
    if (err != MPI_SUCCESS)
        return err;
    weft_coll_note_call(plan);
    uint32_t number = weft_engine_take_number(plan, args->comm);
    if (plan->on_wall != NULL)
        err = run_on_wall(wall, plan, coll, args);
    else if (has_device_memory(coll, args))
        err = coll_run_on_device(coll, args, plan, number);
    else
        err = weft_engine_run(plan, args);
    if (__builtin_expect(weft_world.is_oversubscribed, 0) && wall != NULL && err == MPI_SUCCESS)
        weft_wall_leader_note(wall, coll, args->root);
    weft_plan_release(plan);
    return err;
}

int weft_coll_run_by_messages(weft_coll_t coll, const weft_coll_args_t *args)
{
    weft_plan_t *plan;
    int err = plan_for(coll, args, NULL, &plan);
    if (err != MPI_SUCCESS)
        return err;
    weft_engine_take_number(plan, args->comm);
    err = weft_engine_run(plan, args);
    weft_plan_release(plan);
    return err;
}

/* Of alltoallw the types would have to be retained, one by one. */
static bool may_request_wall(weft_coll_t coll, const weft_coll_args_t *args)
{
    return args->inter == NULL && !weft_coll_is_neighbor(coll) && coll != WEFT_ALLTOALLW &&
           args->comm->size > 1;
}

int weft_coll_share_memory(weft_comm_t *comm)
{
    return comm->both != NULL || comm->size == 1 ? MPI_SUCCESS : weft_wall_prepare(comm);
}

int weft_coll_begin(weft_coll_t coll, const weft_coll_args_t *args, weft_request_t **out)
{
    weft_plan_t *plan;
    weft_wall_t *wall = may_request_wall(coll, args) ? weft_wall_for_request(args->comm) : NULL;
    int err = check_call(coll, args, WEFT_CALL_NONBLOCKING);
    if (err == MPI_SUCCESS)
        err = plan_for(coll, args, wall, &plan);
    if (err != MPI_SUCCESS)
        return err;
    weft_coll_note_call(plan);
    uint32_t number = weft_engine_take_number(plan, args->comm);
    if (plan->on_wall != NULL)
        err = weft_wall_begin(wall, plan, args, out);
    else
        err = has_device_memory(coll, args)
                  ? weft_device_calls->begin(coll, args, plan, number, out)
                  : weft_engine_begin(plan, args, out);
    weft_plan_release(plan);
    return err;
}

/* *out stays NULL if the call does without a wall. */
static int prepare_on_wall(weft_coll_t coll, const weft_coll_args_t *args, weft_request_t **out)
{
    weft_wall_t *wall;
    weft_plan_t *plan = NULL;
    int err = weft_wall_take(args->comm, suits_wall(args), &wall);
    if (err != MPI_SUCCESS || wall == NULL)
        return err;
    err = plan_for(coll, args, wall, &plan);
    if (err == MPI_SUCCESS && plan->on_wall != NULL)
        err = weft_wall_request_prepare(wall, plan, args, out);
    if (plan != NULL)
        weft_plan_release(plan);
    if (*out == NULL)
        weft_wall_give(wall);
    return err;
}

int weft_coll_prepare(weft_coll_t coll, const weft_coll_args_t *args, weft_request_t **out)
{
    weft_plan_t *plan;
    int err = check_call(coll, args, WEFT_CALL_PERSISTENT);
    *out = NULL;
    if (err == MPI_SUCCESS && may_request_wall(coll, args))
        err = prepare_on_wall(coll, args, out);
    if (*out != NULL)
        return MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        err = plan_for(coll, args, NULL, &plan);
    if (err != MPI_SUCCESS)
        return err;
    int tag = weft_engine_take_lasting_tag(plan, args->comm);
    err = has_device_memory(coll, args) ? weft_device_calls->prepare(coll, args, plan, tag, out)
                                        : weft_engine_prepare(plan, args, tag, out);
    weft_plan_release(plan);
    return err;
}

void weft_coll_end_checks(void)
{
    if (weft_checks_collectives)
        weft_call_checks_end();
}

void weft_coll_close(void)
{
    weft_engine_close();
    weft_call_check_close();
    weft_comm_shapes_close();
    weft_tuning_close();
    has_table = false;
    weft_walls_close();
}
