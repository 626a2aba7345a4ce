/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives through an object of multicast memory, by a kernel on each member's device
 * (kernel_args.h has the layout). With b blocks, a block takes every b-th piece of the data:
 *
 *   bring   puts what the switch adds up into its own memory, and tells all: "brought"
 *   pass    when all have brought theirs: has the switch do its work, and tells all: "passed"
 *   take    when all have passed theirs: copies the result out of its own memory
 *
 *                    bring           pass                                      take
 *   allreduce        its operand     its slice of the piece is added up and    the result
 *                                    stored to all
 *   reduce-scatter   all blocks      its own block is added up, and goes       -
 *                                    where the member wants it
 *   reduce          as a reduce-scatter whose only block is the root's
 *   broadcast        -               the root's data are stored to all         the data
 *   allgather        -               its block is stored to all                the blocks
 *
 * Data in bound memory, which the switch reaches, are not brought or taken: what is added up is
 * loaded from there, and what goes to all is stored there, except for a last unit that is not
 * whole. That goes through a slot.
 *
 * Where there is nothing to bring, "brought" says that the slot is free, and that bound memory may
 * be used. While it waits for the others a member brings the next piece, into the other of two
 * slots. If all blocks had pieces of one size, they would all copy at the same time and then all
 * use the switch, which is idle while they copy: a third of the time, by counted bytes
 * (docs/device.md). So in long pipelines the first pieces differ, from a small one of the first
 * block to a whole one of the last block: from then on some blocks bring while others pass and
 * others take. (Blocks with one role each would have to run at the same time on a device, since
 * they would wait for each other.)
 *
 * The waits come to an end for
 * these reasons: block b waits only for what the blocks b of the others tell, all launch equally
 * many blocks, and each tells before it waits, also where it has nothing to pass. All tell the same
 * numbers in the same order, each in a word of its own, so a number stands for all before it. After
 * a kernel has ended well no other kernel touches its memory, as all have told their last number.
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

/* What this block takes in a turn: where it begins in each portion, its length, and where its slot
 * lies. */
struct weft_multicast_piece_t {
    uint64_t offset, bytes, slot;
};

/* The first pieces of blocks 0, 1, 2 ... are 1, 2, 3 ... times args.first long. */
WEFT_DEVICE weft_multicast_piece_t weft_multicast_piece(const weft_multicast_args_t &args,
                                                        uint64_t turn)
{
    const uint64_t block = weft_block(), blocks = weft_blocks();
    const uint64_t slots = block * WEFT_MULTICAST_AREA + WEFT_MULTICAST_LINE;
    const uint64_t slot = slots + turn % 2 * WEFT_MULTICAST_SLOT;
    if (args.first == 0)
        return {(block + turn * blocks) * args.piece, args.piece, slot};
    if (turn == 0)
        return {args.first * (block * (block + 1) / 2), args.first * (block + 1), slot};
    const uint64_t all_first = args.first * (blocks * (blocks + 1) / 2);
    return {all_first + (block + (turn - 1) * blocks) * args.piece, args.piece, slot};
}

WEFT_DEVICE bool weft_has_turn(const weft_multicast_args_t &args, uint64_t turn)
{
    return weft_multicast_piece(args, turn).offset < args.bytes;
}

/* The bytes of portion `index` in a piece; portions may be shorter than the longest. */
WEFT_DEVICE uint64_t weft_piece_bytes(const weft_multicast_args_t &args,
                                      const weft_multicast_piece_t &piece, uint32_t index)
{
    const uint64_t bytes = args.portion[index].bytes;
    const uint64_t left = piece.offset < bytes ? bytes - piece.offset : 0;
    return left < piece.bytes ? left : piece.bytes;
}

/* Where portion `index` has its place in a slot. */
WEFT_DEVICE char *weft_row(const weft_multicast_args_t &args, const weft_multicast_piece_t &piece,
                           uint32_t index, void *memory)
{
    return weft_at(memory, piece.slot + (uint64_t)index * args.row);
}

/* ---- telling and waiting ---- */

/* The numbers that a block tells in a turn. They ascend in the order of telling, and differ from
 * those of all other launches. */
WEFT_DEVICE uint64_t weft_brought(const weft_multicast_args_t &args, uint64_t turn)
{
    return ((uint64_t)args.flag << 32) + 2 * turn;
}

