/* SPDX-License-Identifier: BSD-3-Clause */
/* Scan and exscan. Always in the order of ranks, so any associative operation will do. */
#include "coll/algorithm.h"

/*
 * In round k a rank has the operands of a block of up to 2^k ranks that ends with its own
 * (`block`), and it sends them 2^k ranks up. What comes from below is the left operand, of the
 * block and of the result. Hillis and Steele 1986.
 */
static void doubling(weft_plan_t *plan, const weft_coll_args_t *args, bool is_inclusive)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_place_t own = weft_operand(args), out = weft_at(WEFT_OUT, 0), block = own;
    weft_place_t sum = weft_plan_scratch(plan, args->recv_count, args->recv_type);
    bool has_result = is_inclusive;
    /* In place an exclusive result must not replace the operand before it has been used. */
    weft_plan_copy(plan, weft_vector(args, own), weft_vector(args, sum));
    block = sum;
    if (is_inclusive)
        weft_plan_copy(plan, weft_vector(args, own), weft_vector(args, out));
    for (int distance = 1; distance < size; distance *= 2) {
        weft_plan_wait(plan);
        if (rank + distance < size)
            weft_plan_send(plan, weft_vector(args, block), rank + distance);
        if (rank < distance)
            continue;
        weft_place_t below = weft_plan_scratch(plan, args->recv_count, args->recv_type);
        weft_plan_recv(plan, weft_vector(args, below), rank - distance);
        weft_plan_wait(plan);
        if (has_result)
            weft_plan_reduce(plan, below, out, weft_vector(args, out));
        else
            weft_plan_copy(plan, weft_vector(args, below), weft_vector(args, out));
        has_result = true;
        weft_plan_reduce(plan, below, block, weft_vector(args, block));
    }
}

/* Rank 0 gets all operands and sends each rank its result. */
static void through_root(weft_plan_t *plan, const weft_coll_args_t *args, bool is_inclusive)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_type_t *type = args->recv_type;
    MPI_Count count = (MPI_Count)args->recv_count;
    weft_place_t own = weft_operand(args), out = weft_at(WEFT_OUT, 0);
    if (rank != 0) {
        weft_plan_send(plan, weft_vector(args, own), 0);
        weft_plan_wait(plan);
        weft_plan_recv(plan, weft_vector(args, out), 0);
        return;
    }
    weft_place_t all = weft_plan_scratch(plan, args->recv_count * (size_t)size, type);
    weft_plan_copy(plan, weft_vector(args, own), weft_vector(args, all));
    for (int peer = 1; peer < size; peer++)
        weft_plan_recv(plan, weft_vector(args, weft_after(all, count * peer, type)), peer);
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++)
        weft_plan_reduce(plan, weft_after(all, count * (peer - 1), type),
                         weft_after(all, count * peer, type),
                         weft_vector(args, weft_after(all, count * peer, type)));
    for (int peer = 1; peer < size; peer++)
        weft_plan_send(
            plan,
            weft_vector(args, weft_after(all, count * (is_inclusive ? peer : peer - 1), type)),
            peer);
    if (is_inclusive)
        weft_plan_copy(plan, weft_vector(args, all), weft_vector(args, out));
}

static void scan_doubling(weft_plan_t *plan, const weft_coll_args_t *args)
{
    doubling(plan, args, true);
}

static void scan_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    through_root(plan, args, true);
}

static void exscan_doubling(weft_plan_t *plan, const weft_coll_args_t *args)
{
    doubling(plan, args, false);
}

static void exscan_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    through_root(plan, args, false);
}

const weft_algorithm_t weft_scan_algorithms[] = {
    {"doubling", scan_doubling, 0, "log2 p rounds of n bytes"},
    {"through_root", scan_through_root, 0, "2 rounds, 2 (p - 1) messages of n bytes at rank 0"},
    {0},
};

const weft_algorithm_t weft_exscan_algorithms[] = {
    {"doubling", exscan_doubling, 0, "log2 p rounds of n bytes"},
    {"through_root", exscan_through_root, 0, "2 rounds, 2 (p - 1) messages of n bytes at rank 0"},
    {0},
};
