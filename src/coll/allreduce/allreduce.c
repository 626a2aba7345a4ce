/* SPDX-License-Identifier: BSD-3-Clause */
/* All of these give the same bits on all ranks and in every run: the operands and their order
 * depend on the ranks alone. */
#include "coll/algorithm.h"
#include "coll/reduce_part.h"

/* Send what we have to `peer`, get what it has and put the two together in recv_buf. The operand of
 * the lower rank comes first on both sides. */
static weft_place_t exchange(weft_plan_t *plan, const weft_coll_args_t *args, weft_place_t have,
                             int peer)
{
    weft_place_t out = weft_at(WEFT_OUT, 0);
    weft_place_t theirs = weft_plan_scratch(plan, args->recv_count, args->recv_type);
    weft_plan_send(plan, weft_vector(args, have), peer);
    weft_plan_recv(plan, weft_vector(args, theirs), peer);
    weft_plan_wait(plan);
    bool is_lower = args->comm->rank < peer;
    weft_plan_reduce(plan, is_lower ? have : theirs, is_lower ? theirs : have,
                     weft_vector(args, out));
    return out;
}

/* The ranks beyond a power of two join in pairs: the first 2 * `extra` ranks are `extra` pairs,
 * whose odd member speaks for both. */
typedef struct folding {
    int extra, power; /* power: the largest power of two within the number of ranks */
} folding_t;

static folding_t fold(int size)
{
    int power = 1;
    while (power * 2 <= size)
        power *= 2;
    return (folding_t){size - power, power};
}

static int speaker(folding_t folding, int index)
{
    return index < folding.extra ? 2 * index + 1 : index + folding.extra;
}

static void recursive_doubling(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int rank = args->comm->rank;
    folding_t folding = fold(args->comm->size);
    weft_place_t out = weft_at(WEFT_OUT, 0), have = weft_operand(args);
    bool is_paired = rank < 2 * folding.extra;
    if (is_paired && rank % 2 == 0) {
        weft_plan_send(plan, weft_vector(args, have), rank + 1);
        weft_plan_wait(plan);
        weft_plan_recv(plan, weft_vector(args, out), rank + 1);
        return;
    }
    if (is_paired) {
        weft_place_t theirs = weft_plan_scratch(plan, args->recv_count, args->recv_type);
        weft_plan_recv(plan, weft_vector(args, theirs), rank - 1);
        weft_plan_wait(plan);
        weft_plan_reduce(plan, theirs, have, weft_vector(args, out));
        have = out;
    }
    int index = is_paired ? rank / 2 : rank - folding.extra;
    for (int bit = 1; bit < folding.power; bit *= 2)
        have = exchange(plan, args, have, speaker(folding, index ^ bit));
    if (is_paired)
        weft_plan_send(plan, weft_vector(args, have), rank - 1);
    if (args->comm->size == 1)
        weft_plan_copy(plan, weft_vector(args, have), weft_vector(args, out));
}

/* Rank 0 gets all operands and sends the result to all. */
static void flat(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size;
    weft_place_t own = weft_operand(args), out = weft_at(WEFT_OUT, 0);
    if (args->comm->rank != 0) {
        weft_plan_send(plan, weft_vector(args, own), 0);
        weft_plan_wait(plan);
        weft_plan_recv(plan, weft_vector(args, out), 0);
        return;
    }
    MPI_Count count = (MPI_Count)args->recv_count;
    weft_place_t all = weft_plan_scratch(plan, args->recv_count * (size_t)size, args->recv_type);
    for (int peer = 1; peer < size; peer++)
        weft_plan_recv(plan, weft_vector(args, weft_after(all, count * peer, args->recv_type)),
                       peer);
    weft_plan_wait(plan);
    for (int peer = 1; peer < size; peer++)
        weft_plan_reduce(plan, peer == 1 ? own : out,
                         weft_after(all, count * peer, args->recv_type), weft_vector(args, out));
    for (int peer = 1; peer < size; peer++)
        weft_plan_send(plan, weft_vector(args, out), peer);
    if (size == 1)
        weft_plan_copy(plan, weft_vector(args, own), weft_vector(args, out));
}

/* Each rank reduces one part of the vector and sends it to all. */
static void two_shot(weft_plan_t *plan, const weft_coll_args_t *args)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_place_t out = weft_at(WEFT_OUT, 0);
    weft_place_t mine = weft_plan_reduce_part(plan, args, &out);
    size_t first = weft_part(args->recv_count, rank, size),
           end = weft_part(args->recv_count, rank + 1, size);
    for (int i = 1; i < size; i++)
        weft_plan_send(plan, weft_data(mine, end - first, args->recv_type), (rank + i) % size);
    for (int i = 1; i < size; i++) {
        int peer = (rank - i + size) % size;
        size_t at = weft_part(args->recv_count, peer, size),
               next = weft_part(args->recv_count, peer + 1, size);
        weft_plan_recv(plan,
                       weft_data(weft_element(WEFT_OUT, (MPI_Count)at, args->recv_type), next - at,
                                 args->recv_type),
                       peer);
    }
}

const weft_algorithm_t weft_allreduce_algorithms[] = {
    {"recursive_doubling", recursive_doubling, 0, "log2 p rounds of n bytes"},
    {"flat", flat, 0, "2 rounds, 2 (p - 1) messages of n bytes at rank 0"},
    {"two_shot", two_shot, WEFT_NEEDS_COUNT, "2 rounds, 2 n bytes a rank"},
    {0},
};
