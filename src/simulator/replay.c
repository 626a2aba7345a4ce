/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulator/ends_private.h"
#include "simulator/schedule_private.h"
#include "simulator/world_private.h"

#include "datatype/pack.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>

/* A long message between nodes whose two ends have matched, and which leaves at a later time. */
typedef struct transfer {
    weft_sim_end_t send, recv;
    uint32_t next; /* the next one in the list of those that are over */
} transfer_t;

/* An event belongs to a thread or to a transfer. */
static const uint32_t IS_TRANSFER = 0x80000000, NO_TRANSFER = 0x7fffffff;

typedef struct replay {
    weft_sim_world_t *world;
    weft_sim_channels_t *channels;
    weft_sim_schedule_t schedule;
    transfer_t *transfers;
    uint32_t transfer_count, transfer_room, unused;
    bool has_failed; /* there was no memory, or a complaint */
} replay_t;

/* The step of a thread as its rank's plan has it. */
static const weft_step_t *full_step(const replay_t *replay, uint32_t thread, uint32_t step)
{
    const weft_sim_thread_t *its = &replay->world->threads[thread];
    const weft_plan_t *plan = replay->world->ranks[its->rank].plan;
    return its->part < 0 ? &plan->steps[step] : &plan->parts[its->part]->steps[step];
}

static void *address(const replay_t *replay, int rank, weft_place_t place)
{
    return replay->world->ranks[rank].buffers[place.buffer] + place.offset;
}

static void replay_complain(replay_t *replay, const char *what, const weft_sim_end_t *end)
{
    weft_sim_result_t *result = &replay->world->result;
    result->depth = WEFT_SIM_WRONG;
    replay->has_failed = true;
    if (result->complaint[0] == '\0')
        snprintf(result->complaint, sizeof(result->complaint), "%s of rank %d and rank %d", what,
                 (int)(end->is_send ? end->from : end->to),
                 (int)(end->is_send ? end->to : end->from));
}

/* ---- threads ---- */

static double later(double a, double b)
{
    return a > b ? a : b;
}

static int replay_larger(int a, int b)
{
    return a > b ? a : b;
}

static void replay_add_event(replay_t *replay, uint32_t thread, double at)
{
    if (!weft_sim_schedule_add(&replay->schedule, (weft_sim_event_t){at, thread}))
        replay->has_failed = true;
}

/* What a waiting thread waited for is over, or the time of its end is known. */
static void wake(replay_t *replay, uint32_t thread)
{
    weft_sim_thread_t *its = &replay->world->threads[thread];
    if (its->outstanding > 0 || !its->waits)
        return;
    its->waits = false;
    its->rounds = its->next_rounds;
    its->net_rounds = its->next_net_rounds;
    replay_add_event(replay, thread, its->until);
}

/* An operation of a thread ends at this time, `rounds` messages after its beginning. */
static void end_at(replay_t *replay, uint32_t thread, double at, const weft_sim_end_t *end)
{
    weft_sim_thread_t *its = &replay->world->threads[thread];
    its->until = later(its->until, at);
    if (end != NULL) {
        its->next_rounds = replay_larger(its->next_rounds, end->rounds);
        its->next_net_rounds = replay_larger(its->next_net_rounds, end->net_rounds);
    }
    its->outstanding--;
    wake(replay, thread);
}

/* ---- messages ---- */

static bool crosses(const replay_t *replay, int from, int to)
{
    const weft_shape_t *shape = replay->world->its->shape;
    return weft_shape_node(shape, from) != weft_shape_node(shape, to);
}

static const weft_link_cost_t *wire_between(const replay_t *replay, int from, int to)
{
    return crosses(replay, from, to) ? &replay->world->fabric.net : &replay->world->fabric.node;
}

/* When the data of a message between nodes can leave, at `at` at the earliest. */
static double replay_cross(replay_t *replay, const weft_sim_end_t *end, double at, double bytes)
{
    weft_sim_world_t *world = replay->world;
    const weft_link_cost_t *net = &world->fabric.net;
    int from = weft_shape_node(world->its->shape, end->from);
    int to = weft_shape_node(world->its->shape, end->to);
    double busy = later(net->port_us, bytes * net->us_per_byte);
    double begin = later(at, world->way_out[from]);
    world->way_out[from] = begin + busy;
    double there = later(begin + net->latency_us + busy, world->way_in[to] + busy);
    world->way_in[to] = there;
    return there;
}

