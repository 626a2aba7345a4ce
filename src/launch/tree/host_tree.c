/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/host_tree.h"

int wl_host_tree_parent(const wl_host_tree_t *tree, int node)
{
    return node == 0 ? -1 : (node - 1) / tree->radix;
}

int wl_host_tree_children(const wl_host_tree_t *tree, int node, int *count_out)
{
    long first = (long)node * tree->radix + 1, left = tree->count - first;
    *count_out = left < 0 ? 0 : left < tree->radix ? (int)left : tree->radix;
    return (int)first;
}

int wl_host_tree_child_to(const wl_host_tree_t *tree, int node, int to)
{
    /* Parents have smaller numbers. */
    while (to > node) {
        int parent = wl_host_tree_parent(tree, to);
        if (parent == node)
            return to;
        to = parent;
    }
    return -1;
}

bool wl_host_tree_is_below(const wl_host_tree_t *tree, int node, int below)
{
    return node == below || wl_host_tree_child_to(tree, node, below) >= 0;
}
