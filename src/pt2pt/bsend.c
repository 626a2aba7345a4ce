/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/bsend.h"

#include "pt2pt/device_copy.h"
#include "pt2pt/pt2pt_private.h"
#include "runtime/device.h"
#include "runtime/progress.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/pool.h"

#include <stdint.h>

typedef struct weft_bsend_buffer weft_bsend_buffer_t;

enum { ALIGNMENT = 64 };

/* In front of the data of each message in the buffer. */
typedef struct block {
    weft_link_t link; /* in buffer->blocks, by address */
    size_t bytes;     /* header and data */
    uint64_t number;  /* in the order of sending */
    weft_bsend_buffer_t *buffer;
    weft_request_t *sent;    /* of the message, which is on its way */
    struct buffered *holder; /* the program's request; NULL: it has none */
} bsend_block_t;

/* The program's request of a message that is still in the buffer: complete, unless it is being
 * cancelled. */
typedef struct buffered {
    weft_request_t request; /* first */
    bsend_block_t *block;   /* NULL: the message has gone out, or was cancelled */
} buffered_t;

struct weft_bsend_buffer {
    void *attached; /* by the program */
    char *memory;   /* the same, or of the heap if that is a device's */
    size_t bytes;
    bool is_automatic; /* blocks come from the heap */
    weft_list_t blocks;
    uint64_t next_number;
    weft_list_t flushes; /* requests that wait for blocks to go */
};

typedef struct flush {
    weft_request_t request; /* first */
    weft_link_t link;
    uint64_t until; /* complete when no block below this number is left */
} flush_t;

typedef struct persistent {
    weft_request_t request; /* first */
    weft_send_args_t args;
    weft_request_t *sent; /* as of weft_ibsend_begin(); NULL: not started yet */
} persistent_t;

static weft_bsend_place_t process_place;
static int buffer_slot; /* of communicators: MPI_Comm_attach_buffer */
static weft_pool_t flushes = WEFT_POOL(flush_t);
static weft_pool_t buffereds = WEFT_POOL(buffered_t);
static weft_pool_t persistents = WEFT_POOL(persistent_t);

/* ---- buffers ---- */

/* No blocks are left at this point: each belongs to a send that retains the communicator. */
static void free_buffer(weft_bsend_buffer_t *buffer)
{
    if (buffer->memory != buffer->attached)
        weft_free(buffer->memory);
    weft_free(buffer);
}

static void release_buffer(weft_comm_t *comm, void *state)
{
    (void)comm;
    free_buffer(state);
}

int weft_bsend_open(void)
{
    buffer_slot = weft_comm_slot_register("buffered sends", release_buffer);
    return buffer_slot < 0 ? MPI_ERR_INTERN : MPI_SUCCESS;
}

weft_bsend_place_t *weft_bsend_of_process(void)
{
    return &process_place;
}

weft_bsend_place_t *weft_bsend_of_comm(weft_comm_t *comm)
{
    return &comm->slot[buffer_slot];
}

weft_bsend_place_t *weft_bsend_of_session(weft_session_t *session)
{
    return &session->bsend_buffer;
}

static weft_bsend_buffer_t *buffer_for(const weft_comm_t *comm)
{
    const weft_session_t *session = comm->group->session;
    if (comm->slot[buffer_slot] != NULL)
        return comm->slot[buffer_slot];
    return session != NULL && session->bsend_buffer != NULL ? session->bsend_buffer : process_place;
}

