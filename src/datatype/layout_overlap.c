/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do two bytes of a layout's data lie at one place? Nothing can be received with such a type
 * (MPI 5.0 section 5.1.11). The answer is yes only if it is sure; layouts for which it would take
 * long are believed.
 */
#include "datatype/layout_private.h"
#include "base/memory.h"

#include <stdlib.h>

/* Differences between two items that are looked at, at most. */
enum { LOOKS_MAX = 4096 };

/* ---- items of levels ---- */

static size_t gap_of(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? (size_t)a - (size_t)b : (size_t)b - (size_t)a;
}

/* Is a multiple of the stride, other than 0 if `differs` is false, less than `width` bytes away
 * from `at`? `differs`: the items are different ones by an outer level already. */
static bool meets_on_level(const weft_level_t *level, ptrdiff_t at, bool differs, size_t width)
{
    ptrdiff_t most = (ptrdiff_t)level->count - 1, stride = level->stride;
    if (stride == 0)
        return (differs || most > 0) && gap_of(at, 0) < width;
    ptrdiff_t nearest = at / stride;
    for (ptrdiff_t i = nearest - 1; i <= nearest + 1; i++) {
        bool is_reached = i >= -most && i <= most && (differs || i != 0);
        if (is_reached && gap_of(i * stride, at) < width)
            return true;
    }
    return false;
}

/* Do two items of the lower `levels` levels meet, if one of them is shifted by `shift`? */
static bool levels_meet(const weft_layout_t *layout, int levels, ptrdiff_t shift, bool differs,
                        size_t width)
{
    const weft_level_t *level = &layout->level[levels - 1];
    if (levels == 1)
        return meets_on_level(level, -shift, differs, width);
    ptrdiff_t most = (ptrdiff_t)level->count - 1;
    for (ptrdiff_t i = differs ? -most : 0; i <= most; i++) {
        if (levels_meet(layout, levels - 1, shift + i * level->stride, differs || i != 0, width))
            return true;
    }
    return false;
}

/* Does a run of `width` bytes meet itself in another item? */
static bool items_meet(const weft_layout_t *layout, size_t width)
{
    size_t looks = 1;
    for (int i = 1; i < layout->levels; i++) {
        if (layout->level[i].count > LOOKS_MAX)
            return false;
        looks *= 2 * layout->level[i].count;
    }
    return layout->levels > 0 && looks <= LOOKS_MAX &&
           levels_meet(layout, layout->levels, 0, false, width);
}

/* ---- the runs of a list ---- */

typedef struct place {
    ptrdiff_t first, end;
} run_place_t;

static run_place_t run_place(const weft_layout_t *layout, size_t i)
{
    bool is_blocks = layout->leaf == WEFT_LEAF_BLOCKS;
    ptrdiff_t first = is_blocks ? layout->offsets[i] : layout->runs[i].offset;
    size_t bytes =
        is_blocks ? layout->block_bytes : layout->runs[i + 1].start - layout->runs[i].start;
    return (run_place_t){first, first + (ptrdiff_t)bytes};
}

static bool is_ascending(const weft_layout_t *layout)
{
    for (size_t i = 1; i < layout->list_count; i++) {
        if (run_place(layout, i).first < run_place(layout, i - 1).end)
            return false;
    }
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const run_place_t *one = a, *two = b;
    return (one->first > two->first) - (one->first < two->first);
}

/* Without memory for a sorted copy the list is believed. */
static bool list_overlaps(const weft_layout_t *layout)
{
    if (is_ascending(layout))
        return false;
    run_place_t *sorted = weft_alloc_array(layout->list_count, sizeof(*sorted));
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < layout->list_count; i++)
        sorted[i] = run_place(layout, i);
    qsort(sorted, layout->list_count, sizeof(*sorted), compare_places);
    bool overlaps = false;
    for (size_t i = 1; i < layout->list_count && !overlaps; i++)
        overlaps = sorted[i].first < sorted[i - 1].end;
    weft_free(sorted);
    return overlaps;
}

static size_t longest_run(const weft_layout_t *layout)
{
    size_t longest = 0;
    for (size_t i = 0; i < layout->list_count; i++) {
        run_place_t place = run_place(layout, i);
        size_t bytes = (size_t)(place.end - place.first);
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

bool weft_layout_overlaps(const weft_layout_t *layout)
{
    if (layout->bytes == 0 || layout->leaf == WEFT_LEAF_PARTS)
        return false;
    if (layout->leaf == WEFT_LEAF_BLOCK)
        return items_meet(layout, layout->block_bytes);
    return list_overlaps(layout) || items_meet(layout, longest_run(layout));
}
