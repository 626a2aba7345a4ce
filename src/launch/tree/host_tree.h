/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of mpirun and its daemons. Node 0 is mpirun, node i + 1 the daemon of the host i of the
 * placement. With radix 2 and five hosts:
 *
 *            0
 *        1       2
 *      3   4   5
 */
#ifndef WEFT_LAUNCH_TREE_HOST_TREE_H
#define WEFT_LAUNCH_TREE_HOST_TREE_H

#include <stdbool.h>

typedef struct wl_host_tree {
    int count; /* of nodes, mpirun among them */
    int radix; /* children of a node, at most */
} wl_host_tree_t;

/** -1 for node 0. */
int wl_host_tree_parent(const wl_host_tree_t *tree, int node);

/** Children are `count_out` nodes in sequence from the one returned. */
int wl_host_tree_children(const wl_host_tree_t *tree, int node, int *count_out);

/** Is `below` in the subtree of `node`, or `node` itself? */
bool wl_host_tree_is_below(const wl_host_tree_t *tree, int node, int below);

/** The child of `node` that leads to `to`; -1 when `to` is not below it, or is `node`. */
int wl_host_tree_child_to(const wl_host_tree_t *tree, int node, int to);

#endif
