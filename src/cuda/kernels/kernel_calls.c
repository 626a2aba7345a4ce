/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/kernels/kernel_calls.h"

#include "datatype/layout.h"

#include <string.h>

enum {
    BLOCK_THREADS = 256,
    /* 1536 threads, which fit at once on most devices with 40 registers each; of kernels with more
     * registers fewer do, as the driver knows */
    PROCESSOR_BLOCKS = 6,
    BLOCK_TEAMS = BLOCK_THREADS / WEFT_TEAM_THREADS,
    SHARE_LEAST = 512, /* bytes for a team: a vector for each of its threads */
    SHARE_MOST = 4096, /* twice what its threads have under way at once */
    SPAN_UNITS = 128,  /* runs of at least this many units are copied by teams */
    /* few, as an exchange runs beside the program's kernels; this moves 144 KiB at once */
    EXCHANGE_PROCESSORS = 6,
    /* of the exchanges of all ranks that share a device: all of them must run at once, several of
     * each rank's, also on a small device */
    CROWD_BLOCKS = 64,
    /* of all portions together: below this a round of signals costs more than it gains */
    MULTICAST_SLOT_LEAST = 16 * 1024,
    MULTICAST_STRAIGHT_MOST = 1 << 30, /* bytes that a block takes at a time */
};

/* Drivers before CUDA 12.1, and devices before 7.0, take no more (CUDA C++ Programming Guide). */
_Static_assert(sizeof(((weft_kernel_call_t *)0)->args) <= 4096, "the arguments fit a launch");

/* Takes as many threads as there is work for, but no more than fit on the device. */
static void set_threads(weft_kernel_call_t *call, uint64_t threads, unsigned processors)
{
    const uint64_t most = (uint64_t)processors * PROCESSOR_BLOCKS;
    const uint64_t blocks = (threads + BLOCK_THREADS - 1) / BLOCK_THREADS;
    const uint64_t teams = (threads + WEFT_TEAM_THREADS - 1) / WEFT_TEAM_THREADS;
    call->fills_device = blocks >= most;
    call->blocks = (unsigned)(call->fills_device ? most : blocks);
    call->threads = teams < BLOCK_TEAMS ? (unsigned)teams * WEFT_TEAM_THREADS : BLOCK_THREADS;
}

/* Does the same as set_threads(), for teams that share `bytes`; returns the bytes that each team
 * takes at a time. */
static uint64_t set_teams(weft_kernel_call_t *call, uint64_t bytes, unsigned processors)
{
    const uint64_t teams = (uint64_t)processors * PROCESSOR_BLOCKS * BLOCK_TEAMS;
    uint64_t share = (bytes / teams + SHARE_LEAST) / SHARE_LEAST * SHARE_LEAST;
    if (share > SHARE_MOST)
        share = SHARE_MOST;
    set_threads(call, (bytes + share - 1) / share * WEFT_TEAM_THREADS, processors);
    return share;
}

/* The number of elements before the first one at a vector's address, if all addresses are equally
 * aligned; the whole count if no such element exists. */
static uint64_t head_of(const weft_kernel_reduction_t *reduction, size_t element_bytes)
{
    const uintptr_t first = (uintptr_t)reduction->source[0];
    const uint64_t count = reduction->bytes / element_bytes;
    uintptr_t unlike = 0;
    for (uint32_t i = 1; i < reduction->sources; i++)
        unlike |= first ^ (uintptr_t)reduction->source[i];
    for (uint32_t i = 0; i < reduction->destinations; i++)
        unlike |= first ^ (uintptr_t)reduction->destination[i];
    const uintptr_t off = -first % WEFT_VECTOR_BYTES;
    if (unlike % WEFT_VECTOR_BYTES != 0 || off % element_bytes != 0 || off > reduction->bytes)
        return count;
    return off / element_bytes;
}