WEFT_DEVICE uint64_t weft_passed(const weft_multicast_args_t &args, uint64_t turn)
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

/* The two ends of a copy: 16 bytes of this device's memory, at any address; of the memory of all
 * members; of all members, added up. The last two take whole units: a slot has room for them. */
struct weft_local_t {
    static WEFT_DEVICE weft_vector_t load(const char *from, unsigned bytes)
    {
        return weft_load_packed(from, bytes);
    }
    static WEFT_DEVICE void store(char *to, const weft_vector_t &vector, unsigned bytes)
    {
        weft_store_packed(to, vector, bytes);
    }
};

struct weft_everywhere_t {
    static WEFT_DEVICE void store(char *to, const weft_vector_t &vector, unsigned bytes)
    {
        if (bytes > 0)
            weft_multicast_store(to, vector);
    }
};

template <class Reduced> struct weft_added_up_t {
    static WEFT_DEVICE weft_vector_t load(const char *from, unsigned bytes)
    {
        weft_vector_t vector = {};
        if (bytes > 0)
            vector = Reduced::load(from);
        return vector;
    }
};

template <class From, class To>
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
            vector[i] = From::load(weft_at(from, unit * WEFT_UNIT_BYTES), here[i]);
        }
        WEFT_UNROLL for (unsigned i = 0; i < WEFT_MULTICAST_UNITS; i++)
            To::store(weft_at(to, (first + i * step) * WEFT_UNIT_BYTES), vector[i], here[i]);
    }
}

/* Copies what this member gives into a slot of its own memory. */
WEFT_DEVICE void weft_bring_portions(const weft_multicast_args_t &args,
                                     const weft_multicast_piece_t &piece)
{
    WEFT_NO_UNROLL for (uint32_t i = 0; i < args.portions; i++)
    {
        if (args.portion[i].from != nullptr && args.portion[i].from_all == nullptr)
            weft_carry<weft_local_t, weft_local_t>(weft_row(args, piece, i, args.own),
                                                   weft_at(args.portion[i].from, piece.offset),
                                                   weft_piece_bytes(args, piece, i));
    }
}

/* Where the memory of all has what is added up. */
WEFT_DEVICE const char *weft_added(const weft_multicast_args_t &args,
                                   const weft_multicast_piece_t &piece, uint32_t index)
{
    const void *bound = args.portion[index].from_all;
    return bound == nullptr ? weft_row(args, piece, index, args.all) : weft_at(bound, piece.offset);
}

/* Gets what this member wants of what is added up. */
template <class Reduced>
WEFT_DEVICE void weft_get_sums(const weft_multicast_args_t &args,
                               const weft_multicast_piece_t &piece)
{
    WEFT_NO_UNROLL for (uint32_t i = 0; i < args.portions; i++)
    {
        if (args.portion[i].to != nullptr)
            weft_carry<weft_added_up_t<Reduced>, weft_local_t>(
                weft_at(args.portion[i].to, piece.offset), weft_added(args, piece, i),
                weft_piece_bytes(args, piece, i));
    }
}

/* How many of a piece's bytes are stored straight into the bound memory of all. */
WEFT_DEVICE uint64_t weft_straight(const weft_multicast_portion_t &portion, uint64_t bytes)
{
    return portion.to_all == nullptr ? 0 : bytes / WEFT_UNIT_BYTES * WEFT_UNIT_BYTES;
}

/* What a member sends to all: bytes from `begin` on of its piece of a portion. */
struct weft_parcel_t {
    const void *from;
    uint64_t begin, bytes;
};

/* Where the bytes from `offset` on of a piece lie in its row, which may be one unit long. */
WEFT_DEVICE uint64_t weft_in_row(const weft_multicast_args_t &args, uint64_t offset)
{
    return args.row > WEFT_UNIT_BYTES ? offset : 0;
}

/* Stores it to all: into bound memory, or slots, to which the last unit goes in any case if it is
 * not whole. */
