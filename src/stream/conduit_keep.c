/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data of a call that kernels cannot take from the buffers themselves, and what must stay while the
 * stream, or a graph, refers to it.
 *
 *   host memory        a host function packs it into pinned memory, and unpacks it from there
 *   derived datatypes  kernels pack into memory of the device and unpack from there
 *
 * These host functions wait for nothing and call no driver.
 */
#include "stream/conduit_private.h"

#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

/* What a host function does. */
typedef struct conduit_step {
    const struct conduit_keep *keep;
    conduit_side_index_t side;
    size_t at;
    bool is_before;
} conduit_step_t;

struct conduit_keep {
    conduit_t *conduit;
    weft_comm_t *comm;
    conduit_call_t call;
    weft_type_t *types[CONDUIT_SIDES]; /* those that are held */
    weft_ticket_t *ticket;
    bool is_captured;
    weft_link_t link;
    conduit_step_t steps[]; /* [pieces][side][before, behind] */
};

static weft_list_t keeps = {&keeps, &keeps};

/* ---- copies by the processor ---- */

static size_t pieces_of(const conduit_call_t *call)
{
    return call->most == 0 ? 1 : (call->most + call->piece - 1) / call->piece;
}

/* Elements of an operation are copied as they lie in memory, and gaps are left alone. */
static void bounce_elements(const conduit_call_t *call, const conduit_block_t *block, size_t at,
                            char *packed, bool is_packing)
{
    size_t extent = (size_t)call->type->extent, bytes = wefti_conduit_part(call, block->bytes, at);
    weft_elements_t user = {(char *)block->data.buf + at, bytes / extent, call->type};
    weft_elements_t bounced = {packed, bytes / extent, call->type};
    weft_copy_elements(is_packing ? &user : &bounced, is_packing ? &bounced : &user);
}

static void bounce_block(const conduit_call_t *call, const conduit_block_t *block, size_t at,
                         char *packed, bool is_packing)
{
    const weft_elements_t *data = &block->data;
    size_t bytes = wefti_conduit_part(call, block->bytes, at);
    if (call->op != NULL)
        bounce_elements(call, block, at, packed, is_packing);
    else if (is_packing)
        weft_pack(data->buf, data->count, data->type, at, packed, bytes);
    else
        weft_unpack(data->buf, data->count, data->type, at, packed, bytes);
}

/* Of blocks that are the same memory only one is moved. */
static bool is_to_move(const conduit_call_t *call, const conduit_side_t *side, int index, size_t at)
{
    if (wefti_conduit_part(call, side->block[index].bytes, at) == 0)
        return false;
    for (int i = 0; i < index && !side->is_each; i++) {
        if (side->block[i].bytes > 0)
            return false;
    }
    return true;
}

/* Runs in a thread of the driver. */
static void conduit_bounce(void *owner)
{
    const conduit_step_t *step = owner;
    const conduit_keep_t *keep = step->keep;
    const conduit_side_t *side = &keep->call.side[step->side];
    for (int i = 0; i < keep->conduit->members; i++) {
        if (is_to_move(&keep->call, side, i, step->at))
            bounce_block(&keep->call, &side->block[i], step->at,
                         wefti_conduit_place(keep->conduit, &keep->call, step->side, i, step->at),
                         step->is_before);
    }
}

/* ---- in the stream ---- */

static int put_bounce(conduit_keep_t *keep, weft_stream_t *stream, conduit_step_t step)
{
    size_t index = step.at / keep->call.piece * CONDUIT_SIDES + (size_t)step.side;
    conduit_step_t *kept = &keep->steps[index];
    *kept = step;
    return weft_device->streams->put_call(stream->users, conduit_bounce, kept);
}

static int put_stage_block(const conduit_step_t *step, weft_stream_t *stream, int index)
{
    const conduit_call_t *call = &step->keep->call;
    const conduit_side_t *side = &call->side[step->side];
    const conduit_block_t *block = &side->block[index];
    char *room = wefti_conduit_place(step->keep->conduit, call, step->side, index, step->at);
    size_t bytes = wefti_conduit_part(call, block->bytes, step->at);
    if (call->op != NULL) {
        char *user = (char *)block->data.buf + step->at;
        return weft_device->streams->put_copy(stream->users, step->is_before ? room : user,
                                              step->is_before ? user : room, bytes);
    }
    weft_packing_t packing = {
        .elements = &block->data, .offset = step->at, .bytes = bytes, .packed = room};
    return weft_device->streams->put_packing(stream->users, &packing, side->packer,
                                             step->is_before);
}

