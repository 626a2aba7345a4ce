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
 * compares the length of its block with what it expects.
 */
#include "coll/wall/wall_algorithms.h"

#include "coll/wall/wall_blocks.h"
#include "base/copy.h"
#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

static weft_elements_t send_slice(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->send_buf, weft_send_slice(args, member));
}

static weft_elements_t send_typed(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->send_buf, weft_send_piece(args, member));
}

static weft_elements_t recv_typed(const weft_coll_args_t *args, int member)
{
    return weft_wall_elements_at(args->recv_buf, weft_recv_piece(args, member));
}

static bool differs(weft_wall_t *wall, int member, size_t sent, size_t expected)
{
    if (sent == expected)
        return false;
    weft_wall_give_up(wall, weft_fail(MPI_ERR_TRUNCATE,
                                      "the ranks disagree: rank %d sends %zu bytes, and rank %d "
                                      "expects %zu bytes of it",
                                      member, sent, wall->rank, expected));
    return true;
}

/* ---- to one ---- */

/* A piece of the block of each member. */
static bool collect_pieces(weft_wall_t *wall, const weft_coll_args_t *args, size_t done)
{
    if (!weft_wall_signal(wall) || !weft_wall_await_all(wall))
        return false;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t to = weft_wall_recv_slice(args, i);
        size_t bytes = weft_wall_bytes_of(&to), sent, part = weft_wall_part(wall, bytes, done);
        if (i == wall->rank)
            continue;
        if (!weft_wall_learn(wall, i, &sent) || differs(wall, i, sent, bytes))
            return false;
        weft_wall_unpack(&to, done, weft_wall_known_data(wall, i, part), part);
    }
    return true;
}

/* The root's stamp is the length of the longest block. */
static int gather_to_root(weft_wall_t *wall, const weft_coll_args_t *args)
{
    size_t most = 0;
    for (int i = 0; i < wall->size; i++) {
        weft_elements_t to = weft_wall_recv_slice(args, i);
        size_t bytes = weft_wall_bytes_of(&to);
        most = i != wall->rank && bytes > most ? bytes : most;
    }
    if (!weft_is_in_place(args)) {
        weft_elements_t own = weft_wall_send_block(args, 0);
        weft_elements_t to = weft_wall_recv_slice(args, wall->rank);
        weft_copy_elements(&own, &to);
    }
    weft_wall_stamp(wall, most);
    bool is_good = collect_pieces(wall, args, 0);
    for (size_t done = wall->chunk; is_good && done < most; done += wall->chunk)
        is_good = collect_pieces(wall, args, done);
    return wall->error;
}

static int run_gatherv(weft_wall_t *wall, const weft_coll_args_t *args)
{
    if (wall->rank == args->root)
        return gather_to_root(wall, args);
    weft_elements_t own = weft_wall_send_block(args, 0);
    size_t bytes = weft_wall_bytes_of(&own), most;
    weft_wall_stamp(wall, bytes);
    bool is_good = weft_wall_post_piece(wall, &own, 0, weft_wall_part(wall, bytes, 0)) &&
                   weft_wall_learn(wall, args->root, &most);
    for (size_t done = wall->chunk; is_good && done < most; done += wall->chunk)
        is_good = weft_wall_post_piece(wall, &own, done, weft_wall_part(wall, bytes, done));
    return wall->error;
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
    char *packed; /* [bytes], or NULL: the blocks are packed post by post */
    wall_span_t spans[WEFT_WALL_MEMBERS_MOST]; /* [members] */
} stream_t;

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
    its->packed = NULL;
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
    if (its->packed != NULL) {
        weft_copy(room, its->packed + done, part);
        return;
    }
    if (done == 0)
        memcpy(room, its->spans, header_bytes(its->members));
    for (int i = 0; i < its->members; i++) {
        wall_span_t here = overlap(its->spans[i], done, done + part);
        if (here.first >= here.end)
            continue;
        weft_elements_t from = its->block(its->args, i);
        weft_wall_pack(&from, here.first - its->spans[i].first, room + (here.first - done),
                       here.end - here.first);
    }
}

static bool post_part(weft_wall_t *wall, const stream_t *its, size_t done)
{
    size_t part = weft_wall_part(wall, its->bytes, done);
    weft_wall_stamp(wall, its->bytes);
    char *room = weft_wall_room(wall, part);
    if (room == NULL)
        return false;
    pack_part(its, done, room, part);
    weft_wall_post(wall);
    return true;
}

/* This member's block in the stream of another one. */
typedef struct source {
    int member;
    wall_span_t span;
    size_t bytes; /* of the whole stream */
} wall_source_t;

