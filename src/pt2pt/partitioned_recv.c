/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/partitioned.h"

#include "pt2pt/partitioned_private.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "base/pool.h"

/* A message of the sender, or a partition of this side on its way out of the staging buffer. */
typedef struct recv_part {
    struct precv *precv;
    int index;
} recv_part_t;

typedef struct precv {
    weft_request_t request;   /* first */
    weft_recv_args_t args;    /* of partition 0; the type is retained */
    weft_match_entry_t entry; /* in `waiting` until an offer matches */
    int partitions;
    size_t partition_bytes;
    bool is_matched;
    bool is_abandoned;    /* freed before an offer came: it still takes that offer */
    weft_offer_t offer;   /* what has matched */
    recv_part_t *parts;   /* [offer.partitions], then [partitions] if staged; NULL: not made yet */
    uint32_t *missing;    /* [partitions] parts that have not arrived; 0: the partition is here */
    char *staging;        /* [total bytes of the sender] NULL: messages go to the user's buffer */
    uint32_t own_channel; /* of messages out of the staging buffer */
    int64_t pending;      /* messages that are not over */
} precv_t;

/* An offer that no receive has asked for yet. */
typedef struct kept_offer {
    weft_match_entry_t entry;
    weft_offer_t offer;
} kept_offer_t;

static weft_pool_t precvs = WEFT_POOL(precv_t), kept_offers = WEFT_POOL(kept_offer_t);
static weft_match_queue_t waiting, offers;

/* ---- sizes ---- */

static size_t bytes_offered(const precv_t *precv)
{
    return (size_t)precv->offer.partitions * precv->offer.bytes;
}

static size_t bytes_wanted(const precv_t *precv)
{
    return (size_t)precv->partitions * precv->partition_bytes;
}

/* The partitions [*first, *end) of this side that a message has data for. Messages without data are
 * spread over the partitions in the same way. */
static void partitions_of(const precv_t *precv, int message, int *first, int *end)
{
    uint64_t theirs = precv->offer.bytes, own = precv->partition_bytes;
    if (theirs == 0 || own == 0) {
        theirs = (uint64_t)precv->partitions;
        own = (uint64_t)precv->offer.partitions;
    }
    uint64_t from = (uint64_t)message * theirs / own;
    uint64_t to = (((uint64_t)message + 1) * theirs + own - 1) / own;
    uint64_t most = (uint64_t)precv->partitions;
    *first = (int)(from < most ? from : most);
    *end = (int)(to < most ? to : most);
}

/* Does a message of the sender begin inside an element, where only unpacking can put it? */
static bool cuts_elements(const precv_t *precv)
{
    const weft_type_t *type = precv->args.type;
    return !type->is_dense && type->size > 0 && precv->offer.bytes % type->size != 0;
}

/* Where a message of the sender goes. */
static weft_recv_args_t message_args(const precv_t *precv, int message)
{
    weft_recv_args_t args = precv->args;
    size_t at = (size_t)message * precv->offer.bytes, bytes = precv->offer.bytes;
    size_t room = at < bytes_wanted(precv) ? bytes_wanted(precv) - at : 0;
    args.context = wefti_channel_context(precv->offer.channel);
    args.tag = wefti_partition_tag(message);
    args.count = bytes < room ? bytes : room;
    if (precv->staging != NULL) {
        args.buf = precv->staging + at;
        args.where = WEFT_WHERE_HOST;
    } else if (args.count > 0 && !args.type->is_dense) {
        ptrdiff_t elements = (ptrdiff_t)(at / args.type->size);
        args.buf = (void *)((uintptr_t)args.buf + (uintptr_t)(elements * args.type->extent));
        args.count /= args.type->size;
        return args;
    } else if (args.count > 0) {
        args.buf = (void *)((uintptr_t)args.buf + at);
    }
    args.type = weft_type_of(MPI_BYTE);
    return args;
}

/* ---- arriving ---- */

static void precv_count_down(precv_t *precv)
{
    if (--precv->pending == 0)
        weft_request_complete(&precv->request);
}

static void part_is_copied(weft_request_t *part, void *owner)
{
    precv_t *precv = owner;
    weft_request_inherit_error(&precv->request, part);
    weft_request_release(part);
    precv_count_down(precv);
}

