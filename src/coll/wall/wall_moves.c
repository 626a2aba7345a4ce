/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on a wall that move data. What is posted is packed, so that each member may have a
 * type of its own. */
#include "coll/wall/wall_algorithms.h"

#include "coll/wall/wall_blocks.h"

static bool take_piece(weft_wall_t *wall, int member, const weft_elements_t *to, size_t offset,
                       size_t bytes)
{
    const void *data = weft_wall_read(wall, member, bytes);
    if (data != NULL)
        weft_wall_unpack(to, offset, data, bytes);
    return data != NULL;
}

static int run_barrier(weft_wall_t *wall, const weft_coll_args_t *args)
{
    (void)args;
    if (weft_wall_signal(wall))
        weft_wall_meet(wall);
    return wall->error;
}

/* ---- from one, or to one ---- */

static int run_bcast(weft_wall_t *wall, const weft_coll_args_t *args)
{
    weft_elements_t all = weft_wall_send_block(args, 0);
    size_t bytes = weft_wall_bytes_of(&all);
    bool is_root = wall->rank == args->root, is_good = true;
    weft_wall_stamp(wall, bytes);
    for (size_t done = 0; done < bytes && is_good; done += wall->chunk) {
        size_t part = weft_wall_least(bytes - done, wall->chunk);
        is_good = is_root
                      ? weft_wall_post_piece(wall, &all, done, part)
                      : weft_wall_signal(wall) && take_piece(wall, args->root, &all, done, part);
    }
    return wall->error;
}

static bool collect(weft_wall_t *wall, const weft_coll_args_t *args, size_t done, size_t part)
{
    if (!weft_wall_signal(wall) || !weft_wall_await_all(wall))
        return false;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t to = weft_wall_recv_block(args, i);
        if (i != wall->rank && !take_piece(wall, i, &to, done, part))
            return false;
    }
    return true;
}

static int run_gather(weft_wall_t *wall, const weft_coll_args_t *args)
{
    bool is_root = wall->rank == args->root, is_good = true;
    bool is_in_place = weft_is_in_place(args);
    weft_elements_t own =
        is_in_place ? weft_wall_recv_block(args, wall->rank) : weft_wall_send_block(args, 0);
    size_t bytes = is_root ? args->recv_count * args->recv_type->size : weft_wall_bytes_of(&own);
    weft_wall_stamp(wall, bytes);
    if (is_root && !is_in_place) {
        weft_elements_t to = weft_wall_recv_block(args, wall->rank);
        weft_copy_elements(&own, &to);
    }
    for (size_t done = 0; done < bytes && is_good; done += wall->chunk) {
        size_t part = weft_wall_least(bytes - done, wall->chunk);
        is_good = is_root ? collect(wall, args, done, part)
                          : weft_wall_post_piece(wall, &own, done, part);
    }
    return wall->error;
}

/* ---- a post with a piece for each member ---- */

/* `piece` bytes of each block at most go into one post, one behind the other. */
static size_t piece_for_each(const weft_wall_t *wall, size_t block_bytes)
{
    return weft_wall_least(wall->chunk / (size_t)wall->size / 64 * 64, block_bytes);
}

static bool post_pieces(weft_wall_t *wall, const weft_coll_args_t *args, size_t done, size_t part)
{
    bool is_in_place = weft_is_in_place(args);
    char *room = weft_wall_room(wall, part * (size_t)wall->size);
    if (room == NULL)
        return false;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t from =
            is_in_place ? weft_wall_recv_block(args, i) : weft_wall_send_block(args, i);
        if (i != wall->rank)
            weft_wall_pack(&from, done, room + (size_t)i * part, part);
    }
    weft_wall_post(wall);
    return true;
}

/* This member's piece of a post of pieces. */
static bool take_own_piece(weft_wall_t *wall, int member, const weft_elements_t *to, size_t done,
                           size_t part)
{
    const char *data = weft_wall_read(wall, member, part * (size_t)wall->size);
    if (data != NULL)
        weft_wall_unpack(to, done, data + (size_t)wall->rank * part, part);
    return data != NULL;
}

