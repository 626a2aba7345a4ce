/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"
#include "coll/reduce_part.h"

/* Where this rank collects: the root in recv_buf, the others in scratch. */
static weft_place_t result_place(weft_plan_t *plan, const weft_coll_args_t *args, bool is_root)
{
    return is_root ? weft_at(WEFT_OUT, 0)
                   : weft_plan_scratch(plan, args->recv_count, args->recv_type);
}

/*
 * A binomial tree in the order of ranks: the rank that collects at `collector` stands for ranks
 * self to self + 2^k - 1, so what comes from above is always the right operand.
 */
static void binomial_to(weft_plan_t *plan, const weft_coll_args_t *args, int collector)
{
    int size = args->comm->size;
    int self = (args->comm->rank - collector + size) % size;
    weft_place_t own = weft_operand(args), sum = own;
    for (int bit = 1; bit < size; bit *= 2) {
        if (self & bit) {
            weft_plan_wait(plan);
            weft_plan_send(plan, weft_vector(args, sum), (self - bit + collector) % size);
            return;
        }
        if (self + bit >= size)
            continue;
        weft_place_t theirs = weft_plan_scratch(plan, args->recv_count, args->recv_type);
        weft_place_t next = sum.buffer == own.buffer && sum.offset == own.offset
                                ? result_place(plan, args, args->comm->rank == args->root)
                                : sum;
        weft_plan_recv(plan, weft_vector(args, theirs), (self + bit + collector) % size);
        weft_plan_wait(plan);
        weft_plan_reduce(plan, sum, theirs, weft_vector(args, next));
        sum = next;
    }
    /* The collector. */
    if (args->comm->rank != args->root)
        weft_plan_send(plan, weft_vector(args, sum), args->root);
    else
        weft_plan_copy(plan, weft_vector(args, sum), weft_vector(args, weft_at(WEFT_OUT, 0)));
}

/* The tree starts at the root when the operation commutes; otherwise at rank 0, whose result is
 * sent on. */
static void binomial(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int collector = args->op->is_commutative ? args->root : 0;
    binomial_to(plan, args, collector);
    if (collector != args->root && args->comm->rank == args->root)
        weft_plan_recv(plan, weft_vector(args, weft_at(WEFT_OUT, 0)), collector);
}

/* The root gets all operands and applies the operation in the order of ranks. */
static void flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, rank = args->comm->rank, root = args->root;
    weft_place_t own = weft_operand(args), out = weft_at(WEFT_OUT, 0);
    if (rank != root) {
        weft_plan_send(plan, weft_vector(args, own), root);
        return;
    }
    MPI_Count count = (MPI_Count)args->recv_count;
    weft_place_t all = weft_plan_scratch(plan, args->recv_count * (size_t)size, args->recv_type);
    for (int peer = 0; peer < size; peer++) {
        weft_place_t theirs = weft_after(all, count * peer, args->recv_type);
        if (peer != root)
            weft_plan_recv(plan, weft_vector(args, theirs), peer);
        else
            weft_plan_copy(plan, weft_vector(args, own), weft_vector(args, theirs));
    }
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++)
        weft_plan_reduce(plan, peer == 1 ? all : out,
                         weft_after(all, count * peer, args->recv_type), weft_vector(args, out));
    if (size == 1)
        weft_plan_copy(plan, weft_vector(args, all), weft_vector(args, out));
}

/* Each rank reduces one part of the vector, in the order of ranks, and sends it to the root. */
static void two_shot(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, rank = args->comm->rank, root = args->root;
    weft_place_t out = weft_at(WEFT_OUT, 0);
    weft_place_t mine = weft_plan_reduce_part(plan, args, rank == root ? &out : NULL);
    size_t first = weft_part(args->recv_count, rank, size),
           end = weft_part(args->recv_count, rank + 1, size);
    if (rank != root) {
        weft_plan_send(plan, weft_data(mine, end - first, args->recv_type), root);
        return;
    }
    for (int i = 1; i < size; i++) {
        int peer = (rank + i) % size;
        size_t at = weft_part(args->recv_count, peer, size),
               next = weft_part(args->recv_count, peer + 1, size);
        weft_plan_recv(plan,
                       weft_data(weft_element(WEFT_OUT, (MPI_Count)at, args->recv_type), next - at,
                                 args->recv_type),
                       peer);
    }
}

const weft_algorithm_t weft_reduce_algorithms[] = {
    {"binomial", binomial, 0, "log2 p rounds of n bytes"},
    {"flat", flat, 0, "1 round, p - 1 messages of n bytes at the root"},
    {"two_shot", two_shot, WEFT_NEEDS_COUNT, "2 rounds, 2 n bytes"},
    {0},
};