static uint32_t address_bits(const weft_kernel_reduction_t *reduction)
{
    uintptr_t bits = 0;
    for (uint32_t i = 0; i < reduction->sources; i++)
        bits |= (uintptr_t)reduction->source[i];
    for (uint32_t i = 0; i < reduction->destinations; i++)
        bits |= (uintptr_t)reduction->destination[i];
    return (uint32_t)(bits % WEFT_VECTOR_BYTES);
}

static void put_addresses(const weft_kernel_reduction_t *reduction, weft_reduce_args_t *args)
{
    const size_t bytes = reduction->sources * sizeof(void *);
    const size_t more = reduction->destinations * sizeof(void *);
    if (weft_reduction_list_bytes(reduction->sources, reduction->destinations) > 0) {
        memcpy(reduction->list, reduction->source, bytes);
        memcpy(reduction->list + reduction->sources, reduction->destination, more);
        args->list = reduction->list;
        return;
    }
    memcpy(args->source, reduction->source, bytes);
    memcpy(args->destination, reduction->destination, more);
}

void weft_call_reduction(const weft_kernel_reduction_t *reduction, unsigned processors,
                         weft_kernel_call_t *out)
{
    const size_t element_bytes = weft_kernel_element_bytes[reduction->kernel];
    weft_reduce_args_t *args = &out->args.reduce;
    *out = (weft_kernel_call_t){.kernel = reduction->kernel};
    args->count = reduction->bytes / element_bytes;
    args->head = head_of(reduction, element_bytes);
    args->sources = reduction->sources;
    args->destinations = reduction->destinations;
    args->rounds = reduction->rounds;
    args->address_bits = address_bits(reduction);
    if (args->head < args->count && weft_kernel_is_dense[reduction->kernel])
        args->vectors = (args->count - args->head) * element_bytes / WEFT_VECTOR_BYTES;
    if (args->vectors == 0)
        args->head = args->count;
    put_addresses(reduction, args);
    const uint64_t loose = args->count - args->vectors * (WEFT_VECTOR_BYTES / element_bytes);
    set_threads(out, args->vectors > loose ? args->vectors : loose, processors);
}

void weft_call_copies(const weft_kernel_copies_t *copies, unsigned processors,
                      weft_kernel_call_t *out)
{
    weft_copy_args_t *args = &out->args.copy;
    *out = (weft_kernel_call_t){.kernel = WEFT_KERNEL_copy_batch};
    weft_copy_entry_t *entry = args->entry;
    if (weft_copies_list_bytes(copies->count) > 0) {
        entry = copies->list;
        args->list = copies->list;
    }
    for (size_t i = 0; i < copies->count; i++) {
        const weft_kernel_copy_t *copy = &copies->copy[i];
        if (copy->bytes == 0)
            continue;
        entry[args->entries++] = (weft_copy_entry_t){copy->to, copy->from, args->bytes};
        args->bytes += copy->bytes;
    }
    args->share = set_teams(out, args->bytes, processors);
}

/* What the choice between kernels depends on. */
typedef struct grain {
    uintptr_t bits; /* all lengths, offsets and addresses, combined by OR */
    size_t run_bytes;
    bool has_parts;
} grain_t;

static weft_move_side_t packed_side(const weft_kernel_end_t *end, const weft_kernel_move_t *move,
                                    grain_t *grain)
{
    grain->bits |= (uintptr_t)end->buf;
    return (weft_move_side_t){.base = end->buf,
                              .root = {.offset = -(int64_t)move->begin,
                                       .leaf = WEFT_LEAF_BLOCK,
                                       .block = {.value = move->end}}};
}

