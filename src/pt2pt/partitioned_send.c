/* SPDX-License-Identifier: BSD-3-Clause */
#include "pt2pt/partitioned.h"

#include "pt2pt/partitioned_private.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/pool.h"

#include <string.h>

typedef struct psend {
    weft_request_t request; /* first */
    weft_send_args_t args;  /* of partition 0; the type is retained */
    ptrdiff_t stride;       /* from one partition to the next */
    int partitions;
    int pending;    /* partitions that are not sent */
    bool *is_ready; /* [partitions] */
} psend_t;

static weft_pool_t psends = WEFT_POOL(psend_t);

uint32_t wefti_channel_next(void)
{
    static uint32_t channel;
    return ++channel;
}

int wefti_check_partition(int partition, int partitions)
{
    if (partition >= 0 && partition < partitions)
        return MPI_SUCCESS;
    return weft_fail(MPI_ERR_ARG, "partition is %d, but the request has %d of them, from 0",
                     partition, partitions);
}

static void psend_release(weft_request_t *request)
{
    psend_t *psend = (psend_t *)request;
    weft_free(psend->is_ready);
    weft_type_release(psend->args.type);
    weft_comm_release(psend->args.comm);
    weft_pool_give(&psends, psend);
}

static int psend_start(weft_request_t *request)
{
    psend_t *psend = (psend_t *)request;
    weft_request_restart(request);
    memset(psend->is_ready, 0, (size_t)psend->partitions * sizeof(bool));
    psend->pending = psend->partitions;
    if (psend->pending == 0)
        weft_request_complete(request);
    return MPI_SUCCESS;
}

/* Not cancelled: the peer counts on all partitions. */
static const weft_request_ops_t psend_ops = {.name = "partitioned send",
                                             .release = psend_release,
                                             .start = psend_start,
                                             .cancel = weft_request_cannot_cancel};

static int offer(const weft_send_args_t *args, uint32_t channel, int partitions)
{
    weft_endpoint_t *endpoint = weft_comm_endpoint(args->comm, args->dest);
    if (endpoint == NULL)
        return MPI_ERR_OTHER;
    weft_offer_t packet = {.context = args->context,
                           .tag = args->tag,
                           .channel = channel,
                           .partitions = partitions,
                           .bytes = args->count * args->type->size};
    weft_header_t header = weft_header_for(WEFT_PACKET_OFFER, 0, sizeof(packet));
    wefti_send_in_order(endpoint, &header, &packet);
    return MPI_SUCCESS;
}

int weft_psend_init(const weft_send_args_t *args, int partitions, weft_request_t **out)
{
    uint32_t channel = wefti_channel_next();
    bool *is_ready = weft_alloc_zeroed((size_t)partitions + 1, sizeof(bool));
    psend_t *psend = is_ready == NULL ? NULL : weft_pool_take(&psends);
    int err = psend == NULL ? weft_fail(MPI_ERR_NO_MEM, "no memory for a partitioned send")
              : args->dest == MPI_PROC_NULL ? MPI_SUCCESS
                                            : offer(args, channel, partitions);
    if (err != MPI_SUCCESS) {
        if (psend != NULL)
            weft_pool_give(&psends, psend);
        weft_free(is_ready);
        return err;
    }
    weft_request_init(&psend->request, &psend_ops, args->comm);
    weft_request_make_persistent(&psend->request);
    psend->args = *args;
    psend->args.context = wefti_channel_context(channel);
    psend->stride = (ptrdiff_t)args->count * args->type->extent;
    psend->partitions = partitions;
    psend->is_ready = is_ready;
    weft_type_retain(args->type);
    weft_comm_retain(args->comm);
    *out = &psend->request;
    return MPI_SUCCESS;
}

static void psend_count_down(psend_t *psend)
{
    if (--psend->pending == 0)
        weft_request_complete(&psend->request);
}

static void partition_is_sent(weft_request_t *part, void *owner)
{
    psend_t *psend = owner;
    weft_request_inherit_error(&psend->request, part);
    weft_request_release(part);
    psend_count_down(psend);
}

