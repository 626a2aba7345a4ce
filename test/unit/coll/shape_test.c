/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes and teams: their answers for any placement agree with the list of hosts that they were
 * made of. */
#include "coll/team/digits.h"
#include "coll/team/teams.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST_RANKS = 12 };

/* Compares a shape with the list of hosts. */
static void check_shape(const weft_shape_t *shape, const int *hosts, int ranks)
{
    int seen = 0;
    assert_int_equal(shape->ranks, ranks);
    for (int node = 0; node < shape->nodes; node++) {
        int count = weft_shape_count(shape, node), last = -1;
        assert_in_range(count, shape->least, shape->most);
        assert_int_equal(weft_shape_before(shape, node), seen);
        for (int local = 0; local < count; local++, seen++) {
            int rank = weft_shape_rank(shape, node, local);
            assert_true(rank > last && hosts[rank] == hosts[weft_shape_rank(shape, node, 0)]);
            assert_int_equal(weft_shape_node(shape, rank), node);
            assert_int_equal(weft_shape_local(shape, rank), local);
            assert_true(!shape->is_consecutive || rank == weft_shape_before(shape, node) + local);
            last = rank;
        }
        if (node > 0)
            assert_true(weft_shape_rank(shape, node, 0) > weft_shape_rank(shape, node - 1, 0));
    }
    assert_int_equal(seen, ranks);
}

static void check_teams(const weft_shape_t *shape)
{
    for (int rank = 0; rank < shape->ranks; rank++) {
        weft_team_t node = weft_team_node(shape, rank),
                    last = weft_team_lane(shape, WEFT_LAST_LANE, rank);
        assert_int_equal(weft_team_rank(&node, node.index), rank);
        for (int i = 0; i < node.size; i++) {
            weft_team_t turned = weft_team_turned(node, i);
            assert_int_equal(weft_team_rank(&turned, turned.index), rank);
            assert_int_equal(weft_team_rank(&turned, 0), weft_team_rank(&node, i));
        }
        for (int lane = 0; lane < shape->least; lane++) {
            weft_team_t team = weft_team_turned(
                weft_team_with(weft_team_lane(shape, lane, rank), rank), last.index);
            assert_int_equal(weft_team_rank(&team, 0), rank);
            for (int i = 1; i < team.size; i++)
                assert_int_equal(weft_team_rank(&team, i),
                                 weft_shape_rank(shape, (last.index + i) % shape->nodes, lane));
        }
        assert_int_equal(weft_team_rank(&last, last.index), weft_team_rank(&node, node.size - 1));
    }
}

static void shapes_agree_with_hosts(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int turn = 0; turn < 2000; turn++) {
        int hosts[MOST_RANKS], ranks = 1 + turn % MOST_RANKS;
        for (int i = 0; i < ranks; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            hosts[i] = (int)((seed >> 33) % (1 + (seed >> 40) % MOST_RANKS));
        }
        weft_shape_t shape;
        assert_int_equal(weft_shape_open(hosts, ranks, MOST_RANKS, &shape), 0);
        check_shape(&shape, hosts, ranks);
        check_teams(&shape);
        weft_shape_close(&shape);
    }
}

static void regular_shapes_need_no_tables(void **state)
{
    const int blocks[] = {4, 4, 4, 0, 0, 0}, cyclic[] = {2, 1, 0, 2, 1, 0},
              uneven[] = {1, 1, 0, 0, 0, 2};
    weft_shape_t shape;
    (void)state;
    weft_shape_open(blocks, 6, 5, &shape);
    assert_int_equal(shape.placing, WEFT_BLOCKS);
    assert_true(shape.node_of == NULL && shape.members == NULL && shape.starts == NULL);
    check_shape(&shape, blocks, 6);
    weft_shape_open(cyclic, 6, 3, &shape);
    assert_int_equal(shape.placing, WEFT_CYCLIC);
    assert_true(shape.node_of == NULL && !shape.is_consecutive);
    check_shape(&shape, cyclic, 6);
    weft_shape_open(uneven, 6, 3, &shape);
    assert_true(shape.placing == WEFT_ANYHOW && shape.is_consecutive && shape.least == 1 &&
                shape.most == 3);
    weft_shape_close(&shape);
}

static void digits_make_a_product(void **state)
{
    (void)state;
    for (int size = 1; size <= 3000; size++) {
        for (int radix = 2; radix <= 17; radix++) {
            weft_digits_t digits = weft_digits_of(size, radix);
            int product = 1;
            for (int i = 0; i < digits.rounds; i++) {
                assert_in_range(digits.factor[i], 2, radix);
                product *= digits.factor[i];
            }
            assert_int_equal(product, digits.speakers);
            assert_int_equal(product + digits.pairs, size);
            assert_true(digits.pairs <= digits.speakers);
        }
    }
    assert_int_equal(weft_digits_rounds(1, 2), 0);
    assert_int_equal(weft_digits_rounds(64, 4), 3);
    assert_int_equal(weft_digits_rounds(65, 4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_agree_with_hosts),
        cmocka_unit_test(regular_shapes_need_no_tables),
        cmocka_unit_test(digits_make_a_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
