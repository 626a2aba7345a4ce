/* SPDX-License-Identifier: BSD-3-Clause */
#include "stream/conduit.h"

#include "stream/conduit_private.h"
#include "runtime/lock.h"
#include "tool/category.h"
#include "tool/pvar.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "mpi.h"
#include "mpix.h"

static int conduit_slot; /* the slot of communicators that holds their conduit */
static bool is_over;
static uint64_t conduit_calls;

static const weft_pvar_t conduit_pvars[] = {
    {.name = "device_calls_stream",
     .help = "Enqueued collectives that this rank has put into streams as kernels",
     .pvar_class = MPI_T_PVAR_CLASS_COUNTER,
     .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
     .category = WEFT_CATEGORY_DEVICE,
     .type = MPI_UNSIGNED_LONG_LONG,
     .read = weft_pvar_read_count,
     .source = &conduit_calls},
};
const weft_pvar_table_t weft_conduit_pvars = {conduit_pvars, 1};

/* ---- where data are ---- */

static const conduit_block_t *first_block(const conduit_t *conduit, const conduit_side_t *side)
{
    for (int i = 0; i < conduit->members; i++) {
        if (side->block[i].bytes > 0)
            return &side->block[i];
    }
    return NULL;
}

static bool are_runs(const conduit_t *conduit, const conduit_side_t *side)
{
    ptrdiff_t offset;
    size_t bytes;
    for (int i = 0; i < conduit->members; i++) {
        const weft_elements_t *data = &side->block[i].data;
        if (side->block[i].bytes > 0 && !weft_type_span(data->type, data->count, &offset, &bytes))
            return false;
    }
    return true;
}

static int place_side(const conduit_t *conduit, const weft_stream_t *stream, bool is_array,
                      conduit_side_t *side)
{
    const conduit_block_t *first = first_block(conduit, side);
    weft_memory_t memory;
    if (first == NULL)
        return MPI_SUCCESS;
    const weft_type_t *type = first->data.type;
    const void *data = (const char *)first->data.buf + type->true_lb;
    side->place = CONDUIT_BOUNCED;
    if (!weft_is_device(data))
        return MPI_SUCCESS;
    int err = weft_device->look(data, &memory);
    if (err != MPI_SUCCESS)
        return err;
    bool is_here = memory.device == conduit->device;
    bool is_plain = is_array || are_runs(conduit, side);
    side->place = is_here && is_plain ? CONDUIT_DIRECT : CONDUIT_STAGED;
    if (is_here && side->place == CONDUIT_STAGED)
        side->packer = weft_device->streams->find_packer(stream->users, (weft_type_t *)type);
    return MPI_SUCCESS;
}

/* In place the result of a reduce_scatter may lie on operands of the same piece that another thread
 * has still to read. It does not lie on those of later pieces: a piece of the result begins where
 * the buffer does, and operands of the next piece lie further on. */
static bool may_overlap(const conduit_call_t *call)
{
    const conduit_side_t *gives = &call->side[CONDUIT_GIVES], *gets = &call->side[CONDUIT_GETS];
    return call->coll == WEFT_REDUCE_SCATTER && gets->place == CONDUIT_DIRECT &&
           gives->place == CONDUIT_DIRECT;
}

static int place_data(const conduit_t *conduit, const weft_stream_t *stream,
                      const weft_coll_args_t *args, conduit_call_t *call)
{
    bool is_array = call->op != NULL;
    int err = place_side(conduit, stream, is_array, &call->side[CONDUIT_GIVES]);
    if (err == MPI_SUCCESS)
        err = place_side(conduit, stream, is_array, &call->side[CONDUIT_GETS]);
    if (err == MPI_SUCCESS && args->send_buf == MPI_IN_PLACE && may_overlap(call))
        call->side[CONDUIT_GETS].place = CONDUIT_STAGED;
    return err;
}

static bool needs_keep(const conduit_call_t *call, uint64_t capture)
{
    return capture != 0 || call->side[CONDUIT_GIVES].place != CONDUIT_DIRECT ||
           call->side[CONDUIT_GETS].place != CONDUIT_DIRECT;
}

/* ---- into the stream ---- */

/* Numbers for so many launches; 0 is none. */
static uint32_t take_numbers(conduit_t *conduit, const conduit_call_t *call)
{
    uint32_t pieces = 1, first;
    if (call->most > 0)
        pieces = (uint32_t)((call->most + call->piece - 1) / call->piece);
    if (conduit->number > UINT32_MAX - pieces)
        conduit->number = 0;
    first = conduit->number + 1;
    conduit->number += pieces;
    return first;
}

/* A call that is being put into a stream. */
typedef struct conduit_put {
    const conduit_t *conduit;
    const conduit_call_t *call;
    conduit_keep_t *keep; /* may be NULL */
    weft_stream_t *stream;
    uint32_t number; /* of the next launch; 0: the stream is being captured */
} conduit_put_t;

/* Without the lock. */
static int put_piece(conduit_put_t *put, size_t at)
{
    weft_exchange_t exchange;
    conduit_keep_t *keep = put->keep;
    int err = keep == NULL ? MPI_SUCCESS : wefti_conduit_put_data(keep, put->stream, at, true);
    wefti_conduit_exchange(put->conduit, put->call, at, &exchange);
    exchange.number = put->number;
    put->number += put->number != 0;
    if (err == MPI_SUCCESS)
        err = weft_device->streams->put_exchange(put->stream->users, &exchange);
    if (err == MPI_SUCCESS && keep != NULL)
        err = wefti_conduit_put_data(keep, put->stream, at, false);
    return err;
}

