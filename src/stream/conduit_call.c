/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls as a conduit does them. Whether it does a call follows from the operation, the types of
 * elements and the bytes alone, which MPI demands to be the same on all ranks: not from the kind of
 * memory, nor from the layout of a datatype. A rank with host memory, or with a derived datatype,
 * has its data in one of the conduit's buffers meanwhile.
 */
#include "stream/conduit_private.h"

#include "base/config.h"

#include <string.h>

/* In one shot each member sends its operand to all others. Two shots send two parts of an operand
 * to each, and wait twice; the value is that of devcoll/ll.c. */
enum { CONDUIT_ONE_SHOT = 32 * 1024 };

/* ---- blocks ---- */

static void put_block(conduit_call_t *call, conduit_side_index_t side, int index,
                      const weft_elements_t *data)
{
    size_t element = call->op != NULL ? (size_t)data->type->extent : data->type->size;
    conduit_block_t *block = &call->side[side].block[index];
    *block = (conduit_block_t){*data, data->count * element};
}

static void put_same(const conduit_t *conduit, conduit_call_t *call, conduit_side_index_t side,
                     const weft_elements_t *data)
{
    for (int i = 0; i < conduit->members; i++)
        put_block(call, side, i, data);
}

static weft_elements_t block_at(const weft_elements_t *first, size_t index)
{
    weft_elements_t block = *first;
    ptrdiff_t step = (ptrdiff_t)first->count * first->type->extent;
    block.buf = (void *)((uintptr_t)first->buf + index * (uintptr_t)step);
    return block;
}

static void put_each(const conduit_t *conduit, conduit_call_t *call, conduit_side_index_t side,
                     const weft_elements_t *first)
{
    call->side[side].is_each = true;
    for (int i = 0; i < conduit->members; i++) {
        weft_elements_t block = block_at(first, (size_t)i);
        put_block(call, side, i, &block);
    }
}

/* ---- collectives ---- */

static weft_elements_t sent(const weft_coll_args_t *args)
{
    return (weft_elements_t){(void *)args->send_buf, args->send_count, args->send_type};
}

static weft_elements_t received(const weft_coll_args_t *args)
{
    return (weft_elements_t){args->recv_buf, args->recv_count, args->recv_type};
}

static bool gives_in_place(const weft_coll_args_t *args)
{
    return args->send_buf == MPI_IN_PLACE;
}

static void describe_from_root(const conduit_t *conduit, const weft_coll_args_t *args,
                               conduit_call_t *call)
{
    weft_elements_t data = sent(args), to = received(args);
    bool is_root = conduit->member == args->root;
    if (call->coll == WEFT_BCAST) {
        call->most = data.count * data.type->size;
        if (!is_root)
            put_block(call, CONDUIT_GETS, args->root, &data);
        else
            put_same(conduit, call, CONDUIT_GIVES, &data);
        call->side[CONDUIT_GIVES].block[conduit->member].bytes = 0;
        return;
    }
    if (is_root && args->recv_buf == MPI_IN_PLACE)
        to = block_at(&data, (size_t)conduit->member);
    call->most = to.count * to.type->size;
    if (is_root)
        put_each(conduit, call, CONDUIT_GIVES, &data);
    put_block(call, CONDUIT_GETS, args->root, &to);
}

/* Gathers to one or to all. */
static void describe_gather(const conduit_t *conduit, const weft_coll_args_t *args,
                            conduit_call_t *call)
{
    weft_elements_t to = received(args), data = sent(args);
    bool is_all = call->coll == WEFT_ALLGATHER;
    if (gives_in_place(args))
        data = block_at(&to, (size_t)conduit->member);
    call->most = data.count * data.type->size;
    if (is_all)
        put_same(conduit, call, CONDUIT_GIVES, &data);
    else
        put_block(call, CONDUIT_GIVES, args->root, &data);
    if (is_all || conduit->member == args->root)
        put_each(conduit, call, CONDUIT_GETS, &to);
}

static void describe_alltoall(const conduit_t *conduit, const weft_coll_args_t *args,
                              conduit_call_t *call)
{
    weft_elements_t to = received(args), data = gives_in_place(args) ? to : sent(args);
    call->most = data.count * data.type->size;
    put_each(conduit, call, CONDUIT_GIVES, &data);
    put_each(conduit, call, CONDUIT_GETS, &to);
}

