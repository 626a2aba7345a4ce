/* SPDX-License-Identifier: BSD-3-Clause */
#include "datatype/envelope.h"
#include "datatype/layout_private.h"
#include "base/fail.h"
#include "base/memory.h"

#include <stdint.h>

/* A list of runs is written out when it has at most RUNS_ALWAYS runs, or at most RUNS_PER_ARGUMENT
 * for each argument of the constructor; otherwise the layouts of the parts stay as they are. So do
 * they where runs of several lengths are RUNS_PER_PART or more for each part, since a block of a
 * part costs less than a run (20 structs of two vectors of 50 blocks: 0.9 us against 1.6 us). */
enum { RUNS_ALWAYS = 256, RUNS_PER_ARGUMENT = 8, RUNS_PER_PART = 16 };

void weft_layout_clear(weft_layout_t *layout)
{
    weft_layout_t *inner = (weft_layout_t *)layout->inner;
    weft_free(layout->owned);
    while (inner != NULL) {
        weft_layout_t *next = (weft_layout_t *)inner->inner;
        weft_free(inner->owned);
        weft_free(inner);
        inner = next;
    }
    *layout = (weft_layout_t){0};
}

bool weft_layout_fold(weft_layout_t *layout, size_t count, ptrdiff_t stride)
{
    if (count == 1 || layout->bytes == 0)
        return true;
    bool is_block = layout->leaf == WEFT_LEAF_BLOCK && layout->levels == 0;
    weft_level_t *top = layout->levels == 0 ? NULL : &layout->level[layout->levels - 1];
    if (is_block && stride == (ptrdiff_t)layout->leaf_bytes) {
        layout->leaf_bytes *= count;
        layout->block_bytes = layout->leaf_bytes;
    } else if (top != NULL && stride == (ptrdiff_t)top->count * top->stride) {
        top->count *= count;
    } else if (layout->levels < WEFT_LEVELS) {
        layout->level[layout->levels++] = (weft_level_t){count, stride, layout->bytes};
    } else {
        return false;
    }
    layout->bytes *= count;
    return true;
}

/* A copy that owns nothing; the original outlives it. */
static weft_layout_t view_of(const weft_type_t *type)
{
    weft_layout_t view = type->layout;
    view.owned = NULL;
    view.inner = NULL;
    return view;
}

static int fail_layout_memory(void)
{
    return weft_fail(MPI_ERR_NO_MEM, "no memory for the layout of a datatype");
}

/* Fold the repetitions in, or make the layout the one part of a new layout. */
static int repeat(weft_layout_t *layout, size_t count, ptrdiff_t stride)
{
    if (count == 0) {
        weft_layout_clear(layout);
        return MPI_SUCCESS;
    }
    if (weft_layout_fold(layout, count, stride))
        return MPI_SUCCESS;
    weft_layout_t *inner = weft_alloc(sizeof(*inner));
    weft_part_t *parts = weft_alloc_zeroed(2, sizeof(*parts));
    if (inner == NULL || parts == NULL) {
        weft_free(inner);
        weft_free(parts);
        return fail_layout_memory();
    }
    *inner = *layout;
    size_t bytes = count * layout->bytes;
    parts[0] = (weft_part_t){.count = count, .stride = stride, .layout = inner};
    parts[1].start = bytes;
    *layout = (weft_layout_t){.bytes = bytes,
                              .leaf = WEFT_LEAF_PARTS,
                              .depth = inner->depth + 1,
                              .leaf_bytes = bytes,
                              .list_count = 1,
                              .parts = parts,
                              .owned = parts,
                              .inner = inner};
    return MPI_SUCCESS;
}

/* An argument of an indexed type or of a struct: `count` elements at `offset`. */
typedef struct entry {
    ptrdiff_t offset;
    size_t count;
    const weft_type_t *type;
} layout_entry_t;

static layout_entry_t entry_at(const weft_envelope_t *envelope, size_t index)
{
    const MPI_Count *values = envelope->values;
    size_t n = (size_t)values[0];
    const weft_type_t *old = envelope->types[0];
    switch (envelope->combiner) {
    case MPI_COMBINER_INDEXED:
        return (layout_entry_t){values[1 + n + index] * old->extent, (size_t)values[1 + index],
                                old};
    case MPI_COMBINER_HINDEXED:
        return (layout_entry_t){values[1 + n + index], (size_t)values[1 + index], old};
    case MPI_COMBINER_INDEXED_BLOCK:
        return (layout_entry_t){values[2 + index] * old->extent, (size_t)values[1], old};
    case MPI_COMBINER_HINDEXED_BLOCK:
        return (layout_entry_t){values[2 + index], (size_t)values[1], old};
    default: /* struct */
        return (layout_entry_t){values[1 + n + index], (size_t)values[1 + index],
                                envelope->types[index]};
    }
}

