/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/kernels/move_shape.h"

#include "base/fail.h"
#include "base/memory.h"

#include <stdint.h>
#include <string.h>

/* A layout whose node is in the image. Types may share layouts many times; each is written once. */
typedef struct written {
    const weft_layout_t *layout;
    uint64_t node; /* where it lies, bytes into the image */
    size_t runs;   /* the number of runs in the whole layout */
} written_t;

typedef struct writer {
    char *image;
    size_t bytes, room;
    written_t *written; /* a hash table; empty entries have no layout */
    size_t slots, used; /* slots is a power of two, or 0 */
    uintptr_t bits;     /* all lengths and offsets, combined by OR */
} writer_t;

weft_divisor_t weft_divisor_of(size_t value)
{
    if (value == 1)
        return (weft_divisor_t){.value = 1};
    const unsigned shift =
        63 - (unsigned)__builtin_clzll(value - 1); /* 2^shift < value <= 2^(shift + 1) */
    const unsigned __int128 power = (unsigned __int128)1 << (64 + shift);
    return (weft_divisor_t){.value = value, .magic = (uint64_t)(power / value) + 1, .shift = shift};
}

/* Extends the image by `bytes` zero bytes; returns SIZE_MAX when there is no memory. */
static size_t extend(writer_t *writer, size_t bytes)
{
    const size_t at = writer->bytes;
    if (at + bytes > writer->room) {
        const size_t room = 2 * (at + bytes);
        char *image = weft_realloc(writer->image, room);
        if (image == NULL)
            return SIZE_MAX;
        writer->image = image;
        writer->room = room;
    }
    memset(writer->image + at, 0, bytes);
    writer->bytes = at + bytes;
    return at;
}

static written_t *slot_of_loop(written_t *table, size_t slots, const weft_layout_t *layout)
{
    size_t slot = ((uintptr_t)layout >> 4) * 0x9e3779b97f4a7c15u >> 32 & (slots - 1);
    while (table[slot].layout != NULL && table[slot].layout != layout)
        slot = (slot + 1) & (slots - 1);
    return &table[slot];
}

static bool make_loop_room(writer_t *writer)
{
    if (2 * writer->used < writer->slots)
        return true;
    const size_t slots = writer->slots == 0 ? 16 : 2 * writer->slots;
    written_t *table = weft_alloc_zeroed(slots, sizeof(*table));
    if (table == NULL)
        return false;
    for (size_t i = 0; i < writer->slots; i++) {
        if (writer->written[i].layout != NULL)
            *slot_of_loop(table, slots, writer->written[i].layout) = writer->written[i];
    }
    weft_free(writer->written);
    writer->written = table;
    writer->slots = slots;
    return true;
}

static bool write_node(writer_t *writer, const weft_layout_t *layout, written_t *out);

/* A list is written after everything that it points to, and the image may move while those are
 * written. */
static bool write_parts(writer_t *writer, const weft_layout_t *layout, uint64_t *list_out,
                        size_t *runs_out)
{
    const size_t count = layout->list_count;
    const size_t at = extend(writer, (count + 1) * sizeof(weft_shape_part_t));
    if (at == SIZE_MAX)
        return false;
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        const weft_part_t *part = &layout->parts[i];
        written_t inner;
        if (!write_node(writer, part->layout, &inner))
            return false;
        weft_shape_part_t *to = (weft_shape_part_t *)(void *)(writer->image + at) + i;
        *to = (weft_shape_part_t){.offset = part->offset,
                                  .start = part->start,
                                  .repeated = {weft_divisor_of(part->layout->bytes), part->stride},
                                  .node = inner.node};
        writer->bits |= (uintptr_t)part->offset | part->start;
        writer->bits |= part->count > 1 ? (uintptr_t)part->stride : 0;
        runs += part->count * inner.runs;
    }
    weft_shape_part_t *end = (weft_shape_part_t *)(void *)(writer->image + at) + count;
    end->start = layout->leaf_bytes;
    *list_out = at;
    *runs_out = runs;
    return true;
}

static bool write_offsets(writer_t *writer, const weft_layout_t *layout, uint64_t *list_out)
{
    const size_t bytes = layout->list_count * sizeof(int64_t), at = extend(writer, bytes);
    if (at == SIZE_MAX)
        return false;
    _Static_assert(sizeof(ptrdiff_t) == sizeof(int64_t), "offsets are copied");
    memcpy(writer->image + at, layout->offsets, bytes);
    for (size_t i = 0; i < layout->list_count; i++)
        writer->bits |= (uintptr_t)layout->offsets[i];
    *list_out = at;
    return true;
}

static bool write_runs(writer_t *writer, const weft_layout_t *layout, uint64_t *list_out)
{
    const size_t count = layout->list_count + 1,
                 at = extend(writer, count * sizeof(weft_shape_run_t));
    if (at == SIZE_MAX)
        return false;
    weft_shape_run_t *to = (weft_shape_run_t *)(void *)(writer->image + at);
    for (size_t i = 0; i < count; i++) {
        to[i] = (weft_shape_run_t){layout->runs[i].offset, layout->runs[i].start};
        writer->bits |= (uintptr_t)layout->runs[i].offset | layout->runs[i].start;
    }
    *list_out = at;
    return true;
}

