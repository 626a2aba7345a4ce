/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives on a wall where each member knows the counts of its own blocks only. A stamp then
 * says how many bytes its author posts, or will read, and all members learn from stamps how many
 * posts the call takes.
 *
 * In scatterv and alltoallv, what a member sends is a stream, cut into posts:
 *
 *   spans[0] ... spans[p - 1] | block for member 0 | ... | block for member p - 1 |
 *
 * The spans say where in the stream the blocks lie; the one for the author is left out. Each reader
 * compares the length of its block with what it expects. Where a member of an alltoallv sends much,
 * all see it by the stamps of the first step, and a blocking call of three and more becomes one of
 * messages: those are copied once where members read each other's memory.
 */
#include "coll/wall/wall_algorithms.h"

#include "coll/wall/wall_blocks.h"
#include "base/copy.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

/* As WEFT_WALL_STEPS, for calls of `coll` with streams. */
#define WEFT_WALL_STREAMS(name, coll, begin, post, take)                                           \
    static const weft_wall_steps_t steps_of_##name = {begin, post, take, sizeof(streams_t)};       \
    static int run_##name(weft_wall_t *wall, const weft_coll_args_t *args)                         \
    {                                                                                              \
        streams_t streams;                                                                         \
        weft_wall_call_t call = {.wall = wall, .args = args, .streams = &streams};                 \
        call.may_turn = wall->size > 2;                                                            \
        int err = weft_wall_do_steps(&steps_of_##name, &call);                                     \
        weft_wall_end_call(&call);                                                                 \
        return call.has_turned ? weft_coll_run_by_messages(coll, args) : err;                      \
    }                                                                                              \
    WEFT_WALL_PLAN(name)

bool weft_wall_expects(weft_wall_t *wall, int member, size_t sent, size_t expected)
{
    if (sent == expected)
        return true;
    weft_wall_give_up(wall, weft_fail(MPI_ERR_TRUNCATE,
                                      "the ranks disagree: rank %d sends %zu bytes, and rank %d "
                                      "expects %zu bytes of it",
                                      member, sent, wall->rank, expected));
    return false;
}

/* How many steps there are the member that knows the longest block says. */
static void know_longest(weft_wall_call_t *call, size_t longest)
{
    weft_wall_divide(call, longest > 0 ? longest : 1, call->wall->chunk);
}

/* ---- to one ---- */

/* The root's stamp is the length of the longest block. */
static void begin_at_root(weft_wall_call_t *call)
{
    size_t most = 0;
    for (int i = 0; i < call->wall->size; i++) {
        weft_elements_t to = weft_wall_recv_slice(call->args, i);
        size_t bytes = weft_wall_bytes_of(&to);
        most = i != call->wall->rank && bytes > most ? bytes : most;
    }
    if (!weft_is_in_place(call->args)) {
        weft_elements_t own = weft_wall_send_block(call->args, 0);
        weft_elements_t to = weft_wall_recv_slice(call->args, call->wall->rank);
        weft_copy_elements(&own, &to);
    }
    weft_wall_stamp(call->wall, most);
    know_longest(call, most);
    weft_wall_await_others(call);
}

static void begin_gatherv(weft_wall_call_t *call)
{
    if (weft_wall_is_root(call)) {
        begin_at_root(call);
        return;
    }
    weft_elements_t own = weft_wall_send_block(call->args, 0);
    weft_wall_stamp(call->wall, weft_wall_bytes_of(&own));
    know_longest(call, 0);
    weft_wall_await_member(call, call->args->root);
}

static bool post_gatherv(weft_wall_call_t *call)
{
    if (weft_wall_is_root(call))
        return weft_wall_signal(call->wall);
    weft_elements_t own = weft_wall_send_block(call->args, 0);
    size_t part = weft_wall_part_of(call, weft_wall_bytes_of(&own));
    return weft_wall_post_piece(call->wall, &own, weft_wall_done(call), part);
}

/* A piece of the block of each member. */
static bool collect_pieces(const weft_wall_call_t *call)
{
    weft_wall_t *wall = call->wall;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t to = weft_wall_recv_slice(call->args, i);
        size_t bytes = weft_wall_bytes_of(&to), sent, part = weft_wall_part_of(call, bytes);
        if (i == wall->rank)
            continue;
        if (!weft_wall_learn(wall, i, &sent) || !weft_wall_expects(wall, i, sent, bytes))
            return false;
        const void *data = weft_wall_known_data(wall, i, part);
        weft_wall_unpack(&to, weft_wall_done(call), data, part);
        weft_wall_have_read(wall, i, part, data, part);
    }
    return true;
}