static size_t entries_of(const weft_envelope_t *envelope)
{
    return (size_t)envelope->values[0];
}

static bool is_empty(const layout_entry_t *entry)
{
    return entry->count == 0 || entry->type->size == 0;
}

/* Runs of a layout, SIZE_MAX when they are too many to count. */
static size_t runs_of(const weft_layout_t *layout)
{
    if (layout->leaf == WEFT_LEAF_PARTS)
        return SIZE_MAX;
    size_t runs = layout->leaf == WEFT_LEAF_BLOCK ? 1 : layout->list_count;
    for (int i = 0; i < layout->levels; i++) {
        if (__builtin_mul_overflow(runs, layout->level[i].count, &runs))
            return SIZE_MAX;
    }
    return runs;
}

/* What the choice of a form for a list depends on. */
typedef struct survey {
    size_t entries;       /* with data */
    size_t runs;          /* SIZE_MAX: too many */
    layout_entry_t first; /* of those with data */
    ptrdiff_t step;       /* from the first to the second */
    ptrdiff_t newest;     /* offset of the last one seen */
    bool is_regular;      /* all entries have the same elements and are `step` apart */
} survey_t;

static void survey_entry(survey_t *survey, const layout_entry_t *entry)
{
    weft_layout_t item = view_of(entry->type);
    size_t runs =
        weft_layout_fold(&item, entry->count, entry->type->extent) ? runs_of(&item) : SIZE_MAX;
    if (__builtin_add_overflow(survey->runs, runs, &survey->runs))
        survey->runs = SIZE_MAX;
    if (survey->entries == 0) {
        survey->first = *entry;
        survey->is_regular = true;
    } else {
        ptrdiff_t step = entry->offset - survey->newest;
        if (survey->entries == 1)
            survey->step = step;
        survey->is_regular &= step == survey->step && entry->count == survey->first.count &&
                              entry->type == survey->first.type;
    }
    survey->newest = entry->offset;
    survey->entries++;
}

static survey_t survey_list(const weft_envelope_t *envelope)
{
    survey_t survey = {0};
    for (size_t i = 0; i < entries_of(envelope); i++) {
        layout_entry_t entry = entry_at(envelope, i);
        if (!is_empty(&entry))
            survey_entry(&survey, &entry);
    }
    return survey;
}

/* The runs written out so far, neighbours joined; there is room for all runs and the end entry. */
typedef struct run_list {
    weft_run_t *runs;
    size_t count;
    size_t bytes;
} run_list_t;

static void add_layout_run(run_list_t *list, ptrdiff_t offset, size_t bytes)
{
    if (list->count > 0) {
        const weft_run_t *last = &list->runs[list->count - 1];
        if (last->offset + (ptrdiff_t)(list->bytes - last->start) == offset) {
            list->bytes += bytes;
            return;
        }
    }
    list->runs[list->count++] = (weft_run_t){offset, list->bytes};
    list->bytes += bytes;
}

static void add_leaf(run_list_t *list, const weft_layout_t *layout, ptrdiff_t origin)
{
    if (layout->leaf == WEFT_LEAF_BLOCK) {
        add_layout_run(list, origin, layout->leaf_bytes);
        return;
    }
    for (size_t i = 0; i < layout->list_count; i++) {
        if (layout->leaf == WEFT_LEAF_BLOCKS) {
            add_layout_run(list, origin + layout->offsets[i], layout->block_bytes);
        } else {
            const weft_run_t *run = &layout->runs[i];
            add_layout_run(list, origin + run->offset, run[1].start - run->start);
        }
    }
}

static void add_levels(run_list_t *list, const weft_layout_t *layout, int levels, ptrdiff_t origin)
{
    if (levels == 0) {
        add_leaf(list, layout, origin);
        return;
    }
    const weft_level_t *level = &layout->level[levels - 1];
    for (size_t i = 0; i < level->count; i++)
        add_levels(list, layout, levels - 1, origin + (ptrdiff_t)i * level->stride);
}

static bool have_one_length(const run_list_t *list)
{
    size_t length = list->runs[1].start;
    for (size_t i = 1; i < list->count; i++) {
        if (list->runs[i + 1].start - list->runs[i].start != length)
            return false;
    }
    return true;
}