static void partition_is_unpacked(weft_request_t *part, void *owner)
{
    recv_part_t *own = owner;
    own->precv->missing[own->index] = 0;
    part_is_copied(part, own->precv);
}

static void note_part_error(precv_t *precv, int err)
{
    weft_request_note_error(&precv->request, err);
    precv_count_down(precv);
}

/* All bytes of a partition are in the staging buffer. */
static void unpack_partition(precv_t *precv, int partition)
{
    size_t at = (size_t)partition * precv->partition_bytes;
    size_t left = bytes_offered(precv) - at, count = precv->args.count;
    weft_request_t *part;
    weft_recv_args_t recv = precv->args;
    recv.buf = (void *)((uintptr_t)recv.buf +
                        (uintptr_t)((ptrdiff_t)count * partition * recv.type->extent));
    recv.comm = &weft_comm_self;
    recv.source = 0;
    recv.context = wefti_channel_context(precv->own_channel);
    recv.tag = wefti_partition_tag(partition);
    weft_send_args_t send = {.buf = precv->staging + at,
                             .count = left < precv->partition_bytes ? left : precv->partition_bytes,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = &weft_comm_self,
                             .context = recv.context,
                             .tag = recv.tag,
                             .where = WEFT_WHERE_HOST};
    precv->pending += 2;
    int err = weft_recv_begin(&recv, &part);
    if (err == MPI_SUCCESS)
        weft_request_watch(part, partition_is_unpacked,
                           &precv->parts[precv->offer.partitions + partition]);
    else
        note_part_error(precv, err);
    err = weft_send_begin(&send, &part);
    if (err == MPI_SUCCESS)
        weft_request_watch(part, part_is_copied, precv);
    else
        note_part_error(precv, err);
}

static void message_has_arrived(weft_request_t *message, void *owner)
{
    recv_part_t *part = owner;
    precv_t *precv = part->precv;
    int first, end;
    weft_request_inherit_error(&precv->request, message);
    weft_request_release(message);
    partitions_of(precv, part->index, &first, &end);
    for (int i = first; i < end; i++) {
        if (--precv->missing[i] == 1 && precv->staging != NULL)
            unpack_partition(precv, i);
    }
    precv_count_down(precv);
}

/* ---- a round ---- */

static int make_parts(precv_t *precv)
{
    size_t messages = (size_t)precv->offer.partitions, own = (size_t)precv->partitions;
    bool is_staged = cuts_elements(precv);
    precv->parts = weft_alloc_array(messages + own + 1, sizeof(*precv->parts));
    precv->missing = weft_alloc_array(own + 1, sizeof(*precv->missing));
    precv->staging = is_staged ? weft_alloc(bytes_offered(precv)) : NULL;
    if (precv->parts == NULL || precv->missing == NULL || (is_staged && precv->staging == NULL)) {
        weft_free(precv->parts);
        precv->parts = NULL;
        return weft_fail(MPI_ERR_NO_MEM, "no memory for the %d partitions of a message",
                         precv->offer.partitions);
    }
    if (is_staged)
        precv->own_channel = wefti_channel_next();
    for (size_t i = 0; i < messages + own; i++)
        precv->parts[i] = (recv_part_t){precv, (int)(i < messages ? i : i - messages)};
    return MPI_SUCCESS;
}

/* A partition that goes through the staging buffer has one part more: the way out of it. */
static void count_missing(precv_t *precv)
{
    int first, end;
    for (int i = 0; i < precv->partitions; i++)
        precv->missing[i] = 0;
    for (int message = 0; message < precv->offer.partitions; message++) {
        partitions_of(precv, message, &first, &end);
        for (int i = first; i < end; i++)
            precv->missing[i] += precv->missing[i] == 0 && precv->staging != NULL ? 2 : 1;
    }
}

static void note_sizes(precv_t *precv)
{
    weft_request_t *request = &precv->request;
    size_t offered = bytes_offered(precv), wanted = bytes_wanted(precv);
    request->status.MPI_SOURCE = precv->args.source;
    request->status.MPI_TAG = precv->args.tag;
    weft_status_set_bytes(&request->status, offered < wanted ? offered : wanted);
    if (offered > wanted)
        weft_request_note_error(
            request, weft_fail(MPI_ERR_TRUNCATE,
                               "the partitions from rank %d with tag %d have %zu bytes, but the "
                               "receive buffer holds %zu",
                               precv->args.source, precv->args.tag, offered, wanted));
}

