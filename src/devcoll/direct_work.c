/* SPDX-License-Identifier: BSD-3-Clause */
#include "devcoll/direct_work.h"

#include "base/fail.h"
#include "base/memory.h"

#include <string.h>

enum {
    /* A collective of at most this many bytes goes into the quick queue, where it waits for no
     * large work. */
    SMALL_BYTES = 256 * 1024,
    PIECES = 64,     /* how many copies go into the queue at a time */
    ALIGNMENT = 256, /* alignment of sums */
};

/* The members whose results this rank makes: all of them, or only itself. */
typedef struct span {
    int first, end;
} span_t;

/* ---- places in the memory of all ---- */

typedef struct place {
    char *at;
    size_t bytes;
} direct_place_t;

static const weft_offer_t *offer_of(const weft_direct_work_t *work, int member)
{
    return wefti_offer_of(&work->meeting, member);
}

static weft_mapping_t *mapping_of(const weft_direct_work_t *work, int member, weft_side_t side)
{
    return &work->mappings[member * WEFT_SIDES + (int)side];
}

/* The place of row `index` of a side; none where a rank takes no part. */
static direct_place_t direct_place_of(const weft_direct_work_t *work, int member, weft_side_t side,
                                      int index)
{
    const weft_export_row_t *row = wefti_offer_row(offer_of(work, member), side, index);
    if (row == NULL)
        return (direct_place_t){0};
    char *base = mapping_of(work, member, side)->address;
    return (direct_place_t){base == NULL ? NULL : base + row->offset, row->bytes};
}

/* ---- copies ---- */

typedef struct batch {
    weft_queue_t *queue;
    bool are_local; /* all on the queue's device */
    weft_piece_t pieces[PIECES];
    size_t count;
} direct_batch_t;

static int flush_pieces(direct_batch_t *batch)
{
    size_t count = batch->count;
    batch->count = 0;
    if (count == 0)
        return MPI_SUCCESS;
    return weft_device->copy_many(batch->queue, batch->pieces, count, batch->are_local);
}

static int direct_add_piece(direct_batch_t *batch, direct_place_t to, direct_place_t from)
{
    if (to.bytes != from.bytes)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "the ranks disagree on sizes");
    if (to.bytes == 0 || to.at == from.at)
        return MPI_SUCCESS;
    batch->pieces[batch->count++] = (weft_piece_t){to.at, from.at, to.bytes};
    return batch->count == PIECES ? flush_pieces(batch) : MPI_SUCCESS;
}

/* Adds everything that rank `to` gets from rank `from`. */
static int add_pieces_of(direct_batch_t *batch, const weft_direct_work_t *work, int to)
{
    const weft_offer_t *offer = offer_of(work, to);
    bool is_from_root = wefti_offer_is_from_root(offer);
    int err = MPI_SUCCESS;
    for (int i = 0; i < (int)offer->rows[WEFT_GETS] && err == MPI_SUCCESS; i++) {
        int from = is_from_root ? offer->root : i;
        direct_place_t target = direct_place_of(work, to, WEFT_GETS, i);
        if (target.bytes > 0)
            err = direct_add_piece(batch, target, direct_place_of(work, from, WEFT_GIVES, to));
    }
    return err;
}

static int move_pieces(const weft_direct_work_t *work, span_t members, bool are_local)
{
    direct_batch_t batch = {.queue = work->queue, .are_local = are_local};
    int err = MPI_SUCCESS;
    for (int member = members.first; member < members.end && err == MPI_SUCCESS; member++)
        err = add_pieces_of(&batch, work, member);
    return err == MPI_SUCCESS ? flush_pieces(&batch) : err;
}

/* ---- reductions ---- */

/* The operands of one result; each array has one entry for a member. */
typedef struct operands {
    const void **in;
    void **out;
    int sources, outs;
    size_t bytes;
} operands_t;

static int take_source(operands_t *operands, direct_place_t place)
{
    if (operands->sources > 0 && place.bytes != operands->bytes)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "the ranks disagree on sizes");
    operands->bytes = place.bytes;
    operands->in[operands->sources++] = place.at;
    return MPI_SUCCESS;
}

static int take_out(operands_t *operands, direct_place_t place)
{
    if (place.bytes != operands->bytes)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "the ranks disagree on sizes");
    operands->out[operands->outs++] = place.at;
    return MPI_SUCCESS;
}

