/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/wall/wall_algorithms.h"

#include "coll/algorithm.h"
#include "coll/wall/fold.h"
#include "base/copy.h"

static bool post_elements(weft_wall_t *wall, const char *from, size_t bytes)
{
    void *room = weft_wall_room(wall, bytes);
    if (room == NULL)
        return false;
    weft_wall_copy_in(wall, room, from, bytes);
    weft_wall_post(wall);
    return true;
}

static size_t offset_of(const weft_wall_call_t *call)
{
    return weft_wall_done(call) * call->args->recv_type->size;
}

/* ---- every member reduces all that it gets ---- */

static void begin_vector(weft_wall_call_t *call)
{
    const weft_coll_args_t *args = call->args;
    weft_wall_stamp(call->wall, args->recv_count * args->recv_type->size);
    weft_wall_divide(call, args->recv_count,
                     weft_wall_elements(call->wall, args->recv_type, 1, args->recv_count));
}

/* The operands of the members up to `call->end` - 1 are reduced. */
static bool post_prefix(weft_wall_call_t *call)
{
    size_t bytes = weft_wall_part_of(call, call->total) * call->args->recv_type->size;
    return post_elements(call->wall, weft_fold_input(call->args) + offset_of(call), bytes);
}

static bool take_prefix(weft_wall_call_t *call)
{
    const weft_coll_args_t *args = call->args;
    weft_fold_t fold = weft_fold_of(args, call->end, weft_wall_part_of(call, call->total));
    size_t offset = offset_of(call), bytes = fold.count * args->recv_type->size;
    if (weft_fold_has_input(args, call->wall->rank))
        fold.own = weft_fold_input(args) + offset;
    if (!weft_fold_read(call->wall, &fold, bytes, 0))
        return false;
    if (call->end > 0)
        weft_fold(&fold, (char *)args->recv_buf + offset);
    weft_fold_have_read(call->wall, &fold);
    return true;
}

static void begin_allreduce(weft_wall_call_t *call)
{
    begin_vector(call);
    weft_wall_await_others(call);
}

static void begin_scan(weft_wall_call_t *call)
{
    begin_vector(call);
    call->end = call->wall->rank + 1;
}

static void begin_exscan(weft_wall_call_t *call)
{
    begin_vector(call);
    call->end = call->wall->rank;
}

/* An operand that nobody else needs is read in the caller's buffer, if that can be. */
static bool post_unneeded(weft_wall_call_t *call)
{
    return weft_fold_has_input(call->args, call->wall->rank) ? weft_wall_signal(call->wall)
                                                             : post_prefix(call);
}

static bool post_scan(weft_wall_call_t *call)
{
    bool is_last = call->wall->rank == call->wall->size - 1;
    return is_last ? post_unneeded(call) : post_prefix(call);
}

static void begin_reduce(weft_wall_call_t *call)
{
    begin_vector(call);
    if (weft_wall_is_root(call))
        weft_wall_await_others(call);
}

static bool post_reduce(weft_wall_call_t *call)
{
    return weft_wall_is_root(call) ? post_unneeded(call) : post_prefix(call);
}

static bool take_reduce(weft_wall_call_t *call)
{
    return call->end == 0 || take_prefix(call);
}

/* ---- every member reduces a slice ---- */

/* Two steps for each part of the vector: the operands of the slices, then the slices of the
 * result. */
typedef struct slice {
    size_t done, count; /* elements before the part, and of it */
    size_t first, end;  /* this member's slice of the part */
} wall_slice_t;

static wall_slice_t slice_of(const weft_wall_call_t *call)
{
    wall_slice_t its = {.done = call->step / 2 * call->most};
    its.count = weft_least(call->total - its.done, call->most);
    its.first = weft_part(its.count, call->wall->rank, call->wall->size);
    its.end = weft_part(its.count, call->wall->rank + 1, call->wall->size);
    return its;
}

/* What others reduce: all but the own slice, which nobody reads there. */
static bool post_operands(const weft_wall_call_t *call, const wall_slice_t *its)
{
    weft_wall_t *wall = call->wall;
    size_t size = call->args->recv_type->size, end = its->end * size;
    const char *from = weft_fold_input(call->args) + its->done * size;
    char *room = weft_wall_room(wall, its->count * size);
    if (room == NULL)
        return false;
    weft_wall_copy_in(wall, room, from, its->first * size);
    weft_wall_copy_in(wall, room + weft_wall_place_of(wall, end), from + end,
                      its->count * size - end);
    weft_wall_post(wall);
    return true;
}

/* This member's slice of the result, for its caller and for the others. In place, from the third
 * rank on, the caller's slice is an operand that has to be read before it is written. */
static void fold_slice(const weft_wall_call_t *call, const weft_fold_t *fold, char *room, char *out)
{
    if (weft_fold_has_input(call->args, call->wall->rank))
        weft_fold_twice(fold, out, room, weft_wall_stores(call->wall));
    else
        weft_fold_twice(fold, room, out, WEFT_STORE_CACHED);
}

static bool post_result(const weft_wall_call_t *call, const wall_slice_t *its, bool has_result)
{
    const weft_coll_args_t *args = call->args;
    size_t size = args->recv_type->size, own = (its->done + its->first) * size;
    weft_fold_t fold = weft_fold_of(args, call->wall->size, its->end - its->first);
    fold.own = weft_fold_input(args) + own;
    size_t place = weft_wall_place_of(call->wall, its->first * size);
    if (!weft_fold_read(call->wall, &fold, its->count * size, place))
        return false;
    char *room = weft_wall_room(call->wall, fold.count * size);
    if (room == NULL)
        return false;
    if (has_result)
        fold_slice(call, &fold, room, (char *)args->recv_buf + own);
    else
        weft_fold(&fold, room);
    weft_fold_have_read(call->wall, &fold);
    weft_wall_post(call->wall);
    return true;
}

