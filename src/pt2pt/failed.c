/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that have failed and communicators that are revoked (WEFT_RECOVERY): what waits for
 * them ends here, or is refused when it begins.
 *
 * A receive from any source cannot end when a process fails that might have sent the message: it
 * becomes "pending". Its request is complete for the calls that wait, with the class
 * MPIX_ERR_PROC_FAILED_PENDING, but the receive stays in its queue; a message that matches, or the
 * program's acknowledgement, makes it a receive like others again.
 *
 * A revoked communicator takes no receive any more, and a message for it is refused. A sender that
 * has announced its data learns so by NACK: until then the receiver might still read them.
 */
#include "pt2pt/device_private.h"
#include "pt2pt/vci_dense.h"

#include "runtime/failures.h"
#include "runtime/progress.h"
#include "base/config.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/out_of_memory.h"
#include "mpix.h"

enum { CALLS_PER_ROUND = 16 };

/* Channels of partitioned communication on revoked communicators: context and source. */
static weft_match_key_t *refused; /* [refused_count] */
static size_t refused_count;

void (*weft_pt2pt_on_failure)(int process);

/* ---- endpoints of failed processes ---- */

/* There is never room: so each send comes to where the loss is looked at. */
static bool refuse_packet(weft_endpoint_t *endpoint, weft_header_t header, const void *payload)
{
    (void)endpoint, (void)header, (void)payload;
    return false;
}

static void *refuse_room(weft_endpoint_t *endpoint, size_t bytes)
{
    (void)endpoint, (void)bytes;
    return NULL;
}

static void refuse_commit(weft_endpoint_t *endpoint, weft_header_t header)
{
    (void)endpoint, (void)header;
}

static weft_traffic_t lost_traffic = {.name = "lost"};

static const weft_link_ops_t lost_link = {.traffic = &lost_traffic,
                                          .send = refuse_packet,
                                          .reserve = refuse_room,
                                          .store = weft_plain_store,
                                          .commit = refuse_commit,
                                          .flush = weft_no_flush,
                                          .peek = weft_no_peek,
                                          .take = weft_no_take,
                                          .throttle = weft_no_throttle};

/* Of all processes that were never reached. Nothing is queued for it. */
static weft_endpoint_t unreached = {
    .link = &lost_link, .remote = &weft_no_remote, .packet_max = 1, .is_lost = true};

static void cut_endpoint(int process)
{
    weft_endpoint_t *endpoint = weft_process_reached(process);
    if (endpoint == NULL) {
        weft_processes.at[process].endpoint = &unreached;
        return;
    }
    endpoint->is_lost = true;
    endpoint->holds_back = endpoint->can_read = endpoint->can_get = false;
    wefti_sends_lose(endpoint);
    wefti_cancels_lose(endpoint);
    endpoint->link = &lost_link;
    endpoint->asked = 0;
}

void weft_pt2pt_send_note(int process, const void *note, size_t bytes)
{
    weft_endpoint_t *endpoint = weft_process_endpoint(process);
    if (endpoint == NULL || endpoint->is_lost)
        return;
    weft_header_t header = weft_header(WEFT_PACKET_NOTE, (uint32_t)bytes, 0, 0);
    wefti_send_in_order(endpoint, &header, note);
    weft_endpoint_flush(endpoint);
}

/* ---- errors ---- */

int wefti_fail_lost(int process)
{
    if (process >= 0 && weft_has_failed(process))
        return weft_fail(MPIX_ERR_PROC_FAILED, "%s", weft_failure_text(process));
    return weft_fail(MPI_ERR_OTHER, "%s", wefti_pt2pt.lost_text);
}

static int fail_revoked(const weft_comm_t *comm)
{
    const char *name = comm->name[0] != '\0' ? comm->name : "the communicator";
    return weft_fail(MPIX_ERR_REVOKED, "%s was revoked", name);
}

int weft_pt2pt_check_revoked(const weft_comm_t *comm)
{
    return comm->is_revoked ? fail_revoked(comm) : MPI_SUCCESS;
}

int weft_pt2pt_look(const weft_comm_t *comm)
{
    static unsigned calls;
    if (++calls % CALLS_PER_ROUND == 0)
        weft_progress();
    return weft_pt2pt_check_revoked(comm);
}

