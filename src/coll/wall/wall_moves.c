/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on a wall that move data. What is posted is packed, so that each member may have a
 * type of its own. */
#include "coll/wall/wall_algorithms.h"

#include "coll/wall/wall_blocks.h"

/* The step's part of a block, in bytes. */
static bool post_piece(const weft_wall_call_t *call, const weft_elements_t *from)
{
    size_t part = weft_wall_part_of(call, weft_wall_bytes_of(from));
    return weft_wall_post_piece(call->wall, from, weft_wall_done(call), part);
}

static bool take_piece(const weft_wall_call_t *call, int member, const weft_elements_t *to)
{
    size_t part = weft_wall_part_of(call, weft_wall_bytes_of(to));
    const void *data = weft_wall_data(call->wall, member, part);
    if (data == NULL)
        return false;
    weft_wall_unpack(to, weft_wall_done(call), data, part);
    weft_wall_have_read(call->wall, member, part, data, part);
    return true;
}

typedef bool (*take_fn_t)(const weft_wall_call_t *call, int member, const weft_elements_t *to);

/* From all others, each member in another order: so they do not all read from one at a time. */
static bool take_from_others(const weft_wall_call_t *call, weft_wall_block_fn_t target,
                             take_fn_t take)
{
    const weft_wall_t *wall = call->wall;
    for (int i = 1; i < wall->size; i++) {
        int member = weft_wall_next(wall, i);
        weft_elements_t to = target(call->args, member);
        if (!take(call, member, &to))
            return false;
    }
    return true;
}

/* ---- barrier ---- */

static void begin_barrier(weft_wall_call_t *call)
{
    call->steps = 1;
    weft_wall_await_others(call);
}

static bool post_barrier(weft_wall_call_t *call)
{
    return weft_wall_signal(call->wall);
}

/* The own post is not looked at: reading the line that others fetch took a barrier of two 60 ns. */
static bool take_barrier(weft_wall_call_t *call)
{
    bool is_good = true;
    for (int i = 1; is_good && i < call->wall->size; i++)
        is_good = weft_wall_data(call->wall, weft_wall_next(call->wall, i), 0) != NULL;
    return is_good;
}

/* ---- from one, or to one ---- */

/* What would be one post goes in several, which the others read while the root writes the next: on
 * a Cascade Lake 64 KiB take 7.3 us instead of 8.2. Where ranks share cores each piece could take a
 * turn of its own. */
static size_t bytes_of_piece(const weft_wall_t *wall, size_t bytes)
{
    enum { LEAST = 8192, PIECES = 8, LINE = 64 };
    size_t piece = (bytes / PIECES + LINE - 1) / LINE * LINE;
    if (weft_world.is_oversubscribed || bytes > wall->chunk)
        return wall->chunk;
    return weft_least(wall->chunk, piece < LEAST ? LEAST : piece);
}

static void begin_bcast(weft_wall_call_t *call)
{
    weft_elements_t all = weft_wall_send_block(call->args, 0);
    size_t bytes = weft_wall_bytes_of(&all);
    weft_wall_stamp(call->wall, bytes);
    weft_wall_divide(call, bytes, bytes_of_piece(call->wall, bytes));
    if (!weft_wall_is_root(call))
        weft_wall_await_member(call, call->args->root);
}

static bool post_bcast(weft_wall_call_t *call)
{
    weft_elements_t all = weft_wall_send_block(call->args, 0);
    return weft_wall_is_root(call) ? post_piece(call, &all) : weft_wall_signal(call->wall);
}

static bool take_bcast(weft_wall_call_t *call)
{
    weft_elements_t all = weft_wall_send_block(call->args, 0);
    return weft_wall_is_root(call) || take_piece(call, call->args->root, &all);
}