static int put_reduction(const weft_direct_work_t *work, const operands_t *operands)
{
    const weft_type_t *type = work->args->recv_type;
    if (operands->bytes == 0 || operands->outs == 0)
        return MPI_SUCCESS;
    weft_reduction_t reduction = {.op = work->args->op,
                                  .type = type,
                                  .count = operands->bytes / (size_t)type->extent,
                                  .in = operands->in,
                                  .sources = operands->sources,
                                  .out = operands->out,
                                  .outs = operands->outs};
    return weft_device->reduce(work->queue, &reduction);
}

/* ---- trees of operands ---- */

/* How many sums of branches a tree needs beside its result. */
static size_t sums_of(size_t sources, size_t radix)
{
    size_t sums = 0;
    for (; sources > radix; sources = (sources + radix - 1) / radix)
        sums += sources / radix + (sources % radix > 1);
    return sums;
}

static bool has_branches(const weft_direct_work_t *work)
{
    int radix = offer_of(work, 0)->radix;
    return radix > 1 && radix < work->meeting.members;
}

static size_t sum_bytes(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Reduces the next `radix` operands to one. */
static int put_branch(const weft_direct_work_t *work, const operands_t *all, span_t range,
                      void *sum)
{
    operands_t branch = {.in = all->in + range.first,
                         .out = &sum,
                         .sources = range.end - range.first,
                         .outs = 1,
                         .bytes = all->bytes};
    return put_reduction(work, &branch);
}

/* Reduces branches until no more than `radix` operands are left. The order is that of
 * coll/team/knomial.c, which reduces by messages, so both give the same bits. */
static int put_branches(const weft_direct_work_t *work, operands_t *operands)
{
    int radix = offer_of(work, 0)->radix, err = MPI_SUCCESS;
    char *sum = work->sums;
    while (operands->sources > radix && err == MPI_SUCCESS) {
        int left = 0;
        for (int first = 0; first < operands->sources && err == MPI_SUCCESS; first += radix) {
            int end = first + radix < operands->sources ? first + radix : operands->sources;
            const void *only = operands->in[first];
            if (end - first > 1)
                err = put_branch(work, operands, (span_t){first, end}, sum);
            operands->in[left++] = end - first > 1 ? sum : only;
            sum += end - first > 1 ? sum_bytes(operands->bytes) : 0;
        }
        operands->sources = left;
    }
    return err;
}

/* Takes block `index` of what members 0 to `last` give. */
static int take_sources(const weft_direct_work_t *work, operands_t *operands, int last, int index)
{
    int err = MPI_SUCCESS;
    operands->sources = operands->outs = 0;
    for (int member = 0; member <= last && err == MPI_SUCCESS; member++)
        err = take_source(operands, direct_place_of(work, member, WEFT_GIVES, index));
    return err;
}

/* Cuts from all operands the slices that belong to these members. */
static void cut_slice(const weft_direct_work_t *work, operands_t *operands, span_t members)
{
    size_t extent = (size_t)work->args->recv_type->extent, count = operands->bytes / extent;
    size_t all = (size_t)work->meeting.members;
    size_t begin = count * (size_t)members.first / all * extent;
    size_t end = count * (size_t)members.end / all * extent;
    for (int i = 0; i < operands->sources; i++)
        operands->in[i] = (const char *)operands->in[i] + begin;
    for (int i = 0; i < operands->outs; i++)
        operands->out[i] = (char *)operands->out[i] + begin;
    operands->bytes = end - begin;
}

/* Reduces the operands of all members; the result goes to all members that get one. */
static int reduce_to_all(const weft_direct_work_t *work, operands_t *operands, span_t slices)
{
    int members = work->meeting.members;
    int err = take_sources(work, operands, members - 1, 0);
    for (int member = 0; member < members && err == MPI_SUCCESS; member++) {
        if (offer_of(work, member)->rows[WEFT_GETS] > 0)
            err = take_out(operands, direct_place_of(work, member, WEFT_GETS, 0));
    }
    if (err == MPI_SUCCESS && operands->bytes > 0)
        cut_slice(work, operands, slices);
    if (err == MPI_SUCCESS && has_branches(work))
        err = put_branches(work, operands);
    return err == MPI_SUCCESS ? put_reduction(work, operands) : err;
}

static int reduce_blocks(const weft_direct_work_t *work, operands_t *operands, span_t owners)
{
    int members = work->meeting.members, err = MPI_SUCCESS;
    for (int member = owners.first; member < owners.end && err == MPI_SUCCESS; member++) {
        if (offer_of(work, member)->rows[WEFT_GETS] == 0)
            continue;
        err = take_sources(work, operands, members - 1, member);
        if (err == MPI_SUCCESS)
            err = take_out(operands, direct_place_of(work, member, WEFT_GETS, 0));
        if (err == MPI_SUCCESS)
            err = put_reduction(work, operands);
    }
    return err;
}

/* Each result is the result of the rank before and one operand more. The work begins with the first
 * rank, since a result may replace the last operand that it uses. */
static int scan_exports(const weft_direct_work_t *work, operands_t *operands, bool is_exclusive)
{
    int err = MPI_SUCCESS;
    for (int member = is_exclusive; member < work->meeting.members && err == MPI_SUCCESS;
         member++) {
        int last = member - is_exclusive;
        operands->sources = operands->outs = 0;
        if (last > 0)
            err = take_source(operands, direct_place_of(work, member - 1, WEFT_GETS, 0));
        if (err == MPI_SUCCESS)
            err = take_source(operands, direct_place_of(work, last, WEFT_GIVES, 0));
        if (err == MPI_SUCCESS)
            err = take_out(operands, direct_place_of(work, member, WEFT_GETS, 0));
        if (err == MPI_SUCCESS)
            err = put_reduction(work, operands);
    }
    return err;
}

static int reduce_exports(const weft_direct_work_t *work, span_t members_of_part)
{
    size_t members = (size_t)work->meeting.members;
    operands_t operands = {.in = weft_alloc_array(members, sizeof(*operands.in)),
                           .out = weft_alloc_array(members, sizeof(*operands.out))};
    weft_coll_t coll = (weft_coll_t)offer_of(work, 0)->coll;
    int err = MPI_SUCCESS;
    if (operands.in == NULL || operands.out == NULL)
        err = weft_fail(MPI_ERR_NO_MEM, "no memory for the operands of %zu ranks", members);
    else if (coll == WEFT_REDUCE_SCATTER || coll == WEFT_REDUCE_SCATTER_BLOCK)
        err = reduce_blocks(work, &operands, members_of_part);
    else if (coll == WEFT_SCAN || coll == WEFT_EXSCAN)
        err = scan_exports(work, &operands, coll == WEFT_EXSCAN);
    else
        err = reduce_to_all(work, &operands, members_of_part);
    weft_free(operands.in);
    weft_free(operands.out);
    return err;
}

/* ---- beginning and end ---- */

static size_t bytes_of_all(const weft_direct_work_t *work)
{
    size_t bytes = 0;
    for (int member = 0; member < work->meeting.members; member++) {
        const weft_offer_t *offer = offer_of(work, member);
        for (uint32_t i = 0; i < offer->rows[WEFT_GETS]; i++)
            bytes += wefti_offer_row(offer, WEFT_GETS, (int)i)->bytes;
    }
    return bytes;
}

/* All mappings are on one device: the one with this rank's data, or that of the first mapping if
 * this rank has no data. */
static int map_one(weft_direct_work_t *work, int member, weft_side_t side)
{
    const weft_offer_t *offer = offer_of(work, member);
    weft_mapping_t *mapping = mapping_of(work, member, side);
    if (!offer->has_data[side])
        return MPI_SUCCESS;
    const weft_share_t *share = &offer->share[side];
    if (!weft_device->map(share, work->device, true, mapping))
        return weft_device->is_awaited(share)
                   ? MPI_ERR_PENDING
                   : weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "a buffer cannot be mapped");
    if (work->device == NULL)
        work->device = mapping->device;
    /* This rank's own buffer may be on another device, which a kernel on this one may not be able
     * to reach. */
    if (mapping->device != work->device)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "a rank's buffers are on two devices");
    return MPI_SUCCESS;
}

