/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations. Each is checked, becomes a strict_op_t, and is held until the completion queue is
 * read; then it goes to the provider below, with `reorder` sometimes out of order.
 */
#include "strict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 6, ROUNDS_OF_LATE = 200 }; /* how often a message is held at most */

/* ---- contexts ---- */

static size_t context_words(void)
{
    const strict_options_t *options = strict_options();
    return options->context2 ? 8 : options->context ? 4 : 0;
}

static uintptr_t scribble(const strict_op_t *op, size_t word)
{
    return ~(uintptr_t)op ^ (word * 0x0101010101010101ULL);
}

static void take_context(strict_op_t *op)
{
    uintptr_t *words = op->user;
    if (words == NULL || context_words() == 0)
        return;
    for (const strict_op_t *other = op->ep->in_flight; other != NULL; other = other->next) {
        if (other->user == op->user)
            strict_die("two operations in flight share a context");
    }
    for (size_t i = 0; i < context_words(); i++)
        words[i] = scribble(op, i);
}

static void give_context(const strict_op_t *op)
{
    const uintptr_t *words = op->user;
    for (size_t i = 0; words != NULL && i < context_words(); i++) {
        if (words[i] != scribble(op, i))
            strict_die("the context of an operation in flight was written to");
    }
}

/* ---- beginning and end of an operation ---- */

static bool is_receive(const strict_op_t *op)
{
    return op->kind == STRICT_RECV;
}

void strict_op_end(strict_op_t *op)
{
    strict_op_t **at = &op->ep->in_flight;
    while (*at != op)
        at = &(*at)->next;
    *at = op->next;
    if (is_receive(op))
        op->ep->rx_out--;
    else
        op->ep->tx_out--;
    give_context(op);
    free(op->copy);
    free(op);
}

static void hold(strict_op_t *op)
{
    strict_ep_t *ep = op->ep;
    op->next_held = NULL;
    *ep->held_last = op;
    ep->held_last = &op->next_held;
}

static bool is_refused(strict_ep_t *ep, strict_kind_t kind)
{
    size_t every = strict_options()->eagain;
    bool is_full = kind == STRICT_RECV ? ep->rx_out >= ep->rx_max : ep->tx_out >= ep->tx_max;
    bool is_turn = every != 0 && ++ep->calls % every == 0;
    ep->refused += is_full || is_turn;
    return is_full || is_turn;
}

/* Begin the operation that `model` describes; returns the copy of it that is in flight, or NULL and
 * the error that the caller returns. */
static strict_op_t *begin(const strict_op_t *model, void *descriptor, uint64_t access, long *rc_out)
{
    strict_ep_t *ep = model->ep;
    if (!ep->is_enabled)
        strict_die("an operation on an endpoint that is not enabled");
    if (!model->is_multi && model->kind != STRICT_RECV && model->bytes > ep->msg_max)
        strict_die("a message of %zu bytes, and max_msg_size is %zu", model->bytes, ep->msg_max);
    *rc_out = -FI_EAGAIN;
    if (is_refused(ep, model->kind))
        return NULL;
    ep->begun[model->kind]++;
    *rc_out = -FI_EIO;
    if (ep->begun[model->kind] == strict_options()->deny[model->kind])
        return NULL;
    strict_op_t *op = malloc(sizeof(*op));
    *rc_out = -FI_ENOMEM;
    if (op == NULL)
        return NULL;
    *op = *model;
    if (access != 0 && (strict_options()->mr_local || strict_is_device(op->data)))
        op->mr = strict_mr_check(ep->domain, descriptor, op->data, op->bytes, access);
    take_context(op);
    op->is_lost = ep->begun[op->kind] == strict_options()->fail[op->kind];
    op->next = ep->in_flight;
    ep->in_flight = op;
    if (is_receive(op))
        ep->rx_out++;
    else
        ep->tx_out++;
    *rc_out = 0;
    return op;
}

/* ---- to the provider below ---- */

static long start_below(strict_op_t *op)
{
    struct fid_ep *real = op->ep->real;
    void *descriptor = op->mr == NULL ? NULL : fi_mr_desc(op->mr->real);
    struct iovec piece = {op->data + op->filled, op->bytes - op->filled};
    struct fi_msg message = {
        .msg_iov = &piece, .desc = &descriptor, .iov_count = 1, .addr = op->peer, .context = op};
    switch (op->kind) {
    case STRICT_RECV:
        return fi_recvmsg(real, &message, 0);
    case STRICT_READ:
        return fi_read(real, op->copy != NULL ? op->copy : op->data, op->bytes, descriptor,
                       op->peer, op->address, op->key, op);
    default:
        return fi_send(real, op->data, op->bytes, descriptor, op->peer, op);
    }
}

static void fail(strict_op_t *op, int error)
{
    struct fi_cq_data_entry entry = {.op_context = op->user};
    strict_cq_t *cq = op->ep->cq;
    strict_op_end(op);
    strict_cq_add(cq, &entry, error);
}

