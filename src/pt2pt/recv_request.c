/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of receives. A receive looks for its message among those that wait, or waits itself: the
 * path of one that waits in the usual way, begin_recv() to its end, is straight.
 */
#include "pt2pt/device_private.h"

#include "runtime/failures.h"
#include "runtime/progress.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/pool.h"

enum { PREPARED_AT_ONCE = 16 };

static weft_pool_t recvs = WEFT_POOL(weft_recv_t);

/* ---- requests ---- */

/* False: it was in no queue. */
static bool leave_queue(weft_recv_t *recv)
{
    int vci = weft_vci_of(recv->args.context);
    bool has_entered = weft_vci_enter(vci), was_queued = recv->is_queued;
    if (was_queued)
        weft_match_remove(wefti_receives_with(recv), &recv->entry);
    recv->is_queued = false;
    weft_vci_leave(vci, has_entered);
    return was_queued;
}

static void recv_release(weft_request_t *request)
{
    weft_recv_t *recv = (weft_recv_t *)request;
    if (__builtin_expect(recv->is_queued, 0)) /* it was pending */
        leave_queue(recv);
    weft_type_release(recv->args.type);
    wefti_recv_release_comm(recv);
    weft_pool_give(&recvs, recv);
}

static void dense_release(weft_request_t *request)
{
    weft_recv_t *recv = (weft_recv_t *)request;
    if (__builtin_expect(recv->is_queued || recv->device != NULL || request->on_complete != NULL ||
                             request->status.MPI_ERROR != MPI_SUCCESS ||
                             weft_status_is_cancelled(&request->status),
                         0)) {
        recv_release(request);
        return;
    }
    int vci = weft_vci_of(recv->args.context);
    bool has_entered = weft_vci_enter(vci);
    wefti_dense_recv_give(recv);
    weft_vci_leave(vci, has_entered);
}

static void recv_cancel(weft_request_t *request)
{
    weft_recv_t *recv = (weft_recv_t *)request;
    if (!leave_queue(recv))
        return;
    wefti_recv_resume(recv);
    if (recv->device != NULL)
        wefti_device_recv_stop(recv);
    weft_status_set_cancelled(&request->status, true);
    weft_request_complete(request);
}

static int recv_start(weft_request_t *request);

static const weft_request_ops_t recv_ops = {
    .name = "receive", .release = recv_release, .start = recv_start, .cancel = recv_cancel};

const weft_request_ops_t wefti_dense_recv_ops = {
    .name = "receive", .release = dense_release, .cancel = recv_cancel};

/* Copies member by member, as the caller has just written them (WEFT_CFLAGS in configure.ac says
 * why). A send that gets a request takes so long that this would not matter. */
static inline void copy_args(weft_recv_args_t *to, const weft_recv_args_t *from)
{
    to->buf = from->buf;
    to->count = from->count;
    to->type = from->type;
    to->comm = from->comm;
    to->context = from->context;
    to->source = from->source;
    to->tag = from->tag;
    to->where = from->where;
}

/* NULL, with a text: there is no memory. */
static inline weft_recv_t *__attribute__((always_inline)) create_recv(const weft_recv_args_t *args)
{
    weft_recv_t *recv = weft_pool_take(&recvs);
    if (__builtin_expect(recv == NULL, 0)) {
        weft_fail(MPI_ERR_NO_MEM, "no memory for a receive request");
        return NULL;
    }
    weft_request_init(&recv->request, &recv_ops, args->comm);
    copy_args(&recv->args, args);
    recv->capacity = args->count * args->type->size;
    recv->device = NULL;
    recv->peer = MPI_PROC_NULL;
    recv->flags = 0;
    recv->is_plain = args->type->is_dense;
    weft_type_retain(args->type);
    weft_comm_retain(args->comm);
    return recv;
}

