/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that wait for room at a peer: sends and answers, in order for each peer. */
#include "pt2pt/pt2pt_private.h"

#include "runtime/progress.h"
#include "base/memory.h"

/* Peers with sends that wait for room. */
static weft_endpoint_t **crowded;
static int crowded_count, crowded_room;

static int send_queue_push_all(bool everything);

static bool note_crowded(weft_endpoint_t *endpoint)
{
    if (endpoint->has_pending)
        return true;
    if (crowded_count == crowded_room) {
        int room = crowded_room == 0 ? 16 : crowded_room * 2;
        weft_endpoint_t **bigger = weft_realloc(crowded, (size_t)room * sizeof(*crowded));
        if (bigger == NULL)
            return false;
        crowded = bigger;
        crowded_room = room;
    }
    crowded[crowded_count++] = endpoint;
    endpoint->has_pending = true;
    weft_progress_add(send_queue_push_all);
    return true;
}

void wefti_send_enqueue(weft_send_t *send)
{
    weft_endpoint_t *endpoint = send->endpoint;
    send->next = NULL;
    send->is_queued = true;
    if (endpoint->waiting_first == NULL) {
        endpoint->waiting_last = &endpoint->waiting_first;
        if (!note_crowded(endpoint))
            weft_world.abort(1, "no memory for the list of peers that wait for room");
    }
    *endpoint->waiting_last = send;
    endpoint->waiting_last = &send->next;
}

static void put_back(weft_send_t *send)
{
    weft_endpoint_t *endpoint = send->endpoint;
    if (endpoint->waiting_first == NULL)
        endpoint->waiting_last = &send->next;
    send->next = endpoint->waiting_first;
    send->is_queued = true;
    endpoint->waiting_first = send;
}

/* A send leaves the list before it is pushed: when it completes, whoever waits for it may free it
 * and begin the next send to the same peer. */
static int push_waiting(weft_endpoint_t *endpoint)
{
    int pushed = 0;
    while (endpoint->waiting_first != NULL) {
        weft_send_t *send = endpoint->waiting_first;
        endpoint->waiting_first = send->next;
        send->is_queued = false;
        if (!wefti_send_push(send)) {
            put_back(send);
            return pushed;
        }
        pushed++;
    }
    return pushed;
}

static int send_queue_push_all(bool everything)
{
    (void)everything;
    int pushed = 0;
    for (int i = 0; i < crowded_count; i++) {
        pushed += push_waiting(crowded[i]);
        if (crowded[i]->waiting_first == NULL) {
            crowded[i]->has_pending = false;
            crowded[i--] = crowded[--crowded_count];
        }
    }
    if (crowded_count == 0) {
        weft_progress_remove(send_queue_push_all);
        wefti_note_idle();
    }
    return pushed;
}

/* Those of one peer. */
static void forget_hints(weft_endpoint_t *endpoint)
{
    weft_send_t **at = &endpoint->waiting_first;
    while (*at != NULL) {
        weft_send_t *send = *at;
        if (send->stage != WEFT_SEND_CONTROL || send->header.kind != WEFT_PACKET_SHARE_FREED) {
            at = &send->next;
            continue;
        }
        *at = send->next;
        wefti_send_give_control(send);
    }
    endpoint->waiting_last = at;
}

void wefti_sends_forget_hints(void)
{
    for (int i = 0; i < crowded_count; i++) /* the list notices that some wait for nothing any more */
        forget_hints(crowded[i]);
}

bool wefti_sends_are_out(void)
{
    return crowded_count == 0;
}

void wefti_send_queues_close(void)
{
    weft_free(crowded);
    crowded = NULL;
    crowded_count = crowded_room = 0;
}
