/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator proves every algorithm on 1 to 130 ranks, in any placement, and on a few large
 * shapes; and it finds errors in wrong plans.
 */
#include "simulator/simulator.h"

#include "coll/team/pieces.h"
#include "base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_RANKS = 130 };
static const size_t memory = (size_t)1 << 30;

static unsigned long long seed = 1;

static unsigned random_below(unsigned below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % below;
}

/* ---- all algorithms ---- */

/* Blocks of equal size where that is possible, cyclic, or any placement; sometimes a single
 * node. */
static void open_shape(int ranks, weft_shape_t *out)
{
    int hosts[MOST_RANKS], nodes = 1 + (int)random_below((unsigned)ranks),
                           kind = (int)random_below(4);
    for (int i = 0; i < ranks; i++) {
        const int host[4] = {i / (1 + ranks / nodes), i % nodes, (int)random_below((unsigned)nodes),
                             i == 0 ? 0 : hosts[i - 1] + (random_below(3) == 0)};
        hosts[i] = host[kind];
    }
    assert_int_equal(weft_shape_open(hosts, ranks, MOST_RANKS, out), MPI_SUCCESS);
}

static bool is_fit(const weft_simulation_t *its, const weft_algorithm_t *algorithm)
{
    weft_tuning_query_t query = weft_sim_query(its);
    return (algorithm->needs & ~query.has) == 0;
}

static void prove(const weft_simulation_t *its)
{
    weft_sim_result_t result;
    assert_int_equal(weft_simulate(its, &result), MPI_SUCCESS);
    if (result.depth != WEFT_SIM_PROVED)
        fail_msg("%s by %s, radix %d, segments of %zu, %zu bytes, root %d, in place %d, %d ranks "
                 "on %d nodes: %s",
                 weft_coll_name(its->coll), its->choice.algorithm->name, its->choice.radix,
                 its->choice.segment_bytes, its->bytes, its->root, its->is_in_place,
                 its->shape->ranks, its->shape->nodes,
                 result.depth == WEFT_SIM_WRONG ? result.complaint : "not proved");
    if (result.time_us < result.bound_us * 0.999 && its->coll != WEFT_EXSCAN &&
        its->coll != WEFT_SCAN && its->shape->nodes > 1 && its->bytes >= 8)
        fail_msg("%s by %s takes %f us, less than %f", weft_coll_name(its->coll),
                 its->choice.algorithm->name, result.time_us, result.bound_us);
}

static void prove_somehow(weft_coll_t coll, const weft_algorithm_t *algorithm, int ranks)
{
    const size_t counts[] = {0, 1, 2, 5, 137};
    weft_shape_t shape;
    open_shape(ranks, &shape);
    weft_simulation_t its = {.coll = coll,
                             .shape = &shape,
                             .bytes = 8 * counts[random_below(ranks < 40 ? 5 : 4)],
                             .root = (int)random_below((unsigned)ranks),
                             .fabric = random_below(2) == 0 ? "efa" : "tcp",
                             .is_in_place = random_below(2) == 0,
                             .is_oversubscribed = random_below(4) == 0,
                             .commutes = random_below(2) == 0,
                             .memory_bytes = memory};
    its.choice = (weft_choice_t){
        algorithm, 2 + (int)random_below(7), random_below(2) == 0 ? 0 : 100, 0, false, 0};
    if (is_fit(&its, algorithm)) {
        prove(&its);
        its.compares_bits = coll == WEFT_ALLREDUCE;
        if (its.compares_bits)
            prove(&its);
    }
    weft_shape_close(&shape);
}

static void every_algorithm_on_any_placement(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks += ranks < 40 ? 1 : 3) {
        for (int coll = 0; coll < WEFT_COLLS; coll++) {
            for (const weft_algorithm_t *its = weft_coll_algorithms((weft_coll_t)coll);
                 its->name != NULL; its++) {
                for (int turn = 0; turn < (ranks < 40 ? 2 : 1); turn++)
                    prove_somehow((weft_coll_t)coll, its, ranks);
            }
        }
    }
}

