/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that will never be received: their receivers have called MPI_Finalize. A wait in which
 * nothing has happened for long looks for them, twice: what the first look has found a peer to be
 * holds for all packets that come before the second one, so that no answer is on its way any more.
 * The same looks find receives whose messages will never be sent (unsent.c).
 *
 * On the same host a rank shows how far it has come; a rank of another host is asked, and answers
 * behind all that it has sent before. A program that is right comes here only when it waits long.
 */
#include "pt2pt/device_private.h"

#include "base/fail.h"
#include "mpi.h"

#include <stdio.h>

/* ---- what a peer is ---- */

/* What a LEAVING packet says, as the number in its header. */
enum { TOLD_TO_LEAVE = 0, TOLD_TO_REST = 1, TOLD_TO_BE_BACK = 2, TOLD_TO_END = 3 };

static weft_leaving_t leaving_of(weft_endpoint_t *endpoint)
{
    if (endpoint->leaving != NULL)
        return (weft_leaving_t)atomic_load_explicit(endpoint->leaving, memory_order_acquire);
    return (weft_leaving_t)wefti_sends_to(endpoint)->told_leaving;
}

/* If there is no room, it is asked at the next look. */
static void ask_peer(weft_endpoint_t *endpoint)
{
    weft_header_t header = weft_header_for(WEFT_PACKET_ASK_LEAVING, 0, 0);
    endpoint->link->send(endpoint, header, NULL);
}

void wefti_leaving_is_asked(int source, const weft_header_t *header, const void *payload)
{
    (void)header, (void)payload;
    weft_endpoint_t *endpoint = weft_process_endpoint(source);
    unsigned how = atomic_load(&weft_world.leaving);
    if (endpoint != NULL && how != WEFT_STAYS)
        wefti_send_answer(endpoint, WEFT_PACKET_LEAVING,
                          how == WEFT_LEAVES ? TOLD_TO_LEAVE : TOLD_TO_END, NULL);
}

void wefti_leaving_is_told(int source, const weft_header_t *header, const void *payload)
{
    (void)payload;
    weft_endpoint_t *endpoint = weft_process_endpoint(source);
    if (endpoint == NULL)
        return;
    weft_peer_sends_t *peer = wefti_sends_to(endpoint);
    uint64_t what = weft_header_number(header);
    peer->told_leaving = what == TOLD_TO_LEAVE ? WEFT_LEAVES
                         : what == TOLD_TO_END ? WEFT_ENDS
                                               : WEFT_STAYS;
    endpoint->rests = what == TOLD_TO_REST;
}

/* Ranks of the same host see it, and do not notice when a process ends. */
void weft_pt2pt_tell_rest(bool rests)
{
    for (int process = 0; process < weft_processes.count; process++) {
        weft_endpoint_t *endpoint = weft_process_reached(process);
        if (endpoint != NULL && process != weft_processes.self && !endpoint->is_on_host)
            wefti_send_answer(endpoint, WEFT_PACKET_LEAVING, rests ? TOLD_TO_REST : TOLD_TO_BE_BACK,
                              NULL);
    }
    wefti_pt2pt.is_ending = false;
    weft_world_leave(rests ? WEFT_LEAVES : WEFT_STAYS);
}

void weft_pt2pt_expect_ends(void)
{
    for (int process = 0; process < weft_processes.count; process++) {
        weft_endpoint_t *endpoint = weft_process_reached(process);
        if (endpoint != NULL)
            endpoint->rests = true;
    }
}

/* ---- what was sent to it ---- */

void wefti_note_unseen(const weft_request_t *request)
{
    if (wefti_pt2pt.unseen++ == 0 && request->why != NULL)
        snprintf(wefti_pt2pt.unseen_text, sizeof(wefti_pt2pt.unseen_text), "%s", request->why);
}

static const char *kind_of_send(const weft_send_args_t *args)
{
    if ((args->context & 1) != 0)
        return args->tag < 0 ? "a partition" : "a message of a collective operation,";
    return args->mode == WEFT_SEND_SYNCHRONOUS ? "the synchronous send" : "the standard send";
}

