/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce through an object of multicast memory, by a kernel on each member's device
 * (kernel_args.h has the layout). With b blocks, a block takes every b-th piece of the operand:
 *
 *   bring    copies its own piece into its own memory, and tells all: "brought"
 *   reduce   when all have brought theirs: each member has the switch add up its slice of the
 *            piece and store it to all, and tells all: "reduced"
 *   take     when all have reduced theirs: copies the result out of its own memory
 *
 * While it waits for the others it brings the next piece, into the other of two slots. The waits
 * come to an end for these reasons: block b waits only for what the blocks b of the others tell,
 * all launch equally many blocks, and each tells before it waits. All tell the same numbers in the
 * same order, each in a word of its own, so a number stands for all before it. After a kernel
 * has ended well no other kernel touches its memory, as all have told their last number.
 */
#ifndef WEFT_CUDA_KERNELS_MULTICAST_CUH
#define WEFT_CUDA_KERNELS_MULTICAST_CUH

#ifdef WEFT_KERNELS_ON_HOST
#include "cuda/kernels/multimem_on_host.cuh"
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#include "cuda/kernels/multimem_on_device.cuh"
#else
#include "cuda/kernels/multimem_on_older.cuh"
#endif

#include "cuda/kernels/unit.cuh"
#include "cuda/kernels/waiter.cuh"

/* Units that a thread has under way at once, since an access through the switch takes long. */
enum { WEFT_MULTICAST_UNITS = 4 };

/* The piece that this block takes in a turn: its place in the operand, its bytes (0: there is
 * none), and its slot. */
struct weft_multicast_piece_t {
    uint64_t offset, bytes, slot;
};

WEFT_DEVICE weft_multicast_piece_t weft_multicast_piece(const weft_multicast_args_t &args,
                                                        uint64_t turn)
{
    const uint64_t offset = (weft_block() + turn * weft_blocks()) * args.piece;
    const uint64_t left = offset < args.bytes ? args.bytes - offset : 0;
    return {offset, left < args.piece ? left : args.piece,
            weft_block() * WEFT_MULTICAST_AREA + WEFT_MULTICAST_LINE +
                turn % 2 * WEFT_MULTICAST_PIECE};
}

/* ---- telling and waiting ---- */

/* The numbers that a block tells in a turn. They ascend in the order of telling, and differ from
 * those of all other launches. */
WEFT_DEVICE uint64_t weft_brought(const weft_multicast_args_t &args, uint64_t turn)
{
    return ((uint64_t)args.flag << 32) + 2 * turn;
}

WEFT_DEVICE uint64_t weft_reduced(const weft_multicast_args_t &args, uint64_t turn)
{
    return ((uint64_t)args.flag << 32) + 2 * turn + 3;
}

/* All earlier accesses of this block are visible before the number is. */
WEFT_DEVICE void weft_tell(const weft_multicast_args_t &args, uint64_t number)
{
    const uint64_t word = weft_block() * WEFT_MULTICAST_AREA + args.member * sizeof(uint64_t);
    weft_block_all(true);
    if (weft_block_thread() == 0)
        weft_multicast_signal(weft_at(args.all, word), number);
}

WEFT_DEVICE bool weft_await_word(const weft_waiter_t<weft_multicast_args_t> &waiter,
                                 const void *word, uint64_t number)
{
    weft_patience_t patience = {};
    while (weft_load_acquire<uint64_t>(word) < number) {
        if (weft_is_in_vain(waiter, &patience))
            return false;
    }
    return true;
}

/* Waits until all have told the number; false if the kernel was called off. */
WEFT_DEVICE_ONCE bool weft_await(const weft_multicast_args_t &args, uint64_t number)
{
    const weft_waiter_t<weft_multicast_args_t> waiter = weft_waiter(args);
    const char *line = weft_at(args.own, weft_block() * WEFT_MULTICAST_AREA);
    bool is_there = true;
    WEFT_NO_UNROLL for (uint32_t m = weft_block_thread(); m < args.members && is_there;
                        m += weft_block_threads())
        is_there = weft_await_word(waiter, line + m * sizeof(uint64_t), number);
    weft_multicast_see();
    return weft_block_all(is_there);
}