int weft_bsend_attach(weft_bsend_place_t *place, void *memory, size_t bytes)
{
    if (*place != NULL)
        return weft_fail(MPI_ERR_BUFFER, "a buffer is attached already; detach it first");
    weft_bsend_buffer_t *buffer = weft_alloc_zeroed(1, sizeof(*buffer));
    if (buffer == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory to manage a buffer");
    buffer->is_automatic = memory == MPI_BUFFER_AUTOMATIC;
    bool is_device = !buffer->is_automatic && bytes > 0 && weft_is_device(memory);
    buffer->attached = memory;
    buffer->memory = is_device ? weft_alloc(bytes) : memory;
    buffer->bytes = bytes;
    if (is_device && buffer->memory == NULL) {
        weft_free(buffer);
        return weft_fail(MPI_ERR_NO_MEM, "no memory to stand for a buffer of %zu bytes", bytes);
    }
    weft_list_init(&buffer->blocks);
    weft_list_init(&buffer->flushes);
    *place = buffer;
    return MPI_SUCCESS;
}

int weft_bsend_detach(weft_bsend_place_t *place, void **memory_out, size_t *bytes_out)
{
    weft_bsend_buffer_t *buffer = *place;
    if (buffer == NULL)
        return weft_fail(MPI_ERR_BUFFER, "no buffer is attached");
    while (!weft_list_is_empty(&buffer->blocks)) /* waiting lets other threads put in more */
        weft_bsend_flush(place);
    *memory_out = buffer->attached;
    *bytes_out = buffer->is_automatic ? 0 : buffer->bytes;
    *place = NULL;
    free_buffer(buffer);
    return MPI_SUCCESS;
}

void weft_bsend_release(weft_bsend_place_t *place)
{
    void *memory;
    size_t bytes;
    if (*place != NULL)
        weft_bsend_detach(place, &memory, &bytes);
}

/* ---- blocks ---- */

static char *align(char *at)
{
    return (char *)(((uintptr_t)at + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

/* The first gap of `bytes` bytes; *after is the block in front of it. */
static char *find_gap(weft_bsend_buffer_t *buffer, size_t bytes, weft_link_t **after)
{
    char *at = align(buffer->memory), *end = buffer->memory + buffer->bytes;
    weft_link_t *link = &buffer->blocks;
    for (;;) {
        weft_link_t *next = link->next;
        char *limit =
            next == &buffer->blocks ? end : (char *)WEFT_ELEMENT(next, bsend_block_t, link);
        if (limit >= at && (size_t)(limit - at) >= bytes) {
            *after = link;
            return at;
        }
        if (next == &buffer->blocks)
            return NULL;
        at = align((char *)WEFT_ELEMENT(next, bsend_block_t, link) +
                   WEFT_ELEMENT(next, bsend_block_t, link)->bytes);
        link = next;
    }
}

static bsend_block_t *take_bsend_block(weft_bsend_buffer_t *buffer, size_t bytes)
{
    weft_link_t *after = buffer->blocks.previous;
    bsend_block_t *block = buffer->is_automatic
                               ? weft_alloc(bytes)
                               : (bsend_block_t *)(void *)find_gap(buffer, bytes, &after);
    if (block == NULL)
        return NULL;
    block->bytes = bytes;
    block->number = buffer->next_number++;
    block->buffer = buffer;
    block->holder = NULL;
    block->link.previous = after;
    block->link.next = after->next;
    after->next->previous = &block->link;
    after->next = &block->link;
    return block;
}

static uint64_t lowest_number(const weft_bsend_buffer_t *buffer)
{
    uint64_t lowest = UINT64_MAX;
    for (weft_link_t *at = buffer->blocks.next; at != &buffer->blocks; at = at->next) {
        const bsend_block_t *block = WEFT_ELEMENT(at, bsend_block_t, link);
        if (block->number < lowest)
            lowest = block->number;
    }
    return lowest;
}

static void complete_flushes(weft_bsend_buffer_t *buffer)
{
    uint64_t lowest = lowest_number(buffer);
    for (weft_link_t *at = buffer->flushes.next; at != &buffer->flushes;) {
        flush_t *flush = WEFT_ELEMENT(at, flush_t, link);
        at = at->next;
        if (flush->until <= lowest) {
            weft_list_remove(&flush->link);
            weft_request_complete(&flush->request);
        }
    }
}

static void give_block(bsend_block_t *block)
{
    weft_list_remove(&block->link);
    if (block->buffer->is_automatic)
        weft_free(block);
}

/* The part of a request was cancelled, or not, and with it the request. */
static void end_cancelling(weft_request_t *request, const weft_request_t *part)
{
    if (request->is_complete)
        return;
    weft_status_set_cancelled(&request->status, weft_status_is_cancelled(&part->status));
    weft_request_complete(request);
}

static void bsend_block_is_sent(weft_request_t *request, void *owner)
{
    bsend_block_t *block = owner;
    weft_bsend_buffer_t *buffer = block->buffer;
    buffered_t *holder = block->holder;
    give_block(block);
    if (holder != NULL) {
        holder->block = NULL;
        end_cancelling(&holder->request, request);
    }
    if (request->why != NULL && !wefti_pt2pt.is_ending)
        wefti_note_unseen(request);
    if (!weft_list_is_empty(&buffer->flushes))
        complete_flushes(buffer);
    weft_request_release(request); /* last: this may free the communicator, and its buffer */
}

/* ---- sending ---- */

static void buffered_release(weft_request_t *request)
{
    buffered_t *buffered = (buffered_t *)request;
    if (buffered->block != NULL)
        buffered->block->holder = NULL;
    weft_pool_give(&buffereds, buffered);
}

/* The message may be gone before this returns. */
static void buffered_cancel(weft_request_t *request)
{
    bsend_block_t *block = ((buffered_t *)request)->block;
    if (block == NULL || !request->is_complete)
        return;
    request->is_complete = false;
    block->sent->ops->cancel(block->sent);
}

static const weft_request_ops_t buffered_ops = {
    .name = "buffered send", .release = buffered_release, .cancel = buffered_cancel};

/* Without memory for it the message cannot be cancelled. */
static weft_request_t *hold_block(bsend_block_t *block, weft_comm_t *comm)
{
    buffered_t *buffered = weft_pool_take(&buffereds);
    if (buffered == NULL)
        return &weft_request_done;
    weft_request_init(&buffered->request, &buffered_ops, comm);
    buffered->request.is_complete = true;
    buffered->block = block;
    block->holder = buffered;
    return &buffered->request;
}

static int pack_block(const weft_send_args_t *args, bsend_block_t *block, weft_send_args_t *out)
{
    weft_elements_t typed = {(void *)args->buf, args->count, args->type};
    weft_elements_t packed = {block + 1, args->count * args->type->size, weft_type_of(MPI_BYTE)};
    *out = *args;
    out->is_buffered = true;
    out->buf = packed.buf;
    out->count = packed.count;
    out->type = weft_type_of(MPI_BYTE);
    out->where = WEFT_WHERE_HOST;
    return weft_copy_anywhere(&typed, &packed);
}

/* `out` NULL: the program gets no request. */
static int send_block(const weft_send_args_t *args, bsend_block_t *block, weft_request_t **out)
{
    weft_send_args_t copy;
    int err = pack_block(args, block, &copy);
    if (err == MPI_SUCCESS)
        err = (out == NULL ? weft_send_begin : weft_isend_begin)(&copy, &block->sent);
    if (err != MPI_SUCCESS) {
        give_block(block);
        return err;
    }
    if (out != NULL && block->sent->is_complete && block->sent->why == NULL) {
        *out = block->sent;
        give_block(block);
        return MPI_SUCCESS;
    }
    if (out != NULL)
        *out = hold_block(block, args->comm);
    weft_request_watch(block->sent, bsend_block_is_sent, block);
    return MPI_SUCCESS;
}

static int find_block(const weft_send_args_t *args, bsend_block_t **out)
{
    weft_bsend_buffer_t *buffer = buffer_for(args->comm);
    size_t bytes = args->count * args->type->size;
    if (buffer == NULL)
        return weft_fail(MPI_ERR_BUFFER,
                         "a message of %zu bytes needs a buffer, but none is attached", bytes);
    *out = take_bsend_block(buffer, sizeof(bsend_block_t) + bytes);
    if (*out == NULL) {
        weft_progress(); /* something may have gone out */
        *out = take_bsend_block(buffer, sizeof(bsend_block_t) + bytes);
    }
    if (*out == NULL)
        return weft_fail(MPI_ERR_BUFFER,
                         "the attached buffer of %zu bytes has no room for a message of "
                         "%zu bytes",
                         buffer->bytes, bytes);
    return MPI_SUCCESS;
}

int weft_bsend_begin(const weft_send_args_t *args, weft_request_t **out)
{
    bsend_block_t *block;
    *out = &weft_request_done;
    if (args->dest == MPI_PROC_NULL)
        return MPI_SUCCESS;
    int err = find_block(args, &block);
    return err == MPI_SUCCESS ? send_block(args, block, NULL) : err;
}

int weft_ibsend_begin(const weft_send_args_t *args, weft_request_t **out)
{
    bsend_block_t *block;
    *out = &weft_request_done;
    if (args->dest == MPI_PROC_NULL)
        return MPI_SUCCESS;
    int err = find_block(args, &block);
    return err == MPI_SUCCESS ? send_block(args, block, out) : err;
}

/* ---- flushing ---- */

static void bsend_release_flush(weft_request_t *request)
{
    weft_pool_give(&flushes, request);
}

static const weft_request_ops_t flush_ops = {
    .name = "flush", .release = bsend_release_flush, .cancel = weft_request_cannot_cancel};

int weft_bsend_flush_begin(weft_bsend_place_t *place, weft_comm_t *comm, weft_request_t **out)
{
    weft_bsend_buffer_t *buffer = *place;
    if (buffer == NULL || weft_list_is_empty(&buffer->blocks)) {
        *out = &weft_request_done;
        return MPI_SUCCESS;
    }
    flush_t *flush = weft_pool_take(&flushes);
    if (flush == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    weft_request_init(&flush->request, &flush_ops, comm);
    flush->until = buffer->next_number;
    weft_list_append(&buffer->flushes, &flush->link);
    *out = &flush->request;
    return MPI_SUCCESS;
}

void weft_bsend_flush(weft_bsend_place_t *place)
{
    weft_request_t *request = NULL;
    while (weft_bsend_flush_begin(place, NULL, &request) != MPI_SUCCESS)
        weft_progress();
    weft_request_wait(request);
    weft_request_release(request);
}

/* ---- persistent buffered sends ---- */

static void bsend_release_persistent(weft_request_t *request)
{
    persistent_t *persistent = (persistent_t *)request;
    if (persistent->sent != NULL)
        weft_request_release(persistent->sent);
    weft_type_release(persistent->args.type);
    weft_comm_release(persistent->args.comm);
    weft_pool_give(&persistents, persistent);
}

static int bsend_start_persistent(weft_request_t *request)
{
    persistent_t *persistent = (persistent_t *)request;
    weft_request_t *sent;
    int err = weft_ibsend_begin(&persistent->args, &sent);
    if (err != MPI_SUCCESS)
        return err;
    if (persistent->sent != NULL)
        weft_request_release(persistent->sent);
    persistent->sent = sent;
    weft_request_restart(request);
    weft_request_complete(request);
    return MPI_SUCCESS;
}

static void persistent_cancel_is_over(weft_request_t *sent, void *owner)
{
    persistent_t *persistent = owner;
    weft_request_unwatch(sent);
    end_cancelling(&persistent->request, sent);
}

static void bsend_cancel_persistent(weft_request_t *request)
{
    weft_request_t *sent = ((persistent_t *)request)->sent;
    if (sent == &weft_request_done || !request->is_complete)
        return;
    request->is_complete = false;
    sent->ops->cancel(sent);
    weft_request_watch(sent, persistent_cancel_is_over, request);
}

static const weft_request_ops_t persistent_ops = {.name = "buffered send",
                                                  .release = bsend_release_persistent,
                                                  .start = bsend_start_persistent,
                                                  .cancel = bsend_cancel_persistent};

int weft_bsend_init(const weft_send_args_t *args, weft_request_t **out)
{
    persistent_t *persistent = weft_pool_take(&persistents);
    if (persistent == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    weft_request_init(&persistent->request, &persistent_ops, args->comm);
    weft_request_make_persistent(&persistent->request);
    persistent->args = *args;
    persistent->sent = NULL;
    weft_type_retain(args->type);
    weft_comm_retain(args->comm);
    *out = &persistent->request;
    return MPI_SUCCESS;
}

void weft_bsend_close(void)
{
    weft_bsend_release(&process_place);
    weft_pool_close(&flushes);
    weft_pool_close(&buffereds);
    weft_pool_close(&persistents);
}
