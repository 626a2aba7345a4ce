/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the plans of all ranks of a communicator in one process. Steps that the engine may do in any
 * order are done in random order: which rank continues, whether the data of a send leave at once or
 * only when the receive has begun, and when a message arrives. A plan that lacks a wait gives a
 * wrong result for some seed.
 *
 *   channel from rank to rank:   messages begun -> ... -> matched in this order with receives begun
 */
#ifndef WEFT_TEST_PLAN_SIMULATOR_H
#define WEFT_TEST_PLAN_SIMULATOR_H

#include "coll/algorithm.h"
#include "coll/plan.h"
#include "datatype/op.h"
#include "datatype/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 33, MOST_PARTS = 16, GUARD_BYTES = 64, GUARD = 0x5a };

/* One end of a message. */
typedef struct sim_end {
    char *data; /* for a send that has left already: a packed copy */
    bool is_packed;
    size_t count;
    weft_type_t *type;
    struct sim_thread *thread; /* the thread that has begun it */
    struct sim_end *next;
} sim_end_t;

/* A thread runs a plan or a part of one. */
typedef struct sim_thread {
    const weft_plan_t *plan;
    int part; /* -1: the whole plan */
    size_t next;
    int outstanding;
    bool has_begun, is_over;
    struct sim_thread *whole; /* for a part */
} sim_thread_t;

/* Sends and receives of one channel that have begun and are not matched yet, in order. */
typedef struct sim_queue {
    sim_end_t *first, **last;
} sim_queue_t;

typedef struct sim_rank {
    weft_comm_t comm;
    weft_coll_args_t args;
    weft_plan_t *plan;
    char *buffers[WEFT_BUFFERS];
    char *scratch; /* with a guard before and behind */
    sim_thread_t threads[1 + MOST_PARTS];
} sim_rank_t;

typedef struct sim {
    int size;
    const char *what; /* the test being run, for messages */
    weft_how_t how;
    sim_rank_t ranks[MOST_RANKS];
    sim_queue_t sends[MOST_RANKS][MOST_RANKS], recvs[MOST_RANKS][MOST_RANKS]; /* [from][to] */
} sim_t;

static unsigned long long sim_seed;

static unsigned sim_random(unsigned below)
{
    sim_seed = sim_seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(sim_seed >> 33) % below;
}

static void sim_append(sim_queue_t *queue, sim_end_t *end)
{
    sim_end_t *added = malloc(sizeof(*added));
    *added = *end;
    added->next = NULL;
    *queue->last = added;
    queue->last = &added->next;
}

/* The first end of a part, and the pointer to it; NULL: none. */
static sim_end_t **sim_find(sim_queue_t *queue, int part)
{
    sim_end_t **at = &queue->first;
    while (*at != NULL && (*at)->thread->part != part)
        at = &(*at)->next;
    return *at == NULL ? NULL : at;
}

static sim_end_t sim_take(sim_queue_t *queue, int part)
{
    sim_end_t **at = sim_find(queue, part), *first = *at, taken = *first;
    *at = first->next;
    if (queue->last == &first->next)
        queue->last = at;
    free(first);
    return taken;
}

/* ---- steps ---- */

static void *sim_address(const sim_rank_t *rank, weft_place_t place)
{
    return rank->buffers[place.buffer] + place.offset;
}

static void sim_send(sim_t *sim, sim_rank_t *rank, sim_thread_t *thread, const weft_step_t *step)
{
    sim_end_t end = {sim_address(rank, step->from.place),
                     false,
                     step->from.count,
                     step->from.type,
                     thread,
                     NULL};
    size_t bytes = end.count * end.type->size;
    if (sim_random(2) == 0) {
        char *packed = malloc(bytes + 1);
        weft_pack(end.data, end.count, end.type, 0, packed, bytes);
        end = (sim_end_t){packed, true, bytes, weft_type_of(MPI_BYTE), thread, NULL};
    } else {
        thread->outstanding++;
    }
    sim_append(&sim->sends[rank->comm.rank][step->peer], &end);
}

