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
    weft_copy(room, from, bytes);
    weft_wall_post(wall);
    return true;
}

static void stamp_vector(weft_wall_t *wall, const weft_coll_args_t *args)
{
    weft_wall_stamp(wall, args->recv_count * args->recv_type->size);
}

/* ---- every member reduces all that it gets ---- */

/* The first `operands` members' operands are reduced. */
static int reduce_prefix(weft_wall_t *wall, const weft_coll_args_t *args, int operands)
{
    const char *in = weft_fold_input(args);
    char *out = args->recv_buf;
    size_t size = args->recv_type->size, most = weft_wall_elements(wall, args->recv_type, 1);
    bool has_own = weft_fold_has_input(args, wall->rank);
    stamp_vector(wall, args);
    for (size_t done = 0; done < args->recv_count; done += most) {
        weft_fold_t fold =
            weft_fold_of(args, operands, weft_wall_least(args->recv_count - done, most));
        size_t bytes = fold.count * size;
        fold.own = has_own ? in + done * size : NULL;
        if (!post_elements(wall, in + done * size, bytes) || !weft_fold_read(wall, &fold, bytes, 0))
            break;
        if (operands > 0)
            weft_fold(&fold, out + done * size);
    }
    return wall->error;
}

static int run_allreduce(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return reduce_prefix(wall, args, wall->size);
}

static int run_scan(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return reduce_prefix(wall, args, wall->rank + 1);
}

static int run_exscan(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return reduce_prefix(wall, args, wall->rank);
}

static bool reduce_chunk(weft_wall_t *wall, const weft_coll_args_t *args, size_t done,
                         weft_fold_t *fold)
{
    size_t size = fold->type->size, bytes = fold->count * size;
    const char *in = weft_fold_input(args) + done * size;
    bool is_root = wall->rank == args->root;
    bool has_data = !is_root || !weft_fold_has_input(args, wall->rank);
    if (!(has_data ? post_elements(wall, in, bytes) : weft_wall_signal(wall)))
        return false;
    if (!is_root)
        return true;
    if (!has_data)
        fold->own = in;
    if (!weft_fold_read(wall, fold, bytes, 0))
        return false;
    weft_fold(fold, (char *)args->recv_buf + done * size);
    return true;
}

static int run_reduce(weft_wall_t *wall, const weft_coll_args_t *args)
{
    size_t most = weft_wall_elements(wall, args->recv_type, 1);
    stamp_vector(wall, args);
    for (size_t done = 0; done < args->recv_count; done += most) {
        weft_fold_t fold =
            weft_fold_of(args, wall->size, weft_wall_least(args->recv_count - done, most));
        if (!reduce_chunk(wall, args, done, &fold))
            break;
    }
    return wall->error;
}

/* ---- every member reduces a slice ---- */

/* Post `bytes` bytes, but not those from `first` to `end`: nobody reads them there. */
static bool post_around(weft_wall_t *wall, const char *from, size_t bytes, size_t first, size_t end)
{
    char *room = weft_wall_room(wall, bytes);
    if (room == NULL)
        return false;
    weft_copy(room, from, first);
    weft_copy(room + end, from + end, bytes - end);
    weft_wall_post(wall);
    return true;
}

/* This member's slice of the result, for its caller and for the others. In place, from the third
 * rank on, the caller's slice is an operand that has to be read before it is written. */
static void fold_slice(const weft_wall_t *wall, const weft_coll_args_t *args,
                       const weft_fold_t *fold, char *room, char *out)
{
    if (weft_fold_has_input(args, wall->rank))
        weft_fold_twice(fold, out, room);
    else
        weft_fold_twice(fold, room, out);
}

/* Post the slices of a chunk that others reduce, then this member's slice of the result. */
static bool post_slice(weft_wall_t *wall, const weft_coll_args_t *args, size_t done, size_t count,
                       bool has_result)
{
    size_t size = args->recv_type->size, first = weft_part(count, wall->rank, wall->size);
    size_t end = weft_part(count, wall->rank + 1, wall->size);
    const char *in = weft_fold_input(args) + done * size;
    weft_fold_t fold = weft_fold_of(args, wall->size, end - first);
    fold.own = in + first * size;
    if (!post_around(wall, in, count * size, first * size, end * size) ||
        !weft_fold_read(wall, &fold, count * size, first * size))
        return false;
    char *room = weft_wall_room(wall, fold.count * size);
    if (room == NULL)
        return false;
    if (has_result)
        fold_slice(wall, args, &fold, room, (char *)args->recv_buf + (done + first) * size);
    else
        weft_fold(&fold, room);
    weft_wall_post(wall);
    return true;
}

