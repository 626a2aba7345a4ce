/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pack, unpack, and copies between two layouts: bytes [begin, end) of the packed stream move from
 * one side to the other, each of which is typed memory or a packed range.
 *
 *   weft_move_<N>     a thread moves N bytes: N divides every length and offset of both sides
 *   weft_move_spans   a team moves a run of bytes: for long runs that are not aligned
 *   ..._parts         the same for shapes with lists of parts
 */
#include "cuda/kernels/copy_span.cuh"
#include "datatype/layout.h"

/* Where a byte of the stream lies, and how many bytes from it on are contiguous. */
struct weft_spot_t {
    int64_t offset;
    uint64_t together;
};

static WEFT_DEVICE uint64_t weft_divide(uint64_t n, const weft_divisor_t &by)
{
    return by.magic == 0 ? n : weft_upper_product(n, by.magic) >> by.shift;
}

/* Removes the whole items from the position; returns their distance in memory. */
static WEFT_DEVICE int64_t weft_descend(const weft_shape_level_t &level, uint64_t *position)
{
    const uint64_t items = weft_divide(*position, level.item);
    *position -= items * level.item.value;
    return (int64_t)items * level.stride;
}

/* A list in the image. */
template <class Entry>
WEFT_DEVICE const Entry *weft_list(const weft_move_side_t &side, uint64_t offset)
{
    return (const Entry *)weft_at(side.image, offset);
}

template <class Entry>
WEFT_DEVICE uint64_t weft_find(const Entry *list, uint64_t count, uint64_t position)
{
    return weft_entry_with(position, count,
                           [list](uint64_t i) { return weft_load_member(&list[i].start); });
}

static WEFT_DEVICE weft_spot_t weft_spot_in_leaf(const weft_move_side_t &side,
                                                 const weft_shape_node_t &node, uint64_t position)
{
    if (node.leaf == WEFT_LEAF_BLOCK)
        return {(int64_t)position, node.block.value - position};
    if (node.leaf == WEFT_LEAF_BLOCKS) {
        const uint64_t i = weft_divide(position, node.block);
        position -= i * node.block.value;
        const int64_t place = weft_load<int64_t>(weft_list<int64_t>(side, node.list) + i);
        return {place + (int64_t)position, node.block.value - position};
    }
    const weft_shape_run_t *runs = weft_list<weft_shape_run_t>(side, node.list);
    const weft_shape_run_t *run = runs + weft_find(runs, node.list_count, position);
    const int64_t shift = weft_load_member(&run->offset) - (int64_t)weft_load_member(&run->start);
    return {shift + (int64_t)position, weft_load_member(&run[1].start) - position};
}

static WEFT_DEVICE int64_t weft_descend_node(const weft_shape_node_t &node, uint64_t *position)
{
    int64_t offset = node.offset;
    for (uint32_t i = node.levels; i-- > 0;)
        offset += weft_descend(node.level[i], position);
    return offset;
}

static WEFT_DEVICE weft_divisor_t weft_load_divisor(const weft_divisor_t *from)
{
    return {weft_load_member(&from->value), weft_load_member(&from->magic),
            weft_load_member(&from->shift)};
}

static WEFT_DEVICE weft_shape_level_t weft_load_level(const weft_shape_level_t *from)
{
    return {weft_load_divisor(&from->item), weft_load_member(&from->stride)};
}

/* Loads a node of the image: only its levels and the fields of its leaf are set. */
static WEFT_DEVICE void weft_load_node(const weft_shape_node_t *from, weft_shape_node_t *out)
{
    out->leaf = weft_load_member(&from->leaf);
    out->block = weft_load_divisor(&from->block);
    out->list = weft_load_member(&from->list);
    out->list_count = weft_load_member(&from->list_count);
}

static WEFT_DEVICE int64_t weft_descend_stored(const weft_shape_node_t *node, uint64_t *position)
{
    int64_t offset = weft_load_member(&node->offset);
    for (uint32_t i = weft_load_member(&node->levels); i-- > 0;)
        offset += weft_descend(weft_load_level(&node->level[i]), position);
    return offset;
}