/* ---- work ---- */

/* One side is a slot, which is aligned; the other side has any alignment. */
WEFT_DEVICE_ONCE void weft_carry(void *to, const void *from, uint64_t bytes)
{
    const uint64_t units = (bytes + WEFT_UNIT_BYTES - 1) / WEFT_UNIT_BYTES;
    const uint64_t step = weft_block_threads();
    WEFT_NO_UNROLL for (uint64_t first = weft_block_thread(); first < units;
                        first += WEFT_MULTICAST_UNITS * step)
    {
        weft_vector_t vector[WEFT_MULTICAST_UNITS];
        unsigned here[WEFT_MULTICAST_UNITS];
        WEFT_UNROLL for (unsigned i = 0; i < WEFT_MULTICAST_UNITS; i++)
        {
            const uint64_t unit = first + i * step;
            here[i] = unit < units ? weft_unit_bytes(unit, bytes) : 0;
            vector[i] = weft_load_packed(weft_at(from, unit * WEFT_UNIT_BYTES), here[i]);
        }
        WEFT_UNROLL for (unsigned i = 0; i < WEFT_MULTICAST_UNITS; i++)
            weft_store_packed(weft_at(to, (first + i * step) * WEFT_UNIT_BYTES), vector[i],
                              here[i]);
    }
}

WEFT_DEVICE void weft_bring(const weft_multicast_args_t &args, uint64_t turn)
{
    const weft_multicast_piece_t piece = weft_multicast_piece(args, turn);
    if (piece.bytes == 0)
        return;
    weft_carry(weft_at(args.own, piece.slot), weft_at(args.from, piece.offset), piece.bytes);
    weft_tell(args, weft_brought(args, turn));
}

template <class Reduced>
WEFT_DEVICE void weft_reduce_slice(const weft_multicast_args_t &args,
                                   const weft_multicast_piece_t &piece)
{
    const uint64_t units = (piece.bytes + WEFT_UNIT_BYTES - 1) / WEFT_UNIT_BYTES;
    const uint64_t step = weft_block_threads();
    const uint64_t slice = (units + args.members - 1) / args.members, begin = slice * args.member;
    const uint64_t end = begin + slice < units ? begin + slice : units;
    char *slot = weft_at(args.all, piece.slot);
    WEFT_NO_UNROLL for (uint64_t first = begin + weft_block_thread(); first < end;
                        first += WEFT_MULTICAST_UNITS * step)
    {
        weft_vector_t vector[WEFT_MULTICAST_UNITS];
        WEFT_UNROLL for (unsigned i = 0; i < WEFT_MULTICAST_UNITS; i++)
        {
            if (first + i * step < end)
                vector[i] = Reduced::load(slot + (first + i * step) * WEFT_UNIT_BYTES);
        }
        WEFT_UNROLL for (unsigned i = 0; i < WEFT_MULTICAST_UNITS; i++)
        {
            if (first + i * step < end)
                weft_multicast_store(slot + (first + i * step) * WEFT_UNIT_BYTES, vector[i]);
        }
    }
}

template <class Reduced> WEFT_DEVICE void weft_multicast(const weft_multicast_args_t &args)
{
    weft_bring(args, 0);
    for (uint64_t turn = 0; weft_multicast_piece(args, turn).bytes > 0; turn++) {
        const weft_multicast_piece_t piece = weft_multicast_piece(args, turn);
        weft_bring(args, turn + 1);
        if (!weft_await(args, weft_brought(args, turn)))
            return;
        weft_reduce_slice<Reduced>(args, piece);
        weft_tell(args, weft_reduced(args, turn));
        if (!weft_await(args, weft_reduced(args, turn)))
            return;
        weft_carry(weft_at(args.to, piece.offset), weft_at(args.own, piece.slot), piece.bytes);
    }
}

#endif