static void describe_reduction(const conduit_t *conduit, const weft_coll_args_t *args,
                               conduit_call_t *call)
{
    weft_elements_t to = received(args), data = to;
    bool is_all = call->coll == WEFT_ALLREDUCE;
    if (!gives_in_place(args))
        data.buf = (void *)args->send_buf;
    call->most = to.count * (size_t)to.type->extent;
    if (is_all)
        put_same(conduit, call, CONDUIT_GIVES, &data);
    else
        put_block(call, CONDUIT_GIVES, args->root, &data);
    if (is_all || conduit->member == args->root)
        put_block(call, CONDUIT_GETS, conduit->member, &to);
}

static void describe_reduce_scatter(const conduit_t *conduit, const weft_coll_args_t *args,
                                    conduit_call_t *call)
{
    weft_elements_t to = received(args), data = to;
    size_t before = 0;
    if (!gives_in_place(args))
        data.buf = (void *)args->send_buf;
    call->side[CONDUIT_GIVES].is_each = true;
    for (int i = 0; i < conduit->members; i++) {
        if (call->coll == WEFT_REDUCE_SCATTER)
            data.count = (size_t)weft_count_at(args->recv_counts, (size_t)i);
        weft_elements_t block = data;
        block.buf = (void *)((uintptr_t)data.buf + before * (uintptr_t)data.type->extent);
        put_block(call, CONDUIT_GIVES, i, &block);
        before += data.count;
        size_t bytes = call->side[CONDUIT_GIVES].block[i].bytes;
        call->most = bytes > call->most ? bytes : call->most;
    }
    to.count = call->side[CONDUIT_GIVES].block[conduit->member].data.count;
    put_block(call, CONDUIT_GETS, conduit->member, &to);
}

static bool describe(const conduit_t *conduit, const weft_coll_args_t *args, conduit_call_t *call)
{
    switch (call->coll) {
    case WEFT_BARRIER:
        return true;
    case WEFT_BCAST:
    case WEFT_SCATTER:
        describe_from_root(conduit, args, call);
        return true;
    case WEFT_GATHER:
    case WEFT_ALLGATHER:
        describe_gather(conduit, args, call);
        return true;
    case WEFT_ALLTOALL:
        describe_alltoall(conduit, args, call);
        return true;
    case WEFT_REDUCE:
    case WEFT_ALLREDUCE:
        describe_reduction(conduit, args, call);
        return true;
    case WEFT_REDUCE_SCATTER:
    case WEFT_REDUCE_SCATTER_BLOCK:
        describe_reduce_scatter(conduit, args, call);
        return true;
    default:
        return false;
    }
}

/* ---- which calls, and in which pieces ---- */

static bool is_in_slices(const conduit_t *conduit, const conduit_call_t *call, size_t bytes)
{
    size_t most = conduit->block_most < CONDUIT_ONE_SHOT ? conduit->block_most : CONDUIT_ONE_SHOT;
    return call->coll == WEFT_ALLREDUCE && conduit->members > 2 && bytes > most;
}

/* The bytes of the longest buffer of any member. */
static size_t total_bytes(const conduit_t *conduit, const conduit_call_t *call)
{
    bool is_one = call->coll == WEFT_ALLREDUCE || call->coll == WEFT_REDUCE ||
                  call->coll == WEFT_BCAST || call->coll == WEFT_BARRIER;
    return is_one ? call->most : call->most * (size_t)conduit->members;
}

static bool has_kernel(const conduit_t *conduit, const conduit_call_t *call)
{
    return call->op == NULL || weft_device->can_reduce(conduit->device, call->op, call->type);
}

bool wefti_conduit_call(const conduit_t *conduit, weft_coll_t coll, const weft_coll_args_t *args,
                        conduit_call_t *out)
{
    memset(out, 0, sizeof(*out));
    out->coll = coll;
    out->op = args->op;
    out->type = args->op == NULL ? NULL : args->recv_type;
    if (!has_kernel(conduit, out) || !describe(conduit, args, out) ||
        total_bytes(conduit, out) > weft_config.DEVICE_STREAM_KERNELS)
        return false;
    out->has_gaps = out->op != NULL && out->type->size != (size_t)out->type->extent;
    out->piece = conduit->block_most;
    if (is_in_slices(conduit, out, out->most))
        out->piece *= (size_t)conduit->members;
    return true;
}

