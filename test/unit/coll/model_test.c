/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model: its choice is close to the best that the simulator finds; and the rows of its
 * constants. */
#include "simulator/simulator.h"

#include "base/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool is_fit(const weft_simulation_t *its, const weft_algorithm_t *algorithm)
{
    weft_tuning_query_t query = weft_sim_query(its);
    return (algorithm->needs & ~query.has) == 0;
}

/* The time of the model's choice, divided by the time of the best candidate. */
static double loss_of(weft_coll_t coll, const weft_shape_t *shape, size_t bytes, const char *fabric)
{
    weft_simulation_t its = {
        .coll = coll, .shape = shape, .bytes = bytes, .fabric = fabric, .commutes = true};
    weft_tuning_query_t query = weft_sim_query(&its);
    double best = 0, chosen = 0;
    const weft_algorithm_t *choice = weft_tuning_model(&query).algorithm;
    its.memory_bytes = (size_t)64 << 20;
    for (const weft_algorithm_t *algorithm = weft_coll_algorithms(coll); algorithm->name != NULL;
         algorithm++) {
        weft_sim_result_t result;
        if (algorithm->cost_us == NULL || !is_fit(&its, algorithm))
            continue;
        its.choice = weft_tuning_tune(&query, algorithm);
        assert_int_equal(weft_simulate(&its, &result), MPI_SUCCESS);
        if (best == 0 || result.time_us < best)
            best = result.time_us;
        if (algorithm == choice)
            chosen = result.time_us;
    }
    return chosen / best;
}

static bool is_modelled(weft_coll_t coll)
{
    weft_shape_t shape = weft_shape_blocks(2, 1);
    weft_simulation_t its = {.coll = coll, .shape = &shape, .fabric = "net"};
    weft_tuning_query_t query = weft_sim_query(&its);
    return weft_tuning_model(&query).algorithm != NULL;
}

static void the_choice_is_near_the_best(void **state)
{
    const int shapes[][2] = {{3, 4}, {16, 1}, {13, 5}};
    const size_t sizes[] = {8, 4096, 262144};
    const char *const fabrics[] = {"efa", "tcp", "verbs"};
    (void)state;
    for (int coll = 0; coll < WEFT_COLLS; coll++) {
        for (size_t i = 0; i < 3 * 3 * 3; i++) {
            weft_shape_t shape = weft_shape_blocks(shapes[i % 3][0], shapes[i % 3][1]);
            size_t bytes = sizes[i / 3 % 3];
            if (!is_modelled((weft_coll_t)coll))
                continue;
            double loss = loss_of((weft_coll_t)coll, &shape, bytes, fabrics[i / 9]);
            if (loss > 1.6)
                fail_msg("%s of %zu bytes on %d nodes of %d over %s takes %.2f times as long as "
                         "the best",
                         weft_coll_name((weft_coll_t)coll), bytes, shape.nodes, shape.most,
                         fabrics[i / 9], loss);
        }
    }
}

static void rows_of_constants(void **state)
{
    const char *const bad[] = {
        "fabric",
        "fabric x",
        "fabric x 1 1 1 1000",
        "fabric x 0 1 1 1000 8K",
        "fabric x 1 -1 1 1000 8K",
        "fabric x 1 1 -1 1000 8K",
        "fabric x 1 1 1 0 8K",
        "fabric x 1 1 1 1000 8G",
        "fabric x 1 1 1 1000 8K 9",
        "memory 1000",
        "memory 0 1000",
        "memory 1000 -1",
        "memory 1000 1000 1000",
        "barrier any any any flat",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (weft_fabric_parse(bad[i]))
            fail_msg("this row was taken: %s", bad[i]);
    }
    assert_false(weft_fabric_is_known("x"));
    assert_true(weft_fabric_parse(" fabric x 2 0.5 0.25 1000 8K"));
    weft_fabric_t x = weft_fabric_of("x;ofi_rxm");
    assert_true(x.net.latency_us == 2 && x.net.gap_us == 0.5 && x.net.port_us == 0.25);
    assert_true(x.net.us_per_byte == 1 / 1000.0 && x.net.eager_bytes == 8192);
    assert_true(weft_fabric_parse("fabric x 3 0.5 0.25 1000 8")); /* replaces the earlier row */
    assert_true(weft_fabric_of("x").net.latency_us == 3 &&
                weft_fabric_of("x").net.eager_bytes == 8);
    assert_true(weft_fabric_of("nobody").net.latency_us == weft_fabric_of("net").net.latency_us);
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
        cmocka_unit_test(the_choice_is_near_the_best),
        cmocka_unit_test(rows_of_constants),
    };
    return cmocka_run_group_tests(tests, open_tuning, close_tuning);
}