/* The first process that could send on `comm`, has failed, and is not acknowledged there; or
 * WEFT_NO_PROCESS. */
static int unacknowledged(const weft_comm_t *comm)
{
    for (int i = comm->acknowledged; i < weft_failures.count; i++) {
        if (weft_group_rank_of(comm->peers, weft_failures.at[i].process) != MPI_UNDEFINED)
            return weft_failures.at[i].process;
    }
    return WEFT_NO_PROCESS;
}

int wefti_check_source(const weft_comm_t *comm, int source)
{
    if (comm->is_revoked)
        return fail_revoked(comm);
    if (source != MPI_ANY_SOURCE) {
        int process = weft_comm_process(comm, source);
        return wefti_is_from_lost(process) ? wefti_fail_lost(process) : MPI_SUCCESS;
    }
    if (!weft_config.RECOVERY)
        return wefti_pt2pt.lost_peers > 0 ? wefti_fail_lost(WEFT_NO_PROCESS) : MPI_SUCCESS;
    int process = unacknowledged(comm);
    return process == WEFT_NO_PROCESS ? MPI_SUCCESS : wefti_fail_lost(process);
}

/* ---- pending receives ---- */

static bool is_pending_recv(const weft_recv_t *recv)
{
    return recv->is_queued && recv->request.is_complete;
}

/* The calls that wait for the request look at it, and leave it as it is. */
static void suspend_recv(weft_recv_t *recv, int process)
{
    weft_request_t *request = &recv->request;
    if (is_pending_recv(recv) || request->is_detached)
        return;
    weft_request_note_error(
        request, weft_fail(MPIX_ERR_PROC_FAILED_PENDING,
                           "the receive from MPI_ANY_SOURCE waits on, until the failure is "
                           "acknowledged: %s",
                           weft_failure_text(process)));
    weft_request_complete(request);
}

void wefti_recv_resume(weft_recv_t *recv)
{
    if (!recv->request.is_complete)
        return;
    recv->request.is_complete = false;
    recv->request.status.MPI_ERROR = MPI_SUCCESS;
    weft_request_forget_error(&recv->request);
}

bool wefti_recv_is_refused(weft_recv_t *recv)
{
    const weft_recv_args_t *args = &recv->args;
    int err = wefti_check_source(args->comm, args->source);
    if (err == MPI_SUCCESS ||
        (recv->may_pend && args->source == MPI_ANY_SOURCE && err == MPIX_ERR_PROC_FAILED))
        return false;
    weft_request_note_error(&recv->request, err);
    wefti_recv_stop(recv);
    return true;
}

void wefti_recv_note_queued(weft_recv_t *recv)
{
    int process =
        recv->args.source == MPI_ANY_SOURCE ? unacknowledged(recv->args.comm) : WEFT_NO_PROCESS;
    if (recv->may_pend && process != WEFT_NO_PROCESS)
        suspend_recv(recv, process);
}

/* ---- a process has failed ---- */

/* Those that wait for any source; each search begins at the front, since what ends may begin or end
 * others. */
static weft_recv_t *find_wild(int process)
{
    const weft_list_t *order = &wefti_pt2pt.vcis[0].receives.order;
    for (weft_link_t *at = order->next; at != order; at = at->next) {
        weft_recv_t *recv = WEFT_ELEMENT(at, weft_recv_t, entry.order);
        if (recv->args.source == MPI_ANY_SOURCE && !is_pending_recv(recv) &&
            !recv->request.is_detached &&
            weft_group_rank_of(recv->args.comm->peers, process) != MPI_UNDEFINED)
            return recv;
    }
    return NULL;
}

void wefti_recv_end_queued(weft_recv_t *recv, int error)
{
    weft_match_remove(wefti_receives_with(recv), &recv->entry);
    recv->is_queued = false;
    weft_request_note_error(&recv->request, error);
    wefti_recv_stop(recv);
}

/* One that is pending has an error already. */
static void end_queued(weft_recv_t *recv, int error)
{
    wefti_recv_resume(recv);
    wefti_recv_end_queued(recv, error);
}

