/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/pack.h"

#include "datatype/pack_kernels.h"
#include "base/copy.h"
#include "base/memory.h"
#include "base/out_of_memory.h"

#include <string.h>

/* A copy between two buffers with gaps goes through the stack in pieces of this size: half of the
 * smallest first-level cache. */
enum { PIECE_BYTES = 16384 };

/* Parts that are nested deeper are not walked by recursion: a stack is of limited size. */
enum { DEEP = 32 };

/* One level more than a layout has, for the elements of the buffer. */
enum { WALK_LEVELS = WEFT_LEVELS + 1 };

/* A layout repeated; the outermost level is the last. */
typedef struct walk {
    const weft_layout_t *layout; /* of the leaf */
    size_t block_bytes;          /* of a leaf that is a block, with contiguous repetitions */
    int levels;
    weft_level_t level[WALK_LEVELS];
} walk_t;

/* The place of the next byte in the stream, and the kernels of the direction. */
typedef struct mover {
    char *stream;
    const weft_pack_kernels_t *kernels;
} mover_t;

/* A part of the packed form of a leaf, a level or a buffer. */
typedef struct range {
    size_t offset, bytes;
} range_t;

static void begin_walk(walk_t *walk, const weft_layout_t *layout, size_t count, ptrdiff_t stride)
{
    walk->layout = layout;
    walk->block_bytes = layout->block_bytes;
    walk->levels = layout->levels;
    walk->level[0] = (weft_level_t){0}; /* its stride is read, for one item, even without levels */
    for (int i = 0; i < layout->levels; i++)
        walk->level[i] = layout->level[i];
    if (count == 1)
        return;
    weft_level_t *top = walk->levels == 0 ? NULL : &walk->level[walk->levels - 1];
    bool is_block = top == NULL && layout->leaf == WEFT_LEAF_BLOCK;
    if (is_block && stride == (ptrdiff_t)walk->block_bytes)
        walk->block_bytes *= count;
    else if (top != NULL && stride == (ptrdiff_t)top->count * top->stride)
        top->count *= count;
    else
        walk->level[walk->levels++] = (weft_level_t){count, stride, layout->bytes};
}

static size_t items_of(const walk_t *walk, int levels)
{
    return levels == 0 ? 1 : walk->level[levels - 1].count;
}

static void move_span(mover_t *mover, char *typed, size_t bytes)
{
    mover->stream = mover->kernels->span(typed, mover->stream, bytes);
}

static void move_items(mover_t *mover, const walk_t *walk, int levels, char *typed, size_t items);
static void move_range(mover_t *mover, const walk_t *walk, int levels, char *typed, range_t range);

static void move_deep(mover_t *mover, const weft_part_t *part, char *typed, range_t range);

static size_t bytes_of_part(const weft_part_t *part)
{
    return part[1].start - part->start;
}

static void pack_part(mover_t *mover, const weft_part_t *part, char *typed)
{
    walk_t walk;
    if (__builtin_expect(part->layout->depth >= DEEP, 0)) {
        move_deep(mover, part, typed, (range_t){0, bytes_of_part(part)});
        return;
    }
    begin_walk(&walk, part->layout, part->count, part->stride);
    move_items(mover, &walk, walk.levels, typed + part->offset + part->layout->offset,
               items_of(&walk, walk.levels));
}

static void move_blocks(mover_t *mover, const walk_t *walk, int levels, char *typed, size_t items)
{
    if (levels == 0) {
        move_span(mover, typed, walk->block_bytes);
        return;
    }
    weft_pack_blocks_t blocks = {.block_bytes = walk->block_bytes,
                                 .count = levels == 1 ? items : walk->level[0].count,
                                 .stride = walk->level[0].stride,
                                 .outer_count = levels == 1 ? 1 : items,
                                 .outer_stride = levels == 1 ? 0 : walk->level[1].stride};
    weft_pack_fn_t kernel = mover->kernels->strided[weft_block_class(walk->block_bytes)];
    if (blocks.stride == 8 && walk->block_bytes == 4 && mover->kernels->every_other_word != NULL)
        kernel = mover->kernels->every_other_word;
    mover->stream = kernel(typed, mover->stream, &blocks);
}