/* Goes on where the owner of a buffer has been asked for a descriptor, so that all are asked at
 * once. */
static int map_all(weft_direct_work_t *work)
{
    bool is_pending = false;
    for (int i = 0; i < work->meeting.members * WEFT_SIDES; i++) {
        int member = i / WEFT_SIDES;
        if (!wefti_offer_is_same_call(offer_of(work, member), offer_of(work, work->meeting.member)))
            return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "the ranks do not call the same");
        int err = map_one(work, member, (weft_side_t)(i % WEFT_SIDES));
        if (err != MPI_SUCCESS && err != MPI_ERR_PENDING)
            return err;
        is_pending |= err == MPI_ERR_PENDING;
    }
    return is_pending ? MPI_ERR_PENDING : MPI_SUCCESS;
}

/* Takes scratch memory for the sums of branches. */
static int take_sums(weft_direct_work_t *work)
{
    const weft_offer_t *offer = offer_of(work, 0);
    if (!has_branches(work) || offer->rows[WEFT_GIVES] == 0)
        return MPI_SUCCESS;
    size_t bytes = sum_bytes(wefti_offer_row(offer, WEFT_GIVES, 0)->bytes);
    size_t sums = sums_of((size_t)work->meeting.members, (size_t)offer->radix);
    work->sums = weft_device->take_scratch(work->device, sums * bytes);
    return work->sums != NULL
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "no memory for sums on the device");
}