template <class From>
WEFT_DEVICE void weft_spread(const weft_multicast_args_t &args, const weft_multicast_piece_t &piece,
                             uint32_t index, const weft_parcel_t &parcel)
{
    const weft_multicast_portion_t &portion = args.portion[index];
    const uint64_t straight = weft_straight(portion, parcel.bytes);
    char *row = weft_row(args, piece, index, args.all);
    if (straight > 0)
        weft_carry<From, weft_everywhere_t>(weft_at(portion.to_all, piece.offset + parcel.begin),
                                            parcel.from, straight);
    weft_carry<From, weft_everywhere_t>(weft_at(row, weft_in_row(args, parcel.begin + straight)),
                                        weft_at(parcel.from, straight), parcel.bytes - straight);
}

/* Copies what this member gets out of a slot of its own memory. */
WEFT_DEVICE void weft_take_portions(const weft_multicast_args_t &args,
                                    const weft_multicast_piece_t &piece)
{
    WEFT_NO_UNROLL for (uint32_t i = 0; i < args.portions; i++)
    {
        const weft_multicast_portion_t &portion = args.portion[i];
        const uint64_t bytes = weft_piece_bytes(args, piece, i);
        const uint64_t straight = weft_straight(portion, bytes);
        const char *row = weft_row(args, piece, i, args.own);
        if (portion.to != nullptr)
            weft_carry<weft_local_t, weft_local_t>(weft_at(portion.to, piece.offset + straight),
                                                   weft_at(row, weft_in_row(args, straight)),
                                                   bytes - straight);
    }
}

/* Of an allreduce, which has one portion: each member has a slice of the piece added up. */
template <class Reduced>
WEFT_DEVICE void weft_reduce_slice(const weft_multicast_args_t &args,
                                   const weft_multicast_piece_t &piece)
{
    const uint64_t bytes = weft_piece_bytes(args, piece, 0);
    const uint64_t units = (bytes + WEFT_UNIT_BYTES - 1) / WEFT_UNIT_BYTES;
    const uint64_t slice = (units + args.members - 1) / args.members * WEFT_UNIT_BYTES;
    const uint64_t begin = slice * args.member, left = begin < bytes ? bytes - begin : 0;
    const weft_parcel_t parcel = {weft_at(weft_added(args, piece, 0), begin), begin,
                                  left < slice ? left : slice};
    weft_spread<weft_added_up_t<Reduced>>(args, piece, 0, parcel);
}

/* The parts of the pipeline that differ between collectives. */
template <class Reduced> struct weft_reduction_t {
    static WEFT_DEVICE void bring(const weft_multicast_args_t &args,
                                  const weft_multicast_piece_t &piece)
    {
        weft_bring_portions(args, piece);
    }
    static WEFT_DEVICE void pass(const weft_multicast_args_t &args,
                                 const weft_multicast_piece_t &piece)
    {
        if (args.scatters)
            weft_get_sums<Reduced>(args, piece);
        else
            weft_reduce_slice<Reduced>(args, piece);
    }
};

struct weft_movement_t {
    static WEFT_DEVICE void bring(const weft_multicast_args_t &, const weft_multicast_piece_t &)
    {
    }
    static WEFT_DEVICE void pass(const weft_multicast_args_t &args,
                                 const weft_multicast_piece_t &piece)
    {
        WEFT_NO_UNROLL for (uint32_t i = 0; i < args.portions; i++)
        {
            const void *from = args.portion[i].from;
            if (from != nullptr)
                weft_spread<weft_local_t>(
                    args, piece, i,
                    {weft_at(from, piece.offset), 0, weft_piece_bytes(args, piece, i)});
        }
    }
};

template <class Work> WEFT_DEVICE void weft_bring(const weft_multicast_args_t &args, uint64_t turn)
{
    if (!weft_has_turn(args, turn))
        return;
    Work::bring(args, weft_multicast_piece(args, turn));
    weft_tell(args, weft_brought(args, turn));
}

template <class Work> WEFT_DEVICE void weft_multicast(const weft_multicast_args_t &args)
{
    weft_bring<Work>(args, 0);
    for (uint64_t turn = 0; weft_has_turn(args, turn); turn++) {
        const weft_multicast_piece_t piece = weft_multicast_piece(args, turn);
        weft_bring<Work>(args, turn + 1);
        if (!weft_await(args, weft_brought(args, turn)))
            return;
        Work::pass(args, piece);
        weft_tell(args, weft_passed(args, turn));
        if (!weft_await(args, weft_passed(args, turn)))
            return;
        if (!args.scatters)
            weft_take_portions(args, piece);
    }
}

#endif
