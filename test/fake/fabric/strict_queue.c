/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: taken from the queue below and delivered with the program's context, with `reorder`
 * sometimes out of order. */
#include "strict.h"

#include <stdlib.h>

enum { TAKEN_AT_ONCE = 16, MOST_WAITING = 256 };

/* ---- completions that wait to be read ---- */

/* An entry may overtake others, but none of its own context: the last packet of a multi-receive
 * buffer reports that the buffer is free. */
static strict_event_t **find_place(strict_cq_t *cq, const strict_event_t *event)
{
    strict_event_t **place = &cq->first;
    if (!strict_options()->reorder || strict_pick(2) == 0)
        return cq->last;
    for (strict_event_t **at = &cq->first; *at != NULL; at = &(*at)->next) {
        if ((*at)->entry.op_context == event->entry.op_context)
            place = &(*at)->next;
    }
    return place;
}

void strict_cq_add(strict_cq_t *cq, const struct fi_cq_data_entry *entry, int error)
{
    strict_event_t *event = malloc(sizeof(*event));
    if (event == NULL)
        strict_die("no memory");
    *event = (strict_event_t){.entry = *entry, .error = error};
    strict_event_t **place = find_place(cq, event);
    event->next = *place;
    *place = event;
    if (event->next == NULL)
        cq->last = &event->next;
}

static strict_event_t take_first(strict_cq_t *cq)
{
    strict_event_t *event = cq->first, taken = *event;
    cq->first = event->next;
    if (cq->first == NULL)
        cq->last = &cq->first;
    free(event);
    return taken;
}

/* ---- completions of the provider below ---- */

/* A read into device memory has filled the host buffer; the driver copies it to the device. */
static int finish_device(strict_op_t *op)
{
    op->ep->to_device += op->bytes;
    return strict_to_device(op->data, op->copy, op->bytes) ? 0 : FI_EIO;
}

static void give_on(strict_cq_t *cq, const struct fi_cq_data_entry *below, int error)
{
    strict_op_t *op = below->op_context;
    if (op == NULL) /* of a connection */
        return;
    struct fi_cq_data_entry entry = *below;
    bool is_injected = op->kind == STRICT_INJECT;
    if (op->is_multi)
        entry.buf = op->data + op->filled;
    bool is_last = !op->is_multi || !strict_op_goes_on(op, below->len);
    if (op->is_multi && is_last)
        entry.flags |= FI_MULTI_RECV;
    entry.op_context = op->user;
    if (error == 0 && op->is_lost)
        error = FI_EIO;
    if (error == 0 && op->kind == STRICT_READ && op->copy != NULL)
        error = finish_device(op);
    if (is_last)
        strict_op_end(op);
    if (error != 0 || !is_injected)
        strict_cq_add(cq, &entry, error);
}

static int take_error(strict_cq_t *cq)
{
    struct fi_cq_err_entry entry = {0};
    if (fi_cq_readerr(cq->real, &entry, 0) < 1)
        return 0;
    give_on(cq, &(struct fi_cq_data_entry){.op_context = entry.op_context, .flags = entry.flags},
            entry.err);
    return 1;
}

static int take_below(strict_cq_t *cq)
{
    struct fi_cq_data_entry entries[TAKEN_AT_ONCE];
    ssize_t count = fi_cq_read(cq->real, entries, TAKEN_AT_ONCE);
    if (count == -FI_EAVAIL)
        return take_error(cq);
    for (ssize_t i = 0; i < count; i++)
        give_on(cq, &entries[i], 0);
    return count > 0 ? (int)count : 0;
}

/* ---- reading ---- */

static ssize_t read_queue(struct fid_cq *fid, void *to, size_t count)
{
    strict_cq_t *cq = (strict_cq_t *)fid;
    struct fi_cq_data_entry *out = to;
    size_t given = 0;
    if (cq->ep != NULL && cq->ep->is_enabled)
        strict_ep_release(cq->ep);
    for (int round = 0; round < MOST_WAITING / TAKEN_AT_ONCE && take_below(cq) > 0; round++)
        ;
    if (strict_options()->fail_cq != 0 && cq->given >= strict_options()->fail_cq)
        return -FI_EIO;
    if (cq->first != NULL && cq->first->error != 0)
        return -FI_EAVAIL;
    while (given < count && cq->first != NULL && cq->first->error == 0)
        out[given++] = take_first(cq).entry;
    cq->given += given;
    return given > 0 ? (ssize_t)given : -FI_EAGAIN;
}

static ssize_t read_error(struct fid_cq *fid, struct fi_cq_err_entry *out, uint64_t flags)
{
    strict_cq_t *cq = (strict_cq_t *)fid;
    (void)flags;
    if (cq->first == NULL || cq->first->error == 0)
        return -FI_EAGAIN;
    strict_event_t event = take_first(cq);
    out->op_context = event.entry.op_context;
    out->flags = event.entry.flags;
    out->err = event.error;
    return 1;
}

/* ---- waiting ---- */

static int control(struct fid *fid, int command, void *argument)
{
    return fi_control(&((strict_cq_t *)fid)->real->fid, command, argument);
}

int strict_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    strict_cq_t *cq = (strict_cq_t *)fids[0];
    struct fid *real = &cq->real->fid;
    if (count != 1 || fids[0]->fclass != FI_CLASS_CQ)
        strict_die("fi_trywait of %d objects", count);
    if (cq->first != NULL || (cq->ep != NULL && cq->ep->held_first != NULL))
        return -FI_EAGAIN;
    return fi_trywait(((strict_fabric_t *)fabric)->real, &real, 1);
}

/* ---- opening and closing ---- */

static int close_queue(struct fid *fid)
{
    strict_cq_t *cq = (strict_cq_t *)fid;
    if (cq->ep != NULL)
        strict_die("a completion queue is closed before its endpoint");
    int rc = fi_close(&cq->real->fid);
    while (cq->first != NULL)
        take_first(cq);
    free(cq);
    return rc;
}

static struct fi_ops cq_fid_ops = {
    .size = sizeof(struct fi_ops), .close = close_queue, .control = control};
static struct fi_ops_cq cq_ops = {
    .size = sizeof(struct fi_ops_cq), .read = read_queue, .readerr = read_error};

int strict_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
                   void *context)
{
    if (attr->format != FI_CQ_FORMAT_DATA)
        strict_die("completion queues of format %d are not played", (int)attr->format);
    if (attr->wait_obj != FI_WAIT_NONE && strict_options()->no_wait)
        return -FI_ENOSYS;
    strict_cq_t *cq = calloc(1, sizeof(*cq));
    int rc = cq == NULL ? -FI_ENOMEM
                        : fi_cq_open(((strict_domain_t *)domain)->real, attr, &cq->real, context);
    if (rc != 0) {
        free(cq);
        return rc;
    }
    cq->cq.fid = (struct fid){FI_CLASS_CQ, context, &cq_fid_ops};
    cq->cq.ops = &cq_ops;
    cq->last = &cq->first;
    *out = &cq->cq;
    return 0;
}