/* Without the lock: the driver may block while the stream is full, and the work that it waits for
 * may need the library's thread. */
static int put_pieces(conduit_put_t *put)
{
    const conduit_call_t *call = put->call;
    int err = MPI_SUCCESS;
    for (size_t at = 0; err == MPI_SUCCESS && (at == 0 || at < call->most); at += call->piece)
        err = put_piece(put, at);
    int end = put->keep == NULL ? MPI_SUCCESS : wefti_conduit_put_end(put->keep, put->stream);
    return err == MPI_SUCCESS ? end : err;
}

static int put_call(conduit_t *conduit, const conduit_call_t *call, const weft_coll_args_t *args,
                    weft_stream_t *stream, uint64_t capture)
{
    conduit_keep_t *keep = NULL;
    wefti_tickets_collect();
    if (needs_keep(call, capture)) {
        keep = wefti_conduit_keep(conduit, call, args, capture != 0);
        if (keep == NULL)
            return MPI_ERR_NO_MEM;
    }
    if (capture == 0)
        wefti_conduit_await_room(conduit);
    conduit_put_t put = {conduit, call, keep, stream,
                         capture == 0 ? take_numbers(conduit, call) : 0};
    stream->has_kernels = true;
    conduit_calls++;
    weft_unlock();
    int err = put_pieces(&put);
    weft_lock();
    return err;
}

static int put_in_order(conduit_t *conduit, conduit_call_t *call, const weft_coll_args_t *args,
                        weft_stream_t *stream)
{
    uint64_t capture;
    weft_stream_retain(stream);
    wefti_stream_begin_feeding(stream);
    int err = wefti_capture_of(stream, &capture);
    if (err == MPI_SUCCESS)
        err = place_data(conduit, stream, args, call);
    if (err == MPI_SUCCESS)
        err = put_call(conduit, call, args, stream, capture);
    if (err != MPI_SUCCESS && capture == 0)
        wefti_conduit_break(conduit);
    wefti_stream_end_feeding(stream);
    weft_stream_release(stream);
    return err;
}

bool weft_conduit_put(weft_stream_t *stream, weft_coll_t coll, const weft_coll_args_t *args,
                      int *err_out)
{
    conduit_t *conduit = args->comm->slot[conduit_slot];
    conduit_call_t call;
    if (conduit == NULL || !wefti_conduit_call(conduit, coll, args, &call))
        return false;
    if (wefti_conduit_has_failed(conduit))
        *err_out = wefti_conduit_error(conduit);
    else if (call.most == 0 && coll != WEFT_BARRIER)
        *err_out = MPI_SUCCESS;
    else
        *err_out = put_in_order(conduit, &call, args, stream);
    return true;
}

/* ---- communicators ---- */

static bool may_conduits_wait(void)
{
    for (weft_link_t *link = wefti_conduits.next; link != &wefti_conduits; link = link->next) {
        if (wefti_conduit_may_wait(WEFT_ELEMENT(link, conduit_t, link)))
            return true;
    }
    return false;
}

int weft_conduit_agree(weft_comm_t *comm, weft_stream_t *stream)
{
    conduit_t *conduit;
    int err = wefti_conduit_create(comm, stream, &conduit);
    if (err == MPI_SUCCESS && conduit != NULL) {
        comm->slot[conduit_slot] = conduit;
        weft_kernels_may_wait = may_conduits_wait;
        wefti_stream_watch_conduits();
    }
    return err;
}

/* The conduit stays until its kernels have ended. */
static void detach_conduit(weft_comm_t *comm, void *state)
{
    conduit_t *conduit = state;
    conduit->comm = NULL;
    if (comm->is_revoked && conduit->off_error == MPI_SUCCESS)
        conduit->off_error = MPIX_ERR_REVOKED;
    if (!is_over && conduit->graphs == 0 && !wefti_conduit_is_busy(conduit))
        wefti_conduit_destroy(conduit, true);
}

int weft_conduits_open(void)
{
    is_over = false;
    conduit_slot = weft_comm_slot_register("conduit", detach_conduit);
    return conduit_slot < 0 ? MPI_ERR_INTERN : MPI_SUCCESS;
}

static void warn_of_failures(void)
{
    for (weft_link_t *link = wefti_conduits.next; link != &wefti_conduits; link = link->next) {
        conduit_t *conduit = WEFT_ELEMENT(link, conduit_t, link);
        if (conduit->watch == NULL || conduit->watch->vain == 0 || conduit->has_told)
            continue;
        wefti_conduit_error(conduit);
        WEFT_LOG(WEFT_WARN, "stream", "a collective in a stream has failed: %s", weft_fail_text());
    }
}

void weft_conduits_end(void)
{
    warn_of_failures();
    weft_kernels_may_wait = NULL;
    is_over = true;
    wefti_conduit_keeps_end();
}

/* The device's memory goes with the device. */
void weft_conduits_close(void)
{
    while (!weft_list_is_empty(&wefti_conduits))
        wefti_conduit_destroy(WEFT_ELEMENT(wefti_conduits.next, conduit_t, link), false);
}