int wefti_recv_create(const weft_recv_args_t *args, weft_recv_t **out)
{
    *out = create_recv(args);
    return *out == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

int weft_request_explain(const weft_request_t *request)
{
    if (request->why != NULL)
        return weft_fail(request->status.MPI_ERROR, "%s", request->why);
    bool is_recv = request->ops == &recv_ops || request->ops == &wefti_dense_recv_ops;
    if (request->status.MPI_ERROR == MPI_ERR_TRUNCATE && is_recv) {
        const weft_recv_t *recv = (const weft_recv_t *)request;
        const MPI_Status *status = &request->status;
        return weft_fail(MPI_ERR_TRUNCATE,
                         "the message from rank %d with tag %d has %zu bytes, but the receive "
                         "buffer holds %zu",
                         status->MPI_SOURCE, status->MPI_TAG, recv->message_bytes, recv->capacity);
    }
    if (wefti_pt2pt.lost_peers > 0 && request->status.MPI_ERROR == MPI_ERR_OTHER)
        return weft_fail(MPI_ERR_OTHER, "%s", wefti_pt2pt.lost_text);
    return weft_fail(request->status.MPI_ERROR, "a %s failed", request->ops->name);
}

/* ---- beginning ---- */

static weft_match_key_t recv_key_of(const weft_recv_args_t *args)
{
    int source = args->source == MPI_ANY_SOURCE ? MPI_ANY_SOURCE
                                                : weft_comm_process(args->comm, args->source);
    return (weft_match_key_t){args->context, source, args->tag};
}

/* False: the receive has ended for want of memory. */
static __attribute__((cold)) bool begin_on_device(weft_recv_t *recv)
{
    int err = wefti_device_recv_begin(recv);
    recv->is_plain = false;
    if (err == MPI_SUCCESS)
        return true;
    weft_request_note_error(&recv->request, err);
    weft_request_complete(&recv->request);
    return false;
}

/* It looks for a message, and waits where none is there. */
static void activate_in_vci(weft_recv_t *recv)
{
    if (recv->args.source == MPI_PROC_NULL) {
        recv->request.status = weft_status_proc_null();
        weft_request_complete(&recv->request);
        return;
    }
    if (wefti_receives_device(&recv->args) && !begin_on_device(recv))
        return;
    weft_match_key_t key = recv_key_of(&recv->args);
    weft_matching_t *vci = wefti_matching(key.context);
    weft_message_t *message = vci->messages.count > 0 ? wefti_message_take(key) : NULL;
    if (message != NULL) {
        wefti_message_deliver(message, recv);
        return;
    }
    if (wefti_pt2pt.has_trouble && wefti_recv_is_refused(recv))
        return;
    recv->entry.key = key;
    recv->is_queued = true;
    weft_match_add(&vci->receives, &recv->entry);
    if (wefti_pt2pt.has_trouble)
        wefti_recv_note_queued(recv);
}

static void activate_recv(weft_recv_t *recv)
{
    int vci = weft_vci_of(recv->args.context); /* the receive may be over before it is left */
    bool has_entered = weft_vci_enter(vci);
    activate_in_vci(recv);
    weft_vci_leave(vci, has_entered);
}

static int recv_start(weft_request_t *request)
{
    weft_request_restart(request);
    activate_recv((weft_recv_t *)request);
    return MPI_SUCCESS;
}

/* Is all that a receive does to wait behind others? */
static inline bool simply_waits(const weft_matching_t *vci)
{
    return *weft_device_news == 0 && vci->messages.count == 0 && !wefti_pt2pt.has_trouble &&
           !vci->receives.is_binned;
}

static int begin_recv(const weft_recv_args_t *args, bool may_pend, weft_request_t **out)
{
    weft_recv_t *recv = create_recv(args);
    if (__builtin_expect(recv == NULL, 0))
        return MPI_ERR_NO_MEM;
    weft_matching_t *vci = wefti_matching(args->context);
    *out = &recv->request;
    recv->may_pend = may_pend;
    if (__builtin_expect(args->source == MPI_PROC_NULL || weft_vci_of(args->context) != 0 ||
                             !simply_waits(vci),
                         0)) {
        activate_recv(recv);
        return MPI_SUCCESS;
    }
    recv->entry.key = recv_key_of(args);
    recv->is_queued = true;
    weft_match_append(&vci->receives, &recv->entry);
    return MPI_SUCCESS;
}

/* Set what is common to all receives of the short way, for some of them. */
static void prepare_some(weft_matching_t *vci)
{
    for (int i = 0; i < PREPARED_AT_ONCE; i++) {
        weft_recv_t *recv = weft_pool_take(&recvs);
        if (recv == NULL)
            return;
        weft_request_init(&recv->request, &wefti_dense_recv_ops, NULL);
        recv->request.object.kind = WEFT_FREED;
        recv->args = (weft_recv_args_t){.type = weft_type_of(MPI_BYTE)};
        recv->device = NULL;
        recv->peer = MPI_PROC_NULL;
        wefti_recv_prepared(vci, recv);
    }
}

void wefti_recvs_prepare(int vci)
{
    bool has_entered = weft_vci_enter(vci);
    if (wefti_pt2pt.vcis[vci].prepared == NULL)
        prepare_some(&wefti_pt2pt.vcis[vci]);
    weft_vci_leave(vci, has_entered);
}

static __attribute__((noinline)) weft_request_t *
begin_dense_slowly(void *buf, weft_dense_message_t message, int source, int tag, bool is_blocking)
{
    weft_request_t *request;
    weft_recv_args_t args = {.buf = buf,
                             .count = message.bytes,
                             .type = weft_type_of(MPI_BYTE),
                             .comm = message.comm,
                             .context = message.comm->context,
                             .source = source,
                             .tag = tag};
    wefti_recvs_prepare(weft_vci_of(args.context));
    if (begin_recv(&args, !is_blocking, &request) != MPI_SUCCESS)
        return NULL;
    if (is_blocking)
        wefti_recv_block(request);
    return request;
}

weft_request_t *weft_recv_dense(void *buf, weft_dense_message_t message, int source, int tag,
                                bool is_blocking)
{
    weft_comm_t *comm = message.comm;
    weft_matching_t *vci = &wefti_pt2pt.vcis[0];
    weft_recv_t *recv = vci->prepared;
    if (__builtin_expect(recv == NULL || weft_vci_of(comm->context) != 0 || !simply_waits(vci), 0))
        return begin_dense_slowly(buf, message, source, tag, is_blocking);
    vci->prepared = recv->next_prepared;
    wefti_dense_recv_set(recv, buf, message, source, tag);
    recv->entry.key.source = source == MPI_ANY_SOURCE ? source : weft_comm_process(comm, source);
    recv->is_blocking = is_blocking;
    recv->may_pend = !is_blocking;
    weft_comm_retain(comm);
    weft_match_append(&vci->receives, &recv->entry);
    return &recv->request;
}

int weft_recv_begin(const weft_recv_args_t *args, weft_request_t **out)
{
    return begin_recv(args, false, out);
}

int weft_irecv_begin(const weft_recv_args_t *args, weft_request_t **out)
{
    return begin_recv(args, true, out);
}

int weft_recv(const weft_recv_args_t *args, MPI_Status *status)
{
    weft_request_t *request;
    int err = weft_recv_begin(args, &request);
    if (err != MPI_SUCCESS)
        return err;
    wefti_recv_block(request);
    return weft_request_finish(request, status);
}

int weft_recv_init(const weft_recv_args_t *args, weft_request_t **out)
{
    weft_recv_t *recv;
    int err = wefti_recv_create(args, &recv);
    if (err != MPI_SUCCESS)
        return err;
    weft_request_make_persistent(&recv->request);
    recv->may_pend = true;
    *out = &recv->request;
    return MPI_SUCCESS;
}

/* ---- all of them ---- */

bool wefti_is_from_lost(int source)
{
    if (source == MPI_ANY_SOURCE)
        return true;
    const weft_endpoint_t *endpoint = weft_process_reached(source);
    return endpoint == NULL ? wefti_pt2pt.is_network_lost : endpoint->is_lost;
}

bool wefti_recv_is_one(const void *pointer)
{
    return weft_pool_owns(&recvs, pointer);
}

static bool waits_for(const weft_recv_t *recv, int lost)
{
    int source = recv->is_queued ? recv->entry.key.source : recv->peer;
    if (source < 0) /* with WEFT_RECOVERY these are left to failed.c */
        return recv->is_queued && source == MPI_ANY_SOURCE && !weft_config.RECOVERY;
    const weft_endpoint_t *endpoint = weft_process_reached(source);
    if (lost == MPI_ANY_SOURCE)
        return endpoint == NULL || !endpoint->is_on_host;
    return source == lost;
}

static void recv_lose(void *object, void *context)
{
    weft_recv_t *recv = object;
    weft_request_t *request = &recv->request;
    int lost = *(const int *)context;
    if (request->object.kind != WEFT_KIND_REQUEST || !request->is_active || request->is_complete ||
        !waits_for(recv, lost))
        return;
    leave_queue(recv);
    wefti_recv_lose(recv);
}

void wefti_recvs_lose(int process)
{
    weft_pool_each(&recvs, recv_lose, &process);
    wefti_split_lose(process);
}

void wefti_recvs_each(void (*visit)(void *object, void *context), void *context)
{
    weft_pool_each(&recvs, visit, context);
}

void wefti_recvs_close(void)
{
    for (int vci = 0; vci < WEFT_VCIS; vci++)
        wefti_pt2pt.vcis[vci].prepared = NULL;
    weft_pool_close(&recvs);
}