/* Arrays of structs of a few members are moved member by member, FIELD_STRUCTS structs at a
 * time: the loop over one member is four times as fast as the loop over runs of all lengths
 * (4096 MPI_DOUBLE_INT, 2.4 us against 9.5 us), and the structs stay in the first-level cache
 * meanwhile. */
enum { FIELD_ENTRIES = 16, FIELD_STRUCTS_LEAST = 4, FIELD_STRUCTS = 64 };

/* To find a permutation takes as long as to move this many structs. */
enum { PERMUTED_STRUCTS_LEAST = 16 };

/* NULL: the layout has not two members, or not of such lengths. */
static weft_pack_fn_t two_fields_kernel(const mover_t *mover, const weft_layout_t *layout)
{
    const weft_run_t *runs = layout->runs;
    if (layout->list_count != 2)
        return NULL;
    size_t one = runs[1].start, other = layout->leaf_bytes - one;
    bool is_covered =
        one <= 8 && other <= 8 && (one & (one - 1)) == 0 && (other & (other - 1)) == 0;
    return is_covered ? mover->kernels->two_fields[__builtin_ctzl(one)][__builtin_ctzl(other)]
                      : NULL;
}

static void move_field_by_field(mover_t *mover, const weft_layout_t *layout, char *typed,
                                ptrdiff_t stride, size_t structs)
{
    for (size_t done = 0; done < structs; done += FIELD_STRUCTS) {
        size_t left = structs - done;
        weft_pack_blocks_t blocks = {.count = left < FIELD_STRUCTS ? left : FIELD_STRUCTS,
                                     .stride = stride,
                                     .outer_count = 1,
                                     .stream_stride = (ptrdiff_t)layout->leaf_bytes};
        for (const weft_run_t *run = layout->runs; run < layout->runs + layout->list_count; run++) {
            blocks.block_bytes = run[1].start - run->start;
            weft_pack_fn_t kernel = mover->kernels->fields[weft_block_class(blocks.block_bytes)];
            kernel(typed + run->offset, mover->stream + run->start, &blocks);
        }
        typed += (ptrdiff_t)blocks.count * stride;
        mover->stream += blocks.count * layout->leaf_bytes;
    }
}

static void move_structs(mover_t *mover, const weft_layout_t *layout, char *typed, ptrdiff_t stride,
                         size_t structs)
{
    weft_permutation_t permutation;
    weft_pack_fn_t both = two_fields_kernel(mover, layout);
    if (both != NULL) {
        weft_pack_blocks_t blocks = {.count = structs, .stride = stride, .runs = layout->runs};
        mover->stream = both(typed, mover->stream, &blocks);
    } else if (mover->kernels->permute != NULL && structs >= PERMUTED_STRUCTS_LEAST &&
               weft_permutation_find(layout, &permutation)) {
        permutation.stride = stride;
        mover->stream = mover->kernels->permute(typed, mover->stream, &permutation, structs);
    } else {
        move_field_by_field(mover, layout, typed, stride, structs);
    }
}

/* Entries of the list of a leaf. */
typedef struct entries {
    size_t first, count;
} entries_t;

static void move_list(mover_t *mover, const walk_t *walk, char *typed, entries_t entries,
                      size_t repetitions)
{
    const weft_layout_t *layout = walk->layout;
    weft_pack_blocks_t blocks = {.block_bytes = layout->block_bytes,
                                 .count = entries.count,
                                 .outer_count = repetitions,
                                 .outer_stride = walk->level[0].stride};
    if (layout->leaf == WEFT_LEAF_BLOCKS) {
        blocks.offsets = layout->offsets + entries.first;
        weft_block_class_t class = weft_block_class(layout->block_bytes);
        mover->stream = mover->kernels->listed[class](typed, mover->stream, &blocks);
    } else if (layout->leaf == WEFT_LEAF_RUNS && repetitions >= FIELD_STRUCTS_LEAST &&
               layout->list_count <= FIELD_ENTRIES) {
        move_structs(mover, layout, typed, blocks.outer_stride, repetitions);
    } else if (layout->leaf == WEFT_LEAF_RUNS) {
        blocks.runs = layout->runs + entries.first;
        mover->stream = mover->kernels->runs(typed, mover->stream, &blocks);
    } else {
        for (size_t i = 0; i < entries.count; i++)
            pack_part(mover, &layout->parts[entries.first + i], typed);
    }
}

