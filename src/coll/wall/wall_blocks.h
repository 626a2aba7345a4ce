/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocks of a call as elements in the caller's memory, of which a post has a piece. */
#ifndef WEFT_COLL_WALL_WALL_BLOCKS_H
#define WEFT_COLL_WALL_WALL_BLOCKS_H

#include "coll/algorithm.h"
#include "coll/wall/wall.h"
#include "datatype/pack.h"
#include "base/copy.h"

/** Where the block for a member, or the block from it, lies. */
typedef weft_elements_t (*weft_wall_block_fn_t)(const weft_coll_args_t *args, int member);

static inline size_t weft_wall_bytes_of(const weft_elements_t *block)
{
    return block->count * block->type->size;
}

/* On integers, since the buffer may be MPI_BOTTOM. */
static inline weft_elements_t weft_wall_elements_at(const void *buf, weft_data_t data)
{
    void *at = (void *)((uintptr_t)buf + (uintptr_t)data.place.offset);
    return (weft_elements_t){at, data.count, data.type};
}

static inline weft_elements_t weft_wall_send_block(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->send_buf, weft_send_block(args, member));
}

static inline weft_elements_t weft_wall_recv_block(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->recv_buf, weft_recv_block(args, member));
}

static inline weft_elements_t weft_wall_send_slice(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->send_buf, weft_send_slice(args, member));
}

static inline weft_elements_t weft_wall_send_piece(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->send_buf, weft_send_piece(args, member));
}

static inline weft_elements_t weft_wall_recv_piece(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->recv_buf, weft_recv_piece(args, member));
}

static inline weft_elements_t weft_wall_recv_slice(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->recv_buf, weft_recv_slice(args, member));
}

/** `bytes` bytes of a block, from byte `offset` of its data on, into the room of a post. */
static inline void weft_wall_pack(weft_wall_t *wall, const weft_elements_t *from, size_t offset,
                                  void *room, size_t bytes)
{
    if (from->type->is_dense)
        weft_wall_copy_in(wall, room, (const char *)from->buf + offset, bytes);
    else
        weft_pack(from->buf, from->count, from->type, offset, room, bytes);
}

static inline void weft_wall_unpack(const weft_elements_t *to, size_t offset, const void *data,
                                    size_t bytes)
{
    if (bytes <= WEFT_COPY_SMALL && to->type->is_dense)
        weft_copy_small((void *)((uintptr_t)to->buf + offset), data, bytes);
    else
        weft_unpack(to->buf, to->count, to->type, offset, data, bytes);
}

/** Post a piece of a block. False: wall->error. */
static inline bool weft_wall_post_piece(weft_wall_t *wall, const weft_elements_t *from,
                                        size_t offset, size_t bytes)
{
    void *room = weft_wall_room(wall, bytes);
    if (room == NULL)
        return false;
    weft_wall_pack(wall, from, offset, room, bytes);
    weft_wall_post(wall);
    return true;
}

/** Is the block that a member sends as long as this rank expects? If not the wall has given up. */
bool weft_wall_expects(weft_wall_t *wall, int member, size_t sent, size_t expected);

/** How much of `total` bytes goes into the post that begins with byte `done`. */
static inline size_t weft_wall_part(const weft_wall_t *wall, size_t total, size_t done)
{
    return total > done ? weft_least(total - done, wall->chunk) : 0;
}

#endif