/* False if the provider below cannot take the operation yet. */
static bool start(strict_op_t *op)
{
    if (op->is_lost && !is_receive(op)) {
        fail(op, FI_EIO);
        return true;
    }
    long rc = start_below(op);
    if (rc != 0 && rc != -FI_EAGAIN)
        fail(op, (int)-rc);
    return rc != -FI_EAGAIN;
}

/* For the provider below a multi-receive buffer is a sequence of single receives: the multi-receive
 * buffers of ofi_rxm (libfabric 1.17) deliver packets above 16 KiB after they have reported that
 * the buffer is free. */
bool strict_op_goes_on(strict_op_t *op, size_t bytes)
{
    op->filled += bytes;
    if (op->bytes - op->filled < op->ep->multi_min)
        return false;
    hold(op);
    return true;
}

static bool stays(const strict_op_t *op)
{
    if (op->kind == STRICT_INJECT && strict_options()->late_inject)
        return op->rounds < ROUNDS_OF_LATE;
    return strict_options()->reorder && !is_receive(op) && op->rounds < ROUNDS_MOST &&
           strict_pick(2) == 0;
}

void strict_ep_release(strict_ep_t *ep)
{
    strict_op_t **at = &ep->held_first;
    bool has_kept = false;
    while (*at != NULL) {
        strict_op_t *op = *at, *following = op->next_held;
        bool keeps = stays(op);
        if (!keeps && !start(op))
            return;
        if (keeps) {
            op->rounds++;
            at = &op->next_held;
        } else {
            *at = following;
            if (following == NULL)
                ep->held_last = at;
            ep->overtaken += has_kept;
        }
        has_kept = has_kept || keeps;
    }
}

/* ---- the calls ---- */

static ssize_t post_receive(struct fid_ep *fid, const struct fi_msg *message, uint64_t flags)
{
    long rc;
    if (message->iov_count != 1)
        strict_die("iov_limit is 1, a receive has %zu pieces", message->iov_count);
    strict_op_t model = {.kind = STRICT_RECV,
                         .ep = (strict_ep_t *)fid,
                         .user = message->context,
                         .data = message->msg_iov[0].iov_base,
                         .bytes = message->msg_iov[0].iov_len,
                         .peer = message->addr,
                         .is_multi = (flags & FI_MULTI_RECV) != 0};
    if (model.is_multi && strict_options()->no_multi_recv)
        strict_die("a receive with FI_MULTI_RECV, which was not offered");
    strict_op_t *op = begin(&model, message->desc == NULL ? NULL : message->desc[0], FI_RECV, &rc);
    if (op != NULL)
        hold(op);
    return rc;
}

static ssize_t send_message(struct fid_ep *fid, const struct fi_msg *message, uint64_t flags)
{
    long rc;
    if (message->iov_count != 1 || (flags & ~(uint64_t)(FI_COMPLETION | FI_TRANSMIT_COMPLETE)) != 0)
        strict_die("a send of %zu pieces with flags %llx", message->iov_count,
                   (unsigned long long)flags);
    strict_op_t model = {.kind = STRICT_SEND,
                         .ep = (strict_ep_t *)fid,
                         .user = message->context,
                         .data = message->msg_iov[0].iov_base,
                         .bytes = message->msg_iov[0].iov_len,
                         .peer = message->addr};
    strict_op_t *op = begin(&model, message->desc == NULL ? NULL : message->desc[0], FI_SEND, &rc);
    if (op != NULL)
        hold(op);
    return rc;
}

static ssize_t send_plain(struct fid_ep *fid, const void *data, size_t bytes, void *descriptor,
                          fi_addr_t peer, void *context)
{
    struct iovec piece = {(void *)data, bytes};
    struct fi_msg message = {&piece, &descriptor, 1, peer, context, 0};
    return send_message(fid, &message, 0);
}

static ssize_t inject(struct fid_ep *fid, const void *data, size_t bytes, fi_addr_t peer)
{
    strict_ep_t *ep = (strict_ep_t *)fid;
    long rc;
    if (bytes > ep->inject_max)
        strict_die("%zu bytes are injected, and inject_size is %zu", bytes, ep->inject_max);
    strict_op_t model = {.kind = STRICT_INJECT, .ep = ep, .bytes = bytes, .peer = peer};
    strict_op_t *op = begin(&model, NULL, 0, &rc);
    if (op == NULL)
        return rc;
    op->data = op->copy = malloc(bytes + 1);
    if (op->copy == NULL)
        strict_die("no memory");
    memcpy(op->copy, data, bytes);
    hold(op);
    return 0;
}