/* Active and matched: begin the receives of all messages. */
static void receive_messages(precv_t *precv)
{
    if (precv->parts == NULL && make_parts(precv) != MPI_SUCCESS) {
        weft_request_note_error(&precv->request, MPI_ERR_NO_MEM);
        weft_request_complete(&precv->request);
        return;
    }
    note_sizes(precv);
    count_missing(precv);
    precv->pending = 1 + (int64_t)precv->offer.partitions; /* 1: this loop */
    for (int i = 0; i < precv->offer.partitions; i++) {
        weft_recv_args_t args = message_args(precv, i);
        weft_request_t *message;
        int err = weft_recv_begin(&args, &message);
        if (err == MPI_SUCCESS)
            weft_request_watch(message, message_has_arrived, &precv->parts[i]);
        else
            note_part_error(precv, err);
    }
    precv_count_down(precv);
}

static void end_precv(precv_t *precv, int error)
{
    weft_request_note_error(&precv->request, error);
    weft_request_complete(&precv->request);
}

static int precv_start(weft_request_t *request)
{
    precv_t *precv = (precv_t *)request;
    weft_request_restart(request);
    if (precv->args.source == MPI_PROC_NULL) {
        request->status = weft_status_proc_null();
        weft_request_complete(request);
    } else if (precv->is_matched) {
        receive_messages(precv);
    } else if (wefti_pt2pt.has_trouble) {
        int err = wefti_check_source(precv->args.comm, precv->args.source);
        if (err != MPI_SUCCESS)
            end_precv(precv, err);
    }
    return MPI_SUCCESS;
}

/* ---- requests ---- */

static void precv_release(weft_request_t *request)
{
    precv_t *precv = (precv_t *)request;
    weft_type_release(precv->args.type);
    weft_comm_release(precv->args.comm);
    precv->is_abandoned = !precv->is_matched;
    if (precv->is_abandoned)
        return;
    weft_free(precv->parts);
    weft_free(precv->missing);
    weft_free(precv->staging);
    weft_pool_give(&precvs, precv);
}

/* Not cancelled: the peer may be sending already. */
static const weft_request_ops_t precv_ops = {.name = "partitioned receive",
                                             .release = precv_release,
                                             .start = precv_start,
                                             .cancel = weft_request_cannot_cancel};

/* An offer and a receive match. */
static void precv_meet(precv_t *precv, const weft_offer_t *offer)
{
    precv->offer = *offer;
    precv->is_matched = true;
    if (precv->is_abandoned)
        weft_pool_give(&precvs, precv);
    else if (precv->request.is_active && !precv->request.is_complete)
        receive_messages(precv);
}

static bool meet_kept_offer(precv_t *precv)
{
    weft_match_entry_t *entry = weft_match_find(&offers, precv->entry.key);
    if (entry == NULL)
        return false;
    kept_offer_t *kept = WEFT_ELEMENT(entry, kept_offer_t, entry);
    weft_match_remove(&offers, entry);
    precv_meet(precv, &kept->offer);
    weft_pool_give(&kept_offers, kept);
    return true;
}