static void sim_recv(sim_t *sim, sim_rank_t *rank, sim_thread_t *thread, const weft_step_t *step)
{
    sim_end_t end = {
        sim_address(rank, step->to.place), false, step->to.count, step->to.type, thread, NULL};
    thread->outstanding++;
    sim_append(&sim->recvs[step->peer][rank->comm.rank], &end);
}

static void sim_step(sim_t *sim, sim_rank_t *rank, sim_thread_t *thread, const weft_step_t *step)
{
    weft_operands_t operands = {sim_address(rank, step->from.place),
                                sim_address(rank, step->second), sim_address(rank, step->to.place),
                                step->to.count};
    switch (step->kind) {
    case WEFT_STEP_SEND:
        sim_send(sim, rank, thread, step);
        break;
    case WEFT_STEP_RECV:
        sim_recv(sim, rank, thread, step);
        break;
    case WEFT_STEP_REDUCE:
        assert_int_equal(weft_op_combine(rank->args.op, step->to.type, &operands), MPI_SUCCESS);
        break;
    case WEFT_STEP_COPY:
        weft_copy_typed(operands.a, step->from.count, step->from.type, operands.out, step->to.count,
                        step->to.type);
        break;
    case WEFT_STEP_PART:
        thread->outstanding++;
        rank->threads[1 + step->peer].has_begun = true;
        break;
    case WEFT_STEP_SECTION: /* its steps follow */
        break;
    }
}

/* ---- running ---- */

/* Begins the steps that may begin; returns true if there were any. */
static bool sim_advance_thread(sim_t *sim, sim_rank_t *rank, sim_thread_t *thread)
{
    bool has_moved = false;
    while (thread->has_begun && thread->next < thread->plan->count) {
        const weft_step_t *step = &thread->plan->steps[thread->next];
        if (step->waits && thread->outstanding > 0)
            break;
        thread->next++;
        sim_step(sim, rank, thread, step);
        has_moved = true;
    }
    if (thread->has_begun && !thread->is_over && thread->next == thread->plan->count &&
        thread->outstanding == 0) {
        thread->is_over = has_moved = true;
        if (thread->whole != NULL)
            thread->whole->outstanding--;
    }
    return has_moved;
}

static bool sim_advance(sim_t *sim, sim_rank_t *rank)
{
    bool has_moved = false;
    int threads = 1 + rank->plan->part_count, first = (int)sim_random((unsigned)threads);
    for (int i = 0; i < threads; i++)
        has_moved |= sim_advance_thread(sim, rank, &rank->threads[(first + i) % threads]);
    return has_moved;
}

static bool sim_deliver(sim_t *sim, int from, int to)
{
    sim_queue_t *sends = &sim->sends[from][to], *recvs = &sim->recvs[from][to];
    sim_end_t *found = recvs->first;
    while (found != NULL && sim_find(sends, found->thread->part) == NULL)
        found = found->next;
    if (found == NULL)
        return false;
    int part = found->thread->part;
    sim_end_t send = sim_take(sends, part), recv = sim_take(recvs, part);
    size_t sent = send.count * send.type->size, room = recv.count * recv.type->size;
    if (sent != room)
        fail_msg("%s: rank %d sends %d %zu bytes, which expects %zu", sim->what, from, to, sent,
                 room);
    weft_copy_typed(send.data, send.count, send.type, recv.data, recv.count, recv.type);
    if (send.is_packed)
        free(send.data);
    else
        send.thread->outstanding--;
    recv.thread->outstanding--;
    return true;
}

/* Lets messages for one rank arrive: all of them, or each with some probability. */
static bool sim_arrivals(sim_t *sim, int to, bool all)
{
    bool has_moved = false;
    int first = (int)sim_random((unsigned)sim->size);
    for (int i = 0; i < sim->size; i++) {
        int from = (first + i) % sim->size;
        while ((all || sim_random(3) > 0) && sim_deliver(sim, from, to))
            has_moved = true;
    }
    return has_moved;
}