static bool have_one_step(const run_list_t *list)
{
    for (size_t i = 2; i < list->count; i++) {
        if (list->runs[i].offset - list->runs[i - 1].offset !=
            list->runs[1].offset - list->runs[0].offset)
            return false;
    }
    return true;
}

static weft_layout_t layout_of_block(ptrdiff_t offset, size_t bytes)
{
    return (weft_layout_t){.bytes = bytes,
                           .offset = offset,
                           .leaf = WEFT_LEAF_BLOCK,
                           .leaf_bytes = bytes,
                           .block_bytes = bytes};
}

/* Blocks of one length become levels if regular, else a list of offsets. Frees the runs. */
static int take_blocks(weft_layout_t *layout, run_list_t *list)
{
    size_t block_bytes = list->runs[1].start, count = list->count;
    *layout = layout_of_block(list->runs[0].offset, block_bytes);
    if (have_one_step(list)) {
        if (count > 1)
            weft_layout_fold(layout, count, list->runs[1].offset - list->runs[0].offset);
        weft_free(list->runs);
        return MPI_SUCCESS;
    }
    ptrdiff_t *offsets = weft_alloc_array(count, sizeof(*offsets));
    if (offsets == NULL) {
        weft_free(list->runs);
        *layout = (weft_layout_t){0};
        return fail_layout_memory();
    }
    for (size_t i = 0; i < count; i++)
        offsets[i] = list->runs[i].offset;
    weft_free(list->runs);
    *layout = (weft_layout_t){.bytes = list->bytes,
                              .leaf = WEFT_LEAF_BLOCKS,
                              .leaf_bytes = list->bytes,
                              .block_bytes = block_bytes,
                              .list_count = count,
                              .offsets = offsets,
                              .owned = offsets};
    return MPI_SUCCESS;
}

/* Joined neighbours left room in the list, which is given back. */
static void take_layout_runs(weft_layout_t *layout, run_list_t *list)
{
    weft_run_t *runs = weft_realloc(list->runs, (list->count + 1) * sizeof(*runs));
    if (runs == NULL)
        runs = list->runs;
    *layout = (weft_layout_t){.bytes = list->bytes,
                              .leaf = WEFT_LEAF_RUNS,
                              .leaf_bytes = list->bytes,
                              .list_count = list->count,
                              .runs = runs,
                              .owned = runs};
}

static int write_out_runs(weft_layout_t *layout, const weft_envelope_t *envelope, size_t room)
{
    run_list_t list = {.runs = weft_alloc_array(room + 1, sizeof(weft_run_t))};
    if (list.runs == NULL)
        return fail_layout_memory();
    for (size_t i = 0; i < entries_of(envelope); i++) {
        layout_entry_t entry = entry_at(envelope, i);
        if (is_empty(&entry))
            continue;
        weft_layout_t item = view_of(entry.type);
        weft_layout_fold(&item, entry.count, entry.type->extent);
        add_levels(&list, &item, item.levels, entry.offset + item.offset);
    }
    list.runs[list.count] = (weft_run_t){0, list.bytes};
    if (have_one_length(&list))
        return take_blocks(layout, &list);
    take_layout_runs(layout, &list);
    return MPI_SUCCESS;
}

static int list_layout_parts(weft_layout_t *layout, const weft_envelope_t *envelope, size_t room)
{
    weft_part_t *parts = weft_alloc_array(room + 1, sizeof(*parts));
    if (parts == NULL)
        return fail_layout_memory();
    size_t count = 0, bytes = 0, depth = 0;
    for (size_t i = 0; i < entries_of(envelope); i++) {
        layout_entry_t entry = entry_at(envelope, i);
        if (is_empty(&entry))
            continue;
        if (entry.type->layout.depth > depth)
            depth = entry.type->layout.depth;
        parts[count++] = (weft_part_t){.offset = entry.offset,
                                       .start = bytes,
                                       .count = entry.count,
                                       .stride = entry.type->extent,
                                       .layout = &entry.type->layout};
        bytes += entry.count * entry.type->size;
    }
    parts[count] = (weft_part_t){.start = bytes};
    *layout = (weft_layout_t){.bytes = bytes,
                              .leaf = WEFT_LEAF_PARTS,
                              .depth = depth + 1,
                              .leaf_bytes = bytes,
                              .list_count = count,
                              .parts = parts,
                              .owned = parts};
    return MPI_SUCCESS;
}

