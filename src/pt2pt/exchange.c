/* SPDX-License-Identifier: BSD-3-Clause */
/* A send and a receive behind one request (MPI_Isendrecv and related calls). */
#include "pt2pt/pt2pt_private.h"

#include "pt2pt/device_copy.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/pool.h"

typedef struct exchange {
    weft_request_t request; /* first */
    int pending;            /* of the two */
    void *copy;             /* of what is sent; NULL when it goes out of the user's buffer */
    weft_device_t *device;  /* on which the copy is; NULL: the host */
} sendrecv_t;

static weft_pool_t exchanges = WEFT_POOL(sendrecv_t);

static void exchange_release(weft_request_t *request)
{
    sendrecv_t *exchange = (sendrecv_t *)request;
    if (exchange->device != NULL)
        weft_device->give_scratch(exchange->device, exchange->copy);
    else
        weft_free(exchange->copy);
    weft_comm_release(request->comm);
    weft_pool_give(&exchanges, exchange);
}

static const weft_request_ops_t exchange_ops = {
    .name = "sendrecv", .release = exchange_release, .cancel = weft_request_cannot_cancel};

void weft_request_inherit_result(weft_request_t *request, weft_request_t *part)
{
    if (part->status.MPI_ERROR == MPI_ERR_TRUNCATE && part->why == NULL)
        weft_request_note_error(request, weft_request_result(part));
    else
        weft_request_inherit_error(request, part);
}

static void count_down(sendrecv_t *exchange)
{
    if (--exchange->pending == 0)
        weft_request_complete(&exchange->request);
}

static void exchange_send_is_over(weft_request_t *send, void *owner)
{
    weft_request_inherit_error(&((sendrecv_t *)owner)->request, send);
    weft_request_release(send);
    count_down(owner);
}

static void exchange_recv_is_over(weft_request_t *recv, void *owner)
{
    sendrecv_t *exchange = owner;
    int error = exchange->request.status.MPI_ERROR; /* of the send */
    exchange->request.status = recv->status;
    exchange->request.status.MPI_ERROR = error;
    weft_request_inherit_result(&exchange->request, recv);
    weft_request_release(recv);
    count_down(exchange);
}

bool wefti_exchange_waits(const weft_request_t *recv, const bool *flag)
{
    return recv->on_complete == exchange_recv_is_over &&
           flag == &((const sendrecv_t *)recv->owner)->request.is_complete;
}

/* On the device that the data are on, if there is room; otherwise on the host. */
static int make_exchange_room(sendrecv_t *exchange, const weft_send_args_t *send, size_t bytes)
{
    weft_memory_t memory = {.device = NULL};
    int err = MPI_SUCCESS;
    if (bytes > 0 && wefti_sends_device(send))
        err = weft_device->look(wefti_first_byte(send->buf, send->type), &memory);
    if (err != MPI_SUCCESS)
        return err;
    exchange->device = memory.device;
    if (memory.device != NULL)
        exchange->copy = weft_device->take_scratch(memory.device, bytes);
    if (exchange->copy != NULL)
        return MPI_SUCCESS;
    exchange->device = NULL;
    exchange->copy = weft_alloc(bytes);
    return exchange->copy != NULL
               ? MPI_SUCCESS
               : weft_fail(MPI_ERR_NO_MEM, "no memory for a copy of %zu bytes", bytes);
}

static int copy_exchanged(sendrecv_t *exchange, weft_send_args_t *send)
{
    size_t bytes = send->count * send->type->size;
    weft_elements_t typed = {(void *)send->buf, send->count, send->type};
    int err = make_exchange_room(exchange, send, bytes);
    if (err != MPI_SUCCESS)
        return err;
    weft_elements_t packed = {exchange->copy, bytes, weft_type_of(MPI_BYTE)};
    send->buf = exchange->copy;
    send->count = bytes;
    send->type = weft_type_of(MPI_BYTE);
    send->where = exchange->device != NULL ? WEFT_WHERE_DEVICE : WEFT_WHERE_HOST;
    return weft_copy_anywhere(&typed, &packed);
}

static void drop_receive(weft_request_t *receiving)
{
    receiving->ops->cancel(receiving);
    weft_request_wait(receiving);
    weft_request_release(receiving);
}

static int begin_both(sendrecv_t *exchange, const weft_send_args_t *send,
                      const weft_recv_args_t *recv)
{
    weft_request_t *receiving, *sending;
    int err = weft_recv_begin(recv, &receiving);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_send_begin(send, &sending);
    if (err != MPI_SUCCESS) {
        drop_receive(receiving);
        return err;
    }
    exchange->pending = 2;
    weft_request_watch(receiving, exchange_recv_is_over, exchange);
    weft_request_watch(sending, exchange_send_is_over, exchange);
    return MPI_SUCCESS;
}

int weft_sendrecv_begin(const weft_send_args_t *send, const weft_recv_args_t *recv, bool is_replace,
                        weft_request_t **out)
{
    sendrecv_t *exchange = weft_pool_take(&exchanges);
    if (exchange == NULL)
        return weft_fail(MPI_ERR_NO_MEM, "no memory for a request");
    weft_request_init(&exchange->request, &exchange_ops, send->comm);
    weft_comm_retain(send->comm);
    exchange->copy = NULL;
    exchange->device = NULL;
    weft_send_args_t outgoing = *send;
    int err = is_replace ? copy_exchanged(exchange, &outgoing) : MPI_SUCCESS;
    if (err == MPI_SUCCESS)
        err = begin_both(exchange, &outgoing, recv);
    if (err != MPI_SUCCESS) {
        weft_request_release(&exchange->request);
        return err;
    }
    *out = &exchange->request;
    return MPI_SUCCESS;
}

static int exchange_now(const weft_send_args_t *send, const weft_recv_args_t *recv,
                        MPI_Status *status)
{
    weft_request_t *receiving;
    int err = weft_recv_begin(recv, &receiving);
    if (err != MPI_SUCCESS)
        return err;
    err = weft_send(send);
    if (err != MPI_SUCCESS) {
        drop_receive(receiving);
        return err;
    }
    wefti_recv_block(receiving);
    return weft_request_finish(receiving, status);
}

int weft_sendrecv(const weft_send_args_t *send, const weft_recv_args_t *recv, bool is_replace,
                  MPI_Status *status)
{
    if (!is_replace)
        return exchange_now(send, recv, status);
    weft_request_t *request;
    int err = weft_sendrecv_begin(send, recv, true, &request);
    if (err != MPI_SUCCESS)
        return err;
    return weft_request_finish(request, status);
}

void wefti_exchanges_close(void)
{
    weft_pool_close(&exchanges);
}
