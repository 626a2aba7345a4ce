/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels that exchange data with those of other ranks, each on a device of its own (kernel_args.h
 * has the layout of an inbox). These kernels wait for threads of other kernels. Three rules keep
 * that from hanging:
 *
 * - Thread t waits only for what the threads t of the other ranks push. All ranks launch equally
 *   many threads, and each thread pushes before it waits. So it does not matter how many threads
 *   run at once: those with low numbers come first.
 * - A kernel waits for every line that is pushed to it, unless it was called off. So once it has
 *   ended, no more lines arrive in its inbox.
 * - A thread that waits long reads a word of the host and the clock from time to time, and ends the
 *   kernel without a result when it was called off or the time limit has passed.
 */
#ifndef WEFT_CUDA_KERNELS_EXCHANGE_CUH
#define WEFT_CUDA_KERNELS_EXCHANGE_CUH

#include "cuda/kernels/reduce.cuh"
#include "cuda/kernels/unit.cuh"
#include "cuda/kernels/waiter.cuh"

typedef weft_waiter_t<weft_exchange_args_t> weft_exchanger_t;

/* ---- begin and end ---- */

/* What a thread finds in the head of a conduit, read by one load. */
WEFT_DEVICE weft_conduit_head_t weft_head(const weft_exchange_args_t &args)
{
    weft_conduit_head_t head;
    const weft_vector_t words = weft_load_volatile<weft_vector_t>(args.conduit);
    memcpy(&head, &words, sizeof(head));
    return head;
}

/* Returns false if there is nothing to do, because the conduit is broken. */
WEFT_DEVICE bool weft_begin(weft_exchanger_t *waiter)
{
    const weft_exchange_args_t &args = waiter->args;
    if (args.conduit == nullptr)
        return true;
    const weft_conduit_head_t head = weft_head(args);
    waiter->flag = head.ended == WEFT_CONDUIT_LAST_FLAG ? 1 : head.ended + 1;
    waiter->part = waiter->flag % 2 == 0 ? args.even : 0;
    if (weft_thread() == 0)
        weft_store_volatile<uint32_t>(args.watch + WEFT_WATCH_BEGUN, waiter->flag);
    if (head.broken != 0)
        weft_store_volatile<uint32_t>(args.watch + WEFT_WATCH_VAIN, waiter->flag);
    return head.broken == 0;
}

/* All threads call this at their end. The last block counts the exchange: by then all have read the
 * count. */
WEFT_DEVICE void weft_end(const weft_exchanger_t &waiter)
{
    const weft_exchange_args_t &args = waiter.args;
    if (args.conduit == nullptr)
        return;
    weft_block_all(true);
    if (weft_block_thread() != 0 || weft_count(&args.conduit->blocks) + 1 < weft_blocks())
        return;
    weft_store_volatile<uint32_t>(&args.conduit->blocks, 0);
    weft_store_volatile<uint32_t>(&args.conduit->ended, waiter.flag);
    if (args.number != 0)
        weft_store_volatile<uint32_t>(args.watch + WEFT_WATCH_NUMBER, args.number);
    weft_store_volatile<uint32_t>(args.watch + WEFT_WATCH_ENDED, waiter.flag);
}

/* The units of a block. In a conduit a block without data is one unit, too. */
WEFT_DEVICE uint64_t weft_units(const weft_exchange_args_t &args, uint64_t bytes)
{
    const uint64_t units = (bytes + WEFT_UNIT_BYTES - 1) / WEFT_UNIT_BYTES;
    return units == 0 && args.conduit != nullptr ? 1 : units;
}

/* ---- units of 16 bytes ---- */

/* Unit `unit` of a block in the user's memory. Gaps of pair types are not touched. */
template <class Op>
WEFT_DEVICE weft_vector_t weft_load_unit(const void *block, uint64_t unit, uint64_t bytes)
{
    const char *from = weft_at(block, unit * WEFT_UNIT_BYTES);
    const unsigned here = weft_unit_bytes(unit, bytes);
    if constexpr (Op::is_dense) {
        return weft_load_packed(from, here);
    } else {
        constexpr unsigned BYTES = sizeof(typename Op::item), ITEMS = WEFT_UNIT_BYTES / BYTES;
        typename Op::item item[ITEMS] = {};
        weft_vector_t vector;
        WEFT_UNROLL for (unsigned i = 0; i < ITEMS; i++)
        {
            if (i * BYTES < here)
                item[i] = Op::load(from + i * BYTES);
        }
        memcpy(&vector, (const void *)item, sizeof(vector));
        return vector;
    }
}