/* On a node the receiver copies the data, after all earlier copies. */
static double copy_over(replay_t *replay, const weft_sim_end_t *end, double at, double bytes)
{
    weft_sim_rank_t *receiver = &replay->world->ranks[end->to];
    double begin = later(at, receiver->copy_free_at);
    receiver->copy_free_at = begin + bytes * replay->world->fabric.node.us_per_byte;
    return receiver->copy_free_at;
}

static void move_data(replay_t *replay, const weft_sim_end_t *send, const weft_sim_end_t *recv)
{
    const weft_data_t *from = &full_step(replay, send->thread, send->step)->from;
    const weft_data_t *to = &full_step(replay, recv->thread, recv->step)->to;
    if (send->data != NULL)
        weft_copy_typed(send->data, from->count * from->type->size, weft_type_of(MPI_BYTE),
                        address(replay, recv->to, to->place), to->count, to->type);
    else
        weft_copy_typed(address(replay, send->from, from->place), from->count, from->type,
                        address(replay, recv->to, to->place), to->count, to->type);
    weft_free(send->data);
}

static double bytes_of_end(const replay_t *replay, const weft_sim_end_t *end)
{
    return (double)replay->world->threads[end->thread].steps[end->step].bytes;
}

/* The data have arrived. The receiver takes messages one by one. */
static void end_message(replay_t *replay, const weft_sim_end_t *send, const weft_sim_end_t *recv,
                        double there)
{
    const weft_link_cost_t *wire = wire_between(replay, send->from, send->to);
    weft_sim_rank_t *receiver = &replay->world->ranks[send->to];
    if (bytes_of_end(replay, send) > (double)wire->eager_bytes)
        end_at(replay, send->thread, there, NULL);
    there = later(later(there, recv->begun_at), receiver->take_free_at);
    receiver->take_free_at = there + wire->gap_us;
    end_at(replay, recv->thread, there, send);
}

/* The transfer takes the way out only when its time has come, so other messages may use it until
 * then. */
static void transfer_at(replay_t *replay, const weft_sim_end_t *send, const weft_sim_end_t *recv,
                        double at)
{
    uint32_t index = replay->unused;
    if (index != NO_TRANSFER) {
        replay->unused = replay->transfers[index].next;
    } else if (replay->transfer_count < replay->transfer_room) {
        index = replay->transfer_count++;
    } else {
        uint32_t room = replay->transfer_room == 0 ? 256 : replay->transfer_room * 2;
        transfer_t *more = weft_realloc(replay->transfers, room * sizeof(*more));
        if (more == NULL) {
            replay->has_failed = true;
            return;
        }
        replay->transfers = more;
        replay->transfer_room = room;
        index = replay->transfer_count++;
    }
    replay->transfers[index] = (transfer_t){*send, *recv, NO_TRANSFER};
    replay_add_event(replay, IS_TRANSFER | index, at);
}

static void run_transfer(replay_t *replay, uint32_t index, double at)
{
    transfer_t transfer = replay->transfers[index];
    replay->transfers[index].next = replay->unused;
    replay->unused = index;
    double there = replay_cross(replay, &transfer.send, at, bytes_of_end(replay, &transfer.send));
    end_message(replay, &transfer.send, &transfer.recv, there);
}

/* Both ends exist. A short message has left already. */
static void meet(replay_t *replay, const weft_sim_end_t *send, const weft_sim_end_t *recv)
{
    const weft_link_cost_t *wire = wire_between(replay, send->from, send->to);
    double bytes = bytes_of_end(replay, send), there = send->arrives_at;
    bool is_net = crosses(replay, send->from, send->to);
    if (bytes != bytes_of_end(replay, recv)) {
        replay_complain(replay, "the message has another size than the receive", send);
        weft_free(send->data);
        return;
    }
    if (replay->world->has_data)
        move_data(replay, send, recv);
    if (bytes > (double)wire->eager_bytes) {
        there = later(send->begun_at + wire->latency_us, recv->begun_at) + wire->latency_us;
        if (is_net) {
            transfer_at(replay, send, recv, there);
            return;
        }
        there += wire->latency_us;
    }
    if (!is_net)
        there = copy_over(replay, send, later(there, recv->begun_at), bytes);
    end_message(replay, send, recv, there);
}