static int put_stage(conduit_step_t step, weft_stream_t *stream)
{
    const conduit_call_t *call = &step.keep->call;
    int err = MPI_SUCCESS;
    for (int i = 0; i < step.keep->conduit->members && err == MPI_SUCCESS; i++) {
        if (is_to_move(call, &call->side[step.side], i, step.at))
            err = put_stage_block(&step, stream, i);
    }
    return err;
}

/* Where a result with gaps is copied from the device as it lies there, its gaps come from the
 * user's buffer. */
static bool must_bring_gaps(const conduit_keep_t *keep)
{
    return keep->call.has_gaps && keep->call.side[CONDUIT_GETS].place == CONDUIT_STAGED;
}

int wefti_conduit_put_data(conduit_keep_t *keep, weft_stream_t *stream, size_t at, bool is_before)
{
    conduit_side_index_t side = is_before ? CONDUIT_GIVES : CONDUIT_GETS;
    conduit_step_t step = {keep, side, at, is_before}, gaps = {keep, CONDUIT_GETS, at, true};
    int err = MPI_SUCCESS;
    if (keep->call.side[side].place == CONDUIT_BOUNCED)
        err = put_bounce(keep, stream, step);
    else if (keep->call.side[side].place == CONDUIT_STAGED)
        err = put_stage(step, stream);
    if (err == MPI_SUCCESS && is_before && must_bring_gaps(keep))
        err = put_stage(gaps, stream);
    return err;
}

/* ---- keeping ---- */

static void release_keep(void *owner)
{
    conduit_keep_t *keep = owner;
    weft_list_remove(&keep->link);
    for (int side = 0; side < CONDUIT_SIDES; side++) {
        if (keep->types[side] != NULL)
            weft_type_release(keep->types[side]);
    }
    keep->conduit->graphs -= keep->is_captured;
    weft_comm_release(keep->comm);
    weft_free(keep);
}

static void hold_type(conduit_keep_t *keep, int index, weft_type_t *type)
{
    if (type == NULL)
        return;
    weft_type_retain(type);
    keep->types[index] = type;
}

conduit_keep_t *wefti_conduit_keep(conduit_t *conduit, const conduit_call_t *call,
                                   const weft_coll_args_t *args, bool is_captured)
{
    size_t steps = pieces_of(call) * CONDUIT_SIDES;
    conduit_keep_t *keep = weft_alloc_zeroed(1, sizeof(*keep) + steps * sizeof(keep->steps[0]));
    weft_ticket_t *ticket = keep == NULL ? NULL : wefti_ticket_create(release_keep, keep);
    if (ticket == NULL) {
        weft_free(keep);
        weft_fail(MPI_ERR_NO_MEM, "no memory for an operation in a stream");
        return NULL;
    }
    keep->conduit = conduit;
    keep->comm = conduit->comm;
    keep->call = *call;
    keep->ticket = ticket;
    keep->is_captured = is_captured;
    conduit->graphs += is_captured;
    weft_comm_retain(keep->comm);
    hold_type(keep, 0, args->send_type);
    hold_type(keep, 1, args->recv_type);
    weft_list_append(&keeps, &keep->link);
    return keep;
}

/* If the driver does not tell of the end of graphs, it stays until MPI ends. */
int wefti_conduit_put_end(conduit_keep_t *keep, weft_stream_t *stream)
{
    const weft_device_stream_ops_t *ops = weft_device->streams;
    if (!keep->is_captured)
        return ops->put_call(stream->users, wefti_ticket_return, keep->ticket);
    if (!ops->put_end(stream->users, wefti_ticket_return, keep->ticket)) {
        wefti_ticket_free(keep->ticket);
        keep->ticket = NULL;
    }
    return MPI_SUCCESS;
}

void wefti_conduit_keeps_end(void)
{
    while (!weft_list_is_empty(&keeps)) {
        conduit_keep_t *keep = WEFT_ELEMENT(keeps.next, conduit_keep_t, link);
        wefti_ticket_void(keep->ticket);
        release_keep(keep);
    }
}