/* Those that others have reduced. */
static bool take_slices(weft_wall_t *wall, const weft_coll_args_t *args, size_t done, size_t count)
{
    size_t size = args->recv_type->size;
    char *out = (char *)args->recv_buf + done * size;
    if (!weft_wall_await_all(wall))
        return false;
    for (int i = 1; i < wall->size; i++) {
        int member = (wall->rank + i) % wall->size;
        size_t first = weft_part(count, member, wall->size);
        size_t bytes = (weft_part(count, member + 1, wall->size) - first) * size;
        const void *slice = weft_wall_data(wall, member, bytes);
        if (slice == NULL)
            return false;
        weft_copy(out + first * size, slice, bytes);
    }
    return true;
}

static int reduce_by_slices(weft_wall_t *wall, const weft_coll_args_t *args, bool has_result)
{
    size_t most = weft_wall_elements(wall, args->recv_type, 1);
    stamp_vector(wall, args);
    for (size_t done = 0; done < args->recv_count; done += most) {
        size_t count = weft_wall_least(args->recv_count - done, most);
        if (!post_slice(wall, args, done, count, has_result) ||
            (has_result && !take_slices(wall, args, done, count)))
            break;
    }
    return wall->error;
}

static int run_allreduce_sliced(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return reduce_by_slices(wall, args, true);
}

static int run_reduce_sliced(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return reduce_by_slices(wall, args, wall->rank == args->root);
}

/* ---- every member gets a block ---- */

/* Elements of a round, the same of each block: a post has `most` of them for each member, at
 * multiples of `most`. Blocks may have different numbers of elements. */
typedef struct round {
    size_t done, most;
} round_t;

static size_t block_count(const weft_coll_args_t *args, int member)
{
    return args->recv_counts.at == NULL ? args->recv_count
                                        : (size_t)weft_count_at(args->recv_counts, (size_t)member);
}

static size_t count_in_round(const weft_coll_args_t *args, int member, const round_t *round)
{
    size_t count = block_count(args, member);
    return count > round->done ? weft_wall_least(count - round->done, round->most) : 0;
}

/* Everything, or all but the own block: that is needed if the result may be written over it. */
static bool post_blocks(weft_wall_t *wall, const weft_coll_args_t *args, const round_t *round)
{
    size_t size = args->recv_type->size, stride = round->most * size;
    const char *from = weft_fold_input(args);
    char *room = weft_wall_room(wall, stride * (size_t)wall->size);
    if (room == NULL)
        return false;
    for (int i = 0; i < wall->size; i++) {
        size_t bytes = count_in_round(args, i, round) * size;
        if (bytes > 0 && (i != wall->rank || weft_is_in_place(args)))
            weft_copy(room + (size_t)i * stride, from + round->done * size, bytes);
        from += block_count(args, i) * size;
    }
    weft_wall_post(wall);
    return true;
}

/* `own` is this member's block of its input. */
static bool reduce_own_block(weft_wall_t *wall, const weft_coll_args_t *args, const round_t *round,
                             const char *own)
{
    size_t size = args->recv_type->size, stride = round->most * size;
    weft_fold_t fold = weft_fold_of(args, wall->size, count_in_round(args, wall->rank, round));
    if (!weft_fold_read(wall, &fold, stride * (size_t)wall->size, (size_t)wall->rank * stride))
        return false;
    if (!weft_is_in_place(args))
        fold.at[wall->rank] = own + round->done * size;
    if (fold.count > 0)
        weft_fold(&fold, (char *)args->recv_buf + round->done * size);
    return true;
}

static int run_reduce_scatter(weft_wall_t *wall, const weft_coll_args_t *args)
{
    const char *own = weft_fold_input(args);
    size_t longest = 0, sum = 0, size = args->recv_type->size;
    for (int i = 0; i < wall->size; i++) {
        size_t count = block_count(args, i);
        own += i < wall->rank ? count * size : 0;
        longest = count > longest ? count : longest;
        sum += count;
    }
    weft_wall_stamp(wall, sum * size);
    round_t round = {
        0, weft_wall_least(weft_wall_elements(wall, args->recv_type, wall->size), longest)};
    for (; round.done < longest; round.done += round.most) {
        if (!post_blocks(wall, args, &round) || !reduce_own_block(wall, args, &round, own))
            break;
    }
    return wall->error;
}

/* ---- plans ---- */

WEFT_WALL_PLAN(allreduce)
WEFT_WALL_PLAN(reduce)
WEFT_WALL_PLAN(allreduce_sliced)
WEFT_WALL_PLAN(reduce_sliced)
WEFT_WALL_PLAN(reduce_scatter)
WEFT_WALL_PLAN(scan)
WEFT_WALL_PLAN(exscan)
