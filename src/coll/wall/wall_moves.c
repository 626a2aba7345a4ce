/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on a wall that move data. What is posted is packed, so that each member may have a
 * type of its own. */
#include "coll/wall/wall_algorithms.h"

#include "coll/algorithm.h"
#include "coll/wall/wall.h"
#include "datatype/pack.h"

static size_t bytes_of(const weft_elements_t *block)
{
    return block->count * block->type->size;
}

/* On integers, since the buffer may be MPI_BOTTOM. */
static weft_elements_t elements_at(const void *buf, weft_data_t data)
{
    void *at = (void *)((uintptr_t)buf + (uintptr_t)data.place.offset);
    return (weft_elements_t){at, data.count, data.type};
}

static weft_elements_t send_block(const weft_coll_args_t *args, int member)
{
    return elements_at(args->send_buf, weft_send_block(args, member));
}

static weft_elements_t recv_block(const weft_coll_args_t *args, int member)
{
    return elements_at(args->recv_buf, weft_recv_block(args, member));
}

static weft_elements_t recv_slice(const weft_coll_args_t *args, int member)
{
    return elements_at(args->recv_buf, weft_recv_slice(args, member));
}

static void pack_piece(const weft_elements_t *from, size_t offset, void *room, size_t bytes)
{
    weft_pack(from->buf, from->count, from->type, offset, room, bytes);
}

static void unpack_piece(const weft_elements_t *to, size_t offset, const void *data, size_t bytes)
{
    weft_unpack(to->buf, to->count, to->type, offset, data, bytes);
}

static bool post_piece(weft_wall_t *wall, const weft_elements_t *from, size_t offset, size_t bytes)
{
    void *room = weft_wall_room(wall, bytes);
    if (room == NULL)
        return false;
    pack_piece(from, offset, room, bytes);
    weft_wall_post(wall);
    return true;
}

static bool take_piece(weft_wall_t *wall, int member, const weft_elements_t *to, size_t offset,
                       size_t bytes)
{
    const void *data = weft_wall_read(wall, member, bytes);
    if (data != NULL)
        unpack_piece(to, offset, data, bytes);
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
    weft_elements_t all = send_block(args, 0);
    size_t bytes = bytes_of(&all);
    bool is_root = wall->rank == args->root, is_good = true;
    weft_wall_stamp(wall, bytes);
    for (size_t done = 0; done < bytes && is_good; done += wall->chunk) {
        size_t part = weft_wall_least(bytes - done, wall->chunk);
        is_good = is_root
                      ? post_piece(wall, &all, done, part)
                      : weft_wall_signal(wall) && take_piece(wall, args->root, &all, done, part);
    }
    return wall->error;
}

static bool collect(weft_wall_t *wall, const weft_coll_args_t *args, size_t done, size_t part)
{
    if (!weft_wall_signal(wall) || !weft_wall_await_all(wall))
        return false;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t to = recv_block(args, i);
        if (i != wall->rank && !take_piece(wall, i, &to, done, part))
            return false;
    }
    return true;
}