static void count_message(replay_t *replay, const weft_sim_end_t *send, double bytes)
{
    weft_sim_result_t *result = &replay->world->result;
    const weft_simulation_t *its = replay->world->its;
    int from = weft_shape_node(its->shape, send->from), to = weft_shape_node(its->shape, send->to);
    result->messages++;
    if (from == to)
        return;
    result->net_messages++;
    result->net_bytes += bytes;
    if (its->island_nodes > 0 && from / its->island_nodes != to / its->island_nodes)
        result->far_bytes += bytes;
}

/* A short message leaves at once, and a proof keeps its data, so the sender may continue. */
static void leave(replay_t *replay, weft_sim_end_t *send, double bytes)
{
    const weft_data_t *from;
    send->arrives_at = crosses(replay, send->from, send->to)
                           ? replay_cross(replay, send, send->begun_at, bytes)
                           : send->begun_at + replay->world->fabric.node.latency_us;
    if (!replay->world->has_data)
        return;
    from = &full_step(replay, send->thread, send->step)->from;
    size_t size = from->count * from->type->size;
    send->data = weft_alloc(size + 1);
    if (send->data == NULL)
        replay->has_failed = true;
    else
        weft_pack(address(replay, send->from, from->place), from->count, from->type, 0, send->data,
                  size);
}

static void begin_message(replay_t *replay, uint32_t thread, double at, bool is_send)
{
    weft_sim_thread_t *its = &replay->world->threads[thread];
    const weft_sim_step_t *step = &its->steps[its->next];
    weft_sim_end_t other, end = {.from = is_send ? its->rank : step->peer,
                                 .to = is_send ? step->peer : its->rank,
                                 .part = its->part,
                                 .is_send = is_send,
                                 .thread = thread,
                                 .step = its->next,
                                 .begun_at = at};
    bool is_short = step->bytes <= wire_between(replay, end.from, end.to)->eager_bytes;
    end.rounds = its->rounds + 1;
    end.net_rounds = its->net_rounds + crosses(replay, end.from, end.to);
    if (is_send)
        count_message(replay, &end, (double)step->bytes);
    if (!is_send || !is_short)
        its->outstanding++;
    if (is_send && is_short)
        leave(replay, &end, (double)step->bytes);
    if (!weft_sim_channels_take(replay->channels, &end, &other)) {
        replay->has_failed |= !weft_sim_channels_keep(replay->channels, &end);
        return;
    }
    meet(replay, is_send ? &end : &other, is_send ? &other : &end);
}

/* ---- steps ---- */

static void calculate(replay_t *replay, uint32_t thread)
{
    const weft_sim_thread_t *its = &replay->world->threads[thread];
    if (!replay->world->has_data)
        return;
    const weft_step_t *step = full_step(replay, thread, its->next);
    int rank = its->rank;
    if (step->kind == WEFT_STEP_COPY)
        weft_copy_typed(address(replay, rank, step->from.place), step->from.count, step->from.type,
                        address(replay, rank, step->to.place), step->to.count, step->to.type);
    else if (weft_op_apply3(replay->world->op, step->to.type,
                            address(replay, rank, step->from.place),
                            address(replay, rank, step->second),
                            address(replay, rank, step->to.place), step->to.count) != MPI_SUCCESS)
        replay->has_failed = true;
}

static void replay_begin_part(replay_t *replay, uint32_t thread, double at)
{
    weft_sim_thread_t *its = &replay->world->threads[thread];
    uint32_t part =
        replay->world->ranks[its->rank].first_thread + 1 + (uint32_t)its->steps[its->next].peer;
    weft_sim_thread_t *other = &replay->world->threads[part];
    its->outstanding++;
    other->has_begun = true;
    other->rounds = other->next_rounds = its->rounds;
    other->net_rounds = other->next_net_rounds = its->net_rounds;
    replay_add_event(replay, part, at);
}

/* Begins the next step of a thread at a given time; returns the time at which its rank is free
 * again. */