/* How many levels the leaf's kernel loops over itself. */
static int kernel_levels(const walk_t *walk)
{
    static const int levels[] = {
        [WEFT_LEAF_BLOCK] = 2, [WEFT_LEAF_BLOCKS] = 1, [WEFT_LEAF_RUNS] = 1, [WEFT_LEAF_PARTS] = 0};
    return levels[walk->layout->leaf];
}

/* Move `items` whole items of the outermost of `levels` levels; without levels, a leaf. */
static void move_items(mover_t *mover, const walk_t *walk, int levels, char *typed, size_t items)
{
    if (levels > kernel_levels(walk)) {
        ptrdiff_t stride = walk->level[levels - 1].stride;
        size_t inner_items = items_of(walk, levels - 1);
        for (size_t i = 0; i < items; i++)
            move_items(mover, walk, levels - 1, typed + (ptrdiff_t)i * stride, inner_items);
    } else if (walk->layout->leaf == WEFT_LEAF_BLOCK) {
        move_blocks(mover, walk, levels, typed, items);
    } else {
        entries_t all = {0, walk->layout->list_count};
        move_list(mover, walk, typed, all, items);
    }
}

static size_t start_of(const weft_layout_t *layout, size_t entry)
{
    if (layout->leaf == WEFT_LEAF_BLOCKS)
        return entry * layout->block_bytes;
    return layout->leaf == WEFT_LEAF_RUNS ? layout->runs[entry].start : layout->parts[entry].start;
}