/* What the post that begins with byte `done` has of the block. */
static bool take_part(weft_wall_t *wall, wall_source_t *its, const weft_elements_t *to, size_t done)
{
    if (!weft_wall_learn(wall, its->member, &its->bytes))
        return false;
    size_t part = weft_wall_part(wall, its->bytes, done);
    const char *data = weft_wall_known_data(wall, its->member, part);
    if (done == 0) {
        its->span = ((const wall_span_t *)data)[wall->rank];
        if (differs(wall, its->member, its->span.end - its->span.first, weft_wall_bytes_of(to)))
            return false;
    }
    wall_span_t here = overlap(its->span, done, done + part);
    if (here.first < here.end)
        weft_wall_unpack(to, here.first - its->span.first, data + (here.first - done),
                         here.end - here.first);
    return true;
}

/* ---- from one ---- */

static int scatter_from_root(weft_wall_t *wall, const weft_coll_args_t *args)
{
    stream_t stream;
    lay_out(&stream, wall, args, send_slice);
    if (args->recv_buf != MPI_IN_PLACE) {
        weft_elements_t from = send_slice(args, wall->rank), own = weft_wall_recv_block(args, 0);
        weft_copy_elements(&from, &own);
    }
    for (size_t done = 0; done < stream.bytes; done += wall->chunk) {
        if (!post_part(wall, &stream, done))
            break;
    }
    return wall->error;
}

static int run_scatterv(weft_wall_t *wall, const weft_coll_args_t *args)
{
    if (wall->rank == args->root)
        return scatter_from_root(wall, args);
    weft_elements_t own = weft_wall_recv_block(args, 0);
    wall_source_t root = {.member = args->root};
    bool is_good = weft_wall_signal(wall) && take_part(wall, &root, &own, 0);
    for (size_t done = wall->chunk; is_good && done < root.bytes; done += wall->chunk)
        is_good = weft_wall_signal(wall) && take_part(wall, &root, &own, done);
    return wall->error;
}

/* ---- from all, to all ---- */

/* In place all blocks are packed before anything is written over them. */
static bool keep_packed(weft_wall_t *wall, stream_t *its)
{
    char *packed = weft_alloc(its->bytes);
    if (packed == NULL) {
        weft_wall_give_up(
            wall, weft_fail(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", its->bytes));
        return false;
    }
    pack_part(its, 0, packed, its->bytes);
    its->packed = packed;
    return true;
}

static bool exchange_round(weft_wall_t *wall, const stream_t *own, weft_wall_block_fn_t target,
                           size_t done, wall_source_t *sources)
{
    if (!post_part(wall, own, done) || !weft_wall_await_all(wall))
        return false;
    for (int i = 1; i < wall->size; i++) {
        sources[i].member = (wall->rank + i) % wall->size;
        weft_elements_t to = target(own->args, sources[i].member);
        if (!take_part(wall, &sources[i], &to, done))
            return false;
    }
    return true;
}

/* Known after the first round. */
static size_t longest_stream(const stream_t *own, const wall_source_t *sources)
{
    size_t longest = own->bytes;
    for (int i = 1; i < own->members; i++)
        longest = sources[i].bytes > longest ? sources[i].bytes : longest;
    return longest;
}

static int exchange_streams(weft_wall_t *wall, const weft_coll_args_t *args,
                            weft_wall_block_fn_t block, weft_wall_block_fn_t target)
{
    bool is_in_place = weft_is_in_place(args);
    stream_t own;
    wall_source_t sources[WEFT_WALL_MEMBERS_MOST];
    lay_out(&own, wall, args, is_in_place ? target : block);
    if (!is_in_place) {
        weft_elements_t from = block(args, wall->rank), to = target(args, wall->rank);
        weft_copy_elements(&from, &to);
    } else if (own.bytes > wall->chunk && !keep_packed(wall, &own)) {
        return wall->error;
    }
    bool is_good = exchange_round(wall, &own, target, 0, sources);
    size_t most = is_good ? longest_stream(&own, sources) : 0;
    for (size_t done = wall->chunk; is_good && done < most; done += wall->chunk)
        is_good = exchange_round(wall, &own, target, done, sources);
    weft_free(own.packed);
    return wall->error;
}

static int run_alltoallv(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return exchange_streams(wall, args, send_slice, weft_wall_recv_slice);
}

static int run_alltoallw(weft_wall_t *wall, const weft_coll_args_t *args)
{
    return exchange_streams(wall, args, send_typed, recv_typed);
}

/* ---- plans ---- */

WEFT_WALL_PLAN(gatherv)
WEFT_WALL_PLAN(scatterv)
WEFT_WALL_PLAN(alltoallv)
WEFT_WALL_PLAN(alltoallw)
