/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of a reduction. An operation is a struct Op with
 *
 *   item     the type of an element in memory
 *   value    the type to compute with: wider than the item for floats of 16 and 8 bits, so that
 *            all sources of a launch are rounded once
 *   is_dense items may move 16 bytes at a time: they have no gaps, and 16 bytes hold a whole number
 *   load(address), store(address, value)   an item at any address
 *   load_aligned(address)                  an item at an address that is aligned for it
 *   raise(item), lower(value)              convert between the two
 *   apply(left, right)                     the operation
 */
#ifndef WEFT_CUDA_KERNELS_REDUCE_CUH
#define WEFT_CUDA_KERNELS_REDUCE_CUH

#include "cuda/kernels/kernel.cuh"

WEFT_DEVICE const void *weft_reduce_source(const weft_reduce_args_t &args, uint32_t index)
{
    return args.list == nullptr ? args.source[index] : weft_load<const void *>(args.list + index);
}

WEFT_DEVICE void *weft_reduce_destination(const weft_reduce_args_t &args, uint32_t index)
{
    return args.list == nullptr ? args.destination[index]
                                : weft_load<void *>(args.list + args.sources + index);
}

/* What a thread takes of each source at a time: 16 bytes of items, or one item. Where the addresses
 * are aligned it loads LOADS sources before it uses the first, since a load takes far longer than
 * what is done with its result; what is left it takes by LOADS / FEWER, and so on, down to one.
 * LOADS is small where many items need many instructions: the image would become large. */
template <class Op> struct weft_vectors_t {
    typedef weft_vector_t unit;
    static constexpr unsigned ITEMS = sizeof(unit) / sizeof(typename Op::item);
    static constexpr unsigned LOADS = ITEMS == 16 ? 2 : 8, FEWER = 2;
    static WEFT_DEVICE bool are_aligned(const weft_reduce_args_t &)
    {
        return true;
    }
    template <bool IS_ALIGNED> static WEFT_DEVICE unit load(const void *address)
    {
        return weft_load<unit>(address);
    }
    static WEFT_DEVICE void store(void *address, const unit &value)
    {
        weft_store(address, value);
    }
};

template <class Op> struct weft_items_t {
    typedef typename Op::item unit;
    static constexpr bool IS_LONG = sizeof(unit) == 1 && sizeof(typename Op::value) > 1;
    static constexpr unsigned ITEMS = 1, LOADS = IS_LONG ? 2 : 8, FEWER = 4;
    static WEFT_DEVICE bool are_aligned(const weft_reduce_args_t &args)
    {
        return args.address_bits % alignof(unit) == 0;
    }
    template <bool IS_ALIGNED> static WEFT_DEVICE unit load(const void *address)
    {
        if constexpr (IS_ALIGNED)
            return Op::load_aligned(address);
        else
            return Op::load(address);
    }
    static WEFT_DEVICE void store(void *address, const unit &value)
    {
        Op::store(address, value);
    }
};

/* A value, or what is left of it when it is stored as an item. */
template <class Op>
WEFT_DEVICE typename Op::value weft_rounded(const typename Op::value &value, uint32_t rounds)
{
    if constexpr (sizeof(typename Op::value) != sizeof(typename Op::item)) {
        if (rounds)
            return Op::raise(Op::lower(value));
    }
    return value;
}

/* Combines the sources from number `taken` on with `left`, what those before have given. */
template <class Op, class Units, unsigned LOADS>
WEFT_DEVICE void weft_take_sources(const weft_reduce_args_t &args, uint64_t offset, uint32_t taken,
                                   typename Op::value *left)
{
    typename Op::item item[Units::ITEMS];
    typename Units::unit unit[LOADS];
    const uint32_t end = LOADS == 1 || Units::are_aligned(args) ? args.sources : taken;
    WEFT_NO_UNROLL for (; end - taken >= LOADS; taken += LOADS)
    {
        WEFT_UNROLL for (unsigned j = 0; j < LOADS; j++) unit[j] =
            Units::template load<(LOADS > 1)>(weft_at(weft_reduce_source(args, taken + j), offset));
        WEFT_UNROLL for (unsigned j = 0; j < LOADS; j++)
        {
            memcpy((void *)item, (const void *)&unit[j], sizeof(unit[j]));
            WEFT_UNROLL for (unsigned i = 0; i < Units::ITEMS; i++) left[i] =
                taken == 0 && j == 0
                    ? Op::raise(item[i])
                    : weft_rounded<Op>(Op::apply(left[i], Op::raise(item[i])), args.rounds);
        }
    }
    constexpr unsigned NEXT = LOADS > Units::FEWER ? LOADS / Units::FEWER : 1;
    if constexpr (LOADS > 1)
        weft_take_sources<Op, Units, NEXT>(args, offset, taken, left);
}

/* Reduces a unit of each source, at `offset`. */
template <class Op, class Units>
WEFT_DEVICE void weft_reduce_unit(const weft_reduce_args_t &args, uint64_t offset)
{
    typename Op::value left[Units::ITEMS] = {};
    typename Op::item item[Units::ITEMS];
    typename Units::unit unit;
    weft_take_sources<Op, Units, Units::LOADS>(args, offset, 0, left);
    WEFT_UNROLL for (unsigned i = 0; i < Units::ITEMS; i++) item[i] = Op::lower(left[i]);
    memcpy((void *)&unit, (const void *)item, sizeof(unit));
    WEFT_NO_UNROLL for (uint32_t d = 0; d < args.destinations; d++)
        Units::store(weft_at(weft_reduce_destination(args, d), offset), unit);
}

template <class Op> WEFT_DEVICE void weft_reduce(const weft_reduce_args_t &args)
{
    constexpr uint64_t BYTES = sizeof(typename Op::item), ITEMS = sizeof(weft_vector_t) / BYTES;
    const uint64_t loose = args.count - args.vectors * ITEMS, head_bytes = args.head * BYTES;
    if constexpr (Op::is_dense) {
        for (uint64_t v = weft_thread(); v < args.vectors; v += weft_threads())
            weft_reduce_unit<Op, weft_vectors_t<Op>>(args, head_bytes + v * sizeof(weft_vector_t));
    }
    for (uint64_t i = weft_thread(); i < loose; i += weft_threads())
        weft_reduce_unit<Op, weft_items_t<Op>>(
            args, (i < args.head ? i : i + args.vectors * ITEMS) * BYTES);
}

#endif
