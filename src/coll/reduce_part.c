/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/reduce_part.h"

#include "coll/algorithm.h"

/* Part `index` of the operand. */
static weft_data_t part_of(const weft_coll_args_t *args, int index)
{
    int size = args->comm->size;
    size_t first = weft_part(args->recv_count, index, size),
           end = weft_part(args->recv_count, index + 1, size);
    return weft_data(weft_after(weft_operand(args), (MPI_Count)first, args->recv_type), end - first,
                     args->recv_type);
}

weft_place_t weft_plan_reduce_part(weft_plan_t *plan, const weft_coll_args_t *args,
                                   const weft_place_t *out)
{
    int size = args->comm->size, rank = args->comm->rank;
    weft_data_t own = part_of(args, rank);
    MPI_Count count = (MPI_Count)own.count;
    for (int i = 1; i < size; i++) {
        int peer = (rank + i) % size;
        weft_plan_send(plan, part_of(args, peer), peer);
    }
    weft_place_t all = weft_plan_scratch(plan, own.count * (size_t)size, args->recv_type);
    for (int i = 1; i < size; i++) {
        int peer = (rank - i + size) % size;
        weft_plan_recv(
            plan, weft_data(weft_after(all, count * peer, args->recv_type), own.count, own.type),
            peer);
    }
    weft_plan_wait(plan);
    weft_place_t sum =
        out != NULL ? weft_after(*out, (MPI_Count)weft_part(args->recv_count, rank, size), own.type)
                    : all;
    if (size == 1)
        weft_plan_copy(plan, own, weft_data(sum, own.count, own.type));
    weft_place_t left = rank == 0 ? own.place : all;
    for (int peer = 1; peer < size; peer++) {
        weft_place_t right = peer == rank ? own.place : weft_after(all, count * peer, own.type);
        /* In place `sum` is where our operand lies: not before that has had its turn. */
        weft_place_t to = peer < rank && weft_is_in_place(args) ? all : sum;
        weft_plan_reduce(plan, left, right, weft_data(to, own.count, own.type));
        left = to;
    }
    return sum;
}