/* Another one than the root waits for nobody once it knows how many steps there are. */
static bool take_gatherv(weft_wall_call_t *call)
{
    size_t longest;
    if (weft_wall_is_root(call))
        return collect_pieces(call);
    if (call->step > 0)
        return true;
    if (!weft_wall_learn(call->wall, call->args->root, &longest))
        return false;
    know_longest(call, longest);
    call->first = call->end = 0;
    return true;
}

/* ---- streams ---- */

typedef struct span {
    uint64_t first, end; /* bytes from `first` on, before `end` */
} wall_span_t;

typedef struct stream {
    const weft_coll_args_t *args;
    weft_wall_block_fn_t block;
    int members;
    size_t bytes;
    wall_span_t spans[WEFT_WALL_MEMBERS_MOST]; /* [members] */
} stream_t;

/* This member's block in the stream of another one. */
typedef struct source {
    wall_span_t span;
    size_t bytes; /* of the whole stream */
} wall_source_t;

typedef struct weft_wall_streams {
    stream_t own;
    wall_source_t from[WEFT_WALL_MEMBERS_MOST]; /* [members] */
} streams_t;

static size_t header_bytes(int members)
{
    return (size_t)members * sizeof(wall_span_t);
}

/* A block of some length begins with a cache line: 64 KiB are copied in 1.8 us instead of 2.4. */
static uint64_t place_behind(uint64_t end, size_t bytes)
{
    uint64_t line = 64;
    return bytes < WEFT_COPY_LONG ? end : (end + line - 1) / line * line;
}

static void lay_out(stream_t *its, const weft_wall_t *wall, const weft_coll_args_t *args,
                    weft_wall_block_fn_t block)
{
    its->args = args;
    its->block = block;
    its->members = wall->size;
    its->bytes = header_bytes(wall->size);
    for (int i = 0; i < wall->size; i++) {
        its->spans[i] = (wall_span_t){its->bytes, its->bytes};
        if (i == wall->rank)
            continue;
        weft_elements_t from = block(args, i);
        size_t bytes = weft_wall_bytes_of(&from);
        its->spans[i].first = place_behind(its->bytes, bytes);
        its->bytes = its->spans[i].end = its->spans[i].first + bytes;
    }
}

/* What both have; empty if `end` is not above `first`. */
static wall_span_t overlap(wall_span_t a, uint64_t first, uint64_t end)
{
    return (wall_span_t){a.first > first ? a.first : first, a.end < end ? a.end : end};
}

/* A header is shorter than any chunk. */
static void pack_part(const stream_t *its, size_t done, char *room, size_t part)
{
    if (done == 0)
        memcpy(room, its->spans, header_bytes(its->members));
    for (int i = 0; i < its->members; i++) {
        wall_span_t here = overlap(its->spans[i], done, done + part);
        if (here.first >= here.end)
            continue;
        weft_elements_t from = its->block(its->args, i);
        weft_pack(from.buf, from.count, from.type, here.first - its->spans[i].first,
                  room + (here.first - done), here.end - here.first);
    }
}

static bool post_part(weft_wall_call_t *call)
{
    weft_wall_t *wall = call->wall;
    const stream_t *its = &call->streams->own;
    size_t part = weft_wall_part_of(call, its->bytes);
    weft_wall_stamp(wall, its->bytes);
    char *room = weft_wall_room(wall, part);
    if (room == NULL)
        return false;
    if (call->packed != NULL)
        weft_wall_copy_in(wall, room, call->packed + weft_wall_done(call), part);
    else
        pack_part(its, weft_wall_done(call), room, part);
    weft_wall_post(wall);
    return true;
}

/* What a member's post has of the block. */
static bool take_part(const weft_wall_call_t *call, int member, const weft_elements_t *to)
{
    weft_wall_t *wall = call->wall;
    wall_source_t *its = &call->streams->from[member];
    if (!weft_wall_learn(wall, member, &its->bytes))
        return false;
    size_t done = weft_wall_done(call), part = weft_wall_part_of(call, its->bytes);
    const char *data = weft_wall_known_data(wall, member, part);
    if (done == 0) {
        its->span = ((const wall_span_t *)data)[wall->rank];
        if (!weft_wall_expects(wall, member, its->span.end - its->span.first,
                               weft_wall_bytes_of(to)))
            return false;
    }
    wall_span_t here = overlap(its->span, done, done + part);
    if (here.first >= here.end)
        return true;
    data += here.first - done;
    weft_wall_unpack(to, here.first - its->span.first, data, here.end - here.first);
    weft_wall_have_read(wall, member, part, data, here.end - here.first);
    return true;
}