static void lose_wild(int process)
{
    weft_recv_t *recv;
    while ((recv = find_wild(process)) != NULL) {
        if (recv->may_pend)
            suspend_recv(recv, process);
        else
            end_queued(recv, wefti_fail_lost(process));
    }
}

void wefti_process_failed(int process, const char *why)
{
    if (!weft_failures_add(process, why))
        return;
    cut_endpoint(process);
    wefti_recvs_lose(process);
    lose_wild(process);
    wefti_precvs_lose(process);
    wefti_psends_end(WEFT_NO_CONTEXT, process);
    wefti_probes_wake();
    wefti_note_idle();
    if (weft_pt2pt_on_failure != NULL)
        weft_pt2pt_on_failure(process);
}

static void resume_of(void *object, void *context)
{
    weft_recv_t *recv = object;
    if (recv->request.object.kind == WEFT_KIND_REQUEST && recv->request.is_active &&
        is_pending_recv(recv) && recv->args.comm == context)
        wefti_recv_resume(recv);
}

void weft_pt2pt_acknowledged(weft_comm_t *comm)
{
    if (unacknowledged(comm) == WEFT_NO_PROCESS)
        wefti_recvs_each(resume_of, comm);
}

/* ---- a communicator is revoked ---- */

static weft_recv_t *find_of_context(uint32_t context)
{
    const weft_list_t *order = &wefti_matching(context)->receives.order;
    for (weft_link_t *at = order->next; at != order; at = at->next) {
        weft_recv_t *recv = WEFT_ELEMENT(at, weft_recv_t, entry.order);
        if (recv->args.comm->context == context) /* partitions have contexts of their own */
            return recv;
    }
    return NULL;
}

/* Partitions have negative tags, and contexts that are numbers of their sender. */
bool wefti_message_is_refused(const weft_match_key_t *key)
{
    if (key->tag >= 0)
        return weft_context_set_has(&wefti_pt2pt.revoked, key->context & ~UINT32_C(1));
    for (size_t i = 0; i < refused_count; i++) {
        if (refused[i].context == key->context && refused[i].source == key->source)
            return true;
    }
    return false;
}

bool wefti_context_is_revoked(uint32_t context)
{
    return weft_context_set_has(&wefti_pt2pt.revoked, context);
}

void wefti_refuse_channel(uint32_t context, int source)
{
    size_t bytes = (refused_count + 1) * sizeof(*refused);
    weft_match_key_t *more = weft_realloc(refused, bytes);
    if (more == NULL)
        weft_out_of_memory("a revoked communicator", bytes);
    refused = more;
    refused[refused_count++] = (weft_match_key_t){.context = context, .source = source};
    wefti_messages_refuse(&refused[refused_count - 1]);
}

void wefti_failed_close(void)
{
    weft_free(refused);
    refused = NULL;
    refused_count = 0;
    weft_context_set_clear(&wefti_pt2pt.revoked);
}

void wefti_refuse(int source, const weft_rts_t *rts)
{
    weft_endpoint_t *endpoint = weft_process_reached(source);
    if (rts->request == 0 || rts->kind == WEFT_PACKET_ERROR || endpoint == NULL)
        return;
    weft_request_t refusal = {.status.MPI_ERROR = MPIX_ERR_REVOKED,
                              .why = (char *)"the communicator was revoked"};
    wefti_send_error(endpoint, WEFT_PACKET_NACK, rts->request, &refusal);
}

int weft_pt2pt_revoke(uint32_t context)
{
    weft_recv_t *recv;
    if (wefti_context_is_revoked(context))
        return MPI_SUCCESS;
    int err = weft_context_set_add(&wefti_pt2pt.revoked, context);
    if (err != MPI_SUCCESS)
        return err;
    wefti_pt2pt.has_trouble = true;
    weft_world_set_watchful(true);
    weft_vcis_shut();
    bool has_entered = weft_vci_enter(weft_vci_of(context));
    while ((recv = find_of_context(context)) != NULL)
        end_queued(recv, fail_revoked(recv->args.comm));
    weft_vci_leave(weft_vci_of(context), has_entered);
    wefti_messages_refuse(NULL);
    wefti_precvs_revoke(context);
    wefti_psends_end(context, WEFT_NO_PROCESS);
    wefti_probes_wake();
    wefti_note_idle();
    return MPI_SUCCESS;
}