static int run_gather(weft_wall_t *wall, const weft_coll_args_t *args)
{
    bool is_root = wall->rank == args->root, is_good = true;
    bool is_in_place = weft_is_in_place(args);
    weft_elements_t own = is_in_place ? recv_block(args, wall->rank) : send_block(args, 0);
    size_t bytes = is_root ? args->recv_count * args->recv_type->size : bytes_of(&own);
    weft_wall_stamp(wall, bytes);
    if (is_root && !is_in_place) {
        weft_elements_t to = recv_block(args, wall->rank);
        weft_copy_elements(&own, &to);
    }
    for (size_t done = 0; done < bytes && is_good; done += wall->chunk) {
        size_t part = weft_wall_least(bytes - done, wall->chunk);
        is_good = is_root ? collect(wall, args, done, part) : post_piece(wall, &own, done, part);
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
        weft_elements_t from = is_in_place ? recv_block(args, i) : send_block(args, i);
        if (i != wall->rank)
            pack_piece(&from, done, room + (size_t)i * part, part);
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
        unpack_piece(to, done, data + (size_t)wall->rank * part, part);
    return data != NULL;
}

/* In place the root has no receive buffer. */
static int run_scatter(weft_wall_t *wall, const weft_coll_args_t *args)
{
    bool is_root = wall->rank == args->root, is_good = true;
    bool is_in_place = args->recv_buf == MPI_IN_PLACE;
    weft_elements_t own = is_in_place ? (weft_elements_t){0} : recv_block(args, 0);
    size_t bytes = is_root ? args->send_count * args->send_type->size : bytes_of(&own);
    size_t piece = piece_for_each(wall, bytes);
    weft_wall_stamp(wall, bytes);
    if (is_root && !is_in_place) {
        weft_elements_t from = send_block(args, wall->rank);
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
        weft_elements_t from = send_block(args, wall->rank), to = recv_block(args, wall->rank);
        weft_copy_elements(&from, &to);
    }
    for (size_t done = 0; done < bytes; done += piece) {
        size_t part = weft_wall_least(bytes - done, piece);
        if (!post_pieces(wall, args, done, part) || !weft_wall_await_all(wall))
            return wall->error;
        for (int i = 1; i < wall->size; i++) {
            int member = (wall->rank + i) % wall->size;
            weft_elements_t to = recv_block(args, member);
            if (!take_own_piece(wall, member, &to, done, part))
                return wall->error;
        }
    }
    return wall->error;
}

/* ---- from all, to all ---- */

/* Where the block of a member goes. */
typedef weft_elements_t (*target_fn_t)(const weft_coll_args_t *args, int member);

static bool take_all(weft_wall_t *wall, const weft_coll_args_t *args, target_fn_t target,
                     size_t done)
{
    if (!weft_wall_await_all(wall))
        return false;
    for (int i = 1; i < wall->size; i++) {
        int member = (wall->rank + i) % wall->size;
        weft_elements_t to = target(args, member);
        size_t bytes = bytes_of(&to), part = bytes > done ? bytes - done : 0;
        if (!take_piece(wall, member, &to, done, weft_wall_least(part, wall->chunk)))
            return false;
    }
    return true;
}

/* `most` is the size of the largest block. */
static int exchange_blocks(weft_wall_t *wall, const weft_coll_args_t *args, target_fn_t target,
                           size_t most)
{
    weft_elements_t to = target(args, wall->rank);
    weft_elements_t own = weft_is_in_place(args) ? to : send_block(args, 0);
    size_t bytes = bytes_of(&own);
    if (!weft_is_in_place(args))
        weft_copy_elements(&own, &to);
    for (size_t done = 0; done < most; done += wall->chunk) {
        size_t part = bytes > done ? bytes - done : 0;
        if (!post_piece(wall, &own, done, weft_wall_least(part, wall->chunk)) ||
            !take_all(wall, args, target, done))
            break;
    }
    return wall->error;
}

static int run_allgather(weft_wall_t *wall, const weft_coll_args_t *args)
{
    size_t bytes = args->recv_count * args->recv_type->size;
    weft_wall_stamp(wall, bytes);
    return exchange_blocks(wall, args, recv_block, bytes);
}

static int run_allgatherv(weft_wall_t *wall, const weft_coll_args_t *args)
{
    size_t most = 0, sum = 0;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t block = recv_slice(args, i);
        size_t bytes = bytes_of(&block);
        most = bytes > most ? bytes : most;
        sum += bytes;
    }
    weft_wall_stamp(wall, sum);
    return exchange_blocks(wall, args, recv_slice, most);
}

/* ---- plans ---- */

#define PLAN(name)                                                                                 \
    void weft_wall_##name(weft_plan_t *plan, const weft_coll_args_t *args)                         \
    {                                                                                              \
        (void)args;                                                                                \
        plan->on_wall = run_##name;                                                                \
    }

PLAN(barrier)
PLAN(bcast)
PLAN(gather)
PLAN(scatter)
PLAN(allgather)
PLAN(allgatherv)
PLAN(alltoall)
