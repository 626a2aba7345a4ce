/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulator/simulator.h"

#include "simulator/world_private.h"
#include "coll/algorithm.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"

enum { ELEMENT_BYTES = 8, STEPS_AT_MOST = 150000000 };

static bool has_arrays(weft_coll_t coll)
{
    return coll == WEFT_GATHERV || coll == WEFT_SCATTERV || coll == WEFT_ALLGATHERV ||
           coll == WEFT_ALLTOALLV || coll == WEFT_ALLTOALLW || coll == WEFT_REDUCE_SCATTER;
}

weft_tuning_query_t weft_sim_query(const weft_simulation_t *its)
{
    bool commutes = its->commutes || its->coll < WEFT_REDUCE;
    const weft_shape_t *shape = its->shape;
    bool is_one = shape->nodes == 1;
    size_t count = (its->bytes + ELEMENT_BYTES - 1) / ELEMENT_BYTES;
    return (weft_tuning_query_t){.coll = its->coll,
                                 .is_oversubscribed = is_one && its->is_oversubscribed,
                                 .ranks = shape->ranks,
                                 .bytes = its->bytes,
                                 .has = weft_shape_fulfils(shape, commutes) |
                                        (commutes ? WEFT_NEEDS_COMMUTATIVE : 0) |
                                        (count >= (size_t)shape->ranks ? WEFT_NEEDS_COUNT : 0),
                                 .must_fold = weft_config.REPRODUCIBLE && its->coll >= WEFT_REDUCE,
                                 .nodes = shape->nodes,
                                 .least = shape->least,
                                 .most = shape->most,
                                 .fabric = its->fabric};
}

/* ---- arguments ---- */

/* Elements of a block. For allgatherv and reduce_scatter the bytes are those of all blocks
 * together. */
static size_t block_count(const weft_simulation_t *its)
{
    size_t count = (its->bytes + ELEMENT_BYTES - 1) / ELEMENT_BYTES;
    bool is_whole = its->coll == WEFT_ALLGATHERV || its->coll == WEFT_REDUCE_SCATTER;
    size_t ranks = (size_t)its->shape->ranks;
    return is_whole ? (count + ranks - 1) / ranks : count;
}

static bool is_send_in_place(const weft_simulation_t *its, int rank)
{
    bool is_rooted =
        its->coll == WEFT_GATHER || its->coll == WEFT_GATHERV || its->coll == WEFT_REDUCE;
    bool is_never =
        its->coll <= WEFT_BCAST || its->coll == WEFT_SCATTER || its->coll == WEFT_SCATTERV;
    return its->is_in_place && !is_never && (!is_rooted || rank == its->root);
}

weft_coll_args_t weft_sim_args(weft_sim_world_t *world, int rank)
{
    static weft_comm_t comm;
    static char somewhere;
    comm.rank = rank;
    comm.size = world->size;
    bool is_reduction = world->its->coll >= WEFT_REDUCE;
    weft_coll_args_t args = {.comm = &comm,
                             .root = world->its->root,
                             .send_buf = &somewhere,
                             .send_count = world->count,
                             .send_type = world->type,
                             .recv_buf = &somewhere,
                             .recv_count = world->count,
                             .recv_type = world->type,
                             .op = is_reduction ? world->op : NULL};
    if (is_send_in_place(world->its, rank))
        args.send_buf = MPI_IN_PLACE;
    if (world->counts != NULL) {
        args.send_counts = args.recv_counts = weft_counts_int(world->counts);
        args.send_displs = args.recv_displs = weft_counts_int(world->displs);
        args.send_types = args.recv_types = world->types;
    }
    return args;
}