/* In place the root has no receive buffer. */
static int run_scatter(weft_wall_t *wall, const weft_coll_args_t *args)
{
    bool is_root = wall->rank == args->root, is_good = true;
    bool is_in_place = args->recv_buf == MPI_IN_PLACE;
    weft_elements_t own = is_in_place ? (weft_elements_t){0} : weft_wall_recv_block(args, 0);
    size_t bytes = is_root ? args->send_count * args->send_type->size : weft_wall_bytes_of(&own);
    size_t piece = piece_for_each(wall, bytes);
    weft_wall_stamp(wall, bytes);
    if (is_root && !is_in_place) {
        weft_elements_t from = weft_wall_send_block(args, wall->rank);
        weft_copy_elements(&from, &own);
    }
    for (size_t done = 0; done < bytes && is_good; done += piece) {
        size_t part = weft_wall_least(bytes - done, piece);
        is_good =
            is_root ? post_pieces(wall, args, done, part)
                    : weft_wall_signal(wall) && take_own_piece(wall, args->root, &own, done, part);
    }
    return wall->error;
}

/* In place a piece is posted before another one takes its place. */
static int run_alltoall(weft_wall_t *wall, const weft_coll_args_t *args)
{
    size_t bytes = args->recv_count * args->recv_type->size;
    size_t piece = piece_for_each(wall, bytes);
    weft_wall_stamp(wall, bytes);
    if (!weft_is_in_place(args)) {
        weft_elements_t from = weft_wall_send_block(args, wall->rank),
                        to = weft_wall_recv_block(args, wall->rank);
        weft_copy_elements(&from, &to);
    }
    for (size_t done = 0; done < bytes; done += piece) {
        size_t part = weft_wall_least(bytes - done, piece);
        if (!post_pieces(wall, args, done, part) || !weft_wall_await_all(wall))
            return wall->error;
        for (int i = 1; i < wall->size; i++) {
            int member = (wall->rank + i) % wall->size;
            weft_elements_t to = weft_wall_recv_block(args, member);
            if (!take_own_piece(wall, member, &to, done, part))
                return wall->error;
        }
    }
    return wall->error;
}

/* ---- from all, to all ---- */

static bool take_all(weft_wall_t *wall, const weft_coll_args_t *args, weft_wall_block_fn_t target,
                     size_t done)
{
    if (!weft_wall_await_all(wall))
        return false;
    for (int i = 1; i < wall->size; i++) {
        int member = (wall->rank + i) % wall->size;
        weft_elements_t to = target(args, member);
        if (!take_piece(wall, member, &to, done,
                        weft_wall_part(wall, weft_wall_bytes_of(&to), done)))
            return false;
    }
    return true;
}

/* `most` is the size of the largest block. */
static int exchange_blocks(weft_wall_t *wall, const weft_coll_args_t *args,
                           weft_wall_block_fn_t target, size_t most)
{
    weft_elements_t to = target(args, wall->rank);
    weft_elements_t own = weft_is_in_place(args) ? to : weft_wall_send_block(args, 0);
    size_t bytes = weft_wall_bytes_of(&own);
    if (!weft_is_in_place(args))
        weft_copy_elements(&own, &to);
    for (size_t done = 0; done < most; done += wall->chunk) {
        if (!weft_wall_post_piece(wall, &own, done, weft_wall_part(wall, bytes, done)) ||
            !take_all(wall, args, target, done))
            break;
    }
    return wall->error;
}

static int run_allgather(weft_wall_t *wall, const weft_coll_args_t *args)
{
    size_t bytes = args->recv_count * args->recv_type->size;
    weft_wall_stamp(wall, bytes);
    return exchange_blocks(wall, args, weft_wall_recv_block, bytes);
}

static int run_allgatherv(weft_wall_t *wall, const weft_coll_args_t *args)
{
    size_t most = 0, sum = 0;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t block = weft_wall_recv_slice(args, i);
        size_t bytes = weft_wall_bytes_of(&block);
        most = bytes > most ? bytes : most;
        sum += bytes;
    }
    weft_wall_stamp(wall, sum);
    return exchange_blocks(wall, args, weft_wall_recv_slice, most);
}

/* ---- plans ---- */

WEFT_WALL_PLAN(barrier)
WEFT_WALL_PLAN(bcast)
WEFT_WALL_PLAN(gather)
WEFT_WALL_PLAN(scatter)
WEFT_WALL_PLAN(allgather)
WEFT_WALL_PLAN(allgatherv)
WEFT_WALL_PLAN(alltoall)