static void large_shapes(void **state)
{
    const struct {
        weft_coll_t coll;
        int nodes, per_node;
        size_t bytes;
    } shapes[] = {
        {WEFT_ALLREDUCE, 1024, 16, 8}, {WEFT_ALLREDUCE, 64, 8, 65536},
        {WEFT_BARRIER, 2048, 8, 0},    {WEFT_BCAST, 1000, 8, 8},
        {WEFT_BCAST, 37, 5, 262144},   {WEFT_ALLGATHER, 128, 8, 8},
        {WEFT_ALLTOALL, 64, 8, 8},     {WEFT_REDUCE, 999, 4, 64},
        {WEFT_SCAN, 256, 8, 8},        {WEFT_GATHER, 500, 4, 16},
        {WEFT_SCATTER, 500, 4, 16},    {WEFT_REDUCE_SCATTER_BLOCK, 32, 8, 64},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        weft_shape_t shape = weft_shape_blocks(shapes[i].nodes, shapes[i].per_node);
        weft_simulation_t its = {.coll = shapes[i].coll,
                                 .shape = &shape,
                                 .bytes = shapes[i].bytes,
                                 .fabric = "verbs",
                                 .memory_bytes = memory,
                                 .commutes = true};
        weft_tuning_query_t query = weft_sim_query(&its);
        its.choice = weft_tuning_choose(&query);
        prove(&its);
    }
}

/* ---- simulations that are too large ---- */

static void says_what_it_did_not_prove(void **state)
{
    weft_shape_t shape = weft_shape_blocks(64, 4);
    weft_simulation_t its = {
        .coll = WEFT_ALLTOALL, .shape = &shape, .bytes = 4096, .fabric = "efa"};
    weft_sim_result_t result;
    (void)state;
    assert_true(weft_tuning_parse(WEFT_ALLTOALL, "batched", &its.choice));
    its.memory_bytes = (size_t)64 << 20;
    assert_int_equal(weft_simulate(&its, &result), MPI_SUCCESS);
    assert_int_equal(result.depth, WEFT_SIM_RUN);
    assert_true(result.messages == 256 * 255.0 && result.net_messages == 256 * 252.0);
    assert_true(result.most_messages == 255 && result.most_bytes == 255 * 4096.0);
    its.memory_bytes = 1000;
    assert_int_equal(weft_simulate(&its, &result), MPI_SUCCESS);
    assert_int_equal(result.depth, WEFT_SIM_SAMPLED);
    assert_true(result.most_messages == 255);
}

/* ---- plans that are wrong ---- */

static weft_data_t vector(const weft_coll_args_t *args)
{
    return weft_data(weft_place_at(WEFT_IN, 0), args->send_count, args->send_type);
}

static void forget_a_rank(weft_plan_t *plan, const weft_coll_args_t *args)
{
    if (args->comm->rank == 0)
        weft_plan_send(plan, vector(args), 1);
    else if (args->comm->rank == 1)
        weft_plan_recv(plan, vector(args), 0);
}

static void send_to_nobody(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_plan_send(plan, vector(args), (args->comm->rank + 1) % args->comm->size);
}

static void send_half(weft_plan_t *plan, const weft_coll_args_t *args)
{
    weft_data_t half = vector(args);
    half.count /= 2;
    if (args->comm->rank == 0)
        weft_plan_send(plan, half, 1);
    else if (args->comm->rank == 1)
        weft_plan_recv(plan, vector(args), 0);
}

/* Each rank waits for the rank below before it sends. */
static void wait_in_a_circle(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_plan_recv(plan, vector(args), (rank + size - 1) % size);
    weft_plan_wait(plan);
    weft_plan_send(plan, vector(args), (rank + 1) % size);
}

static void wrong_plans_are_found(void **state)
{
    const weft_build_fn_t builds[] = {forget_a_rank, send_to_nobody, send_half, wait_in_a_circle};
    const char *const complaints[] = {"wrong element", "without a receive", "another size",
                                      "without a message"};
    weft_shape_t shape = weft_shape_blocks(3, 1);
    (void)state;
    for (int i = 0; i < 4; i++) {
        weft_algorithm_t algorithm = {"wrong", builds[i], 0, "", NULL, 0};
        weft_simulation_t its = {.coll = WEFT_BCAST,
                                 .shape = &shape,
                                 .bytes = 16,
                                 .fabric = "net",
                                 .choice = {&algorithm, 2, 0, 0, false, 0},
                                 .memory_bytes = memory};
        weft_sim_result_t result;
        assert_int_equal(weft_simulate(&its, &result), MPI_SUCCESS);
        if (result.depth != WEFT_SIM_WRONG || strstr(result.complaint, complaints[i]) == NULL)
            fail_msg("wrong plan %d: %d %s, not %s", i, (int)result.depth, result.complaint,
                     complaints[i]);
    }
}

static int open_tuning(void **state)
{
    (void)state;
    weft_config.COLL_TUNING = "";
    weft_tuning_open();
    return 0;
}

static int close_tuning(void **state)
{
    (void)state;
    weft_tuning_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_plans_are_found),
        cmocka_unit_test(says_what_it_did_not_prove),
        cmocka_unit_test(large_shapes),
        cmocka_unit_test(every_algorithm_on_any_placement),
    };
    return cmocka_run_group_tests(tests, open_tuning, close_tuning);
}