static void begin_gather(weft_wall_call_t *call)
{
    const weft_coll_args_t *args = call->args;
    bool is_in_place = weft_is_in_place(args);
    weft_elements_t own =
        is_in_place ? weft_wall_recv_block(args, call->wall->rank) : weft_wall_send_block(args, 0);
    size_t bytes = weft_wall_is_root(call) ? args->recv_count * args->recv_type->size
                                           : weft_wall_bytes_of(&own);
    weft_wall_stamp(call->wall, bytes);
    weft_wall_divide(call, bytes, call->wall->chunk);
    if (!weft_wall_is_root(call))
        return;
    weft_wall_await_others(call);
    weft_elements_t to = weft_wall_recv_block(args, call->wall->rank);
    if (!is_in_place)
        weft_copy_elements(&own, &to);
}

static bool post_gather(weft_wall_call_t *call)
{
    if (weft_wall_is_root(call))
        return weft_wall_signal(call->wall);
    weft_elements_t own = weft_wall_send_block(call->args, 0);
    return post_piece(call, &own);
}

static bool take_gather(weft_wall_call_t *call)
{
    for (int i = 0; i < call->end; i++) {
        weft_elements_t to = weft_wall_recv_block(call->args, i);
        if (i != call->wall->rank && !take_piece(call, i, &to))
            return false;
    }
    return true;
}

/* ---- a post with a piece for each member ---- */

/* Of two members, the only piece is for the other one. */
static size_t pieces_of_post(const weft_wall_t *wall)
{
    return wall->size == 2 ? 1 : (size_t)wall->size;
}

/* `most` bytes of each block at most go into one post, one behind the other. */
static void divide_blocks(weft_wall_call_t *call, size_t block_bytes)
{
    const weft_wall_t *wall = call->wall;
    size_t pieces = pieces_of_post(wall);
    bool is_one = block_bytes * pieces <= wall->chunk;
    weft_wall_stamp(call->wall, block_bytes);
    weft_wall_divide(call, block_bytes, is_one ? block_bytes : wall->chunk / pieces / 64 * 64);
}

static bool post_pieces(const weft_wall_call_t *call)
{
    weft_wall_t *wall = call->wall;
    size_t part = weft_wall_part_of(call, call->total), done = weft_wall_done(call);
    bool is_in_place = weft_is_in_place(call->args);
    char *room = weft_wall_room(wall, part * pieces_of_post(wall));
    if (room == NULL)
        return false;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t from =
            is_in_place ? weft_wall_recv_block(call->args, i) : weft_wall_send_block(call->args, i);
        if (i != wall->rank)
            weft_wall_pack(wall, &from, done, room + weft_wall_place_of(wall, (size_t)i * part),
                           part);
    }
    weft_wall_post(wall);
    return true;
}

/* This member's piece of a post of pieces. */
static bool take_own_piece(const weft_wall_call_t *call, int member, const weft_elements_t *to)
{
    weft_wall_t *wall = call->wall;
    size_t part = weft_wall_part_of(call, call->total), all = part * pieces_of_post(wall);
    const char *data = weft_wall_data(wall, member, all);
    if (data == NULL)
        return false;
    data += weft_wall_place_of(wall, (size_t)wall->rank * part);
    weft_wall_unpack(to, weft_wall_done(call), data, part);
    weft_wall_have_read(wall, member, all, data, part);
    return true;
}

/* In place the root has no receive buffer. */
static void begin_scatter(weft_wall_call_t *call)
{
    const weft_coll_args_t *args = call->args;
    bool is_in_place = args->recv_buf == MPI_IN_PLACE;
    weft_elements_t own = is_in_place ? (weft_elements_t){0} : weft_wall_recv_block(args, 0);
    divide_blocks(call, weft_wall_is_root(call) ? args->send_count * args->send_type->size
                                                : weft_wall_bytes_of(&own));
    if (!weft_wall_is_root(call)) {
        weft_wall_await_member(call, args->root);
    } else if (!is_in_place) {
        weft_elements_t from = weft_wall_send_block(args, call->wall->rank);
        weft_copy_elements(&from, &own);
    }
}

static bool post_scatter(weft_wall_call_t *call)
{
    return weft_wall_is_root(call) ? post_pieces(call) : weft_wall_signal(call->wall);
}

static bool take_scatter(weft_wall_call_t *call)
{
    if (weft_wall_is_root(call))
        return true;
    weft_elements_t own = weft_wall_recv_block(call->args, 0);
    return take_own_piece(call, call->args->root, &own);
}

