/* SPDX-License-Identifier: BSD-3-Clause */
#include "cuda/cuda_exchange.h"

#include "cuda/cuda_kernels.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_stream.h"
#include "base/config.h"
#include "base/fail.h"
#include "mpi.h"

#include <stddef.h>
#include <string.h>

_Static_assert((int)WEFT_EXCHANGE_MOST_MEMBERS == (int)WEFT_EXCHANGE_MEMBERS,
               "as many ranks as a kernel takes");
_Static_assert(sizeof(weft_conduit_head_t) <= WEFT_CONDUIT_HEAD &&
                   offsetof(weft_conduit_head_t, broken) == WEFT_CONDUIT_BROKEN,
               "the head of an inbox");
_Static_assert(offsetof(weft_conduit_watch_t, off) == WEFT_WATCH_OFF * sizeof(uint32_t) &&
                   offsetof(weft_conduit_watch_t, vain) == WEFT_WATCH_VAIN * sizeof(uint32_t) &&
                   offsetof(weft_conduit_watch_t, begun) == WEFT_WATCH_BEGUN * sizeof(uint32_t) &&
                   offsetof(weft_conduit_watch_t, ended) == WEFT_WATCH_ENDED * sizeof(uint32_t) &&
                   offsetof(weft_conduit_watch_t, number) == WEFT_WATCH_NUMBER * sizeof(uint32_t),
               "the words of a watch");

/* ---- inboxes ---- */

uint64_t wefti_kernel_limit_ns(void)
{
    const uint64_t most_s = 1000000000; /* nanoseconds have to fit into 64 bits */
    uint64_t limit_s = (uint64_t)weft_config.DEVICE_WAIT_MAX * WEFT_KERNEL_WAITS;
    return (limit_s < most_s ? limit_s : most_s) * 1000000000;
}

int wefti_clear(weft_device_t *device, void *memory, size_t bytes, weft_event_t *cleared)
{
    weft_visit_t visit;
    weft_queue_t *queue = wefti_queue_of(device, WEFT_STREAM_QUICK);
    if (queue == NULL)
        return MPI_ERR_OTHER;
    int err = wefti_device_enter(device, &visit);
    if (err != MPI_SUCCESS)
        return err;
    weft_cu_result_t result = wefti_cu.cuMemsetD32Async((weft_cu_address_t)(uintptr_t)memory, 0,
                                                        bytes / sizeof(uint32_t), queue->stream);
    wefti_device_leave(&visit);
    if (result != WEFT_CU_SUCCESS)
        return wefti_queue_empty(
            queue, wefti_driver_failed(result, "cuMemsetD32Async", "%zu bytes", bytes));
    return weft_device->record(queue, cleared);
}

/* Taking memory from the driver may wait for all streams, so it is not done while one of them may
 * wait for the library. */
static bool take_exchange(weft_device_t *device, size_t bytes, weft_inbox_t *out)
{
    if (device->time_limits != 0 || wefti_streams_may_wait() || !wefti_has_kernels(device) ||
        !wefti_prepare_waits(device))
        return false;
    out->watch = wefti_pinned_word(device);
    out->memory = out->watch == NULL ? NULL : wefti_scratch_take(device, bytes);
    if (out->memory == NULL && out->watch != NULL)
        wefti_pinned_give_word(device, out->watch);
    return out->memory != NULL;
}

bool wefti_inbox_open(weft_device_t *device, size_t bytes, weft_event_t *cleared, weft_inbox_t *out)
{
    weft_inbox_t inbox;
    if (!take_exchange(device, bytes, &inbox))
        return false;
    memset(inbox.watch, 0, WEFT_WATCH_BYTES);
    if (wefti_clear(device, inbox.memory, bytes, cleared) != MPI_SUCCESS) {
        wefti_inbox_close(device, &inbox);
        return false;
    }
    *out = inbox;
    return true;
}

void wefti_inbox_close(weft_device_t *device, const weft_inbox_t *inbox)
{
    wefti_pinned_give_word(device, inbox->watch);
    wefti_scratch_give(device, inbox->memory);
}

/* ---- the kernel ---- */

static void put_sides(const weft_exchange_t *exchange, weft_exchange_args_t *args)
{
    for (int i = 0; i < exchange->members; i++) {
        const weft_exchange_peer_t *peer = &exchange->peer[i];
        args->side[i] = (weft_exchange_side_t){.outbox = peer->outbox,
                                               .inbox = peer->inbox,
                                               .from = peer->from,
                                               .to = peer->to,
                                               .out_bytes = peer->out_bytes,
                                               .in_bytes = peer->in_bytes};
    }
}

static int call_exchange(weft_device_t *device, const weft_exchange_t *exchange,
                         weft_kernel_call_t *call)
{
    *call = (weft_kernel_call_t){.kernel = WEFT_KERNEL_exchange_move};
    if (exchange->op != NULL) {
        if (!wefti_can_reduce(device, exchange->op, exchange->type))
            return weft_fail(MPI_ERR_OTHER, "device %s has no kernel for this reduction",
                             device->pci);
        call->kernel = weft_exchange_kernel(weft_reduce_kernel(exchange->op, exchange->type));
    }
    weft_exchange_args_t *args = &call->args.exchange;
    args->members = (uint32_t)exchange->members;
    args->member = (uint32_t)exchange->member;
    args->flag = exchange->flag;
    args->results = exchange->results;
    args->rounds = weft_config.REPRODUCIBLE;
    /* Ranks may be late by any time where no meeting has said that they are there. */
    args->limit_ns = exchange->conduit == NULL ? wefti_kernel_limit_ns() : 0;
    args->watch = exchange->watch;
    args->conduit = exchange->conduit;
    args->even = exchange->even;
    args->head = exchange->head;
    args->number = exchange->number;
    put_sides(exchange, args);
    weft_call_exchange(call->kernel, exchange->most, exchange->crowd, call);
    return MPI_SUCCESS;
}

int wefti_exchange(weft_queue_t *queue, const weft_exchange_t *exchange)
{
    weft_kernel_call_t call;
    int err = call_exchange(queue->device, exchange, &call);
    return err == MPI_SUCCESS ? wefti_launch(queue, &call, "an exchange with other ranks") : err;
}

int wefti_stream_put_exchange(weft_user_stream_t *stream, const weft_exchange_t *exchange)
{
    weft_device_t *device = wefti_stream_device(stream);
    weft_kernel_call_t call;
    int err = call_exchange(device, exchange, &call);
    return err == MPI_SUCCESS ? wefti_launch_in(device, wefti_stream_handle(stream), &call) : err;
}