/* "the standard send of 4 bytes with tag 5 to rank 1 of MPI_COMM_WORLD" */
static void describe_send(const weft_send_t *send, char *out, size_t room)
{
    const weft_send_args_t *args = &send->args;
    const char *name = args->comm->name[0] != '\0' ? args->comm->name : "a communicator";
    bool is_collective = (args->context & 1) != 0;
    int used = snprintf(out, room, "%s of %zu bytes", kind_of_send(args), send->bytes);
    if (!is_collective)
        used += snprintf(out + used, room - (size_t)used, " with tag %d", args->tag);
    used += snprintf(out + used, room - (size_t)used, " to rank %d of %s", args->dest, name);
    int world_rank = weft_process_rank(weft_comm_process(args->comm, args->dest));
    if (world_rank != args->dest)
        snprintf(out + used, room - (size_t)used, " (rank %d in MPI_COMM_WORLD)", world_rank);
}

static void note_never_received(weft_send_t *send)
{
    char what[320];
    weft_request_t *request = &send->request;
    describe_send(send, what, sizeof(what));
    weft_request_note_error(
        request, weft_fail(MPI_ERR_OTHER,
                           "%s will never be received: that rank has called MPI_Finalize", what));
    if (request->is_detached || wefti_pt2pt.is_ending)
        wefti_note_unseen(request);
}

/* A short one is over without an error, as it would be if it had gone unasked. */
static void end_announced(weft_send_t *send, void *context)
{
    weft_endpoint_t *endpoint = context;
    if (send->endpoint != endpoint || send->stage != WEFT_SEND_RTS_OUT)
        return;
    if (!send->cancel.is_announced)
        note_never_received(send);
    endpoint->asked--;
    send->stage = WEFT_SEND_FIRST; /* no answer is expected any more */
    wefti_send_stop(send);
}

static void note_all(weft_send_t *send, void *context)
{
    if (send->endpoint == context)
        note_never_received(send);
}

/* Neither what waits for room, nor answers, will ever be taken. */
static void end_all(int process, weft_endpoint_t *endpoint)
{
    wefti_sends_each(note_all, endpoint);
    snprintf(wefti_pt2pt.lost_text, sizeof(wefti_pt2pt.lost_text),
             "rank %d has called MPI_Finalize", weft_process_rank(process));
    endpoint->is_lost = true;
    wefti_sends_lose(endpoint);
    wefti_cancels_lose(endpoint);
    wefti_note_idle();
}

/* ---- a look ---- */

/* What it was at the last look, and is now, decides about what was sent to it. */
static void judge_sends(int process, weft_endpoint_t *endpoint, weft_leaving_t last,
                        weft_leaving_t now)
{
    if (endpoint->asked == 0 && wefti_sends_to(endpoint)->waiting_first == NULL)
        return;
    if (last != WEFT_STAYS && now != WEFT_STAYS) /* else it uses MPI again */
        wefti_sends_each(end_announced, endpoint);
    if (last == WEFT_GONE)
        end_all(process, endpoint);
}

static void count_end(weft_peer_sends_t *peer, weft_leaving_t now)
{
    if (now < WEFT_ENDS || peer->had_ended == 2)
        return;
    peer->had_ended++;
    wefti_pt2pt.have_ended = wefti_pt2pt.have_ended || peer->had_ended == 2;
}

static void look_at_peer(int process, weft_endpoint_t *endpoint)
{
    weft_peer_sends_t *peer = wefti_sends_to(endpoint);
    bool has_sends = endpoint->asked > 0 || peer->waiting_first != NULL;
    bool is_awaited = peer->is_awaited;
    peer->is_awaited = false;
    if ((!has_sends && !is_awaited) || endpoint->is_lost)
        return;
    weft_leaving_t last = (weft_leaving_t)peer->leaving, now = leaving_of(endpoint);
    peer->leaving = (uint8_t)now;
    count_end(peer, now);
    if (now < WEFT_ENDS && (now == WEFT_STAYS || is_awaited) && !endpoint->is_on_host)
        ask_peer(endpoint);
    judge_sends(process, endpoint, last, now);
}

void weft_pt2pt_waited_long(const bool *flag)
{
    wefti_unsent_mark(flag);
    for (int process = 0; process < weft_processes.count; process++) {
        weft_endpoint_t *endpoint = weft_process_reached(process);
        if (endpoint != NULL)
            look_at_peer(process, endpoint);
    }
    wefti_unsent_end(flag);
}