static weft_move_side_t side_of(const weft_kernel_end_t *end, const weft_kernel_move_t *move,
                                grain_t *grain)
{
    const weft_move_shape_t *shape = end->shape;
    if (shape == NULL)
        return packed_side(end, move, grain);
    weft_move_side_t side = {.base = end->buf, .image = end->image, .root = shape->root};
    weft_shape_node_t *root = &side.root;
    size_t run_bytes = shape->run_bytes;
    grain->bits |= (uintptr_t)end->buf | shape->unit;
    if (end->count > 1 && !shape->is_open) {
        root->level[root->levels++] =
            (weft_shape_level_t){weft_divisor_of(shape->bytes), shape->extent};
        grain->bits |= (uintptr_t)shape->extent;
    } else if (root->levels == 0 && root->leaf == WEFT_LEAF_BLOCK) {
        root->block.value = end->count * shape->bytes;
        run_bytes = root->block.value;
    }
    grain->run_bytes = run_bytes < grain->run_bytes ? run_bytes : grain->run_bytes;
    grain->has_parts |= shape->has_parts;
    return side;
}

/* Of two kernels the first is for shapes without parts, the second for shapes with parts. */
static weft_kernel_t unit_kernel(size_t unit, bool has_parts)
{
    switch (unit) {
    case 1:
        return has_parts ? WEFT_KERNEL_move_1_parts : WEFT_KERNEL_move_1;
    case 2:
        return has_parts ? WEFT_KERNEL_move_2_parts : WEFT_KERNEL_move_2;
    case 4:
        return has_parts ? WEFT_KERNEL_move_4_parts : WEFT_KERNEL_move_4;
    case 8:
        return has_parts ? WEFT_KERNEL_move_8_parts : WEFT_KERNEL_move_8;
    default:
        return has_parts ? WEFT_KERNEL_move_16_parts : WEFT_KERNEL_move_16;
    }
}

void weft_call_move(const weft_kernel_move_t *move, unsigned processors, weft_kernel_call_t *out)
{
    grain_t grain = {.bits = move->begin | move->end, .run_bytes = SIZE_MAX};
    *out = (weft_kernel_call_t){0};
    weft_move_args_t *args = &out->args.move;
    args->begin = move->begin;
    args->end = move->end;
    args->to = side_of(&move->to, move, &grain);
    args->from = side_of(&move->from, move, &grain);
    const size_t unit = weft_unit_of(grain.bits), bytes = move->end - move->begin;
    if (unit < WEFT_VECTOR_BYTES && grain.run_bytes >= SPAN_UNITS * unit) {
        out->kernel = grain.has_parts ? WEFT_KERNEL_move_spans_parts : WEFT_KERNEL_move_spans;
        args->share = set_teams(out, bytes, processors);
    } else {
        out->kernel = unit_kernel(unit, grain.has_parts);
        set_threads(out, bytes / unit, processors);
    }
}

static const unsigned char scaled_bytes[] = {
#define BYTES_OF(name, item_t, wide_t) [WEFT_SCALED_##name] = sizeof(item_t),
    WEFT_SCALED(BYTES_OF)};

void weft_call_scaling(const weft_kernel_scaling_t *scaling, unsigned processors,
                       weft_kernel_call_t *out)
{
    const size_t bytes = scaled_bytes[scaling->type], items = WEFT_VECTOR_BYTES / bytes;
    const uintptr_t from = (uintptr_t)scaling->from, to = (uintptr_t)scaling->to;
    const size_t off = -from % WEFT_VECTOR_BYTES;
    weft_scale_args_t *args = &out->args.scale;
    *out = (weft_kernel_call_t){.kernel = WEFT_KERNEL_scale};
    *args = (weft_scale_args_t){.count = scaling->count,
                                .head = scaling->count,
                                .from = scaling->from,
                                .to = scaling->to,
                                .factor_at = scaling->factor_at,
                                .factor = scaling->factor,
                                .type = scaling->type,
                                .divides = scaling->is_division};
    if ((from ^ to) % WEFT_VECTOR_BYTES == 0 && off % bytes == 0 && off / bytes < scaling->count) {
        args->head = off / bytes;
        args->vectors = (scaling->count - args->head) / items;
    }
    if (args->vectors == 0)
        args->head = args->count;
    const uint64_t loose = args->count - args->vectors * items;
    set_threads(out, args->vectors > loose ? args->vectors : loose, processors);
}