/* In place a piece is posted before another one takes its place. */
static void begin_alltoall(weft_wall_call_t *call)
{
    const weft_coll_args_t *args = call->args;
    divide_blocks(call, args->recv_count * args->recv_type->size);
    weft_wall_await_others(call);
    if (weft_is_in_place(args))
        return;
    weft_elements_t from = weft_wall_send_block(args, call->wall->rank),
                    to = weft_wall_recv_block(args, call->wall->rank);
    weft_copy_elements(&from, &to);
}

static bool post_alltoall(weft_wall_call_t *call)
{
    return post_pieces(call);
}

static bool take_alltoall(weft_wall_call_t *call)
{
    return take_from_others(call, weft_wall_recv_block, take_own_piece);
}

/* ---- from all, to all ---- */

/* `most` is the size of the largest block, `sum` that of all. */
static void begin_blocks(weft_wall_call_t *call, weft_wall_block_fn_t target, size_t most,
                         size_t sum)
{
    weft_wall_stamp(call->wall, sum);
    weft_wall_divide(call, most, call->wall->chunk);
    weft_wall_await_others(call);
    if (weft_is_in_place(call->args))
        return;
    weft_elements_t own = weft_wall_send_block(call->args, 0),
                    to = target(call->args, call->wall->rank);
    weft_copy_elements(&own, &to);
}

static bool post_block(weft_wall_call_t *call, weft_wall_block_fn_t target)
{
    weft_elements_t own = weft_is_in_place(call->args) ? target(call->args, call->wall->rank)
                                                       : weft_wall_send_block(call->args, 0);
    return post_piece(call, &own);
}

static void begin_allgather(weft_wall_call_t *call)
{
    size_t bytes = call->args->recv_count * call->args->recv_type->size;
    begin_blocks(call, weft_wall_recv_block, bytes, bytes);
}

static bool post_allgather(weft_wall_call_t *call)
{
    return post_block(call, weft_wall_recv_block);
}

static bool take_allgather(weft_wall_call_t *call)
{
    return take_from_others(call, weft_wall_recv_block, take_piece);
}

static void begin_allgatherv(weft_wall_call_t *call)
{
    size_t most = 0, sum = 0;
    for (int i = 0; i < call->wall->size; i++) {
        weft_elements_t block = weft_wall_recv_slice(call->args, i);
        size_t bytes = weft_wall_bytes_of(&block);
        most = bytes > most ? bytes : most;
        sum += bytes;
    }
    begin_blocks(call, weft_wall_recv_slice, most, sum);
}

static bool post_allgatherv(weft_wall_call_t *call)
{
    return post_block(call, weft_wall_recv_slice);
}

static bool take_allgatherv(weft_wall_call_t *call)
{
    return take_from_others(call, weft_wall_recv_slice, take_piece);
}

/* ---- plans ---- */

WEFT_WALL_STEPS(barrier, begin_barrier, post_barrier, take_barrier)
WEFT_WALL_STEPS(bcast, begin_bcast, post_bcast, take_bcast)
WEFT_WALL_STEPS(gather, begin_gather, post_gather, take_gather)
WEFT_WALL_STEPS(scatter, begin_scatter, post_scatter, take_scatter)
WEFT_WALL_STEPS(allgather, begin_allgather, post_allgather, take_allgather)
WEFT_WALL_STEPS(allgatherv, begin_allgatherv, post_allgatherv, take_allgatherv)
WEFT_WALL_STEPS(alltoall, begin_alltoall, post_alltoall, take_alltoall)

int weft_wall_flat_barrier(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return run_barrier(wall, args);
}

WEFT_WALL_ROUTED(bcast, WEFT_BCAST)
WEFT_WALL_ROUTED(gather, WEFT_GATHER)
WEFT_WALL_ROUTED(scatter, WEFT_SCATTER)
WEFT_WALL_ROUTED(allgather, WEFT_ALLGATHER)
WEFT_WALL_ROUTED(alltoall, WEFT_ALLTOALL)