template <class Op>
WEFT_DEVICE void weft_store_unit(void *block, uint64_t unit, uint64_t bytes,
                                 const weft_vector_t &vector)
{
    char *to = weft_at(block, unit * WEFT_UNIT_BYTES);
    const unsigned here = weft_unit_bytes(unit, bytes);
    if constexpr (Op::is_dense) {
        weft_store_packed(to, vector, here);
    } else {
        constexpr unsigned BYTES = sizeof(typename Op::item), ITEMS = WEFT_UNIT_BYTES / BYTES;
        typename Op::item item[ITEMS];
        memcpy((void *)item, &vector, sizeof(vector));
        WEFT_UNROLL for (unsigned i = 0; i < ITEMS; i++)
        {
            if (i * BYTES < here)
                Op::store(to + i * BYTES, item[i]);
        }
    }
}

/* ---- rows ---- */

WEFT_DEVICE void weft_push(void *row, uint64_t unit, const weft_vector_t &data, uint32_t flag)
{
    char *line = weft_at(row, unit * WEFT_UNIT_LINES_BYTES);
    weft_store_volatile(line, weft_vector_t{{data.word[0], flag, data.word[1], flag}});
    weft_store_volatile(line + sizeof(weft_vector_t),
                        weft_vector_t{{data.word[2], flag, data.word[3], flag}});
}

/* Waits for unit `unit` of ROWS rows, some of which may be the same; false if the kernel was called
 * off. The lines of all rows are loaded before the first is looked at. */
template <unsigned ROWS>
WEFT_DEVICE bool weft_pull(const weft_exchanger_t &waiter, const char *const *row, uint64_t unit,
                           weft_vector_t *out)
{
    weft_vector_t line[ROWS][2];
    weft_patience_t patience = {};
    WEFT_NO_UNROLL for (;;)
    {
        uint32_t unlike = 0;
        WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++)
        {
            const char *at = row[j] + unit * WEFT_UNIT_LINES_BYTES;
            line[j][0] = weft_load_volatile<weft_vector_t>(at);
            line[j][1] = weft_load_volatile<weft_vector_t>(at + sizeof(weft_vector_t));
        }
        WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++)
        {
            const uint32_t *first = line[j][0].word, *second = line[j][1].word;
            unlike |= (first[1] ^ waiter.flag) | (first[3] ^ waiter.flag) |
                      (second[1] ^ waiter.flag) | (second[3] ^ waiter.flag);
            out[j] = weft_vector_t{{first[0], first[2], second[0], second[2]}};
        }
        if (unlike == 0)
            return true;
        if (weft_is_in_vain(waiter, &patience))
            return false;
    }
}

/* ---- what a thread does ---- */

/* Members are taken from this one's successor on, so that not all ranks push to the same member at
 * once. */
WEFT_DEVICE uint32_t weft_other(const weft_exchange_args_t &args, uint32_t turn)
{
    return (args.member + turn) % args.members;
}

/* The units that a thread moves together: one with the same number for, or from, each of ROWS
 * members. Those of a member end before `units`. */
template <unsigned ROWS> struct weft_group_t {
    uint32_t index[ROWS];
    uint64_t units[ROWS], most;
};

template <unsigned ROWS, bool IS_OUT>
WEFT_DEVICE weft_group_t<ROWS> weft_group(const weft_exchange_args_t &args, uint32_t turn)
{
    weft_group_t<ROWS> group = {};
    WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++)
    {
        group.index[j] = weft_other(args, turn + j);
        const weft_exchange_side_t &side = args.side[group.index[j]];
        group.units[j] = turn + j < args.members
                             ? weft_units(args, IS_OUT ? side.out_bytes : side.in_bytes)
                             : 0;
        group.most = group.units[j] > group.most ? group.units[j] : group.most;
    }
    return group;
}

template <class Op, unsigned ROWS>
WEFT_DEVICE_ONCE void weft_push_blocks(const weft_exchanger_t waiter)
{
    const weft_exchange_args_t &args = waiter.args;
    weft_vector_t vector[ROWS];
    WEFT_NO_UNROLL for (uint32_t turn = 1; turn < args.members; turn += ROWS)
    {
        const weft_group_t<ROWS> group = weft_group<ROWS, true>(args, turn);
        WEFT_NO_UNROLL for (uint64_t unit = weft_thread(); unit < group.most;
                            unit += weft_threads())
        {
            WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++)
            {
                const weft_exchange_side_t &side = args.side[group.index[j]];
                if (unit < group.units[j])
                    vector[j] = weft_load_unit<Op>(side.from, unit, side.out_bytes);
            }
            WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++)
            {
                const weft_exchange_side_t &side = args.side[group.index[j]];
                if (unit < group.units[j])
                    weft_push(weft_at(side.outbox, waiter.part), unit, vector[j], waiter.flag);
            }
        }
    }
}

