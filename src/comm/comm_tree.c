/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A communicator of a group, made by its members alone: the context of the first member goes down a
 * binomial tree. Rank r receives from r without its lowest bit, and sends to r + 1, r + 2, r + 4,
 * ... below that bit:
 *
 *   0 -> 4 -> 6 -> 7        0 -> 2 -> 3        0 -> 1
 *        4 -> 5
 */
#include "comm/comm_make.h"

#include "pt2pt/pt2pt.h"
#include "object/group.h"

/* A tag in the context of collectives, whose own tags are below it. */
enum { FIRST_TAG = 0x40000000 };

_Static_assert((long)FIRST_TAG + WEFT_CREATE_TAG <= INT32_MAX, "tags are 32 bits wide");

typedef struct tree {
    weft_comm_t *comm;
    weft_group_t *group;
    int tag;
} tree_t;

static int rank_in_comm(const tree_t *tree, int rank)
{
    return weft_group_rank_of(tree->comm->group, weft_group_world_rank(tree->group, rank));
}

static int hear(const tree_t *tree, int parent, uint32_t *context)
{
    weft_recv_args_t args = {.buf = context,
                             .count = sizeof(*context),
                             .type = weft_type_of(MPI_BYTE),
                             .comm = tree->comm,
                             .context = tree->comm->context | 1,
                             .source = rank_in_comm(tree, parent),
                             .tag = tree->tag};
    return weft_recv(&args, MPI_STATUS_IGNORE);
}

static int tell_child(const tree_t *tree, int child, const uint32_t *context)
{
    weft_send_args_t args = {.buf = context,
                             .count = sizeof(*context),
                             .type = weft_type_of(MPI_BYTE),
                             .comm = tree->comm,
                             .context = tree->comm->context | 1,
                             .dest = rank_in_comm(tree, child),
                             .tag = tree->tag,
                             .mode = WEFT_SEND_STANDARD};
    return weft_send(&args);
}

/* Send to the largest subtree first, so that all leaves are reached early. */
static int tell_children(const tree_t *tree, const uint32_t *context)
{
    int64_t rank = tree->group->rank, size = tree->group->size;
    int64_t above = rank & -rank;
    if (rank == 0)
        for (above = 1; above < size; above *= 2)
            ;
    int err = MPI_SUCCESS;
    for (int64_t step = above / 2; err == MPI_SUCCESS && step > 0; step /= 2) {
        if (rank + step < size)
            err = tell_child(tree, (int)(rank + step), context);
    }
    return err;
}

int weft_comm_create_of(weft_comm_t *comm, weft_group_t *group, int tag, weft_comm_t **out)
{
    /* Only simultaneous calls of several threads can collide, and only if their tags are equal
     * modulo WEFT_CREATE_TAG. */
    int folded = tag == WEFT_CREATE_TAG ? tag : tag % WEFT_CREATE_TAG;
    tree_t tree = {comm, group, FIRST_TAG + folded};
    int rank = group->rank, err = MPI_SUCCESS;
    uint32_t context = WEFT_NO_CONTEXT;
    if (rank == 0)
        context = weft_context_offer();
    else
        err = hear(&tree, rank & (rank - 1), &context);
    if (err == MPI_SUCCESS)
        err = tell_children(&tree, &context);
    if (err == MPI_SUCCESS)
        err = weft_context_check(context);
    return err == MPI_SUCCESS ? weft_comm_create(group, context, comm, out) : err;
}