/* ---- a piece ---- */

char *wefti_conduit_place(const conduit_t *conduit, const conduit_call_t *call,
                          conduit_side_index_t side, int index, size_t at)
{
    const conduit_side_t *its = &call->side[side];
    const conduit_block_t *block = &its->block[index];
    ptrdiff_t offset = 0;
    size_t span;
    if (its->place != CONDUIT_DIRECT) {
        char *room = its->place == CONDUIT_STAGED ? conduit->stage[side] : conduit->bounce[side];
        return room + (its->is_each ? (size_t)index * call->piece : 0);
    }
    if (block->bytes == 0)
        return conduit->stage[side]; /* of which no byte is used, but kernels add to the address */
    if (call->op == NULL)
        weft_type_span(block->data.type, block->data.count, &offset, &span);
    return (char *)((uintptr_t)block->data.buf + (uintptr_t)offset + at);
}

static size_t part_of(const conduit_call_t *call, conduit_side_index_t side, int index, size_t at)
{
    return wefti_conduit_part(call, call->side[side].block[index].bytes, at);
}

static void put_blocks(const conduit_t *conduit, const conduit_call_t *call, size_t at,
                       weft_exchange_t *out)
{
    for (int i = 0; i < conduit->members; i++) {
        weft_exchange_peer_t *peer = &out->peer[i];
        peer->from = wefti_conduit_place(conduit, call, CONDUIT_GIVES, i, at);
        peer->to = wefti_conduit_place(conduit, call, CONDUIT_GETS, i, at);
        peer->out_bytes = part_of(call, CONDUIT_GIVES, i, at);
        peer->in_bytes = part_of(call, CONDUIT_GETS, i, at);
    }
    out->most = wefti_conduit_part(call, call->most, at);
}

static void put_slices(const conduit_t *conduit, const conduit_call_t *call, size_t at,
                       weft_exchange_t *out)
{
    const char *from = wefti_conduit_place(conduit, call, CONDUIT_GIVES, conduit->member, at);
    char *to = wefti_conduit_place(conduit, call, CONDUIT_GETS, conduit->member, at);
    size_t bytes = wefti_conduit_part(call, call->most, at), ranks = (size_t)conduit->members;
    size_t units = (bytes + CONDUIT_UNIT - 1) / CONDUIT_UNIT;
    size_t slice = (units + ranks - 1) / ranks * CONDUIT_UNIT;
    for (size_t i = 0; i < ranks; i++) {
        weft_exchange_peer_t *peer = &out->peer[i];
        size_t begin = i * slice < bytes ? i * slice : bytes, left = bytes - begin;
        peer->from = from + begin;
        peer->to = to + begin;
        peer->out_bytes = peer->in_bytes = left < slice ? left : slice;
    }
    out->most = slice;
    out->results = CONDUIT_PART / 2;
}

void wefti_conduit_exchange(const conduit_t *conduit, const conduit_call_t *call, size_t at,
                            weft_exchange_t *out)
{
    size_t row = wefti_conduit_row(conduit->members);
    *out = (weft_exchange_t){.op = call->op,
                             .crowd = conduit->crowd,
                             .type = call->type,
                             .members = conduit->members,
                             .member = conduit->member,
                             .watch = (uint32_t *)(void *)conduit->watch,
                             .conduit = conduit->inbox.memory,
                             .even = CONDUIT_PART,
                             .head = WEFT_CONDUIT_HEAD + (size_t)conduit->member * row};
    for (int i = 0; i < conduit->members; i++) {
        char *theirs = i == conduit->member ? conduit->inbox.memory : conduit->peers[i].address;
        out->peer[i].outbox = theirs + out->head;
        out->peer[i].inbox = (char *)conduit->inbox.memory + WEFT_CONDUIT_HEAD + (size_t)i * row;
    }
    if (is_in_slices(conduit, call, wefti_conduit_part(call, call->most, at)))
        put_slices(conduit, call, at, out);
    else
        put_blocks(conduit, call, at, out);
}
