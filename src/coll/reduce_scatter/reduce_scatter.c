/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/algorithm.h"

/* The elements of the operand that rank `rank` gets. */
typedef size_t (*count_fn_t)(const weft_coll_args_t *args, int rank);

static size_t equal_count(const weft_coll_args_t *args, int rank)
{
    (void)rank;
    return args->recv_count;
}

static size_t own_count(const weft_coll_args_t *args, int rank)
{
    return (size_t)weft_count_at(args->recv_counts, (size_t)rank);
}

static MPI_Count first_of(const weft_coll_args_t *args, count_fn_t count, int rank)
{
    MPI_Count first = 0;
    for (int i = 0; i < rank; i++)
        first += (MPI_Count)count(args, i);
    return first;
}

/* Fold our block's operands, which lie one rank after the other at `all` except our own, in the
 * order of ranks. In place recv_buf still holds our operand, so the result gets there last. */
static void fold_in_order(weft_plan_t *plan, const weft_coll_args_t *args, weft_place_t all,
                          weft_data_t own)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_data_t out = weft_data(weft_at(WEFT_OUT, 0), own.count, own.type);
    weft_data_t sum = weft_data(all, own.count, own.type);
    weft_place_t left = rank == 0 ? own.place : all;
    for (int peer = 1; peer < size; peer++) {
        weft_place_t right =
            peer == rank ? own.place : weft_after(all, (MPI_Count)own.count * peer, own.type);
        bool goes_out = peer == size - 1 && !weft_is_in_place(args);
        weft_plan_reduce(plan, left, right, goes_out ? out : sum);
        left = all;
    }
    if (size == 1 || weft_is_in_place(args))
        weft_plan_copy(plan, size == 1 ? own : sum, out);
}

/* Every rank sends each other rank its block of the operand and reduces its own. */
static void exchange_blocks(weft_plan_t *plan, const weft_coll_args_t *args, count_fn_t count)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_type_t *type = args->recv_type;
    weft_data_t own = {weft_after(weft_operand(args), first_of(args, count, rank), type),
                       count(args, rank), type};
    MPI_Count at = first_of(args, count, rank);
    for (int i = 1; i < size; i++) {
        int peer = (rank + i) % size;
        at = peer == 0 ? 0 : at + (MPI_Count)count(args, peer - 1);
        weft_plan_send(plan,
                       weft_data(weft_after(weft_operand(args), at, type), count(args, peer), type),
                       peer);
    }
    weft_place_t all = weft_plan_scratch(plan, own.count * (size_t)size, type);
    for (int i = 1; i < size; i++) {
        int peer = (rank - i + size) % size;
        weft_plan_recv(
            plan, weft_data(weft_after(all, (MPI_Count)own.count * peer, type), own.count, type),
            peer);
    }
    weft_plan_wait(plan);
    fold_in_order(plan, args, all, own);
}

/* Rank 0 reduces everything and sends each rank its block. */
static void through_root(weft_plan_t *plan, const weft_coll_args_t *args, count_fn_t count)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_type_t *type = args->recv_type;
    size_t total = (size_t)first_of(args, count, size);
    weft_place_t own = weft_operand(args);
    weft_data_t out = weft_data(weft_at(WEFT_OUT, 0), count(args, rank), type);
    if (rank != 0) {
        weft_plan_send(plan, weft_data(own, total, type), 0);
        weft_plan_wait(plan);
        weft_plan_recv(plan, out, 0);
        return;
    }
    weft_place_t all = weft_plan_scratch(plan, total * (size_t)size, type);
    for (int peer = 1; peer < size; peer++)
        weft_plan_recv(plan, weft_data(weft_after(all, (MPI_Count)total * peer, type), total, type),
                       peer);
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++)
        weft_plan_reduce(plan, peer == 1 ? own : all,
                         weft_after(all, (MPI_Count)total * peer, type),
                         weft_data(all, total, type));
    weft_place_t sum = size == 1 ? own : all;
    MPI_Count at = 0;
    for (int peer = 0; peer < size; at += (MPI_Count)count(args, peer), peer++) {
        if (peer > 0)
            weft_plan_send(plan, weft_data(weft_after(sum, at, type), count(args, peer), type),
                           peer);
    }
    weft_plan_copy(plan, weft_data(sum, out.count, type), out);
}

static void block_direct(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_blocks(plan, args, equal_count);
}

static void block_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    through_root(plan, args, equal_count);
}

static void counts_direct(weft_plan_t *plan, const weft_coll_args_t *args)
{
    exchange_blocks(plan, args, own_count);
}

static void counts_through_root(weft_plan_t *plan, const weft_coll_args_t *args)
{
    through_root(plan, args, own_count);
}

const weft_algorithm_t weft_reduce_scatter_block_algorithms[] = {
    {"direct", block_direct, 0, "1 round, p - 1 messages of a block each"},
    {"through_root", block_through_root, 0, "2 rounds, rank 0 reduces all"},
    {0},
};

const weft_algorithm_t weft_reduce_scatter_algorithms[] = {
    {"direct", counts_direct, 0, "1 round, p - 1 messages of a block each"},
    {"through_root", counts_through_root, 0, "2 rounds, rank 0 reduces all"},
    {0},
};
