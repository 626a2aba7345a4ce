/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/host_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Each node but the root is the child of one node, and that one is its parent. */
static void check_shape(const wl_host_tree_t *tree)
{
    int found = 1;
    for (int node = 0; node < tree->count; node++) {
        int count, first = wl_host_tree_children(tree, node, &count);
        assert_true(count >= 0 && count <= tree->radix);
        for (int i = 0; i < count; i++)
            assert_int_equal(wl_host_tree_parent(tree, first + i), node);
        found += count;
    }
    assert_int_equal(found, tree->count);
    assert_int_equal(wl_host_tree_parent(tree, 0), -1);
}

/* The child that leads to a node has the node below it. */
static void check_paths(const wl_host_tree_t *tree)
{
    for (int from = 0; from < tree->count; from++) {
        for (int to = 0; to < tree->count; to++) {
            int child = wl_host_tree_child_to(tree, from, to), up = to;
            while (up > from)
                up = wl_host_tree_parent(tree, up);
            assert_int_equal(wl_host_tree_is_below(tree, from, to), up == from);
            assert_int_equal(child >= 0, up == from && to != from);
            if (child < 0)
                continue;
            assert_int_equal(wl_host_tree_parent(tree, child), from);
            assert_true(wl_host_tree_is_below(tree, child, to));
        }
    }
}

static void trees_of_all_shapes_hold(void **state)
{
    (void)state;
    for (int radix = 1; radix <= 40; radix += radix < 5 ? 1 : 7) {
        for (int count = 1; count <= 70; count += count < 20 ? 1 : 9) {
            const wl_host_tree_t tree = {count, radix};
            check_shape(&tree);
            check_paths(&tree);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trees_of_all_shapes_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