int weft_precv_init(const weft_recv_args_t *args, int partitions, weft_request_t **out)
{
    precv_t *precv = weft_pool_take(&precvs);
    if (precv == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a partitioned receive");
    weft_request_init(&precv->request, &precv_ops, args->comm);
    weft_request_make_persistent(&precv->request);
    precv->args = *args;
    precv->partitions = partitions;
    precv->partition_bytes = args->count * args->type->size;
    precv->is_abandoned = false;
    precv->parts = NULL;
    precv->missing = NULL;
    precv->staging = NULL;
    precv->is_matched = args->source == MPI_PROC_NULL;
    weft_type_retain(args->type);
    weft_comm_retain(args->comm);
    *out = &precv->request;
    if (args->source == MPI_PROC_NULL)
        return MPI_SUCCESS;
    int process = weft_comm_process(args->comm, args->source);
    precv->entry.key = (weft_match_key_t){args->context, process, args->tag};
    if (!meet_kept_offer(precv))
        weft_match_add(&waiting, &precv->entry);
    return MPI_SUCCESS;
}

int weft_parrived(const weft_request_t *request, int partition, bool *out)
{
    const precv_t *precv = (const precv_t *)request;
    if (request->ops != &precv_ops)
        return weft_fail(MPI_ERR_REQUEST, "request is of a %s, but must be of MPI_Precv_init",
                         request->ops->name);
    int err = wefti_check_partition(partition, precv->partitions);
    if (err == MPI_SUCCESS)
        *out = !request->is_active || request->is_complete ||
               (precv->parts != NULL && precv->missing[partition] == 0);
    return err;
}

/* ---- what comes from peers ---- */

void wefti_offer_arrived(int source, const weft_header_t *header, const void *payload)
{
    weft_offer_t offer;
    memcpy(&offer, payload, sizeof(offer));
    weft_match_key_t key = {offer.context, source, offer.tag};
    size_t total;
    if (offer.partitions < 0 ||
        __builtin_mul_overflow((size_t)offer.partitions, offer.bytes, &total)) {
        WEFT_LOG(WEFT_ERROR, "pt2pt", "dropped a malformed OFFER packet of rank %d (%u bytes)",
                 source, header->bytes);
        return;
    }
    if (__builtin_expect(wefti_pt2pt.has_trouble, 0) && wefti_context_is_revoked(offer.context)) {
        wefti_refuse_channel(wefti_channel_context(offer.channel), source);
        return;
    }
    weft_match_entry_t *entry = weft_match_find(&waiting, key);
    if (entry != NULL) {
        weft_match_remove(&waiting, entry);
        precv_meet(WEFT_ELEMENT(entry, precv_t, entry), &offer);
        return;
    }
    kept_offer_t *kept = weft_pool_take(&kept_offers);
    if (kept == NULL)
        weft_out_of_memory("the offer of a partitioned send", sizeof(*kept));
    kept->entry.key = key;
    kept->offer = offer;
    weft_match_add(&offers, &kept->entry);
}

void wefti_precvs_lose(int process)
{
    for (weft_link_t *at = waiting.order.next, *next; at != &waiting.order; at = next) {
        next = at->next;
        precv_t *precv = WEFT_ELEMENT(at, precv_t, entry.order);
        int source = precv->entry.key.source;
        bool is_lost = process == MPI_ANY_SOURCE ? wefti_is_from_lost(source) : source == process;
        if (is_lost && precv->request.is_active && !precv->request.is_complete)
            end_precv(precv, wefti_fail_lost(source));
    }
}

static void revoke_matched(void *object, void *context)
{
    precv_t *precv = object;
    if (precv->request.object.kind != WEFT_KIND_REQUEST || !precv->is_matched ||
        precv->args.comm->context != *(const uint32_t *)context ||
        precv->args.source == MPI_PROC_NULL)
        return;
    wefti_refuse_channel(wefti_channel_context(precv->offer.channel),
                         weft_comm_process(precv->args.comm, precv->args.source));
}

/* The messages of those that have met their offers have ended as all receives have. */
void wefti_precvs_revoke(uint32_t context)
{
    for (weft_link_t *at = waiting.order.next, *next; at != &waiting.order; at = next) {
        next = at->next;
        precv_t *precv = WEFT_ELEMENT(at, precv_t, entry.order);
        if (precv->args.comm->context == context && precv->request.is_active &&
            !precv->request.is_complete)
            end_precv(precv, weft_pt2pt_check_revoked(precv->args.comm));
    }
    weft_pool_each(&precvs, revoke_matched, &context);
    for (weft_link_t *at = offers.order.next; at != &offers.order; at = at->next) {
        const kept_offer_t *kept = WEFT_ELEMENT(at, kept_offer_t, entry.order);
        if (kept->offer.context == context)
            wefti_refuse_channel(wefti_channel_context(kept->offer.channel),
                                 kept->entry.key.source);
    }
}

void wefti_precvs_open(void)
{
    weft_match_init(&waiting, false);
    weft_match_init(&offers, false);
}

void wefti_precvs_close(void)
{
    weft_match_close(&waiting);
    weft_match_close(&offers);
    weft_pool_close(&precvs);
    weft_pool_close(&kept_offers);
}