static ssize_t read_remote(struct fid_ep *fid, void *to, size_t bytes, void *descriptor,
                           fi_addr_t peer, uint64_t address, uint64_t key, void *context)
{
    long rc;
    if (strict_options()->no_rma)
        strict_die("fi_read, which was not offered");
    strict_op_t model = {.kind = STRICT_READ,
                         .ep = (strict_ep_t *)fid,
                         .user = context,
                         .data = to,
                         .bytes = bytes,
                         .peer = peer,
                         .address = address,
                         .key = key};
    strict_op_t *op = begin(&model, descriptor, FI_READ, &rc);
    if (op == NULL)
        return rc;
    if (op->mr != NULL && op->mr->is_device) {
        op->mr = NULL; /* the provider below knows of no device */
        op->copy = malloc(bytes);
        if (op->copy == NULL)
            strict_die("no memory");
    }
    hold(op);
    return rc;
}

/* ---- the endpoint ---- */

static int get_name(fid_t fid, void *address, size_t *bytes)
{
    return fi_getname(&((strict_ep_t *)fid)->real->fid, address, bytes);
}

static int set_option(fid_t fid, int level, int option, const void *value, size_t bytes)
{
    strict_ep_t *ep = (strict_ep_t *)fid;
    if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV || bytes != sizeof(size_t))
        return -FI_ENOPROTOOPT;
    memcpy(&ep->multi_min, value, bytes);
    return 0;
}

static int bind_ep(struct fid *fid, struct fid *object, uint64_t flags)
{
    strict_ep_t *ep = (strict_ep_t *)fid;
    if (object->fclass == FI_CLASS_AV)
        return fi_ep_bind(ep->real, &((strict_av_t *)object)->real->fid, flags);
    if (object->fclass != FI_CLASS_CQ)
        return -FI_ENOSYS;
    ep->cq = (strict_cq_t *)object;
    ep->cq->ep = ep;
    return fi_ep_bind(ep->real, &ep->cq->real->fid, flags);
}

static int control(struct fid *fid, int command, void *argument)
{
    strict_ep_t *ep = (strict_ep_t *)fid;
    (void)argument;
    if (command != FI_ENABLE)
        return -FI_ENOSYS;
    int rc = fi_enable(ep->real);
    ep->is_enabled = rc == 0;
    return rc;
}

static void tell(const strict_ep_t *ep)
{
    if (strict_options()->tell)
        fprintf(stderr,
                "weft_strict: %zu sent, %zu injected, %zu read, %zu overtaken, %zu refused, "
                "%zu registered, %zu bytes into device memory\n",
                ep->begun[STRICT_SEND], ep->begun[STRICT_INJECT], ep->begun[STRICT_READ],
                ep->overtaken, ep->refused, ep->domain->registered, ep->to_device);
}

/* Injected messages may be lost here, since the program cannot wait for them. A peer that needs
 * such a message waits in vain, and its test fails; a credit for a peer that sends no more may be
 * lost. */
static int close_ep(struct fid *fid)
{
    strict_ep_t *ep = (strict_ep_t *)fid;
    tell(ep);
    for (const strict_op_t *op = ep->held_first; op != NULL; op = op->next_held) {
        if (!is_receive(op) && op->kind != STRICT_INJECT)
            strict_die("the endpoint is closed before a message of %zu bytes went out", op->bytes);
    }
    int rc = fi_close(&ep->real->fid);
    while (ep->in_flight != NULL)
        strict_op_end(ep->in_flight);
    if (ep->cq != NULL)
        ep->cq->ep = NULL;
    free(ep);
    return rc;
}

static struct fi_ops ep_fid_ops = {
    .size = sizeof(struct fi_ops), .close = close_ep, .bind = bind_ep, .control = control};
static struct fi_ops_ep ep_ops = {.size = sizeof(struct fi_ops_ep), .setopt = set_option};
static struct fi_ops_cm cm_ops = {.size = sizeof(struct fi_ops_cm), .getname = get_name};
static struct fi_ops_msg msg_ops = {.size = sizeof(struct fi_ops_msg),
                                    .recvmsg = post_receive,
                                    .send = send_plain,
                                    .sendmsg = send_message,
                                    .inject = inject};
static struct fi_ops_rma rma_ops = {.size = sizeof(struct fi_ops_rma), .read = read_remote};

int strict_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
                   void *context)
{
    strict_domain_t *owner = (strict_domain_t *)domain;
    strict_ep_t *ep = calloc(1, sizeof(*ep));
    int rc = ep == NULL ? -FI_ENOMEM : fi_endpoint(owner->real, owner->info, &ep->real, context);
    if (rc != 0) {
        free(ep);
        return rc;
    }
    ep->ep = (struct fid_ep){.fid = {FI_CLASS_EP, context, &ep_fid_ops},
                             .ops = &ep_ops,
                             .cm = &cm_ops,
                             .msg = &msg_ops,
                             .rma = &rma_ops};
    ep->domain = owner;
    ep->tx_max = info->tx_attr->size;
    ep->rx_max = info->rx_attr->size;
    ep->inject_max = info->tx_attr->inject_size;
    ep->msg_max = info->ep_attr->max_msg_size;
    ep->multi_min = 1;
    ep->held_last = &ep->held_first;
    *out = &ep->ep;
    return 0;
}