/* Those that others have reduced. */
static bool take_slices(const weft_wall_call_t *call)
{
    weft_wall_t *wall = call->wall;
    wall_slice_t its = slice_of(call);
    size_t size = call->args->recv_type->size;
    char *out = (char *)call->args->recv_buf + its.done * size;
    for (int i = 1; i < wall->size; i++) {
        int member = weft_wall_next(wall, i);
        size_t first = weft_part(its.count, member, wall->size);
        size_t bytes = (weft_part(its.count, member + 1, wall->size) - first) * size;
        const void *slice = weft_wall_data(wall, member, bytes);
        if (slice == NULL)
            return false;
        weft_copy_read(out + first * size, slice, bytes);
        weft_wall_have_read(wall, member, bytes, slice, bytes);
    }
    return true;
}

static void begin_slices(weft_wall_call_t *call)
{
    begin_vector(call);
    call->steps *= 2;
}

static bool post_slices(weft_wall_call_t *call, bool has_result)
{
    wall_slice_t its = slice_of(call);
    bool is_result = call->step % 2 == 1;
    call->first = 0;
    call->end = !is_result || has_result ? call->wall->size : 0;
    return is_result ? post_result(call, &its, has_result) : post_operands(call, &its);
}

static bool take_result(weft_wall_call_t *call)
{
    return call->step % 2 == 0 || call->end == 0 || take_slices(call);
}

static bool post_allreduce_slices(weft_wall_call_t *call)
{
    return post_slices(call, true);
}

static bool post_reduce_slices(weft_wall_call_t *call)
{
    return post_slices(call, weft_wall_is_root(call));
}

/* ---- every member gets a block ---- */

/* In a step each block has `most` elements, and a post has room for so many of each. Blocks may
 * have different numbers of elements, and a member without any waits for nobody. */
static size_t block_count(const weft_coll_args_t *args, int member)
{
    return args->recv_counts.at == NULL ? args->recv_count
                                        : (size_t)weft_count_at(args->recv_counts, (size_t)member);
}

static void begin_blocks(weft_wall_call_t *call)
{
    weft_wall_t *wall = call->wall;
    size_t longest = 0, sum = 0, size = call->args->recv_type->size;
    call->own = weft_fold_input(call->args);
    for (int i = 0; i < wall->size; i++) {
        size_t count = block_count(call->args, i);
        call->own += i < wall->rank ? count * size : 0;
        longest = count > longest ? count : longest;
        sum += count;
    }
    weft_wall_stamp(wall, sum * size);
    weft_wall_divide(call, longest,
                     weft_wall_elements(wall, call->args->recv_type, wall->size, longest));
    if (block_count(call->args, wall->rank) > 0)
        weft_wall_await_others(call);
}

/* Everything, or all but the own block: that is needed if the result may be written over it. */
static bool post_blocks(weft_wall_call_t *call)
{
    weft_wall_t *wall = call->wall;
    const weft_coll_args_t *args = call->args;
    size_t size = args->recv_type->size, stride = call->most * size;
    const char *from = weft_fold_input(args);
    char *room = weft_wall_room(wall, stride * (size_t)wall->size);
    if (room == NULL)
        return false;
    for (int i = 0; i < wall->size; i++) {
        size_t count = block_count(args, i), bytes = weft_wall_part_of(call, count) * size;
        if (bytes > 0 && (i != wall->rank || weft_is_in_place(args)))
            weft_wall_copy_in(wall, room + (size_t)i * stride, from + offset_of(call), bytes);
        from += count * size;
    }
    weft_wall_post(wall);
    return true;
}

static bool take_own_block(weft_wall_call_t *call)
{
    weft_wall_t *wall = call->wall;
    const weft_coll_args_t *args = call->args;
    if (call->end == 0) /* there is none */
        return true;
    size_t stride = call->most * args->recv_type->size;
    weft_fold_t fold =
        weft_fold_of(args, wall->size, weft_wall_part_of(call, block_count(args, wall->rank)));
    if (!weft_is_in_place(args))
        fold.own = call->own + offset_of(call);
    if (!weft_fold_read(wall, &fold, stride * (size_t)wall->size, (size_t)wall->rank * stride))
        return false;
    if (fold.count > 0)
        weft_fold(&fold, (char *)args->recv_buf + offset_of(call));
    weft_fold_have_read(wall, &fold);
    return true;
}

/* ---- plans ---- */

WEFT_WALL_STEPS(allreduce, begin_allreduce, post_prefix, take_prefix)
WEFT_WALL_STEPS(scan, begin_scan, post_scan, take_prefix)
WEFT_WALL_STEPS(exscan, begin_exscan, post_scan, take_prefix)
WEFT_WALL_STEPS(reduce, begin_reduce, post_reduce, take_reduce)
WEFT_WALL_STEPS(allreduce_sliced, begin_slices, post_allreduce_slices, take_result)
WEFT_WALL_STEPS(reduce_sliced, begin_slices, post_reduce_slices, take_result)
WEFT_WALL_STEPS(reduce_scatter, begin_blocks, post_blocks, take_own_block)

WEFT_WALL_ROUTED(allreduce, WEFT_ALLREDUCE)

int weft_wall_flat_allreduce(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return run_allreduce(wall, args);
}
