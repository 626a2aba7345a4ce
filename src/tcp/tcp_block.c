/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers to READs: the bytes go to the socket straight from the user's memory.
 */
#include "tcp/tcp_private.h"

#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/pool.h"

#include <string.h>

enum { FRAMES = 16 };

/* One frame of each of the oldest answers; they go out in one system call. With a call for each
 * frame, messages of 64 KiB moved at only 3 GB/s from one host to another. */
typedef struct frames {
    int count;
    size_t bytes;
    struct iovec pieces[FRAMES][2]; /* the head, the data */
    char heads[FRAMES][HEAD_MAX];
} frames_t;

static weft_pool_t blocks = WEFT_POOL(tcp_block_t);

void wefti_tcp_add_block(tcp_peer_t *peer, const tcp_read_t *read)
{
    bool is_allowed = wefti_tcp_may_read(read);
    if (!is_allowed)
        WEFT_LOG(WEFT_ERROR, "tcp", "rank %d asked for memory that was not offered to it",
                 weft_process_rank(peer->net.process));
    tcp_block_t *block = weft_pool_take(&blocks);
    if (block == NULL)
        weft_out_of_memory("the answer to a read", sizeof(*block));
    *block = (tcp_block_t){.data = is_allowed ? (const char *)(uintptr_t)read->address : "",
                           .bytes = is_allowed ? read->bytes : 0,
                           .is_refusal = !is_allowed,
                           .read = *read};
    if (peer->blocks == NULL)
        peer->last_block = &peer->blocks;
    *peer->last_block = block;
    peer->last_block = &block->next;
    wefti_tcp_note_dirty(peer);
}

/* ---- to the socket ---- */

static void add_frame(frames_t *frames, const tcp_block_t *block)
{
    char *head = frames->heads[frames->count];
    struct iovec *pieces = frames->pieces[frames->count++];
    const char *data = block->data + block->sent;
    size_t bytes = block->bytes - block->sent < BLOCK_MAX ? block->bytes - block->sent : BLOCK_MAX;
    weft_header_t header =
        weft_header_for(block->is_refusal ? FRAME_NO_READ : FRAME_BLOCK, block->read.get, bytes);
    pieces[0] = (struct iovec){head, wefti_tcp_make_head(head, &header, data, frames->bytes)};
    pieces[1] = (struct iovec){(void *)(uintptr_t)data, bytes};
    frames->bytes += pieces[0].iov_len + bytes;
}

static void collect_answers(frames_t *frames, const tcp_block_t *block)
{
    frames->count = 0;
    frames->bytes = 0;
    for (; block != NULL && frames->count < FRAMES && frames->bytes < BLOCK_MAX;
         block = block->next)
        add_frame(frames, block);
}

/* The socket took `taken` bytes of this frame; the rest of it goes out first, the next time. */
static void keep_rest(tcp_peer_t *peer, const struct iovec pieces[2], size_t taken)
{
    size_t of_head = taken < pieces[0].iov_len ? taken : pieces[0].iov_len;
    peer->stub_bytes = pieces[0].iov_len - of_head;
    memcpy(peer->stub, (const char *)pieces[0].iov_base + of_head, peer->stub_bytes);
    peer->tail = (const char *)pieces[1].iov_base + (taken - of_head);
    peer->tail_bytes = pieces[1].iov_len - (taken - of_head);
}

/* The owner of the memory is told later, since it may send something at once, while the socket is
 * being written to. */
void wefti_tcp_end_block(tcp_peer_t *peer)
{
    tcp_block_t *block = peer->blocks;
    if (block == NULL || !block->has_begun || block->sent < block->bytes)
        return;
    peer->blocks = block->next;
    if (block->read.ends == 0 || block->is_refusal) {
        weft_pool_give(&blocks, block);
        return;
    }
    block->next = wefti_tcp.taken;
    wefti_tcp.taken = block;
}

/* The socket took `taken` bytes of the frames. True: it took all. */
static bool note_taken(tcp_peer_t *peer, const frames_t *frames, size_t taken)
{
    for (int i = 0; i < frames->count; i++) {
        const struct iovec *pieces = frames->pieces[i];
        size_t bytes = pieces[0].iov_len + pieces[1].iov_len;
        if (taken == 0)
            return false;
        peer->blocks->sent += pieces[1].iov_len;
        peer->blocks->has_begun = true;
        if (taken < bytes) {
            keep_rest(peer, pieces, taken);
            return false;
        }
        taken -= bytes;
        wefti_tcp_end_block(peer);
    }
    return true;
}

bool wefti_tcp_write_blocks(tcp_peer_t *peer)
{
    frames_t frames;
    while (peer->blocks != NULL) {
        collect_answers(&frames, peer->blocks);
        size_t taken = wefti_tcp_write(peer, frames.pieces[0], 2 * frames.count);
        if (taken == 0 ||
            !note_taken(peer, &frames,
                        taken)) /* with taken == 0 the peer may be lost, and its blocks gone */
            return false;
    }
    return true;
}

/* ---- the owners of memory that was read ---- */

int wefti_tcp_tell_taken(void)
{
    int told = 0;
    for (tcp_block_t *block; (block = wefti_tcp.taken) != NULL; told++) {
        tcp_read_t read = block->read;
        wefti_tcp.taken = block->next;
        weft_pool_give(&blocks, block);
        wefti_tcp_registration_ends(&read);
    }
    return told;
}

/* ---- the end ---- */

void wefti_tcp_drop_blocks(tcp_peer_t *peer)
{
    for (tcp_block_t *block = peer->blocks, *next; block != NULL; block = next) {
        next = block->next;
        weft_pool_give(&blocks, block);
    }
    peer->blocks = NULL;
}

void wefti_tcp_blocks_close(void)
{
    wefti_tcp.taken = NULL;
    weft_pool_close(&blocks);
}