/* The request may be gone when this returns: if it was freed and this was the last partition. */
static int send_partition(psend_t *psend, int partition)
{
    if (psend->is_ready[partition])
        return weft_fail(MPI_ERR_ARG, "partition %d is ready already", partition);
    psend->is_ready[partition] = true;
    weft_send_args_t args = psend->args;
    args.buf = (const void *)((uintptr_t)args.buf + (uintptr_t)(partition * psend->stride));
    args.tag = wefti_partition_tag(partition);
    weft_request_t *part;
    int err = weft_send_begin(&args, &part);
    if (err == MPI_SUCCESS) {
        weft_request_watch(part, partition_is_sent, psend);
        return MPI_SUCCESS;
    }
    weft_request_note_error(&psend->request, err);
    psend_count_down(psend);
    return err;
}

static inline int ready_at(const weft_ready_args_t *args, int i)
{
    return args->list != NULL ? args->list[i] : args->first + i;
}

/* Entry i is no partition. */
static int __attribute__((cold)) bad_partition(const weft_ready_args_t *args, int i, int partitions)
{
    if (args->list != NULL)
        return weft_fail(MPI_ERR_ARG,
                         "array_of_partitions[%d] is %d, but the request has %d partitions, from 0",
                         i, args->list[i], partitions);
    if (!args->is_range)
        return wefti_check_partition(args->first, partitions);
    return weft_fail(MPI_ERR_ARG, "partition_%s is %d, but the request has %d partitions, from 0",
                     i == 0 ? "low" : "high", i == 0 ? args->first : args->last, partitions);
}

static int check_ready(const weft_request_t *request, const weft_ready_args_t *args)
{
    if (request->ops != &psend_ops)
        return weft_fail(MPI_ERR_REQUEST, "request is of a %s, but must be of MPI_Psend_init",
                         request->ops->name);
    if (!request->is_active)
        return weft_fail(MPI_ERR_REQUEST, "request has not been started");
    int partitions = ((const psend_t *)request)->partitions;
    for (int i = 0; i < args->count; i++) {
        if ((unsigned)ready_at(args, i) >= (unsigned)partitions)
            return bad_partition(args, i, partitions);
    }
    return MPI_SUCCESS;
}

int weft_pready(weft_request_t *request, const weft_ready_args_t *args)
{
    psend_t *psend = (psend_t *)request;
    int err = check_ready(request, args);
    if (err == MPI_SUCCESS && request->status.MPI_ERROR != MPI_SUCCESS)
        err = weft_request_result(request);
    if (err != MPI_SUCCESS)
        return err;
    weft_endpoint_t *endpoint = psend->args.dest == MPI_PROC_NULL
                                    ? NULL
                                    : weft_comm_endpoint(psend->args.comm, psend->args.dest);
    for (int i = 0; err == MPI_SUCCESS && i < args->count; i++)
        err = send_partition(psend, ready_at(args, i));
    if (endpoint != NULL) /* the program may leave MPI for long after this */
        weft_endpoint_flush(endpoint);
    return err;
}

/* Partitions that are on their way end by themselves. */
static void end_unready(psend_t *psend)
{
    int unready = 0;
    for (int i = 0; i < psend->partitions; i++) {
        unready += !psend->is_ready[i];
        psend->is_ready[i] = true;
    }
    psend->pending -= unready;
    if (psend->pending == 0 && unready > 0)
        weft_request_complete(&psend->request);
}

typedef struct psend_end {
    uint32_t context;
    int process;
} psend_end_t;

static void psend_end_one(void *object, void *context)
{
    psend_t *psend = object;
    const psend_end_t *end = context;
    const weft_request_t *request = &psend->request;
    if (request->object.kind != WEFT_KIND_REQUEST || !request->is_active || request->is_complete ||
        psend->args.dest == MPI_PROC_NULL)
        return;
    int process = weft_comm_process(psend->args.comm, psend->args.dest);
    if (psend->args.comm->context == end->context)
        weft_request_note_error(&psend->request, weft_pt2pt_check_revoked(psend->args.comm));
    else if (process == end->process)
        weft_request_note_error(&psend->request, wefti_fail_lost(process));
    else
        return;
    end_unready(psend);
}

void wefti_psends_end(uint32_t context, int process)
{
    psend_end_t end = {context, process};
    weft_pool_each(&psends, psend_end_one, &end);
}

void wefti_psends_close(void)
{
    weft_pool_close(&psends);
}