static int make_arrays(weft_sim_world_t *world)
{
    size_t size = (size_t)world->size;
    if (!has_arrays(world->its->coll))
        return MPI_SUCCESS;
    world->counts = weft_alloc_array(size, sizeof(int));
    world->displs = weft_alloc_array(size, sizeof(int));
    world->types = weft_alloc_array(size, sizeof(MPI_Datatype));
    if (world->counts == NULL || world->displs == NULL || world->types == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the arguments of %zu ranks", size);
    int scale = world->its->coll == WEFT_ALLTOALLW ? ELEMENT_BYTES : 1;
    for (size_t i = 0; i < size; i++) {
        world->counts[i] = (int)world->count;
        world->displs[i] = (int)(i * world->count) * scale;
        world->types[i] = weft_type_handle(world->type);
    }
    return MPI_SUCCESS;
}

/* ---- plans ---- */

static int simulator_write_plan(weft_sim_world_t *world, int rank, weft_plan_t **out)
{
    const weft_simulation_t *its = world->its;
    weft_how_t how = {its->shape, its->choice.radix, its->choice.segment_bytes,
                      its->is_oversubscribed};
    weft_coll_args_t args = weft_sim_args(world, rank);
    weft_plan_t *plan = weft_plan_create(&how);
    if (plan != NULL)
        its->choice.algorithm->build(plan, &args);
    if (plan != NULL && plan->error == MPI_SUCCESS) {
        *out = plan;
        return MPI_SUCCESS;
    }
    if (plan != NULL)
        weft_plan_release(plan);
    return weft_fail(MPI_ERR_NO_MEM, "no memory for the plan of rank %d", rank);
}

static weft_sim_step_t short_step(const weft_step_t *step)
{
    const weft_data_t *data = step->kind == WEFT_STEP_RECV ? &step->to : &step->from;
    return (weft_sim_step_t){.bytes = data->type == NULL ? 0 : data->count * data->type->size,
                             .peer = step->peer,
                             .kind = (uint8_t)step->kind,
                             .waits = step->waits};
}

static bool add_thread(weft_sim_world_t *world, int rank, const weft_plan_t *plan, int part)
{
    if (world->thread_count == world->thread_room) {
        size_t room = world->thread_room == 0 ? 256 : world->thread_room * 2;
        weft_sim_thread_t *threads = weft_realloc(world->threads, room * sizeof(*threads));
        if (threads == NULL)
            return false;
        world->threads = threads;
        world->thread_room = room;
    }
    weft_sim_step_t *steps = weft_alloc_array(plan->count + 1, sizeof(*steps));
    if (steps == NULL)
        return false;
    for (size_t i = 0; i < plan->count; i++)
        steps[i] = short_step(&plan->steps[i]);
    world->threads[world->thread_count++] = (weft_sim_thread_t){
        .steps = steps, .count = (uint32_t)plan->count, .rank = rank, .part = (int16_t)part};
    return true;
}

/* Counts what a rank sends, by its plan alone. */
static void count_sends(weft_sim_world_t *world, const weft_plan_t *plan)
{
    weft_sim_result_t *result = &world->result;
    double messages = 0, bytes = 0;
    for (int part = -1; part < plan->part_count; part++) {
        const weft_plan_t *its = part < 0 ? plan : plan->parts[part];
        for (size_t i = 0; i < its->count; i++) {
            const weft_step_t *step = &its->steps[i];
            bool is_send = step->kind == WEFT_STEP_SEND;
            messages += is_send;
            bytes += is_send ? (double)(step->from.count * step->from.type->size) : 0;
        }
    }
    result->most_messages = messages > result->most_messages ? messages : result->most_messages;
    result->most_bytes = bytes > result->most_bytes ? bytes : result->most_bytes;
    if ((double)plan->scratch_bytes > result->most_scratch_bytes)
        result->most_scratch_bytes = (double)plan->scratch_bytes;
}

/* Allocates a rank's buffers for a proof; returns false if there is no memory. */
static bool give_buffers(weft_sim_world_t *world, int rank)
{
    weft_sim_rank_t *its = &world->ranks[rank];
    size_t in = weft_sim_in_bytes(world, rank), out = weft_sim_out_bytes(world, rank);
    char *memory = weft_alloc_zeroed(1, in + out + its->plan->scratch_bytes + 1);
    if (memory == NULL)
        return false;
    weft_coll_args_t args = weft_sim_args(world, rank);
    its->buffers[WEFT_OUT] = memory + in;
    its->buffers[WEFT_IN] = args.send_buf == MPI_IN_PLACE ? memory + in : memory;
    its->buffers[WEFT_SCRATCH] = memory + in + out;
    weft_sim_fill(world, rank);
    return true;
}

static void free_rank(weft_sim_world_t *world, int rank)
{
    weft_sim_rank_t *its = &world->ranks[rank];
    if (its->plan == NULL)
        return;
    if (its->buffers[WEFT_OUT] != NULL)
        weft_free(its->buffers[WEFT_OUT] - weft_sim_in_bytes(world, rank));
    weft_plan_release(its->plan);
}

static int add_rank(weft_sim_world_t *world, int rank)
{
    weft_plan_t *plan;
    int err = simulator_write_plan(world, rank, &plan);
    if (err != MPI_SUCCESS)
        return err;
    bool is_good = true;
    world->ranks[rank].first_thread = (uint32_t)world->thread_count;
    for (int part = -1; is_good && part < plan->part_count; part++)
        is_good = add_thread(world, rank, part < 0 ? plan : plan->parts[part], part);
    count_sends(world, plan);
    if (world->has_data) {
        world->ranks[rank].plan = plan;
        is_good = is_good && give_buffers(world, rank);
    } else {
        weft_plan_release(plan);
    }
    return is_good ? MPI_SUCCESS : weft_fail(MPI_ERR_NO_MEM, "no memory for rank %d", rank);
}

/* ---- how deep to look ---- */

typedef struct needs {
    double steps, proof_bytes;
} needs_t;

static int measure_rank(weft_sim_world_t *world, int rank, needs_t *out)
{
    weft_plan_t *plan;
    int err = simulator_write_plan(world, rank, &plan);
    if (err != MPI_SUCCESS)
        return err;
    out->steps = (double)plan->count;
    for (int part = 0; part < plan->part_count; part++)
        out->steps += (double)plan->parts[part]->count;
    out->proof_bytes = (double)plan->scratch_bytes + out->steps * (double)sizeof(weft_step_t) +
                       (double)weft_sim_in_bytes(world, rank) +
                       (double)weft_sim_out_bytes(world, rank);
    count_sends(world, plan);
    weft_plan_release(plan);
    return MPI_SUCCESS;
}

/* Estimates the needs of all ranks from a sample: the ranks that may differ from all others, a
 * leader, and a typical rank. */
static int estimate(weft_sim_world_t *world, needs_t *out)
{
    const weft_shape_t *shape = world->its->shape;
    int middle = shape->nodes / 2, last = weft_shape_count(shape, middle) - 1;
    const struct {
        int rank;
        double count; /* how many ranks are taken to be like it */
    } samples[] = {{world->its->root, 1},
                   {0, 1},
                   {world->size - 1, 1},
                   {weft_shape_rank(shape, middle, 0), shape->nodes},
                   {weft_shape_rank(shape, middle, last), world->size}};
    *out = (needs_t){0, 0};
    for (int i = 0; i < 5; i++) {
        needs_t needs;
        bool is_again = i == 3 && (shape->nodes == 1 || last == 0);
        int err = is_again ? MPI_SUCCESS : measure_rank(world, samples[i].rank, &needs);
        if (err != MPI_SUCCESS)
            return err;
        if (!is_again) {
            out->steps += samples[i].count * needs.steps;
            out->proof_bytes += samples[i].count * needs.proof_bytes;
        }
    }
    return MPI_SUCCESS;
}

static weft_sim_depth_t depth_of(const weft_sim_world_t *world, const needs_t *needs)
{
    double memory = (double)world->its->memory_bytes, checked = (double)world->size;
    bool is_scatter =
        world->its->coll == WEFT_REDUCE_SCATTER || world->its->coll == WEFT_REDUCE_SCATTER_BLOCK;
    if (is_scatter)
        checked *= world->size;
    if (needs->steps > STEPS_AT_MOST || needs->steps * sizeof(weft_sim_step_t) > memory)
        return WEFT_SIM_SAMPLED;
    bool is_small = needs->proof_bytes < memory && checked * (double)world->count < 2e9;
    return is_small ? WEFT_SIM_PROVED : WEFT_SIM_RUN;
}

static int open_ranks(weft_sim_world_t *world)
{
    size_t size = (size_t)world->size, nodes = (size_t)world->its->shape->nodes;
    world->ranks = weft_alloc_zeroed(size, sizeof(*world->ranks));
    world->way_out = weft_alloc_zeroed(nodes, sizeof(double));
    world->way_in = weft_alloc_zeroed(nodes, sizeof(double));
    if (world->ranks == NULL || world->way_out == NULL || world->way_in == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for %zu ranks", size);
    int err = MPI_SUCCESS;
    for (int rank = 0; err == MPI_SUCCESS && rank < world->size; rank++)
        err = add_rank(world, rank);
    return err;
}

static int run_world(weft_sim_world_t *world)
{
    needs_t needs;
    int err = weft_sim_open_contents(world);
    if (err == MPI_SUCCESS)
        err = make_arrays(world);
    if (err == MPI_SUCCESS)
        err = estimate(world, &needs);
    if (err != MPI_SUCCESS)
        return err;
    world->result.depth = depth_of(world, &needs);
    world->result.bound_us = weft_sim_bound_us(world);
    if (world->result.depth == WEFT_SIM_SAMPLED) {
        world->result.time_us = world->its->choice.estimate_us;
        return MPI_SUCCESS;
    }
    world->has_data = world->result.depth == WEFT_SIM_PROVED;
    err = open_ranks(world);
    if (err == MPI_SUCCESS)
        err = weft_sim_replay(world);
    if (err == MPI_SUCCESS && world->result.depth == WEFT_SIM_PROVED)
        err = weft_sim_check(world);
    return err;
}

static void close_world(weft_sim_world_t *world)
{
    for (int rank = 0; world->ranks != NULL && rank < world->size; rank++)
        free_rank(world, rank);
    for (size_t i = 0; i < world->thread_count; i++)
        weft_free((void *)world->threads[i].steps);
    weft_free(world->ranks);
    weft_free(world->threads);
    weft_free(world->way_out);
    weft_free(world->way_in);
    weft_free(world->counts);
    weft_free(world->displs);
    weft_free(world->types);
    weft_sim_close_contents(world);
}

int weft_simulate(const weft_simulation_t *simulation, weft_sim_result_t *out)
{
    weft_sim_world_t world = {.its = simulation,
                              .fabric = weft_fabric_of(simulation->fabric),
                              .size = simulation->shape->ranks,
                              .count = block_count(simulation)};
    int err = run_world(&world);
    if (err == MPI_SUCCESS)
        *out = world.result;
    close_world(&world);
    return err;
}