void weft_call_exchange(weft_kernel_t kernel, size_t most, int crowd, weft_kernel_call_t *out)
{
    const uint64_t units = (most + WEFT_UNIT_BYTES - 1) / WEFT_UNIT_BYTES;
    out->kernel = kernel;
    set_threads(out, units > 0 ? units : 1, EXCHANGE_PROCESSORS);
    out->fills_device = false;
    if (crowd > 1 && out->blocks > CROWD_BLOCKS / (unsigned)crowd)
        out->blocks = CROWD_BLOCKS / (unsigned)crowd;
}

/* Does nothing but single units go through slots? */
static bool is_straight(weft_kernel_t kernel, const weft_multicast_args_t *args)
{
    for (uint32_t i = 0; i < args->portions; i++) {
        const weft_multicast_portion_t *portion = &args->portion[i];
        bool is_loaded = kernel == WEFT_KERNEL_multicast_move || portion->from_all != NULL;
        if (!is_loaded || (!args->scatters && portion->to_all == NULL))
            return false;
    }
    return true;
}

/* Pieces are so small that each block has one, if the data are long enough, and all pieces are
 * about equally long. */
static void divide_evenly(weft_multicast_args_t *args, uint64_t most)
{
    const uint64_t least = MULTICAST_SLOT_LEAST / args->portions;
    const uint64_t round = WEFT_MULTICAST_BLOCKS * most;
    const uint64_t rounds = args->bytes > round ? (args->bytes + round - 1) / round : 1;
    const uint64_t parts = rounds * WEFT_MULTICAST_BLOCKS;
    uint64_t piece = (args->bytes + parts - 1) / parts;
    piece = piece < least ? least : piece;
    args->piece = (uint32_t)((piece + WEFT_UNIT_BYTES - 1) / WEFT_UNIT_BYTES * WEFT_UNIT_BYTES);
    args->first = 0;
}

/* The same with first pieces that ascend. A piece is a multiple of so many bytes that the first
 * ones fill half a round. */
static void divide_in_steps(weft_multicast_args_t *args, uint64_t most)
{
    const uint64_t step = (uint64_t)WEFT_MULTICAST_BLOCKS * WEFT_UNIT_BYTES;
    const uint64_t half = most / step * step * WEFT_MULTICAST_BLOCKS / 2;
    const uint64_t halves = (args->bytes + half - 1) / half;
    const uint64_t parts = (halves / 2 * 2 + 1) * WEFT_MULTICAST_BLOCKS / 2;
    const uint64_t piece = (args->bytes + parts - 1) / parts;
    args->piece = (uint32_t)((piece + step - 1) / step * step);
    args->first = args->piece / WEFT_MULTICAST_BLOCKS;
}

/* Where data go straight, a block has one piece: it need not wait for the others in between. */
void weft_call_multicast(weft_kernel_t kernel, weft_kernel_call_t *out)
{
    weft_multicast_args_t *args = &out->args.multicast;
    const uint64_t slot = WEFT_MULTICAST_SLOT / args->portions / WEFT_UNIT_BYTES * WEFT_UNIT_BYTES;
    bool straight = is_straight(kernel, args);
    if (!straight && args->bytes > WEFT_MULTICAST_BLOCKS * slot)
        divide_in_steps(args, slot);
    else
        divide_evenly(args, straight ? MULTICAST_STRAIGHT_MOST : slot);
    args->row = straight ? WEFT_UNIT_BYTES : args->piece;
    const uint64_t pieces = (args->bytes + args->piece - 1) / args->piece;
    out->kernel = kernel;
    out->fills_device = false;
    out->blocks = (unsigned)(pieces < WEFT_MULTICAST_BLOCKS ? pieces : WEFT_MULTICAST_BLOCKS);
    out->threads = WEFT_KERNEL_THREADS;
}