/* Takes what the others have pushed into this member's rows, `offset` bytes into each row. */
template <class Op, unsigned ROWS>
WEFT_DEVICE_ONCE void weft_pull_blocks(const weft_exchanger_t waiter, uint64_t offset)
{
    const weft_exchange_args_t &args = waiter.args;
    weft_vector_t vector[ROWS];
    const char *row[ROWS];
    WEFT_NO_UNROLL for (uint32_t turn = 1; turn < args.members; turn += ROWS)
    {
        const weft_group_t<ROWS> group = weft_group<ROWS, false>(args, turn);
        WEFT_NO_UNROLL for (uint64_t unit = weft_thread(); unit < group.most;
                            unit += weft_threads())
        {
            const void *any = nullptr;
            WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++) any =
                unit < group.units[j] ? args.side[group.index[j]].inbox : any;
            WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++) row[j] =
                weft_at(unit < group.units[j] ? args.side[group.index[j]].inbox : any,
                        waiter.part + offset);
            if (!weft_pull<ROWS>(waiter, row, unit, vector))
                return;
            WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++)
            {
                const weft_exchange_side_t &side = args.side[group.index[j]];
                if (unit < group.units[j])
                    weft_store_unit<Op>(side.to, unit, side.in_bytes, vector[j]);
            }
        }
    }
}

/* Combines unit `unit` of all operands in the order of members, and rounds as reduce.cuh does. In
 * place of rows that are not there another one is read again. */
template <class Op>
WEFT_DEVICE bool weft_combine_unit(const weft_exchanger_t &waiter, uint64_t unit,
                                   weft_vector_t *out)
{
    constexpr unsigned ITEMS = WEFT_UNIT_BYTES / sizeof(typename Op::item);
    constexpr bool IS_WIDE = sizeof(typename Op::value) > sizeof(typename Op::item);
    constexpr unsigned ROWS = ITEMS == WEFT_UNIT_BYTES ? 1 : IS_WIDE ? 2 : 3; /* in registers */
    const weft_exchange_args_t &args = waiter.args;
    const weft_exchange_side_t &own = args.side[args.member];
    const weft_vector_t mine = weft_load_unit<Op>(own.from, unit, own.in_bytes);
    weft_vector_t vector[ROWS];
    typename Op::item item[ITEMS];
    typename Op::value left[ITEMS] = {};
    const char *row[ROWS];
    WEFT_NO_UNROLL for (uint32_t first = 0; first < args.members; first += ROWS)
    {
        WEFT_UNROLL for (unsigned j = 0; j < ROWS; j++)
        {
            const bool is_other = first + j < args.members && first + j != args.member;
            const uint32_t index = is_other ? first + j : weft_other(args, 1);
            row[j] = weft_at(args.side[index].inbox, waiter.part);
        }
        if (args.members > 1 && !weft_pull<ROWS>(waiter, row, unit, vector))
            return false;
        WEFT_UNROLL for (unsigned j = 0; j < ROWS && first + j < args.members; j++)
        {
            if (first + j == args.member)
                vector[j] = mine;
            memcpy((void *)item, &vector[j], sizeof(mine));
            WEFT_UNROLL for (unsigned i = 0; i < ITEMS; i++) left[i] =
                first == 0 && j == 0
                    ? Op::raise(item[i])
                    : weft_rounded<Op>(Op::apply(left[i], Op::raise(item[i])), args.rounds);
        }
    }
    WEFT_UNROLL for (unsigned i = 0; i < ITEMS; i++) item[i] = Op::lower(left[i]);
    memcpy(out, (const void *)item, sizeof(*out));
    return true;
}

template <class Op> WEFT_DEVICE bool weft_combine_blocks(const weft_exchanger_t &waiter)
{
    const weft_exchange_args_t &args = waiter.args;
    const weft_exchange_side_t &own = args.side[args.member];
    const uint64_t units = weft_units(args, own.in_bytes);
    weft_vector_t result;
    for (uint64_t unit = weft_thread(); unit < units; unit += weft_threads()) {
        if (!weft_combine_unit<Op>(waiter, unit, &result))
            return false;
        weft_store_unit<Op>(own.to, unit, own.in_bytes, result);
        WEFT_NO_UNROLL for (uint32_t turn = 1; turn < args.members && args.results > 0; turn++)
        {
            void *outbox = args.side[weft_other(args, turn)].outbox;
            weft_push(weft_at(outbox, waiter.part + args.results), unit, result, waiter.flag);
        }
    }
    return true;
}

/* The operation of kernels that only move blocks; most exchanges share this code. */
struct weft_bytes_t {
    typedef unsigned char item;
    static constexpr bool is_dense = true;
};

template <bool IS_DENSE, class Op> struct weft_mover_t {
    typedef weft_bytes_t type;
};
template <class Op> struct weft_mover_t<false, Op> {
    typedef Op type;
};

/* Each member combines the blocks that it receives; in an allreduce of two shots, it then sends its
 * result to all. */
template <class Op> WEFT_DEVICE void weft_exchange(const weft_exchange_args_t &args)
{
    typedef typename weft_mover_t<Op::is_dense, Op>::type mover;
    weft_exchanger_t waiter = weft_waiter(args);
    if (weft_begin(&waiter)) {
        weft_push_blocks<mover, 1>(waiter);
        if (weft_combine_blocks<Op>(waiter) && args.results > 0)
            weft_pull_blocks<mover, 1>(waiter, args.results);
    }
    weft_end(waiter);
}

#endif