bool wefti_direct_is_shared(const weft_meeting_t *meeting)
{
    const weft_direct_work_t work = {.meeting = *meeting};
    const weft_share_t *first = NULL;
    weft_coll_t coll = (weft_coll_t)offer_of(&work, 0)->coll;
    if (coll == WEFT_SCAN || coll == WEFT_EXSCAN) /* each result needs the one before it */
        return false;
    for (int i = 0; i < meeting->members * WEFT_SIDES; i++) {
        const weft_offer_t *offer = offer_of(&work, i / WEFT_SIDES);
        const weft_share_t *share = &offer->share[i % WEFT_SIDES];
        if (!offer->has_data[i % WEFT_SIDES])
            continue;
        if (first != NULL && memcmp(first->uuid, share->uuid, sizeof(share->uuid)) != 0)
            return true;
        first = share;
    }
    return false;
}

bool wefti_direct_keeps_operands(const weft_meeting_t *meeting)
{
    bool keeps = true;
    for (int i = 0; i < meeting->members; i++)
        keeps &= wefti_offer_of(meeting, i)->keeps_operands != 0;
    return keeps;
}

int wefti_direct_map(const weft_meeting_t *meeting, const weft_coll_args_t *args,
                     weft_device_t *device, weft_direct_work_t *work)
{
    *work = (weft_direct_work_t){.meeting = *meeting, .args = args, .device = device};
    size_t sides = (size_t)meeting->members * WEFT_SIDES;
    work->mappings = weft_alloc_zeroed(sides, sizeof(*work->mappings));
    if (work->mappings == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the buffers of %d ranks", meeting->members);
    int err = map_all(work);
    if (err != MPI_SUCCESS)
        return err;
    if (work->device == NULL)
        return weft_fail(MPI_ERR_UNSUPPORTED_OPERATION, "no rank has data");
    return take_sums(work);
}

int wefti_direct_queue(weft_direct_work_t *work, bool is_shared)
{
    int self = work->meeting.member;
    span_t members = {is_shared ? self : 0, is_shared ? self + 1 : work->meeting.members};
    bool is_small = bytes_of_all(work) <= SMALL_BYTES;
    work->queue = weft_device->queue(work->device, is_small ? WEFT_STREAM_QUICK : WEFT_STREAM_BULK);
    if (work->queue == NULL)
        return MPI_ERR_OTHER;
    return work->args->op == NULL ? move_pieces(work, members, !is_shared)
                                  : reduce_exports(work, members);
}

void wefti_direct_unmap(weft_direct_work_t *work)
{
    if (work->sums != NULL)
        weft_device->give_scratch(work->device, work->sums);
    work->sums = NULL;
    for (int i = 0; work->mappings != NULL && i < work->meeting.members * WEFT_SIDES; i++) {
        if (work->mappings[i].entry != NULL)
            weft_device->unmap(&work->mappings[i]);
    }
    weft_free(work->mappings);
    work->mappings = NULL;
}