/* Writes the list of the layout's leaf, and fills in the node that describes the layout. */
static bool describe_move(writer_t *writer, const weft_layout_t *layout, weft_shape_node_t *out,
                          size_t *runs_out)
{
    weft_shape_node_t node = {.offset = layout->offset,
                              .leaf = (uint32_t)layout->leaf,
                              .levels = (uint32_t)layout->levels,
                              .list_count =
                                  layout->leaf == WEFT_LEAF_BLOCK ? 0 : layout->list_count};
    size_t runs = layout->leaf == WEFT_LEAF_BLOCK ? 1 : layout->list_count;
    bool is_written = true;
    if (layout->leaf == WEFT_LEAF_PARTS)
        is_written = write_parts(writer, layout, &node.list, &runs);
    else if (layout->leaf == WEFT_LEAF_RUNS)
        is_written = write_runs(writer, layout, &node.list);
    else if (layout->leaf == WEFT_LEAF_BLOCKS)
        is_written = write_offsets(writer, layout, &node.list);
    if (layout->leaf == WEFT_LEAF_BLOCK || layout->leaf == WEFT_LEAF_BLOCKS)
        node.block = weft_divisor_of(layout->block_bytes);
    writer->bits |= (uintptr_t)layout->offset | layout->bytes | node.block.value;
    for (int i = 0; i < layout->levels; i++) {
        const weft_level_t *level = &layout->level[i];
        node.level[i] = (weft_shape_level_t){weft_divisor_of(level->bytes), level->stride};
        writer->bits |= (uintptr_t)level->stride | level->bytes;
        runs *= level->count;
    }
    *out = node;
    *runs_out = runs;
    return is_written;
}

static bool write_node(writer_t *writer, const weft_layout_t *layout, written_t *out)
{
    if (!make_loop_room(writer))
        return false;
    const written_t *known = slot_of_loop(writer->written, writer->slots, layout);
    if (known->layout != NULL) {
        *out = *known;
        return true;
    }
    weft_shape_node_t node;
    written_t written = {.layout = layout};
    if (!describe_move(writer, layout, &node, &written.runs))
        return false;
    const size_t at = extend(writer, sizeof(node));
    if (at == SIZE_MAX || !make_loop_room(writer))
        return false;
    memcpy(writer->image + at, &node, sizeof(node));
    written.node = at;
    *slot_of_loop(writer->written, writer->slots, layout) = written;
    writer->used++;
    *out = written;
    return true;
}

/* A list of parts on the way into a nest of them, and how many of its entries are written. */
typedef struct nested_list {
    const weft_layout_t *layout;
    size_t written;
} nested_list_t;

/* The next layout of the list that is a list itself and is not in the image; NULL: none. */
static const weft_layout_t *next_unwritten(const writer_t *writer, nested_list_t *list)
{
    while (list->written < list->layout->list_count) {
        const weft_layout_t *inner = list->layout->parts[list->written++].layout;
        if (inner->depth > 0 &&
            (writer->slots == 0 ||
             slot_of_loop(writer->written, writer->slots, inner)->layout == NULL))
            return inner;
    }
    return NULL;
}

/* Write the lists of parts within `layout` from the inside: a nest may be so deep that write_node()
 * would need more stack than there is if it met them from the outside. */
static bool write_inner_lists(writer_t *writer, const weft_layout_t *layout)
{
    bool is_written = true;
    nested_list_t *path = weft_alloc_array(layout->depth + 1, sizeof(*path)), *last = path;
    if (path == NULL)
        return false;
    *last = (nested_list_t){.layout = layout};
    while (is_written) {
        written_t unused;
        const weft_layout_t *inner = next_unwritten(writer, last);
        if (inner != NULL) {
            *++last = (nested_list_t){.layout = inner};
            continue;
        }
        if (last == path)
            break;
        is_written = write_node(writer, last->layout, &unused);
        last--;
    }
    weft_free(path);
    return is_written;
}

/* Successive elements need no level of their own when the outermost level simply goes on. */
static bool is_loop_open(const weft_type_t *type)
{
    const weft_layout_t *layout = &type->layout;
    if (layout->levels == 0)
        return layout->leaf == WEFT_LEAF_BLOCK && type->extent == (ptrdiff_t)layout->block_bytes;
    const weft_level_t *top = &layout->level[layout->levels - 1];
    return type->extent == (ptrdiff_t)top->count * top->stride;
}

int weft_move_shape_create(const weft_type_t *type, weft_move_shape_t *out)
{
    weft_move_shape_t shape = {.bytes = type->size, .extent = type->extent};
    writer_t writer = {0};
    size_t runs = 0;
    if (type->size == 0) {
        *out = shape;
        return MPI_SUCCESS;
    }
    bool is_written = type->layout.depth == 0 || write_inner_lists(&writer, &type->layout);
    is_written = is_written && describe_move(&writer, &type->layout, &shape.root, &runs);
    weft_free(writer.written);
    if (!is_written) {
        weft_free(writer.image);
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the layout of a datatype on a device");
    }
    shape.is_open = is_loop_open(type);
    shape.has_parts = type->layout.leaf == WEFT_LEAF_PARTS;
    shape.unit = weft_unit_of(writer.bits);
    shape.run_bytes = type->size / runs;
    shape.image = writer.image;
    shape.image_bytes = writer.bytes;
    *out = shape;
    return MPI_SUCCESS;
}

void weft_move_shape_clear(weft_move_shape_t *shape)
{
    weft_free(shape->image);
    *shape = (weft_move_shape_t){0};
}