/* ---- from one ---- */

static void begin_scatterv(weft_wall_call_t *call)
{
    const weft_coll_args_t *args = call->args;
    if (!weft_wall_is_root(call)) {
        know_longest(call, 0);
        weft_wall_await_member(call, args->root);
        return;
    }
    lay_out(&call->streams->own, call->wall, args, weft_wall_send_slice);
    know_longest(call, call->streams->own.bytes);
    if (args->recv_buf != MPI_IN_PLACE) {
        weft_elements_t from = weft_wall_send_slice(args, call->wall->rank);
        weft_elements_t own = weft_wall_recv_block(args, 0);
        weft_copy_elements(&from, &own);
    }
}

static bool post_scatterv(weft_wall_call_t *call)
{
    return weft_wall_is_root(call) ? post_part(call) : weft_wall_signal(call->wall);
}

static bool take_scatterv(weft_wall_call_t *call)
{
    int root = call->args->root;
    if (weft_wall_is_root(call))
        return true;
    weft_elements_t own = weft_wall_recv_block(call->args, 0);
    if (!take_part(call, root, &own))
        return false;
    know_longest(call, call->streams->from[root].bytes);
    return true;
}

/* ---- from all, to all ---- */

/* In place all blocks are packed before anything is written over them. */
static bool keep_packed(weft_wall_call_t *call)
{
    const stream_t *its = &call->streams->own;
    call->packed = weft_alloc(its->bytes);
    if (call->packed == NULL) {
        weft_wall_give_up(
            call->wall, weft_fail(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", its->bytes));
        return false;
    }
    pack_part(its, 0, call->packed, its->bytes);
    return true;
}

static void begin_exchange(weft_wall_call_t *call, weft_wall_block_fn_t block,
                           weft_wall_block_fn_t target)
{
    weft_wall_t *wall = call->wall;
    stream_t *own = &call->streams->own;
    bool is_in_place = weft_is_in_place(call->args);
    lay_out(own, wall, call->args, is_in_place ? target : block);
    if (!is_in_place) {
        weft_elements_t from = block(call->args, wall->rank), to = target(call->args, wall->rank);
        weft_copy_elements(&from, &to);
    } else if (own->bytes > wall->chunk && !keep_packed(call)) {
        return;
    }
    know_longest(call, own->bytes);
    weft_wall_await_others(call);
}

/* By the stamps of the first step, which are the same for all members. */
static bool learn_longest(weft_wall_call_t *call)
{
    size_t longest = call->streams->own.bytes;
    for (int i = 0; i < call->wall->size; i++) {
        size_t bytes;
        if (!weft_wall_learn(call->wall, i, &bytes))
            return false;
        longest = bytes > longest ? bytes : longest;
    }
    know_longest(call, longest);
    call->has_turned = call->may_turn && longest > WEFT_WALL_STREAM_MOST;
    if (call->has_turned)
        call->steps = 1;
    return true;
}

static bool take_exchange(weft_wall_call_t *call, weft_wall_block_fn_t target)
{
    weft_wall_t *wall = call->wall;
    if (call->step == 0 && !learn_longest(call))
        return false;
    for (int i = 1; i < wall->size && !call->has_turned; i++) {
        int member = weft_wall_next(wall, i);
        weft_elements_t to = target(call->args, member);
        if (!take_part(call, member, &to))
            return false;
    }
    return true;
}

static void begin_alltoallv(weft_wall_call_t *call)
{
    begin_exchange(call, weft_wall_send_slice, weft_wall_recv_slice);
}

static bool take_alltoallv(weft_wall_call_t *call)
{
    return take_exchange(call, weft_wall_recv_slice);
}

static void begin_alltoallw(weft_wall_call_t *call)
{
    begin_exchange(call, weft_wall_send_piece, weft_wall_recv_piece);
}

static bool take_alltoallw(weft_wall_call_t *call)
{
    return take_exchange(call, weft_wall_recv_piece);
}

/* ---- plans ---- */

WEFT_WALL_STEPS(gatherv, begin_gatherv, post_gatherv, take_gatherv)
WEFT_WALL_STREAMS(scatterv, WEFT_SCATTERV, begin_scatterv, post_scatterv, take_scatterv)
WEFT_WALL_STREAMS(alltoallv, WEFT_ALLTOALLV, begin_alltoallv, post_part, take_alltoallv)
WEFT_WALL_STREAMS(alltoallw, WEFT_ALLTOALLW, begin_alltoallw, post_part, take_alltoallw)