/* Walks from part to part, down to a node that has no parts. */
static WEFT_DEVICE weft_spot_t weft_spot_in_parts(const weft_move_side_t &side, int64_t offset,
                                                  uint64_t position)
{
    weft_shape_node_t node = {};
    node.leaf = side.root.leaf;
    node.list = side.root.list;
    node.list_count = side.root.list_count;
    while (node.leaf == WEFT_LEAF_PARTS) {
        const weft_shape_part_t *parts = weft_list<weft_shape_part_t>(side, node.list);
        const weft_shape_part_t *part = parts + weft_find(parts, node.list_count, position);
        position -= weft_load_member(&part->start);
        offset += weft_load_member(&part->offset);
        offset += weft_descend(weft_load_level(&part->repeated), &position);
        const auto *stored = weft_list<weft_shape_node_t>(side, weft_load_member(&part->node));
        offset += weft_descend_stored(stored, &position);
        weft_load_node(stored, &node);
    }
    const weft_spot_t spot = weft_spot_in_leaf(side, node, position);
    return {offset + spot.offset, spot.together};
}

template <bool HAS_PARTS>
WEFT_DEVICE weft_spot_t weft_spot(const weft_move_side_t &side, uint64_t position)
{
    const int64_t offset = weft_descend_node(side.root, &position);
    if constexpr (HAS_PARTS) {
        if (side.root.leaf == WEFT_LEAF_PARTS)
            return weft_spot_in_parts(side, offset, position);
    }
    const weft_spot_t spot = weft_spot_in_leaf(side, side.root, position);
    return {offset + spot.offset, spot.together};
}

template <bool HAS_PARTS>
WEFT_DEVICE char *weft_place(const weft_move_side_t &side, uint64_t position)
{
    return (char *)side.base + weft_spot<HAS_PARTS>(side, position).offset;
}

/* Threads take neighbouring units of the stream, so that their accesses are neighbours; one
 * thread's own units are far apart. It moves several of them at once, except with parts, where
 * finding each unit takes long. */
template <class Unit, bool HAS_PARTS> WEFT_DEVICE void weft_move_units(const weft_move_args_t &args)
{
    constexpr unsigned BATCH = HAS_PARTS ? 1 : WEFT_BATCH;
    const uint64_t step = weft_threads() * sizeof(Unit);
    uint64_t at = args.begin + weft_thread() * sizeof(Unit);
    for (; at + (BATCH - 1) * step < args.end; at += BATCH * step) {
        Unit unit[BATCH];
        char *to[BATCH];
        WEFT_UNROLL for (unsigned j = 0; j < BATCH; j++)
        {
            unit[j] = weft_load<Unit>(weft_place<HAS_PARTS>(args.from, at + j * step));
            to[j] = weft_place<HAS_PARTS>(args.to, at + j * step);
        }
        WEFT_UNROLL for (unsigned j = 0; j < BATCH; j++) weft_store(to[j], unit[j]);
    }
    for (; at < args.end; at += step)
        weft_store(weft_place<HAS_PARTS>(args.to, at),
                   weft_load<Unit>(weft_place<HAS_PARTS>(args.from, at)));
}

template <bool HAS_PARTS>
WEFT_DEVICE void weft_move_share(const weft_move_args_t &args, uint64_t begin, uint64_t end)
{
    for (uint64_t at = begin; at < end;) {
        const weft_spot_t to = weft_spot<HAS_PARTS>(args.to, at);
        const weft_spot_t from = weft_spot<HAS_PARTS>(args.from, at);
        uint64_t bytes = to.together < from.together ? to.together : from.together;
        bytes = bytes < end - at ? bytes : end - at;
        weft_copy_span(
            {(char *)args.to.base + to.offset, (const char *)args.from.base + from.offset, bytes});
        at += bytes;
    }
}

template <bool HAS_PARTS> WEFT_DEVICE void weft_move_shares(const weft_move_args_t &args)
{
    const uint64_t step = weft_teams() * args.share;
    for (uint64_t begin = args.begin + weft_team() * args.share; begin < args.end; begin += step) {
        const uint64_t left = args.end - begin;
        weft_move_share<HAS_PARTS>(args, begin, begin + (left < args.share ? left : args.share));
    }
}

#define MOVE(bytes, Unit)                                                                          \
    WEFT_KERNEL(weft_move_##bytes, weft_move_args_t)                                               \
    {                                                                                              \
        weft_move_units<Unit, false>(args);                                                        \
    }                                                                                              \
    WEFT_KERNEL(weft_move_##bytes##_parts, weft_move_args_t)                                       \
    {                                                                                              \
        weft_move_units<Unit, true>(args);                                                         \
    }
MOVE(1, unsigned char)
MOVE(2, uint16_t)
MOVE(4, uint32_t)
MOVE(8, uint64_t)
MOVE(16, weft_vector_t)

WEFT_KERNEL(weft_move_spans, weft_move_args_t)
{
    weft_move_shares<false>(args);
}

WEFT_KERNEL(weft_move_spans_parts, weft_move_args_t)
{
    weft_move_shares<true>(args);
}
