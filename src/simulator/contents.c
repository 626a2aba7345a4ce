/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An element is the function x -> a x + b modulo 2^32, a odd. The operation applies one function
 * after the other: it is associative, and the order matters. Where a plan needs an operation that
 * commutes, the functions are added instead. A wrong set or order of operands gives the right
 * element with a probability of 1 in 2^63.
 */
#include "simulator/world_private.h"

#include "base/fail.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

typedef struct element {
    uint32_t a, b;
} element_t;

/* What rank `from` has for rank `to`; `to` is 0 where it is for all. */
static element_t content(int from, int to, size_t index)
{
    uint64_t seed = ((uint64_t)(unsigned)from << 32 | (unsigned)to) * 0x9e3779b97f4a7c15u + index;
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111ebu;
    seed ^= seed >> 31;
    return (element_t){(uint32_t)seed | 1, (uint32_t)(seed >> 32)};
}

/* ---- operations ---- */

static element_t compose(element_t x, element_t y)
{
    return (element_t){x.a * y.a, x.b * y.a + y.b};
}

static element_t add_elements(element_t x, element_t y)
{
    return (element_t){x.a + y.a, x.b ^ y.b};
}

static element_t stirred(element_t x)
{
    return (element_t){(x.a ^ x.a >> 15) * 0x2c1b3c6du, (x.b ^ x.b >> 12) * 0x297a2d39u};
}

/* Commutes but is not associative, as the sum of floating-point numbers: another order of brackets
 * gives another result. */
static element_t stir(element_t x, element_t y)
{
    element_t p = stirred(x), q = stirred(y);
    return (element_t){p.a + q.a, p.b + q.b};
}

static void compose_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    element_t *x = in, *y = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        y[i] = compose(x[i], y[i]);
}

static void sim_add_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    element_t *x = in, *y = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        y[i] = add_elements(x[i], y[i]);
}

static void stir_all(void *in, void *inout, int *count, MPI_Datatype *type)
{
    element_t *x = in, *y = inout;
    (void)type;
    for (int i = 0; i < *count; i++)
        y[i] = stir(x[i], y[i]);
}

int weft_sim_open_contents(weft_sim_world_t *world)
{
    MPI_User_function *function = world->its->compares_bits ? stir_all
                                  : world->its->commutes    ? sim_add_all
                                                            : compose_all;
    int err = weft_type_contiguous(2, weft_type_of(MPI_UINT32_T), &world->type);
    if (err == MPI_SUCCESS)
        err = weft_type_commit(world->type);
    if (err == MPI_SUCCESS)
        err = weft_op_create(function, NULL, world->its->commutes, &world->op);
    return err;
}

void weft_sim_close_contents(weft_sim_world_t *world)
{
    if (world->op != NULL)
        weft_op_release(world->op);
    if (world->type != NULL)
        weft_type_release(world->type);
}

/* ---- buffers ---- */

static bool is_sim_root(const weft_sim_world_t *world, int rank)
{
    return rank == world->its->root;
}

/* The number of blocks in the send buffer and in the receive buffer. */
typedef struct sides {
    int in, out;
} sides_t;

static sides_t sides_of(const weft_sim_world_t *world, int rank)
{
    int size = world->size, at_root = is_sim_root(world, rank) ? size : 0;
    switch (world->its->coll) {
    case WEFT_BARRIER:
        return (sides_t){0, 0};
    case WEFT_BCAST:
        return (sides_t){1, 0};
    case WEFT_GATHER:
    case WEFT_GATHERV:
        return (sides_t){1, at_root};
    case WEFT_SCATTER:
    case WEFT_SCATTERV:
        return (sides_t){at_root, 1};
    case WEFT_ALLGATHER:
    case WEFT_ALLGATHERV:
        return (sides_t){1, size};
    case WEFT_ALLTOALL:
    case WEFT_ALLTOALLV:
    case WEFT_ALLTOALLW:
        return (sides_t){size, size};
    case WEFT_REDUCE_SCATTER:
    case WEFT_REDUCE_SCATTER_BLOCK:
        return (sides_t){size, world->its->is_in_place ? size : 1};
    default:
        return (sides_t){1, 1};
    }
}

size_t weft_sim_in_bytes(const weft_sim_world_t *world, int rank)
{
    return (size_t)sides_of(world, rank).in * world->count * sizeof(element_t);
}

size_t weft_sim_out_bytes(const weft_sim_world_t *world, int rank)
{
    return (size_t)sides_of(world, rank).out * world->count * sizeof(element_t);
}

static void write_blocks(const weft_sim_world_t *world, element_t *at, int rank, sides_t sides)
{
    bool is_addressed = sides.in > 1 && world->its->coll < WEFT_REDUCE;
    for (int block = 0; block < sides.in; block++) {
        for (size_t i = 0; i < world->count; i++)
            *at++ = is_addressed ? content(rank, block, i)
                                 : content(rank, 0, (size_t)block * world->count + i);
    }
}

/* In place, the receive buffer has the operand or the blocks to send; for allgather and gather it
 * has this rank's block in its place. */
