/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/host_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Each node but the root is the child of one node, and that one is its parent. */
static void check_shape(const weft_host_tree_t *tree)
{
    int found = 1;
    for (int node = 0; node < tree->count; node++) {
        int count, first = weft_host_tree_children(tree, node, &count);
        assert_true(count >= 0 && count <= tree->radix);
        for (int i = 0; i < count; i++)
            assert_int_equal(weft_host_tree_parent(tree, first + i), node);
        found += count;
    }
    assert_int_equal(found, tree->count);
    assert_int_equal(weft_host_tree_parent(tree, 0), -1);
}

/* The branch that leads to a node is a child, and the node is below it. */
static void check_ways(const weft_host_tree_t *tree)
{
    for (int from = 0; from < tree->count; from++) {
        for (int to = 0; to < tree->count; to++) {
            int branch = weft_host_tree_branch(tree, from, to), up = to;
            while (up > from)
                up = weft_host_tree_parent(tree, up);
            assert_int_equal(weft_host_tree_is_below(tree, from, to), up == from);
            assert_int_equal(branch >= 0, up == from && to != from);
            if (branch < 0)
                continue;
            assert_int_equal(weft_host_tree_parent(tree, branch), from);
            assert_true(weft_host_tree_is_below(tree, branch, to));
        }
    }
}

static void trees_of_all_shapes_hold(void **state)
{
    (void)state;
    for (int radix = 1; radix <= 40; radix += radix < 5 ? 1 : 7) {
        for (int count = 1; count <= 70; count += count < 20 ? 1 : 9) {
            const weft_host_tree_t tree = {count, radix};
            check_shape(&tree);
            check_ways(&tree);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trees_of_all_shapes_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
