/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that wait for room at a peer: sends and answers, in order for each peer. */
#include "pt2pt/pt2pt_private.h"

#include "runtime/failures.h"
#include "runtime/progress.h"

/* Peers with sends that wait for room. */
static weft_endpoint_t *pending, **pending_last = &pending;

static int send_queue_push_all(bool everything);

static void note_pending(weft_endpoint_t *endpoint)
{
    weft_peer_sends_t *peer = wefti_sends_to(endpoint);
    if (endpoint->has_waiting)
        return;
    if (pending == NULL)
        weft_progress_await_room(1);
    endpoint->has_waiting = true;
    peer->next_pending = NULL;
    *pending_last = endpoint;
    pending_last = &peer->next_pending;
    weft_progress_need(send_queue_push_all);
}

void wefti_send_enqueue(weft_send_t *send)
{
    weft_endpoint_t *endpoint = wefti_send_next(send);
    weft_peer_sends_t *peer = wefti_sends_to(endpoint);
    send->next = NULL;
    send->is_queued = true;
    if (peer->waiting_first == NULL) {
        peer->waiting_last = &peer->waiting_first;
        note_pending(endpoint);
    }
    *peer->waiting_last = send;
    peer->waiting_last = &send->next;
}

void wefti_send_dequeue(weft_send_t *send)
{
    weft_peer_sends_t *peer = wefti_sends_to(wefti_send_next(send));
    weft_send_t **at = &peer->waiting_first;
    while (*at != send)
        at = &(*at)->next;
    *at = send->next;
    if (*at == NULL)
        peer->waiting_last = at;
    send->is_queued = false;
}

static void put_back(weft_send_t *send)
{
    weft_peer_sends_t *peer = wefti_sends_to(wefti_send_next(send));
    if (peer->waiting_first == NULL)
        peer->waiting_last = &send->next;
    send->next = peer->waiting_first;
    send->is_queued = true;
    peer->waiting_first = send;
}

/* A send leaves the list before it is pushed: when it completes, its owner may free it and begin
 * the next send to the same peer. */
static int push_waiting(weft_peer_sends_t *peer)
{
    int pushed = 0;
    while (peer->waiting_first != NULL) {
        weft_send_t *send = peer->waiting_first;
        peer->waiting_first = send->next;
        send->is_queued = false;
        if (!wefti_send_push(send)) {
            put_back(send);
            return pushed;
        }
        pushed++;
    }
    return pushed;
}

static int push_to(weft_endpoint_t *endpoint)
{
    weft_peer_sends_t *peer = wefti_sends_to(endpoint);
    bool has_entered = weft_vci_enter(endpoint->vci);
    int pushed = push_waiting(peer);
    endpoint->has_waiting = peer->waiting_first != NULL;
    weft_vci_leave(endpoint->vci, has_entered);
    return pushed;
}

/* A peer that is added by a push goes to the end of the list, and is reached in the same round. */
static int send_queue_push_all(bool everything)
{
    (void)everything;
    int pushed = 0;
    for (weft_endpoint_t **at = &pending; *at != NULL;) {
        weft_endpoint_t *endpoint = *at;
        weft_peer_sends_t *peer = wefti_sends_to(endpoint);
        pushed += push_to(endpoint);
        if (endpoint->has_waiting) {
            at = &peer->next_pending;
            continue;
        }
        *at = peer->next_pending;
        if (*at == NULL)
            pending_last = at;
    }
    if (pending == NULL) {
        weft_progress_remove(send_queue_push_all);
        weft_progress_await_room(-1);
        wefti_note_idle();
    }
    return pushed;
}

/* Drop the waiting SHARE_FREED packets of one peer. */
static void forget_hints(weft_peer_sends_t *peer)
{
    weft_send_t **at = &peer->waiting_first;
    while (*at != NULL) {
        weft_send_t *send = *at;
        if (send->stage != WEFT_SEND_CONTROL || send->header.kind != WEFT_PACKET_SHARE_FREED) {
            at = &send->next;
            continue;
        }
        *at = send->next;
        wefti_send_give_control(send);
    }
    peer->waiting_last = at;
}

void wefti_sends_forget_hints(void)
{
    /* Peers for which nothing is left to wait are removed by send_queue_push_all(). */
    for (weft_endpoint_t *at = pending; at != NULL; at = wefti_sends_to(at)->next_pending)
        forget_hints(wefti_sends_to(at));
}

static void send_lose(weft_send_t *send, void *context)
{
    if (send->endpoint != context)
        return;
    int process = weft_comm_process(send->args.comm, send->args.dest);
    if (weft_has_failed(process))
        weft_request_note_error(&send->request, wefti_fail_lost(process));
    else
        send->request.status.MPI_ERROR = MPI_ERR_OTHER;
    wefti_send_stop(send);
}

/* Their requests end afterwards, if they have any. */
static void drop_waiting(weft_endpoint_t *endpoint)
{
    bool has_entered = weft_vci_enter(endpoint->vci);
    weft_send_t *send = wefti_sends_to(endpoint)->waiting_first;
    wefti_sends_to(endpoint)->waiting_first = NULL;
    endpoint->is_lost = true;
    weft_vci_leave(endpoint->vci, has_entered);
    for (weft_send_t *next; send != NULL; send = next) {
        next = send->next;
        if (send->stage == WEFT_SEND_CONTROL)
            wefti_send_give_control(send);
    }
}

void wefti_sends_lose(weft_endpoint_t *endpoint)
{
    drop_waiting(endpoint);
    for (int vci = 1; endpoint->of_vcis != NULL && vci < weft_world.vcis; vci++)
        drop_waiting(endpoint->of_vcis[vci]);
    wefti_sends_each(send_lose, endpoint);
}

bool wefti_sends_are_out(void)
{
    return pending == NULL;
}

static void note_unannounced(weft_send_t *send, void *is_any)
{
    if (send->stage == WEFT_SEND_FIRST)
        *(bool *)is_any = true;
}

bool wefti_sends_are_announced(void)
{
    bool is_any = false;
    wefti_sends_each(note_unannounced, &is_any);
    return !is_any;
}

void wefti_send_queues_close(void)
{
    if (pending != NULL)
        weft_progress_await_room(-1);
    pending = NULL;
    pending_last = &pending;
}