static double replay_begin_step(replay_t *replay, uint32_t thread, double at)
{
    weft_sim_world_t *world = replay->world;
    weft_sim_thread_t *its = &world->threads[thread];
    const weft_sim_step_t *step = &its->steps[its->next];
    switch ((weft_step_kind_t)step->kind) {
    case WEFT_STEP_SEND:
        begin_message(replay, thread, at, true);
        return at + wire_between(replay, its->rank, step->peer)->gap_us;
    case WEFT_STEP_RECV:
        begin_message(replay, thread, at, false);
        return at;
    case WEFT_STEP_REDUCE:
        calculate(replay, thread);
        return at + (double)step->bytes * world->fabric.reduce_us_per_byte;
    case WEFT_STEP_COPY:
        calculate(replay, thread);
        return at + (double)step->bytes * world->fabric.copy_us_per_byte;
    case WEFT_STEP_PART:
        replay_begin_part(replay, thread, at);
        return at;
    case WEFT_STEP_SECTION:
        return at;
    }
    return at;
}

/* The thread has no further step: it ends when everything that it has begun ends. */
static void end_thread(replay_t *replay, uint32_t thread)
{
    weft_sim_world_t *world = replay->world;
    weft_sim_thread_t *its = &world->threads[thread];
    world->result.time_us = later(world->result.time_us, its->until);
    world->result.rounds = replay_larger(world->result.rounds, its->rounds);
    world->result.net_rounds = replay_larger(world->result.net_rounds, its->net_rounds);
    if (its->part >= 0) {
        weft_sim_end_t end = {.rounds = its->rounds, .net_rounds = its->net_rounds};
        end_at(replay, world->ranks[its->rank].first_thread, its->until, &end);
    }
}

/* Is there anything that the thread must wait for? If so it will be woken in time. */
static bool replay_must_wait(replay_t *replay, uint32_t thread, double at)
{
    weft_sim_thread_t *its = &replay->world->threads[thread];
    if (its->outstanding == 0 && its->until <= at && its->next_rounds <= its->rounds)
        return false;
    its->waits = true;
    wake(replay, thread);
    return true;
}

/* Runs a thread until it waits, or its rank is busy: other threads may have work to do before its
 * next step. */
static void run_thread(replay_t *replay, uint32_t thread, double at)
{
    weft_sim_thread_t *its = &replay->world->threads[thread];
    weft_sim_rank_t *rank = &replay->world->ranks[its->rank];
    if (rank->free_at > at) {
        replay_add_event(replay, thread, rank->free_at);
        return;
    }
    its->until = later(its->until, at);
    while (its->next < its->count) {
        if (its->steps[its->next].waits && replay_must_wait(replay, thread, at))
            return;
        rank->free_at = replay_begin_step(replay, thread, at);
        its->until = later(its->until, rank->free_at);
        its->next++;
        if (rank->free_at > at) {
            replay_add_event(replay, thread, rank->free_at);
            return;
        }
    }
    if (!replay_must_wait(replay, thread, at))
        end_thread(replay, thread);
}

/* ---- all of it ---- */

/* A thread that has not ended when no events are left would wait for ever. */
static void check_end(replay_t *replay)
{
    weft_sim_end_t end;
    if (weft_sim_channels_any(replay->channels, &end))
        replay_complain(replay,
                        end.is_send ? "a message without a receive" : "a receive without a message",
                        &end);
}

static void run_all(replay_t *replay)
{
    weft_sim_event_t event;
    for (int rank = 0; rank < replay->world->size; rank++)
        replay_add_event(replay, replay->world->ranks[rank].first_thread, 0);
    while (!replay->has_failed && weft_sim_schedule_take(&replay->schedule, &event)) {
        if ((event.thread & IS_TRANSFER) != 0)
            run_transfer(replay, event.thread & ~IS_TRANSFER, event.at);
        else
            run_thread(replay, event.thread, event.at);
    }
    if (!replay->has_failed)
        check_end(replay);
}

int weft_sim_replay(weft_sim_world_t *world)
{
    replay_t replay = {.world = world, .unused = NO_TRANSFER};
    replay.channels = weft_sim_channels_create(2 * world->thread_count);
    if (replay.channels != NULL) {
        run_all(&replay);
        weft_sim_channels_release(replay.channels);
    }
    weft_sim_schedule_close(&replay.schedule);
    weft_free(replay.transfers);
    if (replay.channels == NULL || (replay.has_failed && world->result.depth != WEFT_SIM_WRONG))
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the messages of a simulation");
    return MPI_SUCCESS;
}