static int lay_out_list(weft_layout_t *layout, const weft_envelope_t *envelope)
{
    survey_t survey = survey_list(envelope);
    if (survey.entries == 0)
        return MPI_SUCCESS;
    if (survey.is_regular) {
        *layout = view_of(survey.first.type);
        layout->offset += survey.first.offset;
        int err = repeat(layout, survey.first.count, survey.first.type->extent);
        return err == MPI_SUCCESS ? repeat(layout, survey.entries, survey.step) : err;
    }
    if (survey.runs <= RUNS_ALWAYS || survey.runs / RUNS_PER_ARGUMENT <= survey.entries) {
        int err = write_out_runs(layout, envelope, survey.runs);
        bool is_quick =
            layout->leaf != WEFT_LEAF_RUNS || layout->list_count / RUNS_PER_PART < survey.entries;
        if (err != MPI_SUCCESS || is_quick)
            return err;
        weft_layout_clear(layout);
    }
    return list_layout_parts(layout, envelope, survey.entries);
}

static int lay_out_vector(weft_layout_t *layout, const weft_envelope_t *envelope)
{
    const weft_type_t *old = envelope->types[0];
    ptrdiff_t unit = envelope->combiner == MPI_COMBINER_VECTOR ? old->extent : 1;
    *layout = view_of(old);
    int err = repeat(layout, (size_t)envelope->values[1], old->extent);
    if (err == MPI_SUCCESS)
        err = repeat(layout, (size_t)envelope->values[0], envelope->values[2] * unit);
    return err;
}

static int lay_out_subarray(weft_layout_t *layout, const weft_envelope_t *envelope)
{
    size_t dimensions = (size_t)envelope->values[0];
    const MPI_Count *sizes = envelope->values + 1;
    const MPI_Count *subsizes = sizes + dimensions, *starts = subsizes + dimensions;
    bool is_c = starts[dimensions] == MPI_ORDER_C;
    const weft_type_t *old = envelope->types[0];
    ptrdiff_t stride = old->extent, displacement = 0;
    *layout = view_of(old);
    int err = MPI_SUCCESS;
    for (size_t i = 0; i < dimensions && err == MPI_SUCCESS; i++) {
        size_t at = is_c ? dimensions - 1 - i : i;
        displacement += starts[at] * stride;
        err = repeat(layout, (size_t)subsizes[at], stride);
        stride *= sizes[at];
    }
    layout->offset += displacement;
    return err;
}

static int lay_out_envelope(weft_layout_t *layout, const weft_envelope_t *envelope)
{
    switch (envelope->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        *layout = view_of(envelope->types[0]);
        return repeat(layout, (size_t)envelope->values[0], envelope->types[0]->extent);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return lay_out_vector(layout, envelope);
    case MPI_COMBINER_SUBARRAY:
        return lay_out_subarray(layout, envelope);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return lay_out_list(layout, envelope);
    default:
        *layout = view_of(weft_envelope_base(envelope));
        return MPI_SUCCESS;
    }
}

/* The next type that this one is made of and that has no layout; NULL: all have one. */
static weft_type_t *next_without_layout(weft_type_t *type)
{
    const weft_envelope_t *envelope = type->envelope;
    while (type->laid_out < envelope->type_count) {
        weft_type_t *member = envelope->types[type->laid_out++];
        if (!member->has_layout)
            return member;
    }
    weft_type_t *expansion = envelope->expansion;
    return expansion != NULL && !expansion->has_layout ? expansion : NULL;
}

static int lay_out_one(weft_type_t *type)
{
    int err = lay_out_envelope(&type->layout, type->envelope);
    if (err != MPI_SUCCESS)
        weft_layout_clear(&type->layout);
    type->has_layout = err == MPI_SUCCESS;
    return err;
}

/* Without recursion, since types may be nested as deep as memory allows. `waiting` leads from a
 * type that is being looked at to the one that is made of it, and in the end to `type`. */
int weft_type_lay_out(weft_type_t *type)
{
    int err = MPI_SUCCESS;
    if (type->has_layout)
        return MPI_SUCCESS;
    type->waiting = NULL;
    type->laid_out = 0;
    for (weft_type_t *at = type; at != NULL && err == MPI_SUCCESS;) {
        weft_type_t *member = next_without_layout(at);
        if (member == NULL) {
            err = lay_out_one(at);
            at = at->waiting;
            continue;
        }
        member->waiting = at;
        member->laid_out = 0;
        at = member;
    }
    return err;
}