static bool sim_round(sim_t *sim, bool all)
{
    bool has_moved = false;
    int first = (int)sim_random((unsigned)sim->size);
    for (int i = 0; i < sim->size; i++) {
        int rank = (first + i) % sim->size;
        if (all || sim_random(3) > 0)
            has_moved |= sim_advance(sim, &sim->ranks[rank]);
        has_moved |= sim_arrivals(sim, rank, all);
    }
    return has_moved;
}

static void sim_check_guards(const sim_t *sim, const sim_rank_t *rank)
{
    for (int i = 0; i < GUARD_BYTES; i++) {
        if (rank->scratch[i] != GUARD ||
            rank->scratch[GUARD_BYTES + rank->plan->scratch_bytes + (size_t)i] != GUARD)
            fail_msg("%s: rank %d of %d writes beside its scratch memory", sim->what,
                     rank->comm.rank, sim->size);
    }
}

/* Checks that everything is over and no message is left. */
static void sim_check_end(const sim_t *sim)
{
    for (int i = 0; i < sim->size; i++) {
        const sim_rank_t *rank = &sim->ranks[i];
        if (!rank->threads[0].is_over)
            fail_msg("%s: rank %d of %d waits for ever in step %zu", sim->what, i, sim->size,
                     rank->threads[0].next);
        for (int j = 0; j < sim->size; j++) {
            if (sim->sends[i][j].first != NULL)
                fail_msg("%s: rank %d of %d has no receive for what rank %d sends", sim->what, j,
                         sim->size, i);
        }
        sim_check_guards(sim, rank);
    }
}

static void sim_prepare(sim_t *sim, sim_rank_t *rank, weft_build_fn_t build)
{
    rank->plan = weft_plan_create(&sim->how);
    build(rank->plan, &rank->args);
    assert_int_equal(rank->plan->error, MPI_SUCCESS);
    rank->scratch = malloc(rank->plan->scratch_bytes + 2 * GUARD_BYTES);
    memset(rank->scratch, GUARD, rank->plan->scratch_bytes + 2 * GUARD_BYTES);
    void *in = (void *)rank->args.send_buf, *out = rank->args.recv_buf;
    rank->buffers[WEFT_IN] = in == MPI_IN_PLACE ? out : in;
    rank->buffers[WEFT_OUT] = out == MPI_IN_PLACE ? in : out;
    rank->buffers[WEFT_SCRATCH] = rank->scratch + GUARD_BYTES;
    assert_true(rank->plan->part_count <= MOST_PARTS);
    for (int i = 0; i <= rank->plan->part_count; i++)
        rank->threads[i] = (sim_thread_t){.plan = i == 0 ? rank->plan : rank->plan->parts[i - 1],
                                          .part = i - 1,
                                          .has_begun = i == 0,
                                          .whole = i == 0 ? NULL : &rank->threads[0]};
    for (int i = 0; i < sim->size; i++) {
        sim->sends[rank->comm.rank][i] = sim->recvs[rank->comm.rank][i] = (sim_queue_t){NULL, NULL};
        sim->sends[rank->comm.rank][i].last = &sim->sends[rank->comm.rank][i].first;
        sim->recvs[rank->comm.rank][i].last = &sim->recvs[rank->comm.rank][i].first;
    }
}

/* Runs the collective whose args (and comm) are in sim->ranks[0..size). */
static void sim_run(sim_t *sim, weft_build_fn_t build)
{
    for (int i = 0; i < sim->size; i++)
        sim_prepare(sim, &sim->ranks[i], build);
    while (sim_round(sim, false) || sim_round(sim, true))
        ;
    sim_check_end(sim);
    for (int i = 0; i < sim->size; i++) {
        weft_plan_release(sim->ranks[i].plan);
        free(sim->ranks[i].scratch);
    }
}

#endif
