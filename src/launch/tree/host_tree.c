/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/tree/host_tree.h"

int weft_host_tree_parent(const weft_host_tree_t *tree, int node)
{
    return node == 0 ? -1 : (node - 1) / tree->radix;
}

int weft_host_tree_children(const weft_host_tree_t *tree, int node, int *count_out)
{
    long first = (long)node * tree->radix + 1, left = tree->count - first;
    *count_out = left < 0 ? 0 : left < tree->radix ? (int)left : tree->radix;
    return (int)first;
}

int weft_host_tree_branch(const weft_host_tree_t *tree, int node, int to)
{
    /* Parents have smaller numbers. */
    while (to > node) {
        int parent = weft_host_tree_parent(tree, to);
        if (parent == node)
            return to;
        to = parent;
    }
    return -1;
}

bool weft_host_tree_is_below(const weft_host_tree_t *tree, int node, int below)
{
    return node == below || weft_host_tree_branch(tree, node, below) >= 0;
}