void weft_sim_fill(weft_sim_world_t *world, int rank)
{
    weft_coll_args_t args = weft_sim_args(world, rank);
    weft_sim_rank_t *its = &world->ranks[rank];
    bool is_receiver = world->its->coll == WEFT_BCAST && !is_sim_root(world, rank);
    if (args.send_buf != MPI_IN_PLACE && !is_receiver)
        write_blocks(world, (element_t *)its->buffers[WEFT_IN], rank, sides_of(world, rank));
    if (args.send_buf != MPI_IN_PLACE)
        return;
    sides_t sides = sides_of(world, rank);
    element_t *out = (element_t *)its->buffers[WEFT_OUT];
    if (sides.in == 1 && sides.out > 1)
        out += (size_t)rank * world->count;
    write_blocks(world, out, rank, sides);
}

/* ---- results ---- */

static bool contents_complain(weft_sim_world_t *world, int rank, size_t index)
{
    snprintf(world->result.complaint, sizeof(world->result.complaint),
             "rank %d of %d has a wrong element %zu", rank, world->size, index);
    return false;
}

static element_t combine(const weft_sim_world_t *world, element_t x, element_t y)
{
    return world->its->commutes ? add_elements(x, y) : compose(x, y);
}

static bool contents_is_equal(element_t x, element_t y)
{
    return x.a == y.a && x.b == y.b;
}

/* Puts elements `first` to first + count - 1, reduced over all ranks, into expected[]. */
static void reduce_all(const weft_sim_world_t *world, element_t *expected, size_t first,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expected[i] = content(0, 0, first + i);
        for (int rank = 1; rank < world->size; rank++)
            expected[i] = combine(world, expected[i], content(rank, 0, first + i));
    }
}

static bool has_elements(weft_sim_world_t *world, int rank, const element_t *expected)
{
    const element_t *got = (const element_t *)world->ranks[rank].buffers[WEFT_OUT];
    for (size_t i = 0; i < world->count; i++) {
        if (!contents_is_equal(got[i], expected[i]))
            return contents_complain(world, rank, i);
    }
    return true;
}

static bool check_reductions(weft_sim_world_t *world, element_t *expected)
{
    bool is_scatter =
        world->its->coll == WEFT_REDUCE_SCATTER || world->its->coll == WEFT_REDUCE_SCATTER_BLOCK;
    if (!is_scatter)
        reduce_all(world, expected, 0, world->count);
    for (int rank = 0; rank < world->size; rank++) {
        if (is_scatter)
            reduce_all(world, expected, (size_t)rank * world->count, world->count);
        if (world->its->coll == WEFT_REDUCE && !is_sim_root(world, rank))
            continue;
        if (!has_elements(world, rank, expected))
            return false;
    }
    return true;
}

static bool check_scans(weft_sim_world_t *world, element_t *expected)
{
    bool is_inclusive = world->its->coll == WEFT_SCAN;
    for (int rank = 0; rank < world->size; rank++) {
        if (!is_inclusive && rank > 0 && !has_elements(world, rank, expected))
            return false;
        for (size_t i = 0; i < world->count; i++) {
            element_t own = content(rank, 0, i);
            expected[i] = rank == 0 ? own : combine(world, expected[i], own);
        }
        if (is_inclusive && !has_elements(world, rank, expected))
            return false;
    }
    return true;
}

/* Do all ranks have the same result as rank 0? */
static bool check_agreement(weft_sim_world_t *world)
{
    const element_t *first = (const element_t *)world->ranks[0].buffers[WEFT_OUT];
    for (int rank = 1; rank < world->size; rank++) {
        if (!has_elements(world, rank, first))
            return false;
    }
    return true;
}

/* Checks the block that a rank received from rank `from`; in an alltoall or scatter it was meant
 * for this rank. */
static bool check_block(weft_sim_world_t *world, int rank, const element_t *got, int from)
{
    weft_coll_t coll = world->its->coll;
    bool is_addressed = coll >= WEFT_ALLTOALL || coll == WEFT_SCATTER || coll == WEFT_SCATTERV;
    for (size_t i = 0; i < world->count; i++) {
        if (!contents_is_equal(got[i], content(from, is_addressed ? rank : 0, i)))
            return contents_complain(world, rank, (size_t)from * world->count + i);
    }
    return true;
}

static bool check_moves(weft_sim_world_t *world)
{
    for (int rank = 0; rank < world->size; rank++) {
        sides_t sides = sides_of(world, rank);
        bool is_bcast = world->its->coll == WEFT_BCAST;
        const element_t *got =
            (const element_t *)world->ranks[rank].buffers[is_bcast ? WEFT_IN : WEFT_OUT];
        int blocks = is_bcast ? 1 : sides.out;
        for (int i = 0; i < blocks; i++) {
            int from = blocks == 1 ? world->its->root : i;
            if (!check_block(world, rank, got + (size_t)i * world->count, from))
                return false;
        }
    }
    return true;
}

int weft_sim_check(weft_sim_world_t *world)
{
    element_t *expected = weft_alloc_array(world->count + 1, sizeof(*expected));
    bool is_right;
    if (expected == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a result");
    if (world->its->compares_bits)
        is_right = check_agreement(world);
    else if (world->its->coll >= WEFT_SCAN)
        is_right = check_scans(world, expected);
    else
        is_right = world->its->coll >= WEFT_REDUCE ? check_reductions(world, expected)
                                                   : check_moves(world);
    if (!is_right)
        world->result.depth = WEFT_SIM_WRONG;
    weft_free(expected);
    return MPI_SUCCESS;
}
