/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of a reduction. An operation is a struct Op with
 *
 *   item     the type of an element in memory
 *   value    the type to compute with: wider than the item for floats of 16 and 8 bits, so that
 *            all sources of a launch are rounded once
 *   is_dense items may move 16 bytes at a time: they have no gaps, and 16 bytes hold a whole number
 *   load(address), store(address, value)   an item at any address
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

/* Reduces 16 bytes of each source, at `offset`. Two loads are under way at once: a single one would
 * not keep memory busy where many sources leave a thread little other work. */
template <class Op>
WEFT_DEVICE void weft_reduce_vector(const weft_reduce_args_t &args, uint64_t offset)
{
    constexpr unsigned ITEMS = sizeof(weft_vector_t) / sizeof(typename Op::item);
    typename Op::item item[ITEMS];
    typename Op::value left[ITEMS];
    weft_vector_t vector = weft_load<weft_vector_t>(weft_at(weft_reduce_source(args, 0), offset));
    memcpy((void *)item, &vector, sizeof(vector));
    WEFT_UNROLL for (unsigned i = 0; i < ITEMS; i++) left[i] = Op::raise(item[i]);
    WEFT_UNROLL_2 for (uint32_t s = 1; s < args.sources; s++)
    {
        vector = weft_load<weft_vector_t>(weft_at(weft_reduce_source(args, s), offset));
        memcpy((void *)item, &vector, sizeof(vector));
        WEFT_UNROLL for (unsigned i = 0; i < ITEMS; i++) left[i] =
            weft_rounded<Op>(Op::apply(left[i], Op::raise(item[i])), args.rounds);
    }
    WEFT_UNROLL for (unsigned i = 0; i < ITEMS; i++) item[i] = Op::lower(left[i]);
    memcpy(&vector, (const void *)item, sizeof(vector));
    WEFT_NO_UNROLL for (uint32_t d = 0; d < args.destinations; d++)
        weft_store(weft_at(weft_reduce_destination(args, d), offset), vector);
}

template <class Op>
WEFT_DEVICE void weft_reduce_item(const weft_reduce_args_t &args, uint64_t offset)
{
    typename Op::value left = Op::raise(Op::load(weft_at(weft_reduce_source(args, 0), offset)));
    WEFT_NO_UNROLL for (uint32_t s = 1; s < args.sources; s++) left = weft_rounded<Op>(
        Op::apply(left, Op::raise(Op::load(weft_at(weft_reduce_source(args, s), offset)))),
        args.rounds);
    WEFT_NO_UNROLL for (uint32_t d = 0; d < args.destinations; d++)
        Op::store(weft_at(weft_reduce_destination(args, d), offset), Op::lower(left));
}

template <class Op> WEFT_DEVICE void weft_reduce(const weft_reduce_args_t &args)
{
    constexpr uint64_t BYTES = sizeof(typename Op::item), ITEMS = sizeof(weft_vector_t) / BYTES;
    const uint64_t loose = args.count - args.vectors * ITEMS, head_bytes = args.head * BYTES;
    if constexpr (Op::is_dense) {
        for (uint64_t v = weft_thread(); v < args.vectors; v += weft_threads())
            weft_reduce_vector<Op>(args, head_bytes + v * sizeof(weft_vector_t));
    }
    for (uint64_t i = weft_thread(); i < loose; i += weft_threads())
        weft_reduce_item<Op>(args, (i < args.head ? i : i + args.vectors * ITEMS) * BYTES);
}

#endif