/* The entry that byte `offset` of the packed leaf lies in; list_count when the leaf ends there. */
static size_t entry_with(const weft_layout_t *layout, size_t offset)
{
    if (offset == layout->leaf_bytes)
        return layout->list_count;
    if (layout->leaf == WEFT_LEAF_BLOCKS)
        return offset / layout->block_bytes;
    size_t low = 0, high = layout->list_count; /* start(low) <= offset < start(high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (start_of(layout, middle) <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void move_within_part(mover_t *mover, const weft_part_t *part, char *typed, range_t range)
{
    walk_t walk;
    if (__builtin_expect(part->layout->depth >= DEEP, 0)) {
        move_deep(mover, part, typed, range);
        return;
    }
    begin_walk(&walk, part->layout, part->count, part->stride);
    move_range(mover, &walk, walk.levels, typed + part->offset + part->layout->offset, range);
}

static void move_within_entry(mover_t *mover, const weft_layout_t *layout, size_t entry,
                              char *typed, range_t range)
{
    if (layout->leaf != WEFT_LEAF_PARTS) {
        bool is_blocks = layout->leaf == WEFT_LEAF_BLOCKS;
        ptrdiff_t place = is_blocks ? layout->offsets[entry] : layout->runs[entry].offset;
        move_span(mover, typed + place + range.offset, range.bytes);
        return;
    }
    move_within_part(mover, &layout->parts[entry], typed, range);
}

static void move_within_list(mover_t *mover, const walk_t *walk, char *typed, range_t range)
{
    const weft_layout_t *layout = walk->layout;
    const size_t end = range.offset + range.bytes;
    size_t first = entry_with(layout, range.offset);
    const size_t last = entry_with(layout, end);
    size_t skipped = range.offset - start_of(layout, first);
    if (skipped > 0) {
        size_t left = start_of(layout, first + 1) - range.offset;
        range_t head = {skipped, left < range.bytes ? left : range.bytes};
        move_within_entry(mover, layout, first, typed, head);
        first++;
    }
    if (last > first)
        move_list(mover, walk, typed, (entries_t){first, last - first}, 1);
    if (last >= first && end > start_of(layout, last))
        move_within_entry(mover, layout, last, typed, (range_t){0, end - start_of(layout, last)});
}

static void move_within_leaf(mover_t *mover, const walk_t *walk, char *typed, range_t range)
{
    if (walk->layout->leaf == WEFT_LEAF_BLOCK)
        move_span(mover, typed + range.offset, range.bytes);
    else
        move_within_list(mover, walk, typed, range);
}

/* Move a non-empty range of what `levels` levels span: the rest of an item, whole items, then the
 * beginning of an item. */
static void move_range(mover_t *mover, const walk_t *walk, int levels, char *typed, range_t range)
{
    if (levels == 0) {
        move_within_leaf(mover, walk, typed, range);
        return;
    }
    const weft_level_t *level = &walk->level[levels - 1];
    size_t skipped = range.offset % level->bytes;
    typed += (ptrdiff_t)(range.offset / level->bytes) * level->stride;
    if (skipped > 0) {
        size_t left = level->bytes - skipped;
        range_t head = {skipped, left < range.bytes ? left : range.bytes};
        move_range(mover, walk, levels - 1, typed, head);
        range.bytes -= head.bytes;
        typed += level->stride;
    }
    size_t items = range.bytes / level->bytes;
    if (items > 0)
        move_items(mover, walk, levels, typed, items);
    typed += (ptrdiff_t)items * level->stride;
    if (range.bytes % level->bytes > 0)
        move_range(mover, walk, levels - 1, typed, (range_t){0, range.bytes % level->bytes});
}

/* ---- deep nests of parts ---- */

/* A part on the way down, whose layout is a list of parts: how far it has been moved. */
typedef struct deep_part {
    const weft_part_t *part;
    char *typed;        /* its first item */
    size_t items;       /* leaves: all levels multiplied */
    size_t item, entry; /* the next one in its list of parts */
} deep_part_t;

/* `skipped` bytes of it are left out; returns how many of the next entry. */
static size_t begin_deep_part(deep_part_t *out, const weft_part_t *part, char *typed,
                              size_t skipped)
{
    const weft_layout_t *layout = part->layout;
    size_t rest = skipped % layout->leaf_bytes;
    *out = (deep_part_t){.part = part,
                         .typed = typed + part->offset + layout->offset,
                         .items = bytes_of_part(part) / layout->leaf_bytes,
                         .item = skipped / layout->leaf_bytes,
                         .entry = entry_with(layout, rest)};
    return rest - start_of(layout, out->entry);
}

static char *place_of_item(const deep_part_t *at)
{
    const weft_layout_t *layout = at->part->layout;
    char *place = at->typed;
    size_t index = at->item;
    for (int i = 0; i < layout->levels; i++) {
        place += (ptrdiff_t)(index % layout->level[i].count) * layout->level[i].stride;
        index /= layout->level[i].count;
    }
    return place + (ptrdiff_t)index * at->part->stride;
}

/* The next entry of its list, with the item that it is of; NULL: it has no more. */
static const weft_part_t *next_entry(deep_part_t *at, char **item_out)
{
    const weft_layout_t *layout = at->part->layout;
    if (at->entry == layout->list_count) {
        at->entry = 0;
        at->item++;
    }
    if (at->item == at->items)
        return NULL;
    *item_out = place_of_item(at);
    return &layout->parts[at->entry++];
}

/* Each part on the way down is less deep than the one before. */
static deep_part_t *take_path(const weft_part_t *part)
{
    size_t bytes = (part->layout->depth - DEEP + 1) * sizeof(deep_part_t);
    deep_part_t *path = weft_alloc(bytes);
    if (path == NULL)
        weft_out_of_memory("the packing of a datatype that is nested deep", bytes);
    return path;
}

/* `range` is not empty. */
static void move_deep(mover_t *mover, const weft_part_t *part, char *typed, range_t range)
{
    deep_part_t *path = take_path(part), *last = path;
    size_t skipped = begin_deep_part(last, part, typed, range.offset);
    while (range.bytes > 0) {
        char *item;
        const weft_part_t *entry = next_entry(last, &item);
        if (entry == NULL) {
            last--;
        } else if (entry->layout->depth >= DEEP) {
            skipped = begin_deep_part(++last, entry, item, skipped);
        } else {
            size_t left = bytes_of_part(entry) - skipped;
            range_t here = {skipped, left < range.bytes ? left : range.bytes};
            move_within_part(mover, entry, item, here);
            range.bytes -= here.bytes;
            skipped = 0;
        }
    }
    weft_free(path);
}

/* The bytes of `range` that the stream has. */
static size_t available(const weft_elements_t *elements, range_t range)
{
    size_t total = elements->count * elements->type->size;
    if (range.offset >= total)
        return 0;
    return range.bytes < total - range.offset ? range.bytes : total - range.offset;
}

/* Computed in integers: MPI_BOTTOM is NULL, to which C adds no offsets. */
static char *displaced(const void *buf, ptrdiff_t offset)
{
    return (char *)((uintptr_t)buf + (uintptr_t)offset);
}

/* `range` is not empty and within the stream. */
static void move_elements(mover_t *mover, const weft_elements_t *elements, range_t range)
{
    const weft_layout_t *layout = &elements->type->layout;
    walk_t walk;
    begin_walk(&walk, layout, elements->count, elements->type->extent);
    char *typed = displaced(elements->buf, layout->offset);
    if (range.bytes == elements->count * elements->type->size)
        move_items(mover, &walk, walk.levels, typed, items_of(&walk, walk.levels));
    else
        move_range(mover, &walk, walk.levels, typed, range);
}

size_t weft_pack_by(const weft_pack_kernels_t *kernels, const weft_elements_t *elements,
                    const weft_stream_part_t *part)
{
    range_t range = {part->offset, part->bytes};
    range.bytes = available(elements, range);
    if (range.bytes == 0)
        return 0;
    mover_t mover = {part->at, kernels};
    move_elements(&mover, elements, range);
    return range.bytes;
}

size_t weft_pack(const void *buf, size_t count, const weft_type_t *type, size_t offset, void *out,
                 size_t bytes)
{
    /* The kernels of this direction only read typed memory. */
    weft_elements_t elements = {(void *)buf, count, type};
    if (!type->is_dense)
        return weft_pack_by(&weft_pack_kernels, &elements,
                            &(weft_stream_part_t){offset, bytes, out});
    bytes = available(&elements, (range_t){offset, bytes});
    if (bytes > 0)
        weft_copy(out, (const char *)buf + offset, bytes);
    return bytes;
}

size_t weft_unpack(void *buf, size_t count, const weft_type_t *type, size_t offset, const void *in,
                   size_t bytes)
{
    /* The kernels of this direction only read the stream. */
    weft_elements_t elements = {buf, count, type};
    if (!type->is_dense)
        return weft_pack_by(&weft_unpack_kernels, &elements,
                            &(weft_stream_part_t){offset, bytes, (void *)in});
    bytes = available(&elements, (range_t){offset, bytes});
    if (bytes > 0)
        weft_copy_read((char *)buf + offset, in, bytes);
    return bytes;
}

bool weft_type_span(const weft_type_t *type, size_t count, ptrdiff_t *offset_out, size_t *bytes_out)
{
    walk_t walk;
    if (count == 0 || type->size == 0) {
        *offset_out = 0;
        *bytes_out = 0;
        return true;
    }
    begin_walk(&walk, &type->layout, count, type->extent);
    if (walk.levels > 0 || type->layout.leaf != WEFT_LEAF_BLOCK)
        return false;
    *offset_out = type->layout.offset;
    *bytes_out = walk.block_bytes;
    return true;
}

static size_t copy_in_pieces(const weft_elements_t *from, const weft_elements_t *to)
{
    char piece[PIECE_BYTES];
    size_t done = 0, taken;
    do {
        size_t packed = weft_pack(from->buf, from->count, from->type, done, piece, sizeof(piece));
        taken = weft_unpack(to->buf, to->count, to->type, done, piece, packed);
        done += taken;
    } while (taken == sizeof(piece));
    return done;
}

size_t weft_copy_elements(const weft_elements_t *from, const weft_elements_t *to)
{
    ptrdiff_t offset;
    size_t bytes;
    if (weft_type_span(from->type, from->count, &offset, &bytes))
        return weft_unpack(to->buf, to->count, to->type, 0, displaced(from->buf, offset), bytes);
    if (weft_type_span(to->type, to->count, &offset, &bytes))
        return weft_pack(from->buf, from->count, from->type, 0, displaced(to->buf, offset), bytes);
    return copy_in_pieces(from, to);
}
